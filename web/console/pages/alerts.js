// Alerts: what fires now, by which rules, who is told, and what has fired.

import { Figure, Time } from "../parts/figure.js";
import { chosenTab, Heading, Tabs } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { QueueLink } from "../parts/links.js";
import { List } from "../parts/list.js";
import { useLive } from "../live.js";
import { isInAlarm } from "../parts/troubles.js";
import { useResource } from "../resource.js";
import { exactly, href } from "../route.js";
import { may } from "../session.js";
import { kindOf, SEVERITY } from "./alert_kinds.js";
import { AlertRules } from "./alert_rules.js";
import { AlertWebhooks } from "./alert_webhooks.js";

/** @type {[string, string][]} */
const TABS = [["now", "Now"], ["rules", "Rules"], ["webhooks", "Webhooks"], ["history", "History"]];

export default function Alerts() {
  const tab = chosenTab(TABS);
  const shown = { rules: AlertRules, webhooks: AlertWebhooks, history: History }[tab ?? ""] ?? Now;
  return html`${h(Heading, { title: "Alerts" })}${h(Tabs, { label: "Alerts", tabs: TABS })}${h(shown, { key: tab })}`;
}

/** @param {any} alert @param {"value" | "threshold"} name */
function figure(alert, name) {
  const kind = kindOf(alert.kind);
  return alert[name] === null || alert[name] === undefined || !kind?.unit ? "–" : h(Figure, { unit: kind.unit, value: alert[name] });
}

/** What an alert is about: the same in both lists. @type {import("../parts/table.js").Column<any>[]} */
const ABOUT = [
  { id: "severity", title: "Severity", sort: "severity", cell: ({ severity }) => h("span", { class: `badge ${SEVERITY[severity] ?? ""}` }, severity) },
  { id: "rule", title: "Rule", sort: "rule", cell: ({ rule }) => html`<a href=${href(["alerts"], { tab: "rules", filter: exactly(rule).replace(/\$$/, " ") })}><bdi>${rule}</bdi></a>` },
  { id: "what", title: "What", sort: "kind", cell: ({ kind }) => h("span", { title: kindOf(kind)?.about }, kindOf(kind)?.title ?? kind) },
  { id: "queue", title: "Queue", sort: "queue", cell: ({ vhost, queue }) => (queue === null || queue === undefined ? "the node" : html`${h(QueueLink, { vhost, name: queue })} in <bdi>${vhost}</bdi>`) },
  { id: "value", title: "Value", about: "when it was last looked at", sort: "value", isNumber: true, cell: (alert) => figure(alert, "value") },
  { id: "threshold", title: "Threshold", about: "of the rule", sort: "threshold", isNumber: true, cell: (alert) => figure(alert, "threshold") },
];

/** @type {import("../parts/table.js").Column<any>[]} */
const NOW = [
  { id: "state", title: "State", sort: "state", cell: ({ state }) => h("span", { class: `badge ${state === "firing" ? "bad" : "warn"}`, title: state === "pending" ? "above the threshold, but not for long enough" : undefined }, state) },
  ...ABOUT,
  { id: "since", title: "Since", sort: "since", cell: ({ since }) => h(Time, { at: since }) },
];

function Now() {
  const { data, error, reload } = useResource("api/alerts");
  const { data: rules } = useResource("api/alerts/rules", 60_000);
  useLive("alerts", () => void reload());
  const empty = rules?.length === 0
    ? html`${isInAlarm() ? "There is no alert rule yet, so no webhook gets a notice of what the banner above says." : "There is no rule yet, so nothing can fire."}${may("administrator") && html` <a href=${href(["alerts"], { tab: "rules", add: "yes" })}>Add a rule</a>`}`
    : "Nothing fires.";
  return h(List, { label: "Alerts", rows: data, error, columns: NOW, keyOf: (alert) => `${alert.rule} ${alert.vhost ?? ""} ${alert.queue ?? ""}`, by: "since", isReversed: true, empty });
}

/** @type {import("../parts/table.js").Column<any>[]} */
const THEN = [
  { id: "at", title: "At", sort: "at", cell: ({ at }) => h(Time, { at }) },
  { id: "status", title: "Status", sort: "status", cell: ({ status }) => h("span", { class: `badge ${status === "firing" ? "bad" : "good"}` }, status) },
  ...ABOUT,
  { id: "reason", title: "Reason", about: "gone: the queue is deleted, or the rule no longer matches it", sort: "reason", cell: ({ reason }) => String(reason ?? "").replaceAll("_", " ") },
  { id: "since", title: "Fired since", sort: "since", cell: ({ since }) => h(Time, { at: since }) },
];

function History() {
  const { data, error, reload } = useResource("api/alerts/history", 15_000);
  useLive("alerts", () => void reload());
  return h(List, { label: "History", rows: data, error, columns: THEN, keyOf: (change) => `${change.at} ${change.status} ${change.rule} ${change.vhost ?? ""} ${change.queue ?? ""}`, by: "at", isReversed: true, empty: "Nothing has fired since the broker was started. A restart forgets what was before." });
}
