// Who takes messages out of a queue.

import { useState } from "../../vendor/modules/hooks.js";
import { path, withQuery } from "../address.js";
import { CloseConnections, mayClose } from "../parts/close_connection.js";
import { Figure } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { UserLink } from "../parts/links.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";

/** @param {any} consumer */
const keyOf = (consumer) => `${consumer.channel_details?.name} ${consumer.consumer_tag}`;

/** @param {{ vhost: string, name: string }} props */
export function QueueConsumers({ vhost, name }) {
  const { data, error, reload } = useResource(withQuery(path`api/queues/${vhost}/${name}`, { columns: "consumer_details,deliveries" }));
  const rates = new Map((data?.deliveries ?? []).map((/** @type {any} */ { channel_details, stats }) => [channel_details?.name, stats]));
  const rows = data?.consumer_details?.map((/** @type {any} */ consumer) => ({ ...consumer, stats: rates.get(consumer.channel_details?.name) }));
  const [closing, setClosing] = useState("");
  /** @type {import("../parts/table.js").Column<any>[]} */
  const columns = [
    { id: "tag", title: "Consumer tag", sort: "consumer_tag", cell: (one) => h("bdi", {}, one.consumer_tag) },
    { id: "channel", title: "Channel", sort: "channel_details.name", cell: (one) => html`<a href=${href(["channels", one.channel_details?.name ?? ""])}><bdi>${one.channel_details?.name}</bdi></a>` },
    { id: "close", title: "Connection", about: "a consumer cannot be cancelled from outside; its connection can be closed", cell: (one) => one.channel_details?.connection_name && mayClose(one.channel_details) && html`<button type="button" aria-label=${`Close the connection of consumer ${one.consumer_tag}`} onClick=${() => setClosing(one.channel_details.connection_name)}>Close</button>` },
    { id: "user", title: "User", sort: "channel_details.user", cell: (one) => h(UserLink, { name: one.channel_details?.user }) },
    { id: "ack", title: "Acks", about: "manual: a message is gone when the consumer acknowledges it; auto: when it is sent", sort: "ack_required", cell: (one) => (one.ack_required ? "manual" : "auto") },
    { id: "prefetch", title: "Prefetch", about: "so many messages may be unacknowledged at a time; 0: any number", sort: "prefetch_count", isNumber: true, cell: (one) => h(Figure, { value: one.prefetch_count }) },
    { id: "active", title: "Active", about: "whether it gets messages; with a single active consumer one does", sort: "active", cell: (one) => h("span", { class: one.active ? "badge good" : "badge" }, one.active ? "active" : "waits") },
    { id: "status", title: "Activity", about: "blocked: it has no room for another message", sort: "activity_status", cell: (one) => one.activity_status },
    { id: "exclusive", title: "Exclusive", sort: "exclusive", cell: (one) => (one.exclusive ? "yes" : "no") },
    { id: "deliver", title: "Deliver / get", about: "messages a second, by this channel from this queue", sort: "stats.deliver_get_details.rate", isNumber: true, cell: (one) => h(Figure, { unit: "rate", value: one.stats?.deliver_get_details?.rate }) },
    { id: "acked", title: "Ack", about: "acknowledgements a second, by this channel", sort: "stats.ack_details.rate", isNumber: true, cell: (one) => h(Figure, { unit: "rate", value: one.stats?.ack_details?.rate }) },
    { id: "arguments", title: "Arguments", cell: (one) => h("bdi", {}, Object.entries(one.arguments ?? {}).map(([of, value]) => `${of}: ${JSON.stringify(value)}`).join(", ")) },
  ];
  return html`${h(List, { label: "Consumers", rows, error, columns, keyOf, by: "consumer_tag",
    empty: html`<p>No program takes messages out of this queue.</p><p>A program that calls <code>basic.consume</code> with the queue's name appears here at once. <a href=${href(["queues", vhost, name], { tab: "messages" })}>What waits can be looked at</a> without taking it.</p>` })}
    ${closing && h(CloseConnections, { names: [closing], onClose: () => setClosing(""), onDone: () => void reload() })}`;
}
