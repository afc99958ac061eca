// One channel: its consumers, what it publishes and gets, and how fast.

import { path as pathOf } from "../address.js";
import { Mode } from "../parts/channel_columns.js";
import { Chart, linesOf, ratesOf } from "../parts/chart.js";
import { Figure, Time } from "../parts/figure.js";
import { Facts, Heading, Section } from "../parts/heading.js";
import { HistoryChoice, historyQuery } from "../parts/history.js";
import { h, html } from "../parts/html.js";
import { ExchangeLink, QueueLink, UserLink, VhostLink } from "../parts/links.js";
import { List } from "../parts/list.js";
import { Note } from "../parts/note.js";
import { useNewer } from "../parts/newer.js";
import { isMissing, NotHere } from "../parts/not_here.js";
import { State } from "../parts/states.js";
import { useKept, useResource } from "../resource.js";

/** What happens to messages: name in the API, title. @type {[string, string][]} */
const LINES = [["publish", "Publish"], ["confirm", "Confirm"], ["return_unroutable", "Unroutable (return)"], ["drop_unroutable", "Unroutable (drop)"], ["deliver", "Deliver (manual ack)"], ["deliver_no_ack", "Deliver (auto ack)"],
  ["ack", "Ack"], ["redeliver", "Redelivered"], ["get", "Get (manual ack)"], ["get_no_ack", "Get (auto ack)"], ["get_empty", "Get (empty)"]];
/** Lines that one chart has colours for. */
const LINES_MAX = 8;

/** @type {import("../parts/table.js").Column<any>[]} */
const CONSUMERS = [
  { id: "tag", title: "Consumer tag", sort: "consumer_tag", cell: (one) => h("bdi", {}, one.consumer_tag) },
  { id: "queue", title: "Queue", sort: "queue.name", cell: (one) => h(QueueLink, one.queue) },
  { id: "ack", title: "Ack required", sort: "ack_required", cell: (one) => (one.ack_required ? "yes" : "no") },
  { id: "exclusive", title: "Exclusive", sort: "exclusive", cell: (one) => (one.exclusive ? "yes" : "no") },
  { id: "prefetch", title: "Prefetch", about: "how many messages it may have unacknowledged; 0: any number", sort: "prefetch_count", isNumber: true, cell: (one) => h(Figure, { value: one.prefetch_count }) },
  { id: "active", title: "Active", about: "whether it gets messages, where only one consumer does", sort: "active", cell: (one) => `${one.active ? "yes" : "no"}${one.activity_status ? `, ${one.activity_status}` : ""}` },
  { id: "timeout", title: "Timeout", about: "after how long without an ack its channel is closed", sort: "consumer_timeout", isNumber: true, cell: (one) => h(Figure, { unit: "ms", value: one.consumer_timeout }) },
  { id: "arguments", title: "Arguments", cell: (one) => h("bdi", {}, Object.entries(one.arguments ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")) },
];

/** @param {any} one @param {string} name */
const rate = (one, name) => h(Figure, { unit: "rate", value: one.stats?.[`${name}_details`]?.rate });
/** @param {string} name @param {string} title @returns {import("../parts/table.js").Column<any>} */
const rateColumn = (name, title) => ({ id: name, title, about: "messages a second", sort: `stats.${name}_details.rate`, isNumber: true, cell: (one) => rate(one, name) });

/** @type {import("../parts/table.js").Column<any>[]} */
const PUBLISHES = [{ id: "exchange", title: "Exchange", sort: "exchange.name", cell: (one) => h(ExchangeLink, one.exchange) }, rateColumn("publish", "Publish"), rateColumn("confirm", "Confirm"), rateColumn("return_unroutable", "Unroutable (return)")];
/** @type {import("../parts/table.js").Column<any>[]} */
const DELIVERIES = [{ id: "queue", title: "Queue", sort: "queue.name", cell: (one) => h(QueueLink, one.queue) },
  rateColumn("deliver_get", "Deliver / get"), rateColumn("deliver_no_ack", "Auto ack"), rateColumn("redeliver", "Redelivered"), rateColumn("ack", "Ack")];

/** @param {any} one */
const nameOf = (one) => one.exchange?.name ?? one.queue?.name ?? "";

/** @param {{ values: string[] }} props */
export default function Channel({ values: [name = ""] }) {
  const resource = useKept(useResource(`${pathOf`api/channels/${name}`}?${historyQuery(["msg_rates"])}`));
  const { error } = resource;
  const data = useNewer(`channel:${encodeURIComponent(name)}`, resource);
  const connection = data?.connection_details?.name ?? name.replace(/ \(\d+\)$/, "");
  /** @type {[string, string[]][]} */
  const above = [["Channels", ["channels"]]];
  if (connection) above.push([connection, ["connections", connection]]);
  if (!data || isMissing(error)) return h(NotHere, { error, kind: "Channel", title: name, above: above.slice(0, 1) });
  const { message_stats: stats = {} } = data;
  const lines = LINES.filter(([id]) => stats[id] > 0 || id === "publish" || id === "deliver").slice(0, LINES_MAX);
  return html`
    <${Heading} kind="Channel" title=${name} above=${above}>${h(HistoryChoice, {})}<//>
    ${error !== undefined && h(Note, { error })}
    ${h(Section, { title: "Facts", children: h(Facts, { facts: factsOf({ ...data, message_stats: stats }) }) })}
    ${h(Section, { title: "Message rates", children: h(Chart, { title: "Messages a second", unit: "rate", ...linesOf(lines.map(([id, title]) => [title, stats[`${id}_details`]]), ratesOf) }) })}
    ${data.consumer_details && h(Section, { title: "Consumers", children: h(List, { label: "Consumers", rows: data.consumer_details, columns: CONSUMERS, keyOf: (one) => one.consumer_tag, by: "consumer_tag", height: "24rem", hasFilter: data.consumer_details.length > 20,
      empty: "It has no consumer: it publishes, or gets messages one by one." }) })}
    ${(data.publishes ?? []).length > 0 && h(Section, { title: "Publishes to", children: h(List, { label: "Exchanges that it publishes to", rows: data.publishes, columns: PUBLISHES, keyOf: nameOf, by: "exchange.name", height: "24rem", hasFilter: false }) })}
    ${(data.deliveries ?? []).length > 0 && h(Section, { title: "Gets from", children: h(List, { label: "Queues that it gets from", rows: data.deliveries, columns: DELIVERIES, keyOf: nameOf, by: "queue.name", height: "24rem", hasFilter: false }) })}`;
}

/** @param {any} one */
function factsOf(one) {
  const { connection_details: connection } = one;
  return [
    ["State", h(State, { state: one.state })],
    ["Connection", connection && html`<a href=${`#/connections/${encodeURIComponent(connection.name)}`}><bdi>${connection.name}</bdi></a>`],
    ["Number", h(Figure, { value: one.number })],
    ["User", one.user && h(UserLink, { name: one.user })],
    ["Virtual host", one.vhost && h(VhostLink, { name: one.vhost })],
    ["Node", one.node],
    ["Mode", h(Mode, { channel: one }), "C: with confirms, T: with transactions"],
    ["Prefetch", h(Figure, { value: one.prefetch_count }), "how many messages each new consumer may have unacknowledged; 0: any number"],
    ["Global prefetch", one.global_prefetch_count > 0 && h(Figure, { value: one.global_prefetch_count }), "how many messages all its consumers together may have unacknowledged"],
    ["Consumers", h(Figure, { value: one.consumer_count })],
    ["Unacked", h(Figure, { unit: "messages", value: one.messages_unacknowledged }), "messages that its consumers have and have not acknowledged"],
    ["Unconfirmed", h(Figure, { unit: "messages", value: one.messages_unconfirmed }), "messages that were published and are not confirmed yet"],
    ["Uncommitted", h(Figure, { unit: "messages", value: one.messages_uncommitted }), "messages of a transaction that is not committed yet"],
    ["Uncommitted acks", h(Figure, { value: one.acks_uncommitted })],
    ["Idle since", one.idle_since && h(Time, { at: one.idle_since })],
    ["Published", one.message_stats.publish !== undefined && h(Figure, { unit: "messages", value: one.message_stats.publish })],
    ["Delivered", one.message_stats.deliver_get !== undefined && h(Figure, { unit: "messages", value: one.message_stats.deliver_get })],
    ["Acknowledged", one.message_stats.ack !== undefined && h(Figure, { value: one.message_stats.ack })],
  ];
}
