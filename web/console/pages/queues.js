// All queues: sorted, filtered and given page by page by the broker, however many there are.

import { useCallback, useEffect, useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { useLive } from "../live.js";
import { ColumnChoice, useColumns } from "../parts/columns.js";
import { argumentsOf, Form } from "../parts/form.js";
import { Figure } from "../parts/figure.js";
import { FirstSteps } from "../parts/first_steps.js";
import { Heading, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Filter, useOrder, usePages } from "../parts/list.js";
import { Note, say } from "../parts/note.js";
import { QUEUE_ARGUMENTS } from "../parts/queue_arguments.js";
import { FavouriteButton, SavedFilters, favourites } from "../parts/saved.js";
import { remember, Sparkline } from "../parts/sparkline.js";
import { Table } from "../parts/table.js";
import { useResource } from "../resource.js";
import { href, place, setQuery } from "../route.js";

const keyOf = (/** @type {any} */ queue) => `${queue.vhost}/${queue.name}`;
const rateOf = (/** @type {any} */ queue, /** @type {string} */ name) => queue.message_stats?.[`${name}_details`]?.rate ?? (queue.message_stats ? 0 : undefined);

/** @type {import("../parts/table.js").Column<any>[]} */
const COLUMNS = [
  { id: "vhost", title: "Virtual host", sort: "vhost", cell: (queue) => h("bdi", {}, queue.vhost) },
  { id: "name", title: "Name", sort: "name", cell: (queue) => html`<${FavouriteButton} list="queues" of=${keyOf(queue)} /><a href=${href(["queues", queue.vhost, queue.name])}><bdi>${queue.name}</bdi></a>` },
  { id: "type", title: "Type", sort: "type", cell: (queue) => queue.type },
  { id: "features", title: "Features", about: "D: durable, AD: deleted with its last consumer, Excl: of one connection, the rest: arguments and policies", cell: features },
  { id: "state", title: "State", sort: "state", cell: (queue) => queue.state },
  { id: "ready", title: "Ready", about: "messages that wait for a consumer", sort: "messages_ready", isNumber: true, cell: (queue) => h(Figure, { unit: "messages", value: queue.messages_ready }) },
  { id: "unacked", title: "Unacked", about: "messages that consumers have and have not acknowledged", sort: "messages_unacknowledged", isNumber: true, cell: (queue) => h(Figure, { unit: "messages", value: queue.messages_unacknowledged }) },
  { id: "total", title: "Total", about: "messages, ready and unacked", sort: "messages", isNumber: true, cell: (queue) => h(Figure, { unit: "messages", value: queue.messages }) },
  { id: "lately", title: "Lately", about: "messages in the queue since this page shows it", cell: (queue) => h(Sparkline, { of: keyOf(queue), label: "Messages" }) },
  { id: "incoming", title: "Incoming", about: "messages a second that come in", sort: "message_stats.publish_details.rate", isNumber: true, cell: (queue) => h(Figure, { unit: "rate", value: rateOf(queue, "publish") }) },
  { id: "deliver", title: "Deliver / get", about: "messages a second that consumers get", sort: "message_stats.deliver_get_details.rate", isNumber: true, cell: (queue) => h(Figure, { unit: "rate", value: rateOf(queue, "deliver_get") }) },
  { id: "ack", title: "Ack", about: "acknowledgements a second", sort: "message_stats.ack_details.rate", isNumber: true, cell: (queue) => h(Figure, { unit: "rate", value: rateOf(queue, "ack") }) },
  { id: "consumers", title: "Consumers", sort: "consumers", isNumber: true, isHidden: true, cell: (queue) => h(Figure, { value: queue.consumers }) },
  { id: "utilisation", title: "Consumer capacity", about: "how much of the time the consumers could take messages", sort: "consumer_capacity", isNumber: true, isHidden: true, cell: (queue) => h(Figure, { unit: "percent", value: typeof queue.consumer_capacity === "number" ? queue.consumer_capacity * 100 : undefined }) },
  { id: "bytes", title: "Bytes", about: "bytes of bodies, ready and unacked", sort: "message_bytes", isNumber: true, isHidden: true, cell: (queue) => h(Figure, { unit: "bytes", value: queue.message_bytes }) },
  { id: "memory", title: "Memory", sort: "memory", isNumber: true, isHidden: true, cell: (queue) => h(Figure, { unit: "bytes", value: queue.memory }) },
  { id: "policy", title: "Policy", sort: "policy", isHidden: true, cell: (queue) => queue.policy },
];

/** What the API is asked for a column. @type {Record<string, string>} */
const ASKED = {
  features: "durable,auto_delete,exclusive,arguments,policy,operator_policy,single_active_consumer_tag", ready: "messages_ready", unacked: "messages_unacknowledged", total: "messages", lately: "messages",
  incoming: "message_stats.publish_details.rate", deliver: "message_stats.deliver_get_details.rate", ack: "message_stats.ack_details.rate",
  utilisation: "consumer_capacity", bytes: "message_bytes",
};

export default function Queues() {
  const { query } = place.value;
  const name = query.get("name") ?? "";
  const vhost = query.get("vhost") ?? "";
  const { shown, choice } = useColumns("queues", COLUMNS);
  const { order, onOrder } = useOrder("name", false);
  const isFavourites = query.get("favourites") === "yes";
  const columns = ["vhost", "name", ...shown.map(({ id }) => ASKED[id] ?? id)].join(",");
  const pattern = isFavourites ? favouritePattern() : name;
  const list = usePages(vhost ? pathOf`api/queues/${vhost}` : "api/queues",
    { columns, name: pattern, use_regex: pattern !== "", sort: order.by, sort_reverse: order.isReversed });
  const { data: vhosts } = useResource("api/vhosts?columns=name", 60_000);
  const [seen, setSeen] = useState(/** @type {[number, number]} */ ([0, 40]));
  const onSeen = useCallback((/** @type {number} */ start, /** @type {number} */ end) => (setSeen([start, end]), list.onSeen(start, end)), [list.onSeen]);
  useEffect(() => {
    for (let index = seen[0]; index < seen[1]; index += 1) {
      const queue = list.rowAt(index);
      if (queue) remember(keyOf(queue), queue.messages ?? queue.messages_ready);
    }
  }, [list.pages]);
  useLive("changes", ({ data }) => void (/^queue\.(created|deleted)$/.test(data?.event ?? "") && list.all < 2000 && list.reload()));

  return html`
    <${Heading} title="Queues" />
    ${h(Filter, { label: "Filter queues", name: "name", count: list.isThere ? list.count : undefined, all: list.all, children: html`
      <label>Virtual host <select value=${vhost} onChange=${(/** @type {any} */ event) => setQuery({ vhost: event.currentTarget.value })}>
        <option value="">all</option>${(vhosts ?? []).map((/** @type {any} */ one) => html`<option value=${one.name}>${one.name}</option>`)}</select></label>
      <label><input type="checkbox" checked=${isFavourites} onChange=${(/** @type {any} */ event) => setQuery({ favourites: event.currentTarget.checked ? "yes" : undefined })} /> Favourites</label>
      ${h(SavedFilters, { list: "queues", names: ["name", "vhost", "sort", "reverse"] })}${h(ColumnChoice, { choice, columns: COLUMNS })}` })}
    ${list.error !== undefined && h(Note, { error: list.error })}
    ${!list.isThere && list.error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${list.isThere && h(Table, { label: "Queues", columns: shown, count: list.count, rowAt: list.rowAt, keyOf, onSeen, order, onOrder,
      empty: list.all === 0 ? h(FirstSteps, {}) : isFavourites ? "No queue is a favourite yet. The star before a queue's name makes it one." : "No queue has such a name. Clear the filter to see all." })}
    ${h(AddQueue, { vhosts: (vhosts ?? []).map((/** @type {any} */ one) => one.name), isOpen: query.get("add") === "yes", onAdded: list.reload })}`;
}

/** A pattern that finds the favourites of all vhosts, by name. */
function favouritePattern() {
  const names = favourites("queues").value.map((key) => key.slice(key.indexOf("/", key.startsWith("/") ? 1 : 0) + 1));
  return names.length === 0 ? "^$" : `^(${names.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})$`;
}

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
  return badges.map(([text, about]) => h("span", { key: text, class: "badge", title: about }, text));
}

/** @type {Record<string, string>} */
const SHORT = { "x-message-ttl": "TTL", "x-expires": "Exp", "x-max-length": "Lim", "x-max-length-bytes": "Lim B", "x-overflow": "Ovfl", "x-dead-letter-exchange": "DLX", "x-dead-letter-routing-key": "DLK", "x-max-priority": "Pri", "x-delivery-limit": "DlLim" };

/** @param {{ vhosts: string[], isOpen: boolean, onAdded: () => Promise<void> }} props */
function AddQueue({ vhosts, isOpen, onAdded }) {
  const add = async (/** @type {any} */ values) => {
    const { vhost = vhosts[0] ?? "/", name, type = "classic", durable = "true", auto_delete, args } = values;
    await change("PUT", pathOf`api/queues/${vhost}/${name}`, { durable: durable === "true", auto_delete: Boolean(auto_delete), arguments: { ...(type === "default" ? {} : { "x-queue-type": type }), ...argumentsOf(args) } });
    say(`Queue ${name} is there.`);
    await onAdded();
  };
  return h(Section, { title: "Add a queue", isClosed: !isOpen, children: vhosts.length > 0 && h(Form, {
    label: "Add a queue", act: "Add queue", onSubmit: add, fields: [
      { name: "vhost", label: "Virtual host", kind: "select", options: vhosts.map((one) => [one, one]) },
      { name: "type", label: "Type", kind: "select", options: [["classic", "Classic"], ["quorum", "Quorum"], ["default", "Default of the virtual host"]] },
      { name: "name", label: "Name", isRequired: true },
      { name: "durable", label: "Durability", kind: "select", options: [["true", "Durable"], ["false", "Transient"]], help: "A durable queue outlives a restart of the broker." },
      { name: "auto_delete", label: "Auto delete", kind: "checkbox", help: "The queue is deleted when its last consumer has gone." },
      { name: "args", label: "Arguments", kind: "arguments", hints: QUEUE_ARGUMENTS },
    ] }) });
}
