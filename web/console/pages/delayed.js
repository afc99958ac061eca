// Exchanges at which messages wait until they are due.

import { Heading } from "../parts/heading.js";
import { Figure, Time } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { DEFAULT_EXCHANGE } from "../parts/links.js";
import { Filter, useOrder, usePages } from "../parts/list.js";
import { Note } from "../parts/note.js";
import { PagedTable } from "../parts/paged_table.js";
import { useVhosts, VhostChoice } from "../parts/vhosts.js";
import { path as pathOf } from "../address.js";
import { exchangeSegment, href, place } from "../route.js";
import { may } from "../session.js";

/** @type {import("../parts/table.js").Column<any>[]} */
const COLUMNS = [
  { id: "vhost", title: "Virtual host", sort: "vhost", cell: (one) => h("bdi", {}, one.vhost) },
  { id: "exchange", title: "Exchange", sort: "exchange", cell: (one) => html`<a href=${href(["exchanges", one.vhost, exchangeSegment(one.exchange)], { tab: may("administrator") ? "delayed" : undefined })}><bdi>${one.exchange || DEFAULT_EXCHANGE}</bdi></a>` },
  { id: "delayed", title: "Delayed", about: "messages that wait", sort: "messages_delayed", isNumber: true, cell: (one) => h(Figure, { unit: "messages", value: one.messages_delayed }) },
  { id: "bytes", title: "Bytes", about: "of their bodies", sort: "message_bytes_delayed", isNumber: true, cell: (one) => h(Figure, { unit: "bytes", value: one.message_bytes_delayed }) },
  { id: "next", title: "Next due", about: "when the first of them is due", sort: "next_due", cell: (one) => (one.next_due === undefined ? "" : h(Time, { at: one.next_due })) },
  { id: "released", title: "Released", about: "messages that became due since the broker started", sort: "messages_released", isNumber: true, cell: (one) => h(Figure, { unit: "messages", value: one.messages_released }) },
];

export default function Delayed() {
  const { query } = place.value;
  const [name, vhost] = [query.get("name") ?? "", query.get("vhost") ?? ""];
  const { order, onOrder } = useOrder("exchange", false);
  const vhosts = useVhosts();
  const list = usePages(vhost ? pathOf`api/delayed/${vhost}` : "api/delayed", { name, use_regex: name !== "", sort: order.by, sort_reverse: order.isReversed });
  return html`
    ${h(Heading, { title: "Delayed messages", above: [["Exchanges", ["exchanges"]]] })}
    ${h(Filter, { label: "Filter exchanges", name: "name", count: list.isThere ? list.count : undefined, all: list.all, children: h(VhostChoice, { vhosts }) })}
    ${list.error !== undefined && h(Note, { error: list.error })}
    ${!list.isThere && list.error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${list.isThere && h(PagedTable, { label: "Exchanges that delay", columns: COLUMNS, count: list.count, rowAt: list.rowAt, keyOf: (one) => JSON.stringify([one.vhost, one.exchange]), onSeen: list.onSeen, order, onOrder,
      empty: list.all === 0 ? html`<h2>No exchange delays messages</h2><p><a href="#/exchanges?add=yes">Add an exchange</a> of the type <code>x-delayed-message</code>, or set <code>delayed-message</code> in a <a href="#/policies">policy</a> for exchanges that are there.</p>` : "No exchange has such a name. Clear the filter to see all." })}`;
}
