// One connection: who it is, what flows, its channels, and whether the network or the consumer is slow.

import { useState } from "../../vendor/modules/hooks.js";
import { path as pathOf } from "../address.js";
import { CHANNEL_COLUMNS } from "../parts/channel_columns.js";
import { Chart, linesOf, ratesOf } from "../parts/chart.js";
import { ClientLatency } from "../parts/client_latency.js";
import { CloseConnections, mayClose } from "../parts/close_connection.js";
import { ColumnChoice, useColumns } from "../parts/columns.js";
import { Fields } from "../parts/fields.js";
import { Figure, Time } from "../parts/figure.js";
import { Facts, Heading, Section } from "../parts/heading.js";
import { HistoryChoice, historyQuery } from "../parts/history.js";
import { h, html } from "../parts/html.js";
import { UserLink, VhostLink } from "../parts/links.js";
import { List } from "../parts/list.js";
import { Note } from "../parts/note.js";
import { useNewer } from "../parts/newer.js";
import { isMissing, NotHere } from "../parts/not_here.js";
import { State } from "../parts/states.js";
import { useKept, useResource } from "../resource.js";
import { go } from "../route.js";

/** @type {[string, string[]][]} */
const ABOVE = [["Connections", ["connections"]]];
/** Of the connection's own page, where its name, user and vhost are known. */
const COLUMNS = CHANNEL_COLUMNS.filter(({ id }) => !["vhost", "user", "lately"].includes(id));

/** @param {{ values: string[] }} props */
export default function Connection({ values: [name = ""] }) {
  const resource = useKept(useResource(`${pathOf`api/connections/${name}`}?${historyQuery(["data_rates"])}`));
  const { error, reload } = resource;
  const channels = useResource(pathOf`api/connections/${name}/channels`);
  const now = useNewer(`connection:${encodeURIComponent(name)}`, resource);
  const [isClosing, setClosing] = useState(false);
  const { shown, choice } = useColumns("channels_of_connection", COLUMNS);
  if (!now || isMissing(error)) return h(NotHere, { error, kind: "Connection", title: name, above: ABOVE });
  return html`
    <${Heading} kind="Connection" title=${name} above=${ABOVE}>${h(HistoryChoice, {})}
      ${mayClose(now) && html`<button type="button" class="harmful" onClick=${() => setClosing(true)}>Close…</button>`}<//>
    ${error !== undefined && h(Note, { error })}
    ${h(Section, { title: "Facts", children: h(Facts, { facts: factsOf(now) }) })}
    <div class="columns">
      ${h(Section, { title: "Rates", children: h(Chart, { title: "Bytes a second", unit: "byterate", ...linesOf([["From client", now.recv_oct_details], ["To client", now.send_oct_details]], ratesOf) }) })}
      ${h(Section, { title: "Network or consumer", about: "what is slow", children: html`
        ${h(Facts, { facts: networkOf(now) })}${Array.isArray(channels.data) ? h(ClientLatency, { connection: now, channels: channels.data }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`}` })}
    </div>
    ${h(Section, { title: "Channels", children: h(List, { label: "Channels", rows: channels.data, error: channels.error, columns: shown, keyOf: (one) => one.name, by: "number", height: "30rem",
      tools: h(ColumnChoice, { choice, columns: COLUMNS }), empty: "The client has opened no channel: it can neither publish nor consume." }) })}
    ${h(Section, { title: "Client properties", about: "what the client says of itself", children: h(Fields, { fields: now.client_properties, empty: "The client said nothing of itself." }) })}
    ${isClosing && h(CloseConnections, { names: [name], onClose: () => setClosing(false), onDone: (left) => (left.length > 0 ? void reload() : go(["connections"])) })}`;
}

/** @param {any} one */
function factsOf(one) {
  return [
    ["State", h(State, { state: one.state })],
    ["Client's name", one.user_provided_name && h("bdi", {}, one.user_provided_name), "the name that the client gave itself"],
    ["User", one.user && h(UserLink, { name: one.user })],
    ["Virtual host", one.vhost && h(VhostLink, { name: one.vhost })],
    ["Node", one.node],
    ["Connected", h(Time, { at: one.connected_at })],
    ["Protocol", one.protocol],
    ["Login by", one.auth_mechanism, "the mechanism of authentication"],
    ["TLS", one.ssl ? [one.ssl_protocol, one.ssl_cipher].filter(Boolean).join(", ") || "yes" : "no"],
    ["Certificate of", one.peer_cert_subject || undefined],
    ["Certificate by", one.peer_cert_issuer || undefined],
    ["Certificate valid", one.peer_cert_validity || undefined],
    ["Heartbeat", h(Figure, { unit: "s", value: one.timeout }), "after how long without a sign of life either side gives up"],
    ["Frames up to", h(Figure, { unit: "bytes", value: one.frame_max })],
    ["Channels", html`${h(Figure, { value: one.channels })} of at most ${h(Figure, { value: one.channel_max })}`],
    ["Frames from client", h(Figure, { value: one.recv_cnt })],
    ["Frames to client", h(Figure, { value: one.send_cnt })],
    ["From client", h(Figure, { unit: "byterate", value: one.recv_oct_details?.rate })],
    ["To client", h(Figure, { unit: "byterate", value: one.send_oct_details?.rate })],
  ];
}

/** @param {any} one */
function networkOf({ network }) {
  if (!network) return [];
  return [
    ["Round trip", h(Figure, { unit: "us", value: network.round_trip_us })],
    ["Varies by", h(Figure, { unit: "us", value: network.round_trip_variation_us })],
    ["At best", h(Figure, { unit: "us", value: network.round_trip_min_us }), "the shortest that the kernel has seen"],
    ["Retransmits", h(Figure, { value: network.retransmits }), "segments that had to be sent again: they rise where the network loses some"],
  ];
}
