// Which policies match a queue or an exchange, which of them applies and why, and what comes of it.

import { ApiError } from "../api.js";
import { path } from "../address.js";
import { Facts, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";

/** @param {{ vhost: string, name: string, queue: any }} props */
export const QueuePolicies = ({ vhost, name, queue }) => h(ObjectPolicies, { kind: "queue", vhost, name, object: queue });

/** @typedef {{ kind: "policy" | "operator_policy", name: string, pattern: string, "apply-to": string, priority: number, definition: Record<string, unknown>, applies: boolean, reason?: string }} Matching */

/** @type {Record<string, string>} */
const KINDS = { policy: "policy", operator_policy: "operator policy" };

/** @param {unknown} value */
const written = (value) => h("bdi", { class: "mono" }, typeof value === "string" ? value : JSON.stringify(value));

/** @param {{ kind: string, name: string }} policy */
const link = ({ kind, name }) => h("a", { href: href([kind === "policy" ? "policies" : "operator-policies"], { filter: name }) }, h("bdi", {}, name));

/** @param {{ kind: "queue" | "exchange", vhost: string, name: string, object: any }} props name: as it is in paths */
export function ObjectPolicies({ kind, vhost, name, object }) {
  const { data, error } = useResource(`${kind === "queue" ? path`api/queues/${vhost}/${name}` : path`api/exchanges/${vhost}/${name}`}/policies`, 15_000);
  const isUnknown = error instanceof ApiError && error.status === 404;
  const matching = /** @type {Matching[]} */ (data?.policies ?? []);
  const effective = Object.entries(data?.effective_definition ?? object.effective_policy_definition ?? {});
  const sourceOf = (/** @type {string} */ key) => data?.sources?.[key];
  const isAny = matching.length > 0 || Boolean(object.policy) || Boolean(object.operator_policy);
  return html`
    ${error !== undefined && !isUnknown && h(Note, { error })}
    ${h(Section, { title: "What applies", children: html`
      ${h(Facts, { facts: [["Policy", object.policy ? link({ kind: "policy", name: object.policy }) : "none"], ["Operator policy", operatorOf(matching, object)]] })}
      ${effective.length > 0 && h(Plain, { label: "What comes of the policies", head: ["Key", "Value", "From"], rows: effective.map(([key, value]) => ({ key, cells: [key, written(value), sourceOf(key) && h("span", {}, KINDS[sourceOf(key).kind], " ", link(sourceOf(key)))] })) })}
      ${!isAny && html`<p class="empty">No policy matches this ${kind}. <a href="#/policies">Policies</a> change what queues and exchanges do by a pattern of their names, without declaring them again.</p>`}` })}
    ${matching.length > 0 && h(Section, { title: "All that match", about: "of each kind the one with the highest priority applies", children: h(Plain, {
      label: "Policies that match", head: ["Name", "Kind", { title: "Priority", isNumber: true }, "Pattern", "Definition", "Applies"],
      rows: matching.map((one) => ({ key: `${one.kind} ${one.name}`, cells: [link(one), KINDS[one.kind], one.priority, h("bdi", { class: "mono" }, one.pattern), h("bdi", { class: "mono" }, JSON.stringify(one.definition)),
        one.applies ? h("span", { class: "badge good" }, "applies") : `no: ${one.reason ?? ""}`] })) }) })}`;
}

/** @param {Matching[]} matching @param {any} object */
function operatorOf(matching, object) {
  const name = object.operator_policy ?? matching.find((one) => one.kind === "operator_policy" && one.applies)?.name;
  return name ? link({ kind: "operator_policy", name }) : "none";
}
