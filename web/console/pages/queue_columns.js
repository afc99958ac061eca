// The columns of the list of queues, and what the API is asked for each.

import { Figure } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { QueueLink } from "../parts/links.js";
import { seenName } from "../parts/name.js";
import { keyOf } from "../parts/object_key.js";
import { FavouriteButton } from "../parts/saved.js";
import { Sparkline } from "../parts/sparkline.js";
import { StateBadge } from "../parts/state.js";

export { keyOf, objectOfKey as queueOfKey } from "../parts/object_key.js";

/** @param {{ vhost: string, name: string }} queue */
export const nameOf = ({ vhost, name }) => `${seenName(name)} in ${vhost}`;

const rateOf = (/** @type {any} */ queue, /** @type {string} */ name) => queue.message_stats?.[`${name}_details`]?.rate ?? (queue.message_stats ? 0 : undefined);
const percentOf = (/** @type {unknown} */ share) => (typeof share === "number" ? share * 100 : undefined);

/** @type {import("../parts/table.js").Column<any>[]} */
export const COLUMNS = [
  { id: "vhost", title: "Virtual host", sort: "vhost", cell: (queue) => h("bdi", {}, queue.vhost) },
  { id: "name", title: "Name", sort: "name", isMain: true, cell: (queue) => html`<${FavouriteButton} list="queues" of=${keyOf(queue)} name=${nameOf(queue)} />${h(QueueLink, queue)}` },
  { id: "type", title: "Type", sort: "type", cell: (queue) => queue.type },
  { id: "features", title: "Features", about: "D: durable, AD: deleted with its last consumer, Excl: used by one connection only, the rest: arguments and policies", cell: features },
  { id: "state", title: "State", about: "idle: nothing has happened to it for some seconds", sort: "idle_since", cell: (queue) => h(StateBadge, { queue }) },
  { id: "ready", title: "Ready", about: "messages that wait for a consumer", sort: "messages_ready", isNumber: true, isMain: true, cell: (queue) => h(Figure, { unit: "messages", value: queue.messages_ready }) },
  { id: "unacked", title: "Unacked", about: "messages that consumers have and have not acknowledged", sort: "messages_unacknowledged", isNumber: true, isMain: true, cell: (queue) => h(Figure, { unit: "messages", value: queue.messages_unacknowledged }) },
  { id: "total", title: "Total", about: "messages, ready and unacked", sort: "messages", isNumber: true, cell: (queue) => h(Figure, { unit: "messages", value: queue.messages }) },
  { id: "lately", title: "Lately", about: "messages in the queue since this page shows it", cell: (queue) => h(Sparkline, { of: keyOf(queue), label: "Messages" }) },
  { id: "incoming", title: "Incoming", about: "messages a second that come in", sort: "message_stats.publish_details.rate", isNumber: true, cell: (queue) => h(Figure, { unit: "rate", value: rateOf(queue, "publish") }) },
  { id: "deliver", title: "Deliver / get", about: "messages a second that consumers get", sort: "message_stats.deliver_get_details.rate", isNumber: true, cell: (queue) => h(Figure, { unit: "rate", value: rateOf(queue, "deliver_get") }) },
  { id: "ack", title: "Ack", about: "acknowledgements a second", sort: "message_stats.ack_details.rate", isNumber: true, cell: (queue) => h(Figure, { unit: "rate", value: rateOf(queue, "ack") }) },
  { id: "consumers", title: "Consumers", sort: "consumers", isNumber: true, isHidden: true, cell: (queue) => h(Figure, { value: queue.consumers }) },
  { id: "utilisation", title: "Consumer capacity", about: "how much of the time the consumers could take messages", sort: "consumer_capacity", isNumber: true, isHidden: true, cell: (queue) => h(Figure, { unit: "percent", value: percentOf(queue.consumer_capacity) }) },
  { id: "bytes", title: "Bytes", about: "bytes of bodies, ready and unacked", sort: "message_bytes", isNumber: true, isHidden: true, cell: (queue) => h(Figure, { unit: "bytes", value: queue.message_bytes }) },
  { id: "oldest", title: "Oldest", about: "for how long the oldest ready message has been in the queue; this is slow with very many queues", sort: "oldest_ready_age_ms", isNumber: true, isHidden: true, cell: (queue) => h(Figure, { unit: "ms", value: queue.oldest_ready_age_ms }) },
  { id: "policy", title: "Policy", sort: "policy", isHidden: true, cell: (queue) => h("bdi", {}, queue.policy) },
  { id: "operator_policy", title: "Operator policy", sort: "operator_policy", isHidden: true, cell: (queue) => h("bdi", {}, queue.operator_policy) },
  { id: "node", title: "Node", sort: "node", isHidden: true, cell: (queue) => queue.node },
];

/** What the API is asked for a column. @type {Record<string, string>} */
const ASKED = {
  features: "durable,auto_delete,exclusive,arguments,policy,operator_policy,single_active_consumer_tag", state: "state,idle_since,paused", ready: "messages_ready", unacked: "messages_unacknowledged", total: "messages",
  lately: "messages", incoming: "message_stats.publish_details.rate", deliver: "message_stats.deliver_get_details.rate", ack: "message_stats.ack_details.rate",
  utilisation: "consumer_capacity", bytes: "message_bytes", oldest: "oldest_ready_age_ms",
};

/** @param {{ id: string }[]} shown columns */
export const askedFor = (shown) => [...new Set(["vhost", "name", ...shown.flatMap(({ id }) => (ASKED[id] ?? id).split(","))])].join(",");

/** @type {Record<string, string>} */
const SHORT = { "x-message-ttl": "TTL", "x-expires": "Exp", "x-max-length": "Lim", "x-max-length-bytes": "Lim B", "x-overflow": "Ovfl", "x-dead-letter-exchange": "DLX", "x-dead-letter-routing-key": "DLK", "x-max-priority": "Pri", "x-delivery-limit": "DlLim" };

/** @param {any} queue */
function features(queue) {
  const badges = /** @type {[string, string][]} */ ([
    ...(queue.durable ? [["D", "durable"]] : []),
    ...(queue.auto_delete ? [["AD", "deleted with its last consumer"]] : []),
    ...(queue.exclusive ? [["Excl", "of one connection"]] : []),
    ...(queue.arguments?.["x-single-active-consumer"] ? [["SAC", "one consumer at a time"]] : []),
    ...Object.entries(queue.arguments ?? {}).filter(([name]) => SHORT[name]).map(([name, value]) => [SHORT[name] ?? "", `${name}: ${JSON.stringify(value)}`]),
    ...(queue.policy ? [[queue.policy, "policy"]] : []),
    ...(queue.operator_policy ? [[queue.operator_policy, "operator policy"]] : []),
  ]);
  return badges.map(([text, about], index) => h("span", { key: String(index), class: "badge", title: about }, h("bdi", {}, text)));
}
