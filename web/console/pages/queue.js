// One queue: RabbitMQ's page of a queue, in tabs.

import { change } from "../api.js";
import { path } from "../address.js";
import { partOfObject } from "../live.js";
import { ask } from "../parts/dialog.js";
import { Boundary } from "../parts/boundary.js";
import { Heading, Tabs } from "../parts/heading.js";
import { historyQuery } from "../parts/history.js";
import { h, html } from "../parts/html.js";
import { useNewer } from "../parts/newer.js";
import { isMissing, NotHere } from "../parts/not_here.js";
import { attempt, Note, say } from "../parts/note.js";
import { usePermitted } from "../parts/permitted.js";
import { FavouriteButton } from "../parts/saved.js";
import { useKept, useResource } from "../resource.js";
import { go, place } from "../route.js";
import { may } from "../session.js";
import { keyOf } from "./queue_columns.js";
import { QueueBindings } from "./queue_bindings.js";
import { QueueConsumers } from "./queue_consumers.js";
import { QueueMessages } from "./queue_messages.js";
import { QueueOverview } from "./queue_overview.js";
import { QueuePolicies } from "./queue_policies.js";

/** More messages than this are much: their deletion takes the queue's name, typed. */
export const MUCH = 1000;

/** What the queue is asked for besides consumers, of which there may be thousands. */
const COLUMNS = ["vhost", "name", "type", "state", "durable", "auto_delete", "exclusive", "owner_pid_details", "arguments", "policy", "operator_policy", "effective_policy_definition", "node",
  "leader", "members", "online", "consumers", "consumer_capacity", "single_active_consumer_tag", "exclusive_consumer_tag", "messages", "messages_ready", "messages_unacknowledged", "messages_details",
  "messages_ready_details", "messages_unacknowledged_details", "message_bytes", "message_bytes_ready", "message_bytes_unacknowledged", "message_stats", "oldest_ready_age_ms",
  "oldest_unacked_age_ms", "head_message_timestamp", "idle_since", "messages_dropped", "messages_dropped_by_reason", "messages_refused", "paused", "messages_came_round", "messages_deduplicated", "messages_dlx", "messages_delayed", "delivery_limit", "delayed_retry",
  "latency_stages", "incoming", "publishers", "message_size_histogram", "time_in_queue_histogram", "internal"].join(",");

/** @param {{ values: string[] }} props */
export default function Queue({ values: [vhost = "", name = ""] }) {
  const { query } = place.value;
  const tab = query.get("tab") ?? "overview";
  const ranges = tab === "overview" ? `&${historyQuery(["lengths", "msg_rates"])}` : "";
  const resource = useKept(useResource(`${path`api/queues/${vhost}/${name}`}?columns=${COLUMNS}${ranges}`));
  const { error, reload, at } = resource;
  const queue = useNewer(partOfObject("queue", vhost, name), resource);
  const mayConfigure = usePermitted("configure", { vhost, queue: name });
  const mayRead = usePermitted("consume", { vhost, queue: name });

  const above = /** @type {[string, string[]][]} */ ([["Queues", ["queues"]]]);
  if (!queue || isMissing(error)) return h(NotHere, { error, kind: "Queue", title: name, above });
  const tabs = /** @type {[string, string][]} */ ([["overview", "Overview"], ...(mayRead ? [["messages", "Messages"], ["unacked", `Unacked (${(queue.messages_unacknowledged ?? 0).toLocaleString("en")})`]] : []), ["consumers", queue.consumers === undefined ? "Consumers" : `Consumers (${queue.consumers})`], ["bindings", "Bindings"], ["policies", "Policies"]]);
  return html`
    <${Heading} title=${name} kind="Queue" above=${above}>
      <${FavouriteButton} list="queues" of=${keyOf({ vhost, name })} name=${`${name} in ${vhost}`} />
      ${may("policymaker") && html`<button type="button" onClick=${() => pause(queue, reload)}>${queue.paused ? "Resume" : "Pause"}</button>`}
      ${mayRead && html`<button type="button" class="harmful" onClick=${() => purge(queue, reload)}>Purge</button>`}
      ${mayConfigure && html`<button type="button" class="harmful" onClick=${() => remove(queue)}>Delete queue</button>`}
    <//>
    ${error !== undefined && h(Note, { error })}
    ${h(Tabs, { label: "Parts of the page", tabs })}
    ${h(Boundary, { key: tab, children: (tab === "messages" || tab === "unacked") && !mayRead ? h(Note, { kind: "hint", children: "This user may not read the queue, and so may not look at its messages. An administrator can give it the permission." }) : contentOf(tab, { vhost, name, queue, reload, at }) })}`;
}

/** @param {string} tab @param {{ vhost: string, name: string, queue: any, reload: () => Promise<void>, at: number }} props */
function contentOf(tab, props) {
  switch (tab) {
    case "messages":
      return h(QueueMessages, { ...props, key: tab });
    case "unacked":
      return h(QueueMessages, { ...props, key: tab, isUnacked: true });
    case "consumers":
      return h(QueueConsumers, props);
    case "bindings":
      return h(QueueBindings, props);
    case "policies":
      return h(QueuePolicies, props);
    default:
      return h(QueueOverview, props);
  }
}

/** Has consumers get nothing, or go on. @param {any} queue @param {() => Promise<void>} onDone */
async function pause({ vhost, name, paused, consumers = 0 }, onDone) {
  const act = () => change("PUT", path`api/queues/${vhost}/${name}/${paused ? "resume" : "pause"}`);
  if (paused) {
    await attempt(act, `The queue ${name} is resumed.`);
  } else {
    const who = consumers === 1 ? "Its consumer gets" : consumers > 1 ? `Its ${consumers.toLocaleString("en")} consumers get` : "Consumers get";
    const isDone = await ask({ title: "Pause the queue?", act: "Pause", text: [`${who} nothing more out of `, h("bdi", {}, name), " until it is resumed, after a restart of the broker, too. What is published still comes in; what consumers have they may acknowledge."], run: act });
    if (isDone) say(`The queue ${name} is paused.`);
  }
  await onDone();
}

/** @param {number} count */
const messages = (count) => (count === 1 ? "1 message" : `${count.toLocaleString("en")} messages`);

/** @param {any} queue @param {() => Promise<void>} onDone */
async function purge({ vhost, name, messages_ready: count = 0 }, onDone) {
  const isDone = await ask({
    title: "Purge the queue?",
    text: ["All messages that are ready in ", h("bdi", {}, name), ` are deleted for good: ${messages(count)} just now. Unacked ones stay.`],
    act: "Purge", isHarmful: true, word: count > MUCH ? name : undefined,
    run: () => change("DELETE", path`api/queues/${vhost}/${name}/contents`),
  });
  if (!isDone) return;
  say(`The queue ${name} has been purged.`);
  await onDone();
}

/** @param {any} queue */
async function remove({ vhost, name, messages: count = 0, consumers = 0 }) {
  const isDone = await ask({
    title: "Delete the queue?",
    text: [h("bdi", {}, name), ` is deleted for good, with ${messages(count)}`, consumers > 0 ? `. Its ${consumers === 1 ? "consumer gets" : `${consumers} consumers get`} no more messages.` : "."],
    act: "Delete queue", isHarmful: true, word: count > MUCH ? name : undefined,
    run: () => change("DELETE", path`api/queues/${vhost}/${name}`),
  });
  if (!isDone) return;
  say(`The queue ${name} has been deleted.`);
  go(["queues"]);
}
