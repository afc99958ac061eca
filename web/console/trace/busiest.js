// What keeps the broker busy: queues, connections, channels, vhosts, users by processor time, messages, bytes, waiting, memory.

import { withQuery } from "../address.js";
import { Figure } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { Name } from "../parts/name.js";
import { Note } from "../parts/note.js";
import { useResource } from "../resource.js";
import { href, place, setQuery } from "../route.js";

const KINDS = [["queues", "Queues"], ["connections", "Connections"], ["channels", "Channels"], ["vhosts", "Virtual hosts"], ["users", "Users"]];
const ORDERS = [["cpu", "Processor time"], ["messages", "Messages"], ["bytes", "Bytes"], ["waiting", "Waiting"], ["memory", "Memory"]];

export function Busiest() {
  const { query } = place.value;
  const [of, by] = [query.get("of") ?? "queues", query.get("by") ?? "cpu"];
  const { data, error } = useResource(withQuery("api/top", { of, by, count: 30, interval_ms: 1000 }));
  const choice = (/** @type {string} */ label, /** @type {string} */ name, /** @type {string} */ value, /** @type {string[][]} */ options) => html`<label>${label} <select value=${value} onChange=${(/** @type {any} */ event) => setQuery({ [name]: event.currentTarget.value })}>${options.map(([id, title]) => html`<option value=${id}>${title}</option>`)}</select></label>`;
  return html`<div class="filter">${choice("Of", "of", of, KINDS)}${choice("Most", "by", by, ORDERS)}</div>
    ${error !== undefined && h(Note, { error })}
    ${!data && !error && html`<p class="awaited-text" role="status">Measuring for a second…</p>`}
    ${data && html`<p class="about">${data.compared} compared; the process takes ${data.process_cpu_percent.toFixed(1)} % of a processor.</p>`}
    ${data && data.rows.length === 0 && html`<p class="empty">Nothing of this kind exists.</p>`}
    ${data && data.rows.length > 0 && html`<div class="scrolled" tabindex="0" role="region" aria-label="Busiest"><table class="plain"><thead><tr><th scope="col">Name</th><th scope="col" class="number">Processor</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">Messages</th><th scope="col" class="number">Bytes</th><th scope="col" class="number">Memory</th></tr></thead>
      <tbody>${data.rows.map((/** @type {any} */ row) => html`<tr><th scope="row">${nameOf(of, row)}</th><td class="number">${h(Figure, { unit: "percent", value: row.cpu_percent })}</td><td class="number">${h(Figure, { unit: "percent", value: row.waiting_percent })}</td>
        <td class="number">${h(Figure, { unit: "rate", value: row.messages_per_second })}</td><td class="number">${h(Figure, { unit: "byterate", value: row.bytes_per_second })}</td><td class="number">${h(Figure, { unit: "bytes", value: row.memory })}</td></tr>`)}</tbody></table></div>`}`;
}

/** @param {string} of @param {any} row */
function nameOf(of, row) {
  const path = of === "queues" ? ["queues", row.vhost, row.name] : [of, row.name];
  return html`<a href=${href(path)}>${h(Name, { name: row.name })}</a>${of === "queues" ? html` <span class="about">in ${row.vhost}</span>` : ""}`;
}
