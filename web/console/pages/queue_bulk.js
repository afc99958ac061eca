// What is done with several queues at once.

import { change } from "../api.js";
import { path } from "../address.js";
import { ask } from "../parts/dialog.js";
import { h, html } from "../parts/html.js";
import { useAnyPermitted } from "../parts/permitted.js";
import { forEach } from "../parts/several.js";
import { nameOf, queueOfKey } from "./queue_columns.js";

/** Names that a question tells. */
const TOLD_MAX = 8;

/** @param {number} count */
const queues = (count) => (count === 1 ? "one queue" : `${count.toLocaleString("en")} queues`);

/** @param {{ chosen: Set<string>, onChosen: (keys: Set<string>) => void, onDone: () => Promise<void> }} props */
export function QueueBulk({ chosen, onChosen, onDone }) {
  const queuesOf = [...chosen].map(queueOfKey);
  const mayDelete = useAnyPermitted("configure", queuesOf);
  const mayPurge = useAnyPermitted("consume", queuesOf);
  if (chosen.size === 0) return null;
  const act = async (/** @type {"delete" | "purge"} */ word) => {
    const keys = [...chosen];
    const told = keys.slice(0, TOLD_MAX).map((key) => h("li", { key }, h("bdi", {}, nameOf(queueOfKey(key)))));
    const isYes = await ask({
      title: word === "delete" ? `Delete ${queues(keys.length)}?` : `Purge ${queues(keys.length)}?`, act: word === "delete" ? "Delete queues" : "Purge queues", isHarmful: true, word,
      text: html`<p>${word === "delete" ? "They are deleted for good, with all their messages." : "All their ready messages are deleted for good."}</p>
        <ul>${told}</ul>${keys.length > TOLD_MAX && html`<p>and ${(keys.length - TOLD_MAX).toLocaleString("en")} more</p>`}`,
    });
    if (!isYes) return;
    const failed = await forEach(keys, (key) => {
      const { vhost, name } = queueOfKey(key);
      return change("DELETE", word === "delete" ? path`api/queues/${vhost}/${name}` : path`api/queues/${vhost}/${name}/contents`);
    }, (done) => (word === "delete" ? `Deleted: ${queues(done)}.` : `Purged: ${queues(done)}.`));
    onChosen(new Set(failed));
    await onDone();
  };
  return html`<span class="counted">${queues(chosen.size)} chosen</span>
    <button type="button" onClick=${() => onChosen(new Set())}>Choose none</button>
    ${mayPurge && html`<button type="button" class="harmful" onClick=${() => act("purge")}>Purge chosen…</button>`}
    ${mayDelete && html`<button type="button" class="harmful" onClick=${() => act("delete")}>Delete chosen…</button>`}`;
}
