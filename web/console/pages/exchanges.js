// All exchanges, sorted, filtered and given page by page by the broker.

import { useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { useChanges } from "../parts/changes.js";
import { ColumnChoice, useColumns } from "../parts/columns.js";
import { ask } from "../parts/dialog.js";
import { AddExchange, ExchangeFeatures, isPredeclared } from "../parts/exchange_form.js";
import { useFavourites } from "../parts/favourite_rows.js";
import { Figure } from "../parts/figure.js";
import { Heading, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { useLately } from "../parts/lately.js";
import { DEFAULT_EXCHANGE, ExchangeLink } from "../parts/links.js";
import { Filter, useOrder, usePages } from "../parts/list.js";
import { Note } from "../parts/note.js";
import { keyOf, objectOfKey } from "../parts/object_key.js";
import { PagedTable } from "../parts/paged_table.js";
import { FavouriteButton, SavedFilters } from "../parts/saved.js";
import { forEach } from "../parts/several.js";
import { Sparkline } from "../parts/sparkline.js";
import { chosenFirst, useVhostChosen, useVhosts, VhostChoice } from "../parts/vhosts.js";
import { exchangeSegment, href, place, setQuery } from "../route.js";

/** What a person knows an exchange by. @param {{ vhost: string, name: string }} exchange */
const nameOf = ({ vhost, name }) => `${name || DEFAULT_EXCHANGE} in ${vhost}`;
/** @param {any} exchange */
const traceOf = (exchange) => `exchange ${keyOf(exchange)}`;
/** @param {any} exchange @param {string} name */
const rate = (exchange, name) => h(Figure, { unit: "rate", value: exchange.message_stats?.[`${name}_details`]?.rate });

/** @type {import("../parts/table.js").Column<any>[]} */
const COLUMNS = [
  { id: "vhost", title: "Virtual host", sort: "vhost", cell: (one) => h("bdi", {}, one.vhost) },
  { id: "name", title: "Name", sort: "name", isMain: true, cell: (one) => html`<${FavouriteButton} list="exchanges" of=${keyOf(one)} name=${nameOf(one)} />${h(ExchangeLink, one)}` },
  { id: "type", title: "Type", sort: "type", cell: (one) => one.type },
  { id: "features", title: "Features", about: "D: durable, AD: deleted with its last binding, I: internal, the rest: arguments", cell: (one) => h(ExchangeFeatures, { exchange: one }) },
  { id: "policy", title: "Policy", sort: "policy", cell: (one) => one.policy && h("span", { class: "badge" }, h("bdi", {}, one.policy)) },
  { id: "in", title: "Message rate in", about: "messages a second that come in", sort: "message_stats.publish_in_details.rate", isNumber: true, isMain: true, cell: (one) => rate(one, "publish_in") },
  { id: "out", title: "Message rate out", about: "messages a second that go out: one that goes to two queues counts twice", sort: "message_stats.publish_out_details.rate", isNumber: true, cell: (one) => rate(one, "publish_out") },
  { id: "lately", title: "Lately", about: "messages a second that came in since this page shows it", cell: (one) => h(Sparkline, { of: traceOf(one), label: "Messages a second" }) },
  { id: "delayed", title: "Delayed", about: "messages that wait until they are due", sort: "messages_delayed", isNumber: true, cell: (one) => (one.messages_delayed === undefined ? "" : html`<a href=${href(["exchanges", one.vhost, exchangeSegment(one.name)], { tab: "delayed" })}>${h(Figure, { unit: "messages", value: one.messages_delayed })}</a>`) },
  { id: "deduplicated", title: "Deduplicated", about: "messages that were dropped as duplicates", sort: "messages_deduplicated", isNumber: true, isHidden: true, cell: (one) => (one.messages_deduplicated === undefined ? "" : h(Figure, { unit: "messages", value: one.messages_deduplicated })) },
];

/** What the API is asked for a column. @type {Record<string, string>} */
const ASKED = {
  features: "durable,auto_delete,internal,arguments", in: "message_stats.publish_in_details.rate", out: "message_stats.publish_out_details.rate", lately: "message_stats.publish_in_details.rate",
  delayed: "messages_delayed", deduplicated: "messages_deduplicated",
};

export default function Exchanges() {
  return place.value.query.get("favourites") === "yes" ? h(FavouriteExchanges, { key: "favourites" }) : h(AllExchanges, { key: "all" });
}

/** What the address asks for. */
function useAsked() {
  const { query } = place.value;
  const { shown, choice } = useColumns("exchanges", COLUMNS);
  const columns = [...new Set(["vhost", "name", ...shown.flatMap(({ id }) => (ASKED[id] ?? id).split(","))])].join(",");
  const vhosts = useVhosts();
  return { name: query.get("name") ?? "", vhosts, vhost: useVhostChosen(vhosts), shown, choice, columns, ...useOrder("name", false) };
}

function AllExchanges() {
  const asked = useAsked();
  const { name, vhost, columns, order } = asked;
  const list = usePages(vhost ? pathOf`api/exchanges/${vhost}` : "api/exchanges", { columns, name, use_regex: name !== "", sort: order.by, sort_reverse: order.isReversed });
  useChanges(/^exchange\.(created|deleted)$/, () => list.all < 2000 && list.reload());
  const empty = list.all === 0 ? "This user sees no exchange: it has no permissions in any virtual host. An administrator grants them." : "No exchange has such a name. Clear the filter to see all.";
  return h(ExchangeList, { asked, list, empty });
}

function FavouriteExchanges() {
  const asked = useAsked();
  const list = useFavourites("exchanges", COLUMNS, asked.columns, asked.order, asked);
  const empty = list.all === 0 ? "No exchange is a favourite yet. The star before an exchange's name makes it one." : "No favourite has such a name, or its exchange is deleted.";
  return h(ExchangeList, { asked, list, empty });
}

/** @typedef {{ count: number, all: number, isThere: boolean, error: unknown, rowAt: (index: number) => any, onSeen: (start: number, end: number) => void, pages: unknown, reload: () => Promise<void> }} Rows */

/** @param {{ asked: ReturnType<typeof useAsked>, list: Rows, empty: any }} props */
function ExchangeList({ asked: { vhosts, vhost, shown, choice, order, onOrder }, list, empty }) {
  const { query } = place.value;
  const onSeen = useLately(list, traceOf, (one) => one.message_stats?.publish_in_details?.rate);
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const favour = (/** @type {any} */ event) => setQuery({ favourites: event.currentTarget.checked ? "yes" : undefined, page: undefined });
  return html`
    <${Heading} title="Exchanges">${chosen.size > 0 && html`<button type="button" class="harmful" onClick=${() => removeChosen(chosen, (left) => (setChosen(left), list.reload()))}>Delete ${chosen.size.toLocaleString("en")} chosen…</button>
      <button type="button" onClick=${() => setChosen(new Set())}>Choose none</button>`}<//>
    ${h(Filter, { label: "Filter exchanges", name: "name", count: list.isThere ? list.count : undefined, all: list.all, children: html`${h(VhostChoice, { vhosts })}
      <label><input type="checkbox" checked=${query.get("favourites") === "yes"} onChange=${favour} /> Favourites</label>
      ${h(SavedFilters, { list: "exchanges", names: ["name", "vhost", "favourites", "sort", "reverse"] })}${h(ColumnChoice, { choice, columns: COLUMNS })}` })}
    ${list.error !== undefined && h(Note, { error: list.error })}
    ${!list.isThere && list.error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${list.isThere && h(PagedTable, { label: "Exchanges", columns: shown, count: list.count, rowAt: list.rowAt, keyOf, nameOf, onSeen, order, onOrder, chosen, onChosen: setChosen, empty })}
    <p class="about"><a href="#/delayed">Delayed messages</a> of all exchanges are listed by when they are due.</p>
    ${vhosts.length > 0 && h(Section, { title: "Add an exchange", isClosed: true, isAsked: query.get("add") === "yes", children: h(AddExchange, { vhosts: chosenFirst(vhosts, vhost), onAdded: list.reload }) })}`;
}

/** @param {Set<string>} chosen @param {(left: Set<string>) => void} onDone */
async function removeChosen(chosen, onDone) {
  const all = [...chosen].map(objectOfKey);
  const exchanges = all.filter(({ name }) => !isPredeclared(name));
  const spared = all.length - exchanges.length;
  if (exchanges.length === 0) return void ask({ title: "These stay", text: "Every virtual host has the default exchange and those whose names begin with amq.: they cannot be deleted.", act: "Understood" });
  const many = exchanges.length === 1 ? "one exchange" : `${exchanges.length.toLocaleString("en")} exchanges`;
  const isYes = await ask({
    title: `Delete ${many}`, act: `Delete ${many}`, isHarmful: true, word: exchanges.length > 20 ? String(exchanges.length) : undefined,
    text: html`<p>${exchanges.slice(0, 5).map(({ vhost, name }, index) => html`${index > 0 && ", "}<bdi>${name}</bdi> in <bdi>${vhost}</bdi>`)}${exchanges.length > 5 && ` and ${(exchanges.length - 5).toLocaleString("en")} more`}</p>
      <p>Their bindings and delayed messages are deleted, too. A client that publishes to one of them afterwards gets its channel closed.</p>
      ${spared > 0 && html`<p>${spared === 1 ? "One exchange stays" : `${spared} exchanges stay`}: every virtual host has them.</p>`}`,
  });
  if (!isYes) return;
  const left = await forEach(exchanges, ({ vhost, name }) => change("DELETE", pathOf`api/exchanges/${vhost}/${name}`), (count) => (count === 1 ? "The exchange is deleted." : `${count.toLocaleString("en")} exchanges are deleted.`));
  onDone(new Set(left.map(keyOf)));
}
