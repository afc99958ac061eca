// Policies of users and of operators.

import { Section, Tabs, chosenTab } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { useVhosts, VhostChoice } from "../parts/vhosts.js";
import { useResource } from "../resource.js";
import { href, place } from "../route.js";
import { may } from "../session.js";
import { Admin } from "./admin_frame.js";
import { PolicyForm } from "./policy_form.js";
import { aboutKey, applyTitle } from "./policy_keys.js";
import { deletePolicy, nounOf } from "./policy_kinds.js";

/** @type {[string, string][]} */
const TABS = [["policies", "User policies"], ["operator-policies", "Operator policies"]];

/** Settings of a definition, each with what it does. @param {{ definition: Record<string, any> }} props */
export function DefinitionBadges({ definition }) {
  return h("span", {}, Object.entries(definition).map(([key, value]) => h("span", { key, class: "badge", title: aboutKey(key) }, `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)));
}

export default function Policies() {
  const chosen = chosenTab(TABS) === "operator-policies" ? "operator-policies" : "policies";
  return h(Admin, { title: "Policies", children: [
    h("p", { key: "about" }, "A policy sets arguments of all queues and exchanges whose names match, at once and for as long as it exists. If several user policies match, the one with the highest priority applies; the same holds for operator policies. If both kinds set a number, the smaller one applies."),
    h(Tabs, { key: "tabs", label: "Kinds of policies", tabs: TABS }),
    h(PolicyList, { key: chosen, kind: chosen }),
  ] });
}

/** @param {{ kind: import("./policy_kinds.js").PolicyKind }} props */
function PolicyList({ kind }) {
  const { query } = place.value;
  const vhost = query.get("vhost") ?? "";
  const { data, error, reload } = useResource(`api/${kind}`);
  const names = useVhosts();
  const mayChange = may(kind === "policies" ? "policymaker" : "administrator");
  const rows = vhost ? data?.filter((/** @type {any} */ one) => one.vhost === vhost) : data;
  const remove = async (/** @type {import("./policy_kinds.js").Policy} */ policy) => void ((await deletePolicy(kind, policy)) && (await reload()));
  /** @type {import("../parts/table.js").Column<import("./policy_kinds.js").Policy>[]} */
  const columns = [
    { id: "vhost", title: "Virtual host", sort: "vhost", cell: (policy) => h("bdi", {}, policy.vhost) },
    { id: "name", title: "Name", sort: "name", cell: (policy) => html`<a href=${href([kind, policy.vhost, policy.name])}><bdi>${policy.name}</bdi></a>` },
    { id: "pattern", title: "Pattern", about: "of names", sort: "pattern", cell: (policy) => h("code", { title: policy.pattern }, policy.pattern) },
    { id: "apply", title: "Apply to", sort: "apply-to", cell: (policy) => applyTitle(policy["apply-to"]) },
    { id: "definition", title: "Definition", cell: ({ definition }) => h(DefinitionBadges, { definition }) },
    { id: "priority", title: "Priority", about: "of all that match, the one with the highest priority applies", sort: "priority", isNumber: true, cell: (policy) => String(policy.priority) },
    ...(mayChange ? [{ id: "delete", title: "Delete", cell: (/** @type {any} */ policy) => html`<button type="button" class="harmful" aria-label=${`Delete ${policy.name} of ${policy.vhost}`} onClick=${() => remove(policy)}>Delete</button>` }] : []),
  ];
  return html`
    ${h(List, { label: kind === "policies" ? "Policies" : "Operator policies", rows, error, columns, keyOf: (policy) => `${policy.vhost}/${policy.name}`, by: "name", height: "60vh",
      textOf: (policy) => `${policy.name} ${policy.pattern} ${Object.keys(policy.definition).join(" ")}`,
      empty: mayChange ? `There is no ${nounOf(kind)}. Add one below.` : `There is no ${nounOf(kind)} that this user may see.`,
      tools: h(VhostChoice, { vhosts: names }) })}
    ${mayChange && names.length > 0 && h(Section, { title: `Add ${kind === "policies" ? "a policy" : "an operator policy"}`, isClosed: true, isAsked: query.get("add") === "yes", children: h(PolicyForm, { kind, vhosts: vhost ? [vhost, ...names.filter((one) => one !== vhost)] : names, onDone: reload }) })}`;
}
