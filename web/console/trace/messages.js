// What becomes of messages: where is message 4711?

import { useState } from "../../vendor/modules/hooks.js";
import { withQuery } from "../address.js";
import { Time } from "../parts/figure.js";
import { FormField } from "../parts/form.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { place, setQuery } from "../route.js";
import { useTrace } from "./session.js";

/** @type {[string, string, string][]} */
const FILTERS = [["message_id", "Message id", ""], ["queue", "Queue", "events in this queue, and messages routed to it"], ["exchange", "Exchange", ""], ["routing_key", "Routing key", "a pattern as of topic exchanges: eu.#"], ["vhost", "Virtual host", ""],
  ["user", "User", ""], ["connection", "Connection", ""], ["header", "Header", "name=value"], ["sample", "One message of", "100: one of a hundred, with all that happens to it"], ["body", "Bytes of bodies", "shown only where this asks for them"]];

export function Messages() {
  const { query } = place.value;
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({ ...Object.fromEntries(FILTERS.map(([name]) => [name, query.get(name) ?? ""])), max: query.get("max") ?? "500" }));
  const { lines, end, isRunning, begin, stop } = useTrace();
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    setQuery(values);
    void begin(withQuery("api/trace/messages", { ...values, rate: values.max ? "none" : undefined }));
  };
  const set = (/** @type {string} */ name, /** @type {any} */ value) => setValues({ ...values, [name]: value });
  return html`
    <form class="form grid" aria-label="Trace messages" onSubmit=${start}>
      ${FILTERS.map(([name, label, placeholder]) => h(FormField, { key: name, field: { name, label, placeholder }, value: values[name], onInput: (value) => set(name, value) }))}
      ${h(FormField, { field: { name: "max", label: "Events at most", kind: "number" }, value: values.max, onInput: (value) => set("max", value) })}
      <div class="acts"><button type="submit" class="main" aria-disabled=${isRunning}>Begin</button><button type="button" onClick=${stop} aria-disabled=${!isRunning}>End</button></div>
    </form>
    ${end && h(Note, { kind: end.isError ? "error" : "hint", children: end.text })}
    ${(isRunning || lines.length > 0) && html`<ol class="lines mono" tabindex="0" aria-label="What happened to messages">${lines.filter(({ event }) => event !== "begin" && event !== "end").slice(-300).map((line) => h(EventLine, { line }))}</ol>`}
    ${isRunning && lines.length <= 1 && html`<p role="status" class="about">No message has matched yet.</p>`}`;
}

/** @param {{ line: any }} props */
function EventLine({ line }) {
  const { at, event, ...facts } = line;
  const told = Object.entries(facts).filter(([, value]) => value !== null && value !== "").map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return html`<li>${h(Time, { at, isMoment: true })}<b>${String(event).replaceAll("_", " ")}</b> ${told.join(" ")}</li>`;
}
