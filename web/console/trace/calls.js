// Calls of the broker's functions.

import { useState } from "../../vendor/modules/hooks.js";
import { withQuery } from "../address.js";
import { Time } from "../parts/figure.js";
import { FormField } from "../parts/form.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { duration } from "../format.js";
import { useResource } from "../resource.js";
import { place, setQuery } from "../route.js";
import { useTrace } from "./session.js";

export function Calls() {
  const { data: points, error } = useResource("api/trace/points", 0);
  const { query } = place.value;
  const [values, setValues] = useState(/** @type {Record<string, any>} */ ({ pattern: query.get("pattern") ?? "amqp::queue.*", max: "200", returns: true }));
  const { lines, end, isRunning, begin, stop } = useTrace();
  const set = (/** @type {string} */ name, /** @type {any} */ value) => setValues({ ...values, [name]: value });
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    setQuery({ pattern: values.pattern });
    void begin(withQuery("api/trace/calls", { pattern: values.pattern, max: values.max, rate: values.max ? "none" : undefined, where: values.where, return: values.returns, body: values.body }));
  };
  const names = (points ?? []).map((/** @type {any} */ point) => point.name);
  return html`${error !== undefined && h(Note, { error })}
    <form class="form" aria-label="Trace calls" onSubmit=${start}>
      <div class="field"><label for="pattern">Functions</label><input id="pattern" list="points" value=${values.pattern} required spellcheck=${false} autocomplete="off" onInput=${(/** @type {any} */ event) => set("pattern", event.currentTarget.value)} />
        <datalist id="points">${names.map((/** @type {string} */ name) => html`<option value=${name} />`)}</datalist>
        <p class="help">A name, or a part of it with * for any text: amqp::basic.*, http::GET /api/queues*, journal::*.</p></div>
      ${h(FormField, { field: { name: "where", label: "Only where", placeholder: "queue=orders", help: "An argument and its value." }, value: values.where, onInput: (value) => set("where", value) })}
      ${h(FormField, { field: { name: "max", label: "Calls at most", kind: "number", help: "The trace ends by itself after so many; without a number at more than ten in a second." }, value: values.max, onInput: (value) => set("max", value) })}
      ${h(FormField, { field: { name: "returns", label: "Results and durations, too", kind: "checkbox" }, value: values.returns, onInput: (value) => set("returns", value) })}
      ${h(FormField, { field: { name: "body", label: "Bytes of bodies", kind: "number", help: "Bodies of messages are shown only where this asks for them, cut at so many bytes." }, value: values.body, onInput: (value) => set("body", value) })}
      <div class="acts"><button type="submit" class="main" aria-disabled=${isRunning}>Begin</button><button type="button" onClick=${stop} aria-disabled=${!isRunning}>End</button></div>
    </form>
    ${end && h(Note, { kind: end.isError ? "error" : "hint", children: end.text })}
    ${(isRunning || lines.length > 0) && html`<ol class="lines mono" tabindex="0" aria-label="Calls" aria-live="off">${lines.filter(({ event }) => event === "call" || event === "return" || event === "missed").slice(-300).map((line) => h(CallLine, { line }))}</ol>`}
    ${isRunning && lines.length <= 1 && html`<p role="status" class="about">Nothing has matched yet.</p>`}`;
}

/** @param {{ line: any }} props */
function CallLine({ line }) {
  if (line.event === "missed") return html`<li>${line.count} events were dropped: the buffer was full.</li>`;
  const given = (line.arguments ?? []).map((/** @type {[string, unknown]} */ [name, value]) => `${name}=${typeof value === "string" ? JSON.stringify(value) : String(value)}`).join(", ");
  const said = line.event === "call" ? `(${given})` : ` → ${line.result} (${duration(line.duration_us / 1000)})`;
  return html`<li>${h(Time, { at: line.at, isMoment: true })}<b>${line.call}</b>${said} <span class="about">${line.task}</span></li>`;
}
