// One policy: what it sets, of what, and what a change of it would do.

import { Facts, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { useResource } from "../resource.js";
import { go, href } from "../route.js";
import { may } from "../session.js";
import { Admin } from "./admin_frame.js";
import { PolicyForm } from "./policy_form.js";
import { aboutKey, applyTitle } from "./policy_keys.js";
import { deletePolicy, nounOf } from "./policy_kinds.js";

/** @param {{ values: string[] }} props */
export default function UserPolicy({ values }) {
  return h(PolicyPage, { kind: "policies", values });
}

/** @param {{ values: string[] }} props */
export function OperatorPolicy({ values }) {
  return h(PolicyPage, { kind: "operator-policies", values });
}

/** @param {{ kind: import("./policy_kinds.js").PolicyKind, values: string[] }} props */
function PolicyPage({ kind, values }) {
  const [vhost = "", name = ""] = values;
  const { data: all, error, reload } = useResource(`api/${kind}`);
  const policy = all?.find((/** @type {any} */ one) => one.vhost === vhost && one.name === name);
  const noun = nounOf(kind);
  /** @type {[string, string[]][]} */
  const above = [["Policies", ["policies"]]];
  const frame = (/** @type {any} */ children, /** @type {any} */ acts = undefined) => h(Admin, { title: name, kind: noun[0]?.toUpperCase() + noun.slice(1), above, acts, children });
  if (!all) return frame(error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`);
  if (!policy) return frame(html`<p class="empty">There is no such ${noun}, or this user may not see it. <a href=${href(["policies"], kind === "policies" ? {} : { tab: kind })}>All of them</a></p>`);
  const mayChange = may(kind === "policies" ? "policymaker" : "administrator");
  const remove = async () => void ((await deletePolicy(kind, policy)) && go(["policies"], kind === "policies" ? {} : { tab: kind }));
  return frame(html`
    ${error && h(Note, { kind: "warning", error })}
    ${h(Facts, { facts: [["Virtual host", h("bdi", {}, vhost)], ["Pattern", h("code", {}, policy.pattern)], ["Applies to", applyTitle(policy["apply-to"])], ["Priority", String(policy.priority)]] })}
    ${h(Section, { title: "Definition", children: h(Plain, { label: "Definition", empty: "It sets nothing.", head: ["Key", "Value", "What it does"],
      rows: Object.entries(policy.definition).map(([key, value]) => ({ key, cells: [h("code", {}, key), h("code", {}, typeof value === "string" ? value : JSON.stringify(value)), aboutKey(key) ?? "–"] })) }) })}
    ${policy["apply-to"] !== "exchanges" && html`<p class="acts"><a class="button" href=${href(["queues"], { vhost, name: policy.pattern })}>Queues whose names match</a></p>`}
    ${mayChange && h(Section, { title: `Change the ${noun}`, children: h(PolicyForm, { key: JSON.stringify(policy), kind, vhosts: [vhost], known: policy, onDone: reload }) })}`,
  mayChange && html`<button type="button" class="harmful" onClick=${remove}>Delete ${noun}</button>`);
}
