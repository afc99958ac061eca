// The broker at a glance: what flows, what waits, where the latency is, how the nodes are.

import { useState } from "../../vendor/modules/hooks.js";
import { Chart, linesOf, ratesOf, samplesOf } from "../parts/chart.js";
import { Figure } from "../parts/figure.js";
import { Facts, Heading, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { LatencyStages } from "../parts/latency.js";
import { Nodes } from "../parts/nodes.js";
import { FirstSteps } from "../parts/first_steps.js";
import { Troubles } from "./cluster.js";
import { useLive } from "../live.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";
import { may } from "../session.js";

/** Spans of history, in seconds between samples and of all. @type {[string, string, number, number][]} */
const SPANS = [["minute", "last minute", 60, 5], ["ten", "last ten minutes", 600, 5], ["hour", "last hour", 3600, 60], ["eight", "last eight hours", 28_800, 600], ["day", "last day", 86_400, 1800]];

export default function Overview() {
  const [span, setSpan] = useState("ten");
  const [, , age, incr] = SPANS.find(([id]) => id === span) ?? SPANS[1] ?? ["", "", 600, 5];
  const ranges = ["lengths", "msg_rates", "data_rates"].map((kind) => `${kind}_age=${age}&${kind}_incr=${incr}`).join("&");
  const { data, error } = useResource(`api/overview?${ranges}`);
  const { data: alerts } = useResource(may("monitoring") ? "api/alerts" : null, 15_000);
  const { data: cluster } = useResource(may("monitoring") ? "api/warren/cluster" : null, 5000);
  const [live, setLive] = useState(/** @type {any} */ (undefined));
  useLive(may("monitoring") ? "rates" : null, (event) => void (event.name === "rates" && setLive(event.data)));
  if (!data) return html`<${Heading} title="Overview" />${error ? h(Note, { error }) : html`<p role="status" class="awaited-text">Asking the broker…</p>`}`;
  const { object_totals: objects = {}, churn_rates: churn = {} } = data;
  // Histories come with the answer, the latest numbers by the stream.
  const totals = { ...data.queue_totals, ...live?.queue_totals };
  const stats = { ...data.message_stats, ...live?.message_stats };
  const firing = Array.isArray(alerts) ? alerts.length : (alerts?.alerts?.length ?? 0);
  return html`
    <${Heading} title="Overview">
      <label class="acts">History <select value=${span} onChange=${(/** @type {any} */ event) => setSpan(event.currentTarget.value)}>${SPANS.map(([id, title]) => html`<option value=${id}>${title}</option>`)}</select></label>
    <//>
    ${h(Troubles, { troubles: cluster?.troubles })}
    ${firing > 0 && html`<p class="note warning"><a href="#/alerts">${firing === 1 ? "One alert fires." : `${firing} alerts fire.`}</a></p>`}
    <div class="tiles">
      ${tile("Ready", totals.messages_ready, "messages", ["queues"])}
      ${tile("Unacked", totals.messages_unacknowledged, "messages", ["queues"])}
      ${tile("Published", stats.publish_details?.rate ?? 0, "rate")}
      ${tile("Delivered", stats.deliver_get_details?.rate ?? 0, "rate")}
      ${tile("Connections", objects.connections, "count", ["connections"])}
      ${tile("Channels", objects.channels, "count", ["channels"])}
      ${tile("Exchanges", objects.exchanges, "count", ["exchanges"])}
      ${tile("Queues", objects.queues, "count", ["queues"])}
      ${tile("Consumers", objects.consumers, "count")}
    </div>
    ${objects.queues === 0 && h(FirstSteps, {})}
    <div class="columns">
      ${h(Section, { title: "Queued messages", children: h(Chart, { title: "Messages in all queues", unit: "messages", ...linesOf([["Ready", totals.messages_ready_details], ["Unacked", totals.messages_unacknowledged_details]], samplesOf) }) })}
      ${h(Section, { title: "Message rates", children: h(Chart, { title: "Messages a second", unit: "rate", ...linesOf([
        ["Publish", stats.publish_details], ["Confirm", stats.confirm_details], ["Deliver (manual ack)", stats.deliver_details], ["Deliver (auto ack)", stats.deliver_no_ack_details],
        ["Ack", stats.ack_details], ["Redelivered", stats.redeliver_details], ["Get", stats.get_details], ["Unroutable", stats.return_unroutable_details]], ratesOf) }) })}
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

/** @param {string} title @param {unknown} value @param {import("../parts/figure.js").Unit} unit @param {string[]} [path] */
function tile(title, value, unit, path) {
  const inner = [h("b", { key: "value" }, h(Figure, { unit, value, title })), h("span", { key: "title" }, title)];
  return path ? html`<a class="tile" href=${href(path)}>${inner}</a>` : html`<div class="tile">${inner}</div>`;
}
