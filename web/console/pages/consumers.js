// All consumers, of all queues: what the page of a queue has of its own ones.

import { path as pathOf } from "../address.js";
import { useChanges } from "../parts/changes.js";
import { consumerColumns, keyOfConsumer, textOfConsumer } from "../parts/consumer_columns.js";
import { Heading, PageTabs } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { useVhostChosen, useVhosts, VhostChoice } from "../parts/vhosts.js";
import { useResource } from "../resource.js";
import { getRows } from "../rows.js";
import { may } from "../session.js";

const COLUMNS = consumerColumns({ hasQueue: true });

export default function Consumers() {
  const vhosts = useVhosts();
  const vhost = useVhostChosen(vhosts);
  const { data, error, reload } = useResource(vhost ? pathOf`api/consumers/${vhost}` : "api/consumers", undefined, getRows);
  useChanges(/^consumer\.(created|deleted)$/, () => (data?.length ?? 0) < 2000 && reload());
  return html`
    <${Heading} title="Consumers" />
    ${h(PageTabs, { label: "Channels and consumers", pages: [["channels", "Channels"], ["consumers", "Consumers"]] })}
    ${h(List, { label: "Consumers", rows: data, error, columns: COLUMNS, keyOf: keyOfConsumer, textOf: textOfConsumer, by: "queue.name", tools: h(VhostChoice, { vhosts }),
      empty: html`<h2>No program ${may("monitoring") ? "" : "of this user "}consumes</h2><p>A program that calls <code>basic.consume</code> appears here.</p>` })}`;
}
