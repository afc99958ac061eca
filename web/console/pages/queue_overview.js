// A queue at a glance: how long it is, how fast it goes, what it is, where the latency is.

import { attempt, Note } from "../parts/note.js";
import { change } from "../api.js";
import { path } from "../address.js";
import { Chart, historyOf, linesOf, ratesOf, samplesOf } from "../parts/chart.js";
import { Figure, Time } from "../parts/figure.js";
import { Facts, Section } from "../parts/heading.js";
import { Histogram } from "../parts/histogram.js";
import { HistoryChoice } from "../parts/history.js";
import { h, html } from "../parts/html.js";
import { ExchangeLink, UserLink, VhostLink } from "../parts/links.js";
import { Plain } from "../parts/plain.js";
import { QueueSlowness } from "../parts/queue_slowness.js";
import { LatencyStages } from "../parts/latency.js";
import { StateBadge } from "../parts/state.js";
import { href } from "../route.js";
import { useRef } from "../../vendor/modules/hooks.js";
import { may } from "../session.js";

/** @param {{ vhost: string, name: string, queue: any, reload: () => Promise<void>, at: number }} props at: when the queue was asked for */
export function QueueOverview({ vhost, name, queue, reload, at }) {
  const stats = queue.message_stats ?? {};
  const rate = (/** @type {string} */ of) => stats[`${of}_details`]?.rate ?? 0;
  const laps = useLaps(queue, at);
  return html`
    <div class="tiles" aria-label="Just now" role="group">
      ${tile("Ready", "messages", queue.messages_ready)}${tile("Unacked", "messages", queue.messages_unacknowledged)}${tile("Total", "messages", queue.messages)}
      ${tile("Incoming", "rate", rate("publish"))}${tile("Deliver / get", "rate", rate("deliver_get"))}${tile("Ack", "rate", rate("ack"))}
      ${tile("Oldest ready", "ms", queue.oldest_ready_age_ms)}${tile("Consumers", "count", queue.consumers)}
    </div>
    <div class="filter">${h(HistoryChoice, {})}</div>
    <div class="columns">
      ${h(Section, { title: "Queued messages", children: h(Chart, { title: "Messages in the queue", unit: "messages", ...linesOf([
        ["Ready", historyOf(queue, "messages_ready", at)], ["Unacked", historyOf(queue, "messages_unacknowledged", at)], ["Total", historyOf(queue, "messages", at)]], samplesOf, { counters: stats, since: queue.idle_since }) }) })}
      ${h(Section, { title: "Message rates", children: h(Chart, { title: "Messages a second", unit: "rate", ...linesOf([
        ["Publish", stats.publish_details], ["Deliver (manual ack)", stats.deliver_details], ["Deliver (auto ack)", stats.deliver_no_ack_details], ["Ack", stats.ack_details],
        ["Redelivered", stats.redeliver_details], ["Get (manual ack)", stats.get_details], ["Get (auto ack)", stats.get_no_ack_details], ["Get (empty)", stats.get_empty_details]], ratesOf) }) })}
    </div>
    ${h(Section, { title: "Why is it slow?", children: h(QueueSlowness, { vhost, name, queue, laps }) })}
    ${h(Section, { title: "Details", children: h(Details, { vhost, queue, laps }) })}
    ${h(Section, { title: "Incoming", about: "what comes in, by exchange and by channel", children: h(Incoming, { vhost, queue }) })}
    ${h(Section, { title: "Where the latency is", about: "by stage, of the messages of this queue", children: h(Latency, { vhost, name, queue, reload }) })}
    <div class="columns">
      ${queue.message_size_histogram && h(Section, { title: "Sizes of messages", about: "of all that came in", isClosed: true, children: h(Histogram, { histogram: queue.message_size_histogram, unit: "bytes", label: "Sizes of messages" }) })}
      ${queue.time_in_queue_histogram && h(Section, { title: "Time in the queue", about: "until messages were delivered", isClosed: true, children: h(Histogram, { histogram: queue.time_in_queue_histogram, unit: "ms", label: "Time in the queue" }) })}
    </div>`;
}

/** @param {string} title @param {import("../parts/figure.js").Unit} unit @param {unknown} value */
function tile(title, unit, value) {
  return h("div", { key: title, class: "tile" }, h("b", {}, h(Figure, { unit, value, title })), h("span", {}, title));
}

/** @param {{ vhost: string, queue: any, laps: number }} props */
function Details({ vhost, queue, laps }) {
  const owner = queue.owner_pid_details?.name;
  const list = (/** @type {unknown} */ names) => (Array.isArray(names) && names.length > 0 ? names.join(", ") : undefined);
  const policy = (/** @type {string | null} */ name) => name && h("a", { href: href(["policies"], { filter: name }) }, h("bdi", {}, name));
  const values = (/** @type {object | undefined} */ of) => Object.entries(of ?? {}).map(([name, value]) => [name, h("bdi", {}, typeof value === "string" && value !== "" ? value : JSON.stringify(value))]);
  return html`
    ${h(Facts, { facts: [
      ["Virtual host", h(VhostLink, { name: vhost })], ["Type", queue.type], ["State", h(StateBadge, { queue })], ["Idle since", queue.idle_since && h(Time, { at: queue.idle_since })],
      ["Durable", queue.durable ? "yes" : "no"], ["Auto delete", queue.auto_delete ? "yes" : "no"], ["Exclusive", queue.exclusive ? (owner ? html`<a href=${href(["connections", owner])}><bdi>${owner}</bdi></a>` : "yes") : "no"],
      ["Node", queue.node], ["Leader", queue.leader], ["Members", list(queue.members)], ["Online", list(queue.online)],
      ["Policy", policy(queue.policy) || "none"], ["Operator policy", policy(queue.operator_policy) || "none"],
      ["Consumers", h(Figure, { value: queue.consumers })], ["Consumer capacity", h(Figure, { unit: "percent", value: typeof queue.consumer_capacity === "number" ? queue.consumer_capacity * 100 : undefined }), "how much of the time consumers could take messages"],
      ["Single active consumer", queue.single_active_consumer_tag || undefined], ["Exclusive consumer", queue.exclusive_consumer_tag || undefined],
    ] })}
    <h3>Messages</h3>
    ${h(Facts, { facts: [
      ["Bytes", h(Figure, { unit: "bytes", value: queue.message_bytes }), "of bodies"], ["Bytes ready", h(Figure, { unit: "bytes", value: queue.message_bytes_ready })], ["Bytes unacked", h(Figure, { unit: "bytes", value: queue.message_bytes_unacknowledged })],
      ["Oldest ready", h(Figure, { unit: "ms", value: queue.oldest_ready_age_ms }), "for how long it has been in the queue"], ["Oldest unacked", h(Figure, { unit: "ms", value: queue.oldest_unacked_age_ms })],
      ["Timestamp of the first", queue.head_message_timestamp ? h(Time, { at: queue.head_message_timestamp * 1000 }) : undefined],
      ...counts(queue, [["messages_refused", "Refused"], ["messages_came_round", "Returned here as dead letters"], ["messages_deduplicated", "Duplicates left out"], ["messages_dlx", "On the way as dead letters"], ["messages_delayed", "Wait to be delivered again"], ["delivery_limit", "Delivery limit"]]),
      ...givenUp(queue),
      ["Laps of dead letters", queue.messages_came_round ? h(Figure, { unit: "rate", value: laps }) : undefined, "that come back to where they died"],
    ] })}
    <h3>Arguments</h3>
    ${values(queue.arguments).length > 0 ? h(Facts, { facts: values(queue.arguments) }) : html`<p class="about">None.</p>`}`;
}

/** Why messages were given up: name in the API, title. @type {[string, string][]} */
const REASONS = [["rejected", "Rejected"], ["expired", "Expired"], ["maxlen", "Dropped from a full queue"], ["delivery_limit", "Delivered too often"]];

/** What it has given up since the broker started. Dead letters are in other queues now, and nothing is lost. @param {any} queue */
function givenUp({ messages_dropped: all, messages_dropped_by_reason: reasons = {}, arguments: own, effective_policy_definition: policy }) {
  if (!all) return [];
  const isLetter = own?.["x-dead-letter-exchange"] !== undefined || policy?.["dead-letter-exchange"] !== undefined;
  const fate = isLetter ? "they went on as dead letters" : "they are lost: the queue has no dead letter exchange";
  const known = REASONS.filter(([name]) => reasons[name] > 0).map(([name, title]) => [title, reasons[name]]);
  return (known.length > 0 ? known : [["Given up", all]]).map(([title, count]) => [`${title}${isLetter ? ", dead lettered" : ", lost"}`, h(Figure, { value: count }), fate]);
}

/** @param {any} queue @param {[string, string][]} names */
const counts = (queue, names) => names.filter(([name]) => typeof queue[name] === "number").map(([name, title]) => [title, h(Figure, { value: queue[name] })]);

/**
 * Dead letters a second that came back to where they had died, between the last two answers: the stream does not tell of them.
 * @param {any} queue @param {number} at when it was answered
 */
function useLaps({ messages_came_round: count = 0 }, at) {
  const look = useRef({ count, at, laps: 0 });
  const before = look.current;
  if (at > before.at) look.current = { count, at, laps: before.at > 0 ? Math.max(0, count - before.count) / ((at - before.at) / 1000) : 0 };
  return look.current.laps;
}

/** Exchanges and channels that are shown. */
const SHOWN_MAX = 100;

/** @param {{ vhost: string, queue: any }} props */
function Incoming({ vhost, queue }) {
  const exchanges = (queue.incoming ?? []).slice(0, SHOWN_MAX);
  const publishers = (queue.publishers ?? []).slice(0, SHOWN_MAX);
  if (exchanges.length + publishers.length === 0) return html`<p class="empty">No open channel has published into it.${queue.message_stats?.publish > 0 && " The messages came in another way: as dead letters, by shovels or federation, moved by an operator, or from channels that are closed."} <a href=${href(["queues", vhost, queue.name], { tab: "bindings" })}>Its bindings</a> say what would come.</p>`;
  const cells = (/** @type {any} */ head, /** @type {any} */ stats) => [head, h(Figure, { unit: "rate", value: stats?.publish_details?.rate }), h(Figure, { unit: "messages", value: stats?.publish })];
  return html`${h(Plain, { label: "Incoming", head: ["From", { title: "Rate", isNumber: true }, { title: "Messages", isNumber: true }], rows: [
    ...exchanges.map((/** @type {any} */ { exchange, stats }) => ({ key: `exchange ${exchange.name}`, cells: cells(h("span", {}, "exchange ", h(ExchangeLink, exchange)), stats) })),
    ...publishers.map((/** @type {any} */ { channel_details: { name, user } = /** @type {any} */ ({}), stats }) => ({ key: `channel ${name}`, cells: cells(h("span", {}, "channel ", h("a", { href: href(["channels", name ?? ""]) }, h("bdi", {}, name)), " of ", h(UserLink, { name: user })), stats) })),
  ] })}
    ${(queue.publishers ?? []).length > SHOWN_MAX && html`<p class="about">and ${queue.publishers.length - SHOWN_MAX} more channels</p>`}`;
}

/** @param {{ vhost: string, name: string, queue: any, reload: () => Promise<void> }} props */
function Latency({ vhost, name, queue, reload }) {
  const isWatched = queue.latency_stages !== undefined;
  const watch = (/** @type {"PUT" | "DELETE"} */ method, /** @type {string} */ done) => attempt(() => change(method, path`api/warren/watched-queues/${vhost}/${name}`), done).then(reload);
  if (!isWatched) {
    return may("administrator")
      ? html`<p>The broker can watch this queue: it then measures the stages, until it stops or the queue is deleted. It watches at most 64 queues.</p>
        <p><button type="button" onClick=${() => watch("PUT", "The queue is watched.")}>Watch this queue</button></p>`
      : h(Note, { kind: "hint", children: "The broker does not watch this queue. An administrator can start that; the broker then measures its stages." });
  }
  return html`${h(LatencyStages, { stages: queue.latency_stages })}
    ${may("administrator") && html`<p><button type="button" onClick=${() => watch("DELETE", "The queue is no longer watched.")}>Stop watching this queue</button></p>`}`;
}
