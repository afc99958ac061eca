// All channels, sorted, filtered and given page by page by the broker.

import { path as pathOf } from "../address.js";
import { useChanges } from "../parts/changes.js";
import { askedFor, CHANNEL_COLUMNS, flowOf, traceOf } from "../parts/channel_columns.js";
import { ColumnChoice, useColumns } from "../parts/columns.js";
import { Heading, PageTabs } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { useLately } from "../parts/lately.js";
import { Filter, useOrder, usePages } from "../parts/list.js";
import { Note } from "../parts/note.js";
import { PagedTable } from "../parts/paged_table.js";
import { SavedFilters } from "../parts/saved.js";
import { useVhostChosen, useVhosts, VhostChoice } from "../parts/vhosts.js";
import { place } from "../route.js";
import { may } from "../session.js";

export default function Channels() {
  const { query } = place.value;
  const name = query.get("name") ?? "";
  const { shown, choice } = useColumns("channels", CHANNEL_COLUMNS);
  const { order, onOrder } = useOrder("name", false);
  const vhosts = useVhosts();
  const vhost = useVhostChosen(vhosts);
  const list = usePages(vhost ? pathOf`api/vhosts/${vhost}/channels` : "api/channels",
    { columns: askedFor(shown), name, use_regex: name !== "", sort: order.by, sort_reverse: order.isReversed });
  const onSeen = useLately(list, traceOf, flowOf);
  useChanges(/^channel\.(created|closed)$/, () => list.all < 2000 && list.reload());
  return html`
    <${Heading} title="Channels" />
    ${h(PageTabs, { label: "Channels and consumers", pages: [["channels", "Channels"], ["consumers", "Consumers"]] })}
    ${h(Filter, { label: "Filter channels", name: "name", count: list.isThere ? list.count : undefined, all: list.all, children: html`${h(VhostChoice, { vhosts })}
      ${h(SavedFilters, { list: "channels", names: ["name", "vhost", "sort", "reverse"] })}${h(ColumnChoice, { choice, columns: CHANNEL_COLUMNS })}` })}
    ${list.error !== undefined && h(Note, { error: list.error })}
    ${!list.isThere && list.error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${list.isThere && h(PagedTable, { label: "Channels", columns: shown, count: list.count, rowAt: list.rowAt, keyOf: (one) => one.name, onSeen, order, onOrder,
      empty: list.all === 0 ? h(NoChannel, {}) : "No channel has such a name. Clear the filter to see all." })}`;
}

function NoChannel() {
  return html`<h2>No channel ${may("monitoring") ? "" : "of this user "}is open</h2><p>Clients open channels to publish and to consume. <a href="#/connections">Connections</a> shows which clients are there.</p>`;
}
