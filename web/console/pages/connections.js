// All connections: who is slow, who is blocked, who sends most. Sorted, filtered and given page by page by the broker.

import { useState } from "../../vendor/modules/hooks.js";
import { path as pathOf } from "../address.js";
import { useChanges } from "../parts/changes.js";
import { CloseConnections, mayCloseAll } from "../parts/close_connection.js";
import { ColumnChoice, useColumns } from "../parts/columns.js";
import { Figure, Time } from "../parts/figure.js";
import { Heading } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { useLately } from "../parts/lately.js";
import { Filter, useOrder, usePages } from "../parts/list.js";
import { Note } from "../parts/note.js";
import { PagedTable } from "../parts/paged_table.js";
import { SavedFilters } from "../parts/saved.js";
import { Sparkline } from "../parts/sparkline.js";
import { State } from "../parts/states.js";
import { useVhostChosen, useVhosts, VhostChoice } from "../parts/vhosts.js";
import { href, place } from "../route.js";
import { may } from "../session.js";

/** @param {any} connection */
const keyOf = (connection) => connection.name;
/** @param {any} connection */
const traceOf = (connection) => `connection ${connection.name}`;

/** @type {import("../parts/table.js").Column<any>[]} */
const COLUMNS = [
  { id: "name", title: "Name", about: "the client's address and the broker's; and the name that the client gave itself", sort: "name", isMain: true, cell: (one) => html`<a href=${href(["connections", one.name])}><bdi>${one.name}</bdi></a>${one.user_provided_name && html` <bdi class="about" title=${one.user_provided_name}>${one.user_provided_name}</bdi>`}` },
  { id: "given", title: "Client's name", about: "the name that the client gave itself", sort: "user_provided_name", isHidden: true, cell: (one) => h("bdi", {}, one.user_provided_name) },
  { id: "user", title: "User", sort: "user", cell: (one) => h("bdi", {}, one.user) },
  { id: "vhost", title: "Virtual host", sort: "vhost", cell: (one) => h("bdi", {}, one.vhost) },
  { id: "state", title: "State", about: "blocked or flow: the client publishes more than the broker accepts now", sort: "state", isMain: true, cell: (one) => h(State, { state: one.state }) },
  { id: "round_trip", title: "Round trip", about: "from the broker to the client and back, as the kernel measures it; a long one means a slow network", sort: "network.round_trip_us", isNumber: true, cell: (one) => h(Figure, { unit: "us", value: one.network?.round_trip_us }) },
  { id: "retransmits", title: "Retransmits", about: "segments that the kernel had to send again; many mean that the network loses packets", sort: "network.retransmits", isNumber: true, cell: (one) => h(Figure, { value: one.network?.retransmits }) },
  { id: "from", title: "From client", about: "bytes a second that the client sends", sort: "recv_oct_details.rate", isNumber: true, cell: (one) => h(Figure, { unit: "byterate", value: one.recv_oct_details?.rate }) },
  { id: "to", title: "To client", about: "bytes a second that the client gets", sort: "send_oct_details.rate", isNumber: true, cell: (one) => h(Figure, { unit: "byterate", value: one.send_oct_details?.rate }) },
  { id: "lately", title: "Lately", about: "bytes a second both ways since this page shows it", cell: (one) => h(Sparkline, { of: traceOf(one), label: "Bytes a second" }) },
  { id: "channels", title: "Channels", sort: "channels", isNumber: true, cell: (one) => h(Figure, { value: one.channels }) },
  { id: "tls", title: "TLS", sort: "ssl", cell: (one) => (one.ssl ? "yes" : "no") },
  { id: "protocol", title: "Protocol", sort: "protocol", cell: (one) => one.protocol },
  { id: "variation", title: "Variation", about: "how much the round trip varies", sort: "network.round_trip_variation_us", isNumber: true, isHidden: true, cell: (one) => h(Figure, { unit: "us", value: one.network?.round_trip_variation_us }) },
  { id: "connected", title: "Connected", sort: "connected_at", isNumber: true, isHidden: true, cell: (one) => h(Time, { at: one.connected_at, isAgo: true }) },
  { id: "client", title: "Client", about: "the library and its version", isHidden: true, cell: (one) => h("bdi", {}, [one.client_properties?.product, one.client_properties?.version].filter((word) => typeof word === "string").join(" ")) },
  { id: "node", title: "Node", sort: "node", isHidden: true, cell: (one) => one.node },
];

/** What the API is asked for a column. @type {Record<string, string>} */
const ASKED = {
  name: "user_provided_name", given: "user_provided_name", tls: "ssl", from: "recv_oct_details.rate", to: "send_oct_details.rate", lately: "recv_oct_details.rate,send_oct_details.rate",
  round_trip: "network", retransmits: "network", variation: "network", connected: "connected_at", client: "client_properties.product,client_properties.version",
};

export default function Connections() {
  const { query } = place.value;
  const name = query.get("name") ?? "";
  const { shown, choice } = useColumns("connections", COLUMNS);
  const { order, onOrder } = useOrder("name", false);
  const vhosts = useVhosts();
  const vhost = useVhostChosen(vhosts);
  const columns = [...new Set(["name", ...shown.flatMap(({ id }) => (ASKED[id] ?? id).split(","))])].join(",");
  const list = usePages(vhost ? pathOf`api/vhosts/${vhost}/connections` : "api/connections", { columns, name, use_regex: name !== "", sort: order.by, sort_reverse: order.isReversed });
  const onSeen = useLately(list, traceOf, ({ recv_oct_details: from, send_oct_details: to }) => (from || to) && (from?.rate ?? 0) + (to?.rate ?? 0));
  useChanges(/^connection\.(created|closed)$/, () => list.all < 2000 && list.reload());
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const [isClosing, setClosing] = useState(false);

  return html`
    <${Heading} title="Connections">${chosen.size > 0 && html`<button type="button" class="harmful" onClick=${() => setClosing(true)}>Close ${chosen.size.toLocaleString("en")} chosen…</button>
      <button type="button" onClick=${() => setChosen(new Set())}>Choose none</button>`}<//>
    ${h(Filter, { label: "Filter connections", name: "name", count: list.isThere ? list.count : undefined, all: list.all, children: html`${h(VhostChoice, { vhosts })}
      ${h(SavedFilters, { list: "connections", names: ["name", "vhost", "sort", "reverse"] })}${h(ColumnChoice, { choice, columns: COLUMNS })}` })}
    ${list.error !== undefined && h(Note, { error: list.error })}
    ${!list.isThere && list.error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${list.isThere && h(PagedTable, { label: "Connections", columns: shown, count: list.count, rowAt: list.rowAt, keyOf, onSeen, order, onOrder,
      ...(mayCloseAll() ? { chosen, onChosen: setChosen } : {}), empty: list.all === 0 ? h(NoConnection, {}) : "No connection has such a name. Clear the filter to see all." })}
    ${isClosing && h(CloseConnections, { names: [...chosen], onClose: () => setClosing(false), onDone: (left) => (setChosen(new Set(left)), list.reload()) })}`;
}

function NoConnection() {
  if (!may("monitoring")) return html`<h2>No connection of this user is open</h2><p>Connections of other users are shown to users with the tag <code>monitoring</code>.</p>`;
  return html`<h2>No client is connected</h2><p>The <a href="#/">overview</a> says at which addresses the broker listens. Where clients cannot connect, ${may("administrator") ? html`the <a href="#/log">log</a>` : "the log"} tells why they are refused.</p>`;
}
