// Rules of alerts: what is watched, and when that fires. Those of the configuration can only be looked at.

import { useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { shown } from "../parts/figure.js";
import { Form } from "../parts/form.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { say } from "../parts/note.js";
import { useResource } from "../resource.js";
import { place, setQuery } from "../route.js";
import { may } from "../session.js";
import { ALERT_KINDS, durationText, kindOf, SEVERITY } from "./alert_kinds.js";

/** When a rule fires, as a sentence. @param {any} rule */
export function condition(rule) {
  const kind = kindOf(rule.kind);
  if (!kind) return rule.kind ?? "";
  const held = durationText(rule.for) ? ` for ${durationText(rule.for)}` : "";
  if (!kind.unit) return `${kind.title}${held}`;
  const window = kind.hasWindow && rule.window ? ` within ${durationText(rule.window)}` : "";
  return `${kind.title}: above ${shown(kind.unit, rule.above ?? kind.usual)}${kind.per ? ` ${kind.per}` : ""}${window}${held}`;
}

export function AlertRules() {
  const { data, error, reload } = useResource("api/alerts/rules", 10_000);
  const { data: webhooks } = useResource("api/alerts/webhooks", 60_000);
  const names = /** @type {string[]} */ ((webhooks ?? []).map((/** @type {any} */ one) => one.name));
  const mayChange = may("administrator");
  const edited = place.value.query.get("edit") ?? "";
  const known = data?.find((/** @type {any} */ rule) => rule.name === edited && rule.source !== "configuration");
  const remove = async (/** @type {string} */ name) => {
    const isYes = await ask({ title: `Delete the rule ${name}`, act: "Delete", isHarmful: true, text: html`<p>Its alerts end, and webhooks get a notice of that.</p>`, run: () => change("DELETE", pathOf`api/alerts/rules/${name}`) });
    if (!isYes) return;
    say(`The rule ${name} is deleted.`);
    await reload();
  };
  const done = async () => {
    setQuery({ edit: undefined });
    await reload();
  };
  /** @type {import("../parts/table.js").Column<any>[]} */
  const columns = [
    { id: "name", title: "Name", sort: "name", cell: ({ name }) => h("bdi", {}, name) },
    { id: "fires", title: "Fires", sort: "kind", cell: (rule) => h("span", { title: kindOf(rule.kind)?.about }, condition(rule)) },
    { id: "queue", title: "Queues", about: "patterns of virtual hosts and queues", sort: "queue", cell: (rule) => (kindOf(rule.kind)?.isOfQueues ? html`<code title="queue">${rule.queue ?? ".*"}</code>${rule.vhost && rule.vhost !== ".*" && html` in <code title="virtual host">${rule.vhost}</code>`}` : "–") },
    { id: "severity", title: "Severity", sort: "severity", cell: ({ severity }) => h("span", { class: `badge ${SEVERITY[severity] ?? ""}` }, severity) },
    { id: "tells", title: "Tells", about: "webhooks", cell: ({ webhooks: told = [] }) => h("bdi", {}, told.length > 0 ? told.join(", ") : "all webhooks") },
    { id: "state", title: "State", cell: ({ problem, untracked, source }) => [problem && h("span", { key: "problem", class: "badge bad", title: problem }, problem), untracked > 0 && h("span", { key: "untracked", class: "badge warn", title: "queues that are not watched: a rule watches at most 1,000" }, `${untracked} more`), source === "configuration" && h("span", { key: "source", class: "badge", title: "set in the configuration: it cannot be changed here" }, "configuration")] },
    ...(mayChange ? [{ id: "acts", title: "Change", cell: (/** @type {any} */ rule) => rule.source !== "configuration" && html`
      <button type="button" aria-label=${`Change rule ${rule.name}`} onClick=${() => setQuery({ edit: rule.name, add: undefined })}>Change</button> <button type="button" class="harmful" aria-label=${`Delete rule ${rule.name}`} onClick=${() => remove(rule.name)}>Delete</button>` }] : []),
  ];
  return html`
    ${h(List, { label: "Rules", rows: data, error, columns, keyOf: (rule) => rule.name, textOf: (rule) => `${rule.name} ${rule.kind} ${rule.queue ?? ""}`, by: "name", height: "50vh", empty: mayChange ? "There is no rule. Add one below: it watches queues or the node, without anything else to be installed." : "There is no rule." })}
    ${mayChange && known && h(Section, { key: `edit ${edited}`, title: `Change the rule ${edited}`, isAsked: true, children: [h(RuleForm, { key: "form", known, webhooks: names, onDone: done }), h("p", { key: "end" }, h("button", { type: "button", onClick: () => setQuery({ edit: undefined }) }, "Leave it as it is"))] })}
    ${mayChange && !known && h(Section, { key: "add", title: "Add a rule", isClosed: data?.length !== 0, isAsked: place.value.query.get("add") === "yes", children: h(RuleForm, { webhooks: names, onDone: done }) })}`;
}

/** @param {{ known?: any, webhooks: string[], onDone: () => Promise<void> }} props known: the rule that is changed */
function RuleForm({ known, webhooks, onDone }) {
  const [id, setId] = useState(known?.kind ?? "queue-length");
  const kind = kindOf(id);
  const initial = known ? {
    ...known, above: String(known.above ?? ""), clear: isUsualClear(known) ? "" : String(known.clear), for: durationText(known.for), clear_for: durationText(known.clear_for), repeat: durationText(known.repeat), window: durationText(known.window),
    webhooks: (known.webhooks ?? []).join(", "), queue: known.queue === ".*" ? "" : known.queue, vhost: known.vhost === ".*" ? "" : known.vhost,
  } : { kind: id };
  const submit = async (/** @type {any} */ values) => {
    const name = known?.name ?? values.name;
    await change("PUT", pathOf`api/alerts/rules/${name}`, ruleOf(id, values));
    say(`The rule ${name} is in force.`);
    await onDone();
  };
  /** @type {import("../parts/form.js").Field[]} */
  const fields = [
    .../** @type {import("../parts/form.js").Field[]} */ (known ? [] : [{ name: "name", label: "Name", isRequired: true }]),
    { name: "kind", label: "Watches", kind: "select", options: ALERT_KINDS.map((one) => [one.id, `${one.title} (${one.id})`]), help: kind?.about },
    .../** @type {import("../parts/form.js").Field[]} */ (kind?.isOfQueues ? [
      { name: "queue", label: "Queues", placeholder: "all", help: "A regular expression of names. ^orders$ is one queue." },
      { name: "vhost", label: "Virtual hosts", placeholder: "all", help: "A regular expression of names." }] : []),
    .../** @type {import("../parts/form.js").Field[]} */ (kind?.unit ? [
      { name: "above", label: "Fires above", isRequired: kind.usual === undefined, placeholder: kind.usual === undefined ? undefined : String(kind.usual), pattern: "[0-9]+(\\.[0-9]+)?", help: kind.about },
      { name: "clear", label: "Over at", placeholder: "90 % of that", pattern: "[0-9]+(\\.[0-9]+)?", help: "A firing alert ends when the value is at this or below." }] : []),
    .../** @type {import("../parts/form.js").Field[]} */ (kind?.hasWindow ? [{ name: "window", label: "Window", placeholder: "1m", help: "The time over which it is measured, such as 90s, 5m, 1h." }] : []),
    .../** @type {import("../parts/form.js").Field[]} */ (id === "queue-length" ? [{ name: "unacked", label: "Unacked messages count, too", kind: "checkbox" }] : []),
    { name: "for", label: "For", placeholder: "at once", help: "How long the condition must last before the alert fires, such as 90s, 5m, 1h." },
    { name: "clear_for", label: "Over for", placeholder: "at once", help: "How long the condition must have ended before the alert is resolved." },
    { name: "severity", label: "Severity", kind: "select", options: [["warning", "warning"], ["info", "info"], ["critical", "critical"]] },
    { name: "repeat", label: "Remind every", placeholder: "never", help: "How often webhooks are reminded while it fires; a minute or more." },
    { name: "webhooks", label: "Webhooks", placeholder: "all", help: webhooks.length > 0 ? `Names, separated by commas. There are: ${webhooks.join(", ")}.` : "Names, separated by commas. There is no webhook yet: alerts are listed here, logged, and published as events." },
  ];
  return h(Form, { label: known ? "Change the rule" : "Add a rule", act: known ? "Change rule" : "Add rule", initial, keeps: Boolean(known), onSubmit: submit, onChange: (values) => setId(values.kind ?? "queue-length"), fields });
}

/** Whether a rule is over where one is that does not say. @param {any} rule */
const isUsualClear = ({ above, clear }) => clear === undefined || Math.abs(clear - 0.9 * above) < 0.001 * Math.max(1, above);

/** What was entered, as the API takes it: only what a rule of the kind can say. @param {string} id @param {any} values */
function ruleOf(id, values) {
  const kind = kindOf(id);
  const texts = ["for", "clear_for", "repeat", ...(kind?.hasWindow ? ["window"] : []), ...(kind?.isOfQueues ? ["queue", "vhost"] : [])];
  const numbers = kind?.unit ? ["above", "clear"] : [];
  const names = String(values.webhooks ?? "").split(",").map((name) => name.trim()).filter(Boolean);
  return {
    kind: id, severity: values.severity ?? "warning",
    ...Object.fromEntries(texts.filter((name) => values[name]).map((name) => [name, values[name]])),
    ...Object.fromEntries(numbers.filter((name) => String(values[name] ?? "") !== "").map((name) => [name, Number(values[name])])),
    ...(id === "queue-length" && values.unacked ? { unacked: true } : {}),
    ...(names.length > 0 ? { webhooks: names } : {}),
  };
}
