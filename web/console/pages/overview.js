// The broker at a glance: what flows, what waits, where the latency is, how the nodes are.

import { Chart, linesOf, ratesOf, samplesOf } from "../parts/chart.js";
import { Figure } from "../parts/figure.js";
import { Facts, Heading, Section } from "../parts/heading.js";
import { HistoryChoice, historyQuery } from "../parts/history.js";
import { h, html } from "../parts/html.js";
import { useNewer } from "../parts/newer.js";
import { Note } from "../parts/note.js";
import { LatencyStages } from "../parts/latency.js";
import { Nodes } from "../parts/nodes.js";
import { FirstSteps } from "../parts/first_steps.js";
import { Warnings } from "../parts/troubles.js";
import { useKept, useResource } from "../resource.js";
import { href } from "../route.js";
import { may } from "../session.js";

/** @param {any} stats @param {string[]} names */
const rateOf = (stats, names) => names.reduce((sum, name) => sum + (stats[`${name}_details`]?.rate ?? 0), 0);

export default function Overview() {
  const resource = useKept(useResource(`api/overview?${historyQuery(["lengths", "msg_rates"])}`));
  const { error } = resource;
  const { data: alerts } = useResource(may("monitoring") ? "api/alerts" : null, 15_000);
  const data = useNewer(may("monitoring") ? "rates" : null, resource);
  if (!data) return html`<${Heading} title="Overview" />${error ? h(Note, { error }) : html`<p role="status" class="awaited-text">Asking the broker…</p>`}`;
  const { object_totals: objects = {}, churn_rates: churn = {}, queue_totals: totals = {}, message_stats: stats = {} } = data;
  const firing = Array.isArray(alerts) ? alerts.length : (alerts?.alerts?.length ?? 0);
  return html`
    <${Heading} title="Overview">${h(HistoryChoice, {})}<//>
    ${h(Warnings, {})}
    ${firing > 0 && html`<p class="note warning"><a href="#/alerts">${firing === 1 ? "One alert fires." : `${firing} alerts fire.`}</a></p>`}
    <div class="tiles">
      ${tile("Ready", totals.messages_ready, "messages", ["queues"])}
      ${tile("Unacked", totals.messages_unacknowledged, "messages", ["queues"])}
      ${tile("Published", rateOf(stats, ["publish"]), "rate")}
      ${tile("Delivered", rateOf(stats, ["deliver_get"]), "rate")}
      ${tile("Unroutable", rateOf(stats, UNROUTABLE), "rate", undefined, "messages that reached no queue: returned to their publishers, or dropped")}
      ${tile("Connections", objects.connections, "count", ["connections"])}
      ${tile("Channels", objects.channels, "count", ["channels"])}
      ${tile("Exchanges", objects.exchanges, "count", ["exchanges"])}
      ${tile("Queues", objects.queues, "count", ["queues"])}
      ${tile("Consumers", objects.consumers, "count", ["consumers"])}
    </div>
    ${objects.queues === 0 && h(FirstSteps, {})}
    <div class="columns">
      ${h(Section, { title: "Queued messages", children: h(Chart, { title: "Messages in all queues", unit: "messages", ...linesOf([["Ready", totals.messages_ready_details], ["Unacked", totals.messages_unacknowledged_details]], samplesOf, { counters: stats }) }) })}
      ${h(Section, { title: "Message rates", children: h(Chart, { title: "Messages a second", unit: "rate", ...linesOf([
        ["Publish", stats.publish_details], ["Confirm", stats.confirm_details], ["Deliver (manual ack)", stats.deliver_details], ["Deliver (auto ack)", stats.deliver_no_ack_details],
        ["Ack", stats.ack_details], ["Redelivered", stats.redeliver_details], ["Unroutable (return)", stats.return_unroutable_details], ["Unroutable (drop)", stats.drop_unroutable_details]], ratesOf) }) })}
    </div>
    ${h(Section, { title: "Where the latency is", about: "by stage, of all messages", children: h(LatencyStages, { stages: data.latency_stages }) })}
    ${may("monitoring") && h(Section, { title: "Nodes", children: h(Nodes, {}) })}
    ${h(Section, { title: "Churn", about: "what was opened and closed, a second", children: h(Facts, { facts: CHURN.map(([name, title]) => [title, h(Figure, { unit: "rate", value: churn[`${name}_details`]?.rate })]) }) })}
    ${h(Section, { title: "The broker", isClosed: true, children: h(Facts, { facts: [
      ["Product", `${data.product_name ?? "Warren"} ${data.product_version ?? ""}`], ["Compatible with RabbitMQ", data.rabbitmq_version], ["Cluster", data.cluster_name], ["Node", data.node],
      ...(data.listeners ?? []).map((/** @type {any} */ one) => [`Listens for ${one.protocol}`, `${one.ip_address}:${one.port}`])] }) })}`;
}

/** @type {[string, string][]} */
const CHURN = [["connection_created", "Connections opened"], ["connection_closed", "Connections closed"], ["channel_created", "Channels opened"], ["channel_closed", "Channels closed"],
  ["queue_declared", "Queues declared"], ["queue_created", "Queues created"], ["queue_deleted", "Queues deleted"]];

/** What becomes of messages that reach no queue. */
const UNROUTABLE = ["return_unroutable", "drop_unroutable"];

/** @param {string} title @param {unknown} value @param {import("../parts/figure.js").Unit} unit @param {string[]} [path] @param {string} [about] */
function tile(title, value, unit, path, about) {
  const inner = [h("b", { key: "value" }, h(Figure, { unit, value, title })), h("span", { key: "title" }, title)];
  return path ? html`<a class="tile" href=${href(path)}>${inner}</a>` : html`<div class="tile" title=${about}>${inner}</div>`;
}
