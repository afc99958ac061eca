// Which policies match a queue or an exchange, which of them applies and why, and what comes of it.

import { ApiError } from "../api.js";
import { path } from "../address.js";
import { Facts, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";

/** @param {{ vhost: string, name: string, queue: any }} props */
export const QueuePolicies = ({ vhost, name, queue }) => h(ObjectPolicies, { kind: "queue", vhost, name, object: queue });

/** @param {{ kind: "queue" | "exchange", vhost: string, name: string, object: any }} props name: as it is in paths */
export function ObjectPolicies({ kind, vhost, name, object: queue }) {
  const { data, error } = useResource(`${kind === "queue" ? path`api/queues/${vhost}/${name}` : path`api/exchanges/${vhost}/${name}`}/policies`, 15_000);
  const isUnknown = error instanceof ApiError && error.status === 404;
  const applied = [["Policy", queue.policy], ["Operator policy", queue.operator_policy]].map(([title, one]) => [title, one ? h("a", { href: href(["policies"], { filter: one }) }, h("bdi", {}, one)) : "none"]);
  const effective = Object.entries(queue.effective_policy_definition ?? {});
  return html`
    ${h(Section, { title: "What applies", children: html`${h(Facts, { facts: applied })}
      ${effective.length > 0 ? html`<h3>What comes of them</h3>${h(Facts, { facts: effective.map(([key, value]) => [key, h("bdi", {}, typeof value === "string" ? value : JSON.stringify(value))]) })}` : !queue.policy && !queue.operator_policy && html`<p class="empty">No policy applies to this ${kind}. <a href="#/policies">Policies</a> change what queues and exchanges do by a pattern of their names, without declaring them again.</p>`}` })}
    ${error !== undefined && !isUnknown && h(Note, { error })}
    ${isUnknown && h(Note, { kind: "hint", children: "This broker does not say which other policies match, and why they do not apply: it is older than this page." })}
    ${data && h(Section, { title: "All that match", about: "the one with the highest priority applies", children: h(Matching, { kind, data }) })}`;
}

/** @param {{ kind: string, data: any }} props */
function Matching({ kind: of, data }) {
  const rows = ["policies", "operator_policies"].flatMap((kind) => (Array.isArray(data[kind]) ? data[kind].map((/** @type {any} */ one) => ({ ...one, kind: kind === "policies" ? "policy" : "operator policy" })) : []));
  const effective = Array.isArray(data.effective) ? data.effective : Object.entries(data.effective ?? {}).map(([key, value]) => ({ key, .../** @type {any} */ (value) }));
  if (rows.length === 0) return html`<p class="empty">No policy has a pattern that matches the name of this ${of}.</p>`;
  return html`<div class="scrolled" tabindex="0" role="region" aria-label="Policies that match"><table class="plain">
    <thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col" class="number">Priority</th><th scope="col">Pattern</th><th scope="col">Applies</th></tr></thead>
    <tbody>${rows.map((one) => html`<tr><th scope="row"><bdi>${one.name}</bdi></th><td>${one.kind}</td><td class="number">${one.priority}</td><td class="mono"><bdi>${one.pattern}</bdi></td>
      <td>${one.applies ? html`<span class="badge good">applies</span>` : one.reason ?? "no"}</td></tr>`)}</tbody></table></div>
    ${effective.length > 0 && html`<h3>Where each key is from</h3><div class="scrolled" tabindex="0" role="region" aria-label="Keys"><table class="plain"><thead><tr><th scope="col">Key</th><th scope="col">Value</th><th scope="col">From</th></tr></thead>
      <tbody>${effective.map((/** @type {any} */ { key, value, source, from }) => html`<tr><th scope="row">${key}</th><td class="mono"><bdi>${typeof value === "string" ? value : JSON.stringify(value)}</bdi></td><td><bdi>${source ?? from}</bdi></td></tr>`)}</tbody></table></div>`}`;
}
