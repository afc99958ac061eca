// Webhooks: where alerts are sent to, and how that goes.

import { useState } from "../../vendor/modules/hooks.js";
import { change, sentenceOf } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { Figure } from "../parts/figure.js";
import { argumentsOf, Form } from "../parts/form.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Note, say } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { useResource } from "../resource.js";
import { place, setQuery } from "../route.js";
import { may } from "../session.js";
import { durationText } from "./alert_kinds.js";

export function AlertWebhooks() {
  const { data, error, reload } = useResource("api/alerts/webhooks");
  const [tested, setTested] = useState(/** @type {{ name: string, answer?: any, error?: string } | null} */ (null));
  const mayChange = may("administrator");
  const edited = place.value.query.get("edit") ?? "";
  const known = data?.find((/** @type {any} */ one) => one.name === edited && one.source !== "configuration");
  const remove = async (/** @type {string} */ name) => {
    const isYes = await ask({ title: `Delete the webhook ${name}`, act: "Delete", isHarmful: true, text: html`<p>Notices that wait for it are lost.</p>`, run: () => change("DELETE", pathOf`api/alerts/webhooks/${name}`) });
    if (!isYes) return;
    say(`The webhook ${name} is deleted.`);
    await reload();
  };
  const test = async (/** @type {string} */ name) => {
    try {
      setTested({ name, answer: await change("POST", `${pathOf`api/alerts/webhooks/${name}`}/test`) });
    } catch (failure) {
      setTested({ name, error: sentenceOf(failure) });
    }
    await reload();
  };
  const done = async () => {
    setQuery({ edit: undefined });
    await reload();
  };
  if (!data) return error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  const acts = (/** @type {any} */ { name, source }) => html`<span class="acts">
    <button type="button" aria-label=${`Test webhook ${name}`} onClick=${() => test(name)}>Test</button>
    ${source !== "configuration" && html`<button type="button" aria-label=${`Change webhook ${name}`} onClick=${() => setQuery({ edit: name, add: undefined })}>Change</button>
    <button type="button" class="harmful" aria-label=${`Delete webhook ${name}`} onClick=${() => remove(name)}>Delete</button>`}</span>`;
  return html`
    ${error && h(Note, { error })}
    ${tested && h(Tested, { tested })}
    ${h(Plain, { label: "Webhooks", empty: mayChange ? "There is no webhook. Add one below: alerts are posted to it as JSON." : "There is no webhook.",
      head: ["Name", "URL", "Delivery", ...NUMBERS.map(([, title, about]) => ({ title, about, isNumber: true })), ...(mayChange ? [""] : [])],
      rows: data.map((/** @type {any} */ one) => ({ key: one.name, cells: [
        h("bdi", {}, one.name), html`<span class="mono">${one.url}</span> ${one.signed && html`<span class="badge">signed</span>`}${one.source === "configuration" && html`<span class="badge">configuration</span>`}`,
        one.waiting > 0 && one.last_error ? html`<span class="badge bad">fails</span> ${one.last_error}` : one.last_error ? html`<span class="badge warn">failed before</span> ${one.last_error}` : one.delivered > 0 ? html`<span class="badge good">delivered</span>` : "nothing sent yet",
        ...NUMBERS.map(([name]) => h(Figure, { value: one[name] })), ...(mayChange ? [acts(one)] : [])] })) })}
    ${mayChange && known && h(Section, { key: `edit ${edited}`, title: `Change the webhook ${edited}`, isAsked: true, children: [h(WebhookForm, { key: "form", known, onDone: done }), h("p", { key: "end" }, h("button", { type: "button", onClick: () => setQuery({ edit: undefined }) }, "Leave it as it is"))] })}
    ${mayChange && !known && h(Section, { key: "add", title: "Add a webhook", isClosed: data.length > 0, isAsked: place.value.query.get("add") === "yes", children: h(WebhookForm, { onDone: done }) })}`;
}

/** Counts: name, title, what it is. @type {[string, string, string][]} */
const NUMBERS = [
  ["waiting", "Waiting", "notices that are still to be sent"], ["delivered", "Delivered", "notices that were accepted"], ["failed", "Failed", "attempts that failed"],
  ["dropped", "Dropped", "notices that could not be delivered"], ["folded", "Folded", "notices that were merged with later ones"],
];

/** @param {{ tested: { name: string, answer?: any, error?: string } }} props */
function Tested({ tested: { name, answer, error } }) {
  if (error !== undefined) return h(Note, { children: error });
  const took = html` It took ${h(Figure, { unit: "ms", value: answer.duration })}.`;
  return answer.delivered
    ? html`<p class="note hint" role="status">The webhook <bdi>${name}</bdi> accepted a test notice with status ${answer.status}.${took}</p>`
    : html`<p class="note error" role="alert">The webhook <bdi>${name}</bdi> did not accept a test notice${answer.status ? `: status ${answer.status}` : ""}${answer.error ? `: ${answer.error}` : ""}.${took}</p>`;
}

/** @param {{ known?: any, onDone: () => Promise<void> }} props */
function WebhookForm({ known, onDone }) {
  const initial = known ? { url: known.url, timeout: durationText(known.timeout) } : {};
  const submit = async (/** @type {any} */ values) => {
    const name = known?.name ?? values.name;
    const headers = argumentsOf(values.headers);
    await change("PUT", pathOf`api/alerts/webhooks/${name}`, { url: values.url, ...(Object.keys(headers).length > 0 ? { headers } : {}), ...(values.secret ? { secret: values.secret } : {}), ...(values.timeout ? { timeout: values.timeout } : {}) });
    say(`The webhook ${name} is there. Test it.`);
    await onDone();
  };
  return h(Form, { label: known ? "Change the webhook" : "Add a webhook", act: known ? "Change webhook" : "Add webhook", initial, keeps: Boolean(known), onSubmit: submit, fields: [
    .../** @type {import("../parts/form.js").Field[]} */ (known ? [] : [{ name: "name", label: "Name", isRequired: true }]),
    { name: "url", label: "URL", isRequired: true, placeholder: "https://hooks.example.com/warren" },
    { name: "secret", label: "Secret", kind: "password", autocomplete: "new-password", help: known ? "Requests are signed with it. It is hidden: enter it again, or requests are no longer signed." : "Requests are signed with it. Empty: they are not." },
    { name: "headers", label: "Headers", kind: "arguments", help: known ? "Of every request. They are hidden: enter them again, or they are removed." : "Of every request." },
    { name: "timeout", label: "Timeout", placeholder: "5s", help: "How long an answer may take, from 100ms to 1m." },
  ] });
}
