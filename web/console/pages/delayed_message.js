// One delayed message, and what can be done with it.

import { useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { ask, Dialog } from "../parts/dialog.js";
import { h, html } from "../parts/html.js";
import { MessageView } from "../parts/message.js";
import { attempt, Note } from "../parts/note.js";
import { isMissing } from "../parts/not_here.js";
import { Reschedule } from "../parts/reschedule.js";
import { useResource } from "../resource.js";

/** @param {{ vhost: string, messages: string, id: string, onClose: () => void, onDone: () => Promise<void> }} props messages: the path */
export function DelayedDialog({ vhost, messages, id, onClose, onDone }) {
  const one = `${messages}/${encodeURIComponent(id)}`;
  const { data, error } = useResource(one, 0);
  const [isRescheduling, setRescheduling] = useState(false);
  const finish = () => (onClose(), onDone());
  const cancel = async () => {
    const isYes = await ask({ title: "Cancel the message", act: "Cancel the message", keep: "Keep it", isHarmful: true, text: "It is never delivered, and cannot be had back.", run: () => change("DELETE", one) });
    if (isYes) await finish();
  };
  const release = async () => void ((await attempt(() => change("POST", `${one}/release`), "The message is due now, and is routed.")) && (await finish()));
  if (isRescheduling) {
    return h(Reschedule, { title: "Reschedule the message", onClose: () => setRescheduling(false), onWhen: async (when) => {
      await change("PUT", one, when);
      await finish();
    } });
  }
  return h(Dialog, { title: `Delayed message ${id}`, isWide: true, onClose, children: html`
    ${error !== undefined && (isMissing(error) ? html`<p class="note warning" role="status">This message no longer waits here: it became due, or was cancelled or rescheduled.</p>` : h(Note, { error }))}
    ${!data && error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${data && h(MessageView, { message: data, vhost })}
    ${data && html`<div class="acts"><button type="button" onClick=${release}>Release now</button><button type="button" onClick=${() => setRescheduling(true)}>Reschedule…</button>
      <button type="button" class="harmful" onClick=${cancel}>Cancel the message…</button></div>`}` });
}
