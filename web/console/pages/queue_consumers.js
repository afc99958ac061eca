// Who takes messages out of a queue.

import { useState } from "../../vendor/modules/hooks.js";
import { path, withQuery } from "../address.js";
import { CloseConnections, mayClose } from "../parts/close_connection.js";
import { consumerColumns, keyOfConsumer } from "../parts/consumer_columns.js";
import { Figure } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";

/** @param {{ vhost: string, name: string }} props */
export function QueueConsumers({ vhost, name }) {
  const { data, error, reload } = useResource(withQuery(path`api/queues/${vhost}/${name}`, { columns: "consumer_details,deliveries" }));
  // A broker without statistics tells a queue's consumers in the list of all.
  const all = useResource(data && !data.consumer_details ? path`api/consumers/${vhost}` : null);
  const known = data?.consumer_details ?? all.data?.filter((/** @type {any} */ one) => one.queue.name === name);
  const rates = new Map((data?.deliveries ?? []).map((/** @type {any} */ { channel_details, stats }) => [channel_details?.name, stats]));
  const rows = known?.map((/** @type {any} */ consumer) => ({ ...consumer, stats: rates.get(consumer.channel_details?.name) }));
  const [closing, setClosing] = useState("");
  const columns = consumerColumns({ more: [
    { id: "close", title: "Connection", about: "the broker cannot cancel a consumer for you, but its connection can be closed", cell: (one) => one.channel_details?.connection_name && mayClose(one.channel_details) && html`<button type="button" aria-label=${`Close the connection of consumer ${one.consumer_tag}`} onClick=${() => setClosing(one.channel_details.connection_name)}>Close</button>` },
    { id: "deliver", title: "Deliver / get", about: "messages a second, by this channel from this queue", sort: "stats.deliver_get_details.rate", isNumber: true, cell: (one) => h(Figure, { unit: "rate", value: one.stats?.deliver_get_details?.rate }) },
    { id: "acked", title: "Ack", about: "acknowledgements a second, by this channel", sort: "stats.ack_details.rate", isNumber: true, cell: (one) => h(Figure, { unit: "rate", value: one.stats?.ack_details?.rate }) },
  ] });
  return html`${h(List, { label: "Consumers", rows, error: error ?? all.error, columns, keyOf: keyOfConsumer, by: "consumer_tag",
    empty: html`<p>No program takes messages out of this queue.</p><p>A program that calls <code>basic.consume</code> with the queue's name appears here at once. <a href=${href(["queues", vhost, name], { tab: "messages" })}>You can look at the messages</a> without taking it.</p>` })}
    ${closing && h(CloseConnections, { names: [closing], onClose: () => setClosing(""), onDone: () => void reload() })}`;
}
