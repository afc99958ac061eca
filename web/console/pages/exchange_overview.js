// What an exchange is, how fast messages come in and go out, and from where to where.

import { Chart, linesOf, ratesOf } from "../parts/chart.js";
import { ExchangeFeatures } from "../parts/exchange_form.js";
import { Fields } from "../parts/fields.js";
import { Figure } from "../parts/figure.js";
import { Facts, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { QueueLink, VhostLink } from "../parts/links.js";
import { List } from "../parts/list.js";
import { href } from "../route.js";

/** @param {any} one */
const rate = (one) => h(Figure, { unit: "rate", value: one.stats?.publish_details?.rate });

/** @type {import("../parts/table.js").Column<any>[]} */
const INCOMING = [
  { id: "channel", title: "Channel", sort: "channel_details.name", cell: (one) => html`<a href=${href(["channels", one.channel_details.name])}><bdi>${one.channel_details.name}</bdi></a>` },
  { id: "user", title: "User", sort: "channel_details.user", cell: (one) => h("bdi", {}, one.channel_details.user) },
  { id: "publish", title: "Publish", about: "messages a second", sort: "stats.publish_details.rate", isNumber: true, cell: rate },
];
/** @type {import("../parts/table.js").Column<any>[]} */
const OUTGOING = [
  { id: "queue", title: "Queue", sort: "queue.name", cell: (one) => h(QueueLink, one.queue) },
  { id: "publish", title: "Messages", about: "a second", sort: "stats.publish_details.rate", isNumber: true, cell: rate },
];

/** @param {{ exchange: any }} props */
export function ExchangeOverview({ exchange }) {
  const { message_stats: stats = {}, incoming = [], outgoing = [] } = exchange;
  return html`
    ${h(Section, { title: "Facts", children: h(Facts, { facts: [
      ["Type", exchange.type], ["Virtual host", h(VhostLink, { name: exchange.vhost })], ["Features", h(ExchangeFeatures, { exchange })],
      ["Durable", exchange.durable ? "yes" : "no"], ["Auto delete", exchange.auto_delete ? "yes" : "no"], ["Internal", exchange.internal ? "yes: only other exchanges publish to it" : "no"],
      ["Policy", exchange.policy ? html`<a href=${href(["policies"], { filter: exchange.policy })}><bdi>${exchange.policy}</bdi></a>` : "none"],
      ["Delayed", exchange.messages_delayed !== undefined && h(Figure, { unit: "messages", value: exchange.messages_delayed }), "messages that wait until they are due"],
      ["Deduplicated", exchange.messages_deduplicated !== undefined && h(Figure, { unit: "messages", value: exchange.messages_deduplicated }), "messages that were dropped as duplicates"],
      ["In", h(Figure, { unit: "rate", value: stats.publish_in_details?.rate ?? 0 }), "messages a second that come in"], ["Out", h(Figure, { unit: "rate", value: stats.publish_out_details?.rate ?? 0 }), "messages a second that go out: one that goes to two queues counts twice"],
      ["In since the start", h(Figure, { unit: "messages", value: stats.publish_in ?? 0 })], ["Out since the start", h(Figure, { unit: "messages", value: stats.publish_out ?? 0 })],
    ] }) })}
    ${Object.keys(exchange.arguments ?? {}).length > 0 && h(Section, { title: "Arguments", children: h(Fields, { fields: exchange.arguments }) })}
    ${h(Section, { title: "Message rates", children: h(Chart, { title: "Messages a second", unit: "rate", ...linesOf([["In", stats.publish_in_details], ["Out", stats.publish_out_details]], ratesOf) }) })}
    <div class="columns">
      ${h(Section, { title: "Incoming", about: "channels that publish here", children: h(List, { label: "Channels that publish here", rows: incoming, columns: INCOMING, keyOf: (one) => one.channel_details.name, by: "channel_details.name", height: "24rem", hasFilter: false, empty: "No open channel has published here." }) })}
      ${h(Section, { title: "Outgoing", about: "queues that messages went to", children: h(List, { label: "Queues that messages went to", rows: outgoing, columns: OUTGOING, keyOf: (one) => one.queue.name, by: "queue.name", height: "24rem", hasFilter: false, empty: "No message went to a queue yet." }) })}
    </div>`;
}
