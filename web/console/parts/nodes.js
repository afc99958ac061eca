// The nodes of the broker, and how they are.

import { useResource } from "../resource.js";
import { href } from "../route.js";
import { Figure } from "./figure.js";
import { h, html } from "./html.js";
import { Note } from "./note.js";

export function Nodes() {
  const { data, error } = useResource("api/nodes");
  if (!data) return error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  return html`<div class="scrolled" tabindex="0" role="region" aria-label="Nodes"><table class="plain">
    <thead><tr><th scope="col">Name</th><th scope="col">State</th><th scope="col" class="number">File descriptors</th><th scope="col" class="number">Sockets</th><th scope="col" class="number">Memory</th><th scope="col" class="number">Disk free</th><th scope="col" class="number">Uptime</th></tr></thead>
    <tbody>${data.map((/** @type {any} */ node) => html`<tr>
      <th scope="row"><a href=${href(["nodes", node.name])}><bdi>${node.name}</bdi></a></th><td>${states(node)}</td>
      <td class="number">${h(Figure, { value: node.fd_used })} of ${h(Figure, { value: node.fd_total })}</td>
      <td class="number">${h(Figure, { value: node.sockets_used })}</td>
      <td class="number">${h(Figure, { unit: "bytes", value: node.mem_used })} of ${h(Figure, { unit: "bytes", value: node.mem_limit })}</td>
      <td class="number">${h(Figure, { unit: "bytes", value: node.disk_free })}</td>
      <td class="number">${h(Figure, { unit: "ms", value: node.uptime })}</td></tr>`)}</tbody></table></div>`;
}

/** @param {any} node */
function states(node) {
  const states = /** @type {[string, string][]} */ ([
    node.running ? ["running", "good"] : ["not running", "bad"],
    ...(node.mem_alarm ? [["memory alarm", "bad"]] : []),
    ...(node.disk_free_alarm ? [["disk alarm", "bad"]] : []),
    ...(node.data_loss_alarm ? [["data loss", "bad"]] : []),
    ...(node.being_drained ? [["drained", "warn"]] : []),
  ]);
  return states.map(([text, kind]) => (kind === "good" ? html`<span class="badge good">${text}</span>` : html`<a class=${`badge ${kind}`} href=${href(["nodes", node.name])}>${text}</a>`));
}
