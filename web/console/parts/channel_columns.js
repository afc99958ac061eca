// Channels in tables: of all connections, and of one.

import { href } from "../route.js";
import { Figure, Time } from "./figure.js";
import { h, html } from "./html.js";
import { Sparkline } from "./sparkline.js";
import { State } from "./states.js";

/** What sparklines remember of a channel. @param {any} channel */
export const traceOf = (channel) => `channel ${channel.name}`;

/** Messages a second both ways. @param {any} channel */
export const flowOf = ({ message_stats: stats }) => (stats ? (stats.publish_details?.rate ?? 0) + (stats.deliver_get_details?.rate ?? 0) : undefined);

/** @param {any} channel @param {string} name */
const rate = (channel, name) => h(Figure, { unit: "rate", value: channel.message_stats?.[`${name}_details`]?.rate });

/** How it publishes: with confirms, in transactions, or neither. @param {any} channel */
export function Mode({ channel }) {
  if (channel.confirm) return h("abbr", { title: "confirm: the broker confirms what it publishes" }, "C");
  if (channel.transactional) return h("abbr", { title: "transactional: what it publishes and acknowledges is committed together" }, "T");
  return h("span", { title: "neither confirms nor transactions" }, "–");
}

/** @type {import("./table.js").Column<any>[]} */
export const CHANNEL_COLUMNS = [
  { id: "name", title: "Channel", about: "its connection and its number there", sort: "name", isMain: true, cell: (one) => html`<a href=${href(["channels", one.name])}><bdi>${one.name}</bdi></a>` },
  { id: "vhost", title: "Virtual host", sort: "vhost", cell: (one) => h("bdi", {}, one.vhost) },
  { id: "user", title: "User", sort: "user", cell: (one) => h("bdi", {}, one.user) },
  { id: "mode", title: "Mode", about: "C: with confirms, T: with transactions", sort: "confirm", cell: (one) => h(Mode, { channel: one }) },
  { id: "state", title: "State", sort: "state", cell: (one) => h(State, { state: one.state }) },
  { id: "consumers", title: "Consumers", sort: "consumer_count", isNumber: true, cell: (one) => h(Figure, { value: one.consumer_count }) },
  { id: "unconfirmed", title: "Unconfirmed", about: "messages that were published and are not confirmed yet", sort: "messages_unconfirmed", isNumber: true, cell: (one) => h(Figure, { unit: "messages", value: one.messages_unconfirmed }) },
  { id: "prefetch", title: "Prefetch", about: "how many messages each new consumer may have unacknowledged; 0: any number", sort: "prefetch_count", isNumber: true, cell: (one) => html`${h(Figure, { value: one.prefetch_count })}${one.global_prefetch_count > 0 && html` <span class="about" title="the channel as a whole">(${one.global_prefetch_count} global)</span>`}` },
  { id: "unacked", title: "Unacked", about: "messages that its consumers have and have not acknowledged", sort: "messages_unacknowledged", isNumber: true, isMain: true, cell: (one) => h(Figure, { unit: "messages", value: one.messages_unacknowledged }) },
  { id: "lately", title: "Lately", about: "messages a second both ways since this page shows it", cell: (one) => h(Sparkline, { of: traceOf(one), label: "Messages a second" }) },
  { id: "publish", title: "Publish", about: "messages a second that it publishes", sort: "message_stats.publish_details.rate", isNumber: true, cell: (one) => rate(one, "publish") },
  { id: "confirm", title: "Confirm", about: "confirms a second", sort: "message_stats.confirm_details.rate", isNumber: true, cell: (one) => rate(one, "confirm") },
  { id: "unroutable", title: "Unroutable (drop)", about: "messages a second that reached no queue and were dropped", sort: "message_stats.drop_unroutable_details.rate", isNumber: true, isHidden: true, cell: (one) => rate(one, "drop_unroutable") },
  { id: "returned", title: "Unroutable (return)", about: "messages a second that reached no queue and went back", sort: "message_stats.return_unroutable_details.rate", isNumber: true, isHidden: true, cell: (one) => rate(one, "return_unroutable") },
  { id: "deliver", title: "Deliver / get", about: "messages a second that its consumers get", sort: "message_stats.deliver_get_details.rate", isNumber: true, cell: (one) => rate(one, "deliver_get") },
  { id: "redelivered", title: "Redelivered", about: "messages a second that had been handed out before", sort: "message_stats.redeliver_details.rate", isNumber: true, isHidden: true, cell: (one) => rate(one, "redeliver") },
  { id: "ack", title: "Ack", about: "acknowledgements a second", sort: "message_stats.ack_details.rate", isNumber: true, cell: (one) => rate(one, "ack") },
  { id: "uncommitted", title: "Uncommitted", about: "messages of a transaction that is not committed yet", sort: "messages_uncommitted", isNumber: true, isHidden: true, cell: (one) => h(Figure, { unit: "messages", value: one.messages_uncommitted }) },
  { id: "idle", title: "Idle since", sort: "idle_since", isHidden: true, cell: (one) => (one.idle_since ? h(Time, { at: one.idle_since }) : "") },
];

/** What the API is asked for a column. @type {Record<string, string>} */
const ASKED = {
  mode: "confirm,transactional", consumers: "consumer_count", unconfirmed: "messages_unconfirmed", prefetch: "prefetch_count,global_prefetch_count", unacked: "messages_unacknowledged",
  lately: "message_stats.publish_details.rate,message_stats.deliver_get_details.rate", publish: "message_stats.publish_details.rate", confirm: "message_stats.confirm_details.rate",
  unroutable: "message_stats.drop_unroutable_details.rate", returned: "message_stats.return_unroutable_details.rate", deliver: "message_stats.deliver_get_details.rate",
  redelivered: "message_stats.redeliver_details.rate", ack: "message_stats.ack_details.rate", uncommitted: "messages_uncommitted", idle: "idle_since",
};

/** What the API is to answer for these columns. @param {import("./table.js").Column<any>[]} shown */
export const askedFor = (shown) => [...new Set(["name", ...shown.flatMap(({ id }) => (ASKED[id] ?? id).split(","))])].join(",");
