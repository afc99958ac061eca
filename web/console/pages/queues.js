// All queues: sorted, filtered and given page by page by the broker, however many there are.

import { useCallback, useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { partOfObject } from "../live.js";
import { useChanges } from "../parts/changes.js";
import { ColumnChoice, useColumns } from "../parts/columns.js";
import { argumentsOf, Form } from "../parts/form.js";
import { useFavourites } from "../parts/favourite_rows.js";
import { FirstSteps } from "../parts/first_steps.js";
import { Heading, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { useLately } from "../parts/lately.js";
import { Filter, useOrder, usePages } from "../parts/list.js";
import { useLiveRows } from "../parts/live_rows.js";
import { Note, say } from "../parts/note.js";
import { PagedTable } from "../parts/paged_table.js";
import { QUEUE_ARGUMENTS } from "../parts/queue_arguments.js";
import { SavedFilters } from "../parts/saved.js";
import { chosenFirst, useVhostChosen, useVhosts, VhostChoice } from "../parts/vhosts.js";
import { place, setQuery } from "../route.js";
import { QueueBulk } from "./queue_bulk.js";
import { askedFor, COLUMNS, keyOf, nameOf } from "./queue_columns.js";

/** With more queues than this a list is not asked for again at each that comes or goes. */
const FEW = 20_000;

export default function Queues() {
  return place.value.query.get("favourites") === "yes" ? h(FavouriteQueues, { key: "favourites" }) : h(AllQueues, { key: "all" });
}

/** What the address asks for. */
function useAsked() {
  const { query } = place.value;
  const { shown, choice } = useColumns("queues", COLUMNS);
  const vhosts = useVhosts();
  return { name: query.get("name") ?? "", vhosts, vhost: useVhostChosen(vhosts), shown, choice, ...useOrder("name", false) };
}

function AllQueues() {
  const asked = useAsked();
  const { name, vhost, shown, order } = asked;
  const list = usePages(vhost ? pathOf`api/queues/${vhost}` : "api/queues", { columns: askedFor(shown), name, use_regex: name !== "", sort: order.by, sort_reverse: order.isReversed });
  useChanges(/^queue\.(created|deleted)$/, () => list.all < FEW && list.reload());
  const empty = list.all === 0 ? h(FirstSteps, {}) : "No queue has such a name. Clear the filter to see all.";
  return h(QueueList, { asked, list, empty });
}

function FavouriteQueues() {
  const asked = useAsked();
  const list = useFavourites("queues", COLUMNS, askedFor(asked.shown), asked.order, asked);
  const empty = list.all === 0 ? "No queue is a favourite yet. The star before a queue's name makes it one." : "No favourite has such a name, or its queue is deleted.";
  return h(QueueList, { asked, list, empty });
}

/** @typedef {{ count: number, all: number, isThere: boolean, error: unknown, rowAt: (index: number) => any, onSeen: (start: number, end: number) => void, pages: unknown, reload: () => Promise<void> }} Rows */

/** @param {{ asked: ReturnType<typeof useAsked>, list: Rows, empty: any }} props */
function QueueList({ asked: { vhosts, vhost, shown, choice, order, onOrder }, list, empty }) {
  const { query } = place.value;
  const [seen, setSeen] = useState(/** @type {[number, number]} */ ([0, 40]));
  const remembered = useLately(list, keyOf, (queue) => queue.messages ?? queue.messages_ready);
  const onSeen = useCallback((/** @type {number} */ start, /** @type {number} */ end) => (setSeen([start, end]), remembered(start, end)), [remembered]);
  const rowAt = useLiveRows(list, seen, ({ vhost, name }) => partOfObject("queue", vhost, name));
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const favour = (/** @type {any} */ event) => setQuery({ favourites: event.currentTarget.checked ? "yes" : undefined, page: undefined });
  return html`
    <${Heading} title="Queues">${h(QueueBulk, { chosen, onChosen: setChosen, onDone: list.reload })}<//>
    ${h(Filter, { label: "Filter queues", name: "name", count: list.isThere ? list.count : undefined, all: list.all, children: html`
      ${h(VhostChoice, { vhosts })}
      <label><input type="checkbox" checked=${query.get("favourites") === "yes"} onChange=${favour} /> Favourites</label>
      ${h(SavedFilters, { list: "queues", names: ["name", "vhost", "favourites", "sort", "reverse"] })}${h(ColumnChoice, { choice, columns: COLUMNS })}` })}
    ${list.error !== undefined && h(Note, { error: list.error })}
    ${!list.isThere && list.error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${list.isThere && h(PagedTable, { label: "Queues", columns: shown, count: list.count, rowAt, keyOf, nameOf, onSeen, order, onOrder, chosen, onChosen: setChosen, empty })}
    ${vhosts.length > 0 && h(AddQueue, { vhosts: chosenFirst(vhosts, vhost), isOpen: query.get("add") === "yes", onAdded: list.reload })}`;
}

/** @param {{ vhosts: string[], isOpen: boolean, onAdded: () => Promise<void> }} props */
function AddQueue({ vhosts, isOpen, onAdded }) {
  const add = async (/** @type {any} */ values) => {
    const { vhost = vhosts[0] ?? "/", name, type = "classic", durable = "true", auto_delete, args } = values;
    await change("PUT", pathOf`api/queues/${vhost}/${name}`, { durable: durable === "true", auto_delete: Boolean(auto_delete), arguments: { ...(type === "default" ? {} : { "x-queue-type": type }), ...argumentsOf(args) } });
    say(`Queue ${name} is there.`);
    await onAdded();
  };
  return h(Section, { title: "Add a queue", isClosed: true, isAsked: isOpen, children: h(Form, {
    label: "Add a queue", act: "Add queue", onSubmit: add, fields: [
      { name: "vhost", label: "Virtual host", kind: "select", options: vhosts.map((one) => [one, one]) },
      { name: "type", label: "Type", kind: "select", options: [["classic", "Classic"], ["quorum", "Quorum"], ["default", "Default of the virtual host"]] },
      { name: "name", label: "Name", isRequired: true },
      { name: "durable", label: "Durability", kind: "select", options: [["true", "Durable"], ["false", "Transient"]], help: "A durable queue outlives a restart of the broker." },
      { name: "auto_delete", label: "Auto delete", kind: "checkbox", help: "The queue is deleted when its last consumer is cancelled or disconnected." },
      { name: "args", label: "Arguments", kind: "arguments", hints: QUEUE_ARGUMENTS },
    ] }) });
}
