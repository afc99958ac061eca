// Whether the network or the consumer is slow, for one connection: what the kernel says of the way, beside how long messages are with it.

import { change, get, sentenceOf } from "../api.js";
import { path } from "../address.js";
import { follow } from "../resource.js";
import { useEffect, useRef, useState } from "../../vendor/modules/hooks.js";
import { may } from "../session.js";
import { Figure } from "./figure.js";
import { h, html } from "./html.js";
import { QueueLink } from "./links.js";
import { attempt } from "./note.js";
import { ackTimeOf, LOOKS_MIN, verdictOf } from "./verdict.js";

/** Channels of a connection whose consumers are looked at. */
const CHANNELS_MAX = 8;
const QUEUES_MAX = 5;
const INTERVAL_MS = 10_000;
/** Looks at how many messages are with the client that count: those of the last minute or two. */
const LOOKS_MAX = 20;

/**
 * @typedef {{ vhost: string, name: string, p50Us?: number, isWatched: boolean }} Queue
 * @typedef {{ queues: Queue[], more: number, hasConsumers: boolean, acksNothing: boolean, vhostUs?: number }} Evidence
 */

/** @param {any} stages @returns {number | undefined} */
const medianOf = (stages) => (stages?.deliver_to_ack?.messages > 0 ? stages.deliver_to_ack.p50_us : undefined);

/** The same as `get`, of what may not be there or not be for this user. @param {string} path @param {AbortSignal} signal */
const optional = (path, signal) => get(path, { signal }).catch(() => undefined);

/**
 * @param {any[]} channels of the connection
 * @param {string} vhost
 * @param {AbortSignal} signal
 * @returns {Promise<Evidence>}
 */
async function look(channels, vhost, signal) {
  const consuming = channels.filter((channel) => channel.consumer_count > 0);
  const [details, watched, ofVhost] = await Promise.all([
    Promise.all(consuming.slice(0, CHANNELS_MAX).map(({ name }) => optional(`${path`api/channels/${name}`}?columns=consumer_details`, signal))),
    may("monitoring") ? optional("api/warren/watched-queues", signal) : [],
    may("administrator") ? optional(`${path`api/vhosts/${vhost}`}?columns=latency_stages`, signal) : undefined,
  ]);
  const consumers = details.flatMap((channel) => channel?.consumer_details ?? []);
  const names = [...new Set(consumers.map((/** @type {any} */ consumer) => /** @type {string} */ (consumer.queue?.name)))].filter((name) => name !== undefined);
  const queues = await Promise.all(names.slice(0, QUEUES_MAX).map(async (name) => {
    const isWatched = (watched ?? []).some((/** @type {any} */ one) => one.vhost === vhost && one.name === name);
    const queue = isWatched ? await optional(`${path`api/queues/${vhost}/${name}`}?columns=latency_stages`, signal) : undefined;
    return { vhost, name, isWatched, p50Us: medianOf(queue?.latency_stages) };
  }));
  return {
    queues, more: Math.max(0, names.length - QUEUES_MAX), hasConsumers: consuming.length > 0,
    acksNothing: consumers.length > 0 && consumers.every((/** @type {any} */ consumer) => consumer.ack_required === false), vhostUs: medianOf(ofVhost?.latency_stages),
  };
}

/** Messages that are with a client now, and how many it acknowledges a second. @param {any[]} channels */
const lookAt = (channels) => ({
  unacked: channels.reduce((sum, channel) => sum + (channel.messages_unacknowledged ?? 0), 0),
  acksPerS: channels.reduce((sum, channel) => sum + (channel.message_stats?.ack_details?.rate ?? 0), 0),
});

/** @param {{ connection: any, channels: any[] }} props */
export function ClientLatency({ connection, channels }) {
  const { name, vhost, network, state } = connection;
  const [evidence, setEvidence] = useState(/** @type {Evidence | undefined} */ (undefined));
  const consuming = channels.filter((channel) => channel.consumer_count > 0).slice(0, CHANNELS_MAX).map((channel) => channel.name).join("\n");
  useEffect(() => {
    const followed = follow((signal) => look(channels, vhost, signal), ({ data, error }) => (data ? setEvidence(data) : error && console.warn(sentenceOf(error))), INTERVAL_MS);
    return followed.end;
  }, [name, vhost, consuming]);
  const looks = useRef(/** @type {{ unacked: number, acksPerS: number }[]} */ ([]));
  useEffect(() => void (looks.current = [...looks.current.slice(1 - LOOKS_MAX), lookAt(channels)]), [channels]);
  if (!evidence) return html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  const { unacked, acksPerS: acks } = lookAt(channels);
  const ownUs = ackTimeOf(looks.current);
  const ofQueues = evidence.queues.map(({ p50Us }) => p50Us).filter((us) => us !== undefined);
  // What is known of all in the virtual host stands for this one only when it has been looked at itself, in vain.
  const isTooEarly = looks.current.length < LOOKS_MIN;
  const ackUs = ofQueues.length > 0 ? Math.max(...ofQueues) : ownUs ?? (isTooEarly ? undefined : evidence.vhostUs);
  const leastUs = network?.round_trip_min_us ?? network?.round_trip_us;
  const { word, text } = verdictOf({ state, roundTripUs: leastUs, ackUs, hasConsumers: evidence.hasConsumers, acksNothing: evidence.acksNothing, isTooEarly });
  const row = (/** @type {any} */ title, /** @type {unknown} */ value, /** @type {any} */ about) => html`<tr><th scope="row">${title}</th><td class="number">${h(Figure, { unit: "us", value })}</td><td>${about}</td></tr>`;
  return html`<p class=${`note ${word === "neither" || word === "unknown" ? "hint" : "warning"}`} role="note"><b>${TITLES[word]}</b> ${text}</p>
    <div class="scrolled" tabindex="0" role="region" aria-label="What the verdict is from"><table class="plain">
      <thead><tr><th scope="col">Measured</th><th scope="col" class="number">Time</th><th scope="col">How</th></tr></thead>
      <tbody>${row("Round trip at best", leastUs, "the way to the client and back, the shortest that the kernel has seen lately; the mean also contains the time that the client took to answer")}
      ${evidence.hasConsumers && row("Delivery to ack, this connection", ownUs, html`${unacked.toLocaleString("en")} unacked now, ${h(Figure, { unit: "rate", value: acks })} acknowledged; the mean of the last looks`)}
      ${evidence.queues.map((queue) => row(html`Delivery to ack, queue ${h(QueueLink, queue)}`, queue.p50Us, queue.isWatched ? "median of the queue, which is watched" : h(Watch, { queue })))}
      ${evidence.more > 0 && row(`${evidence.more} more queues`, undefined, "not looked at here")}
      ${evidence.vhostUs !== undefined && row("Delivery to ack, virtual host", evidence.vhostUs, "median of all consumers in it")}</tbody></table></div>`;
}

/** @type {Record<import("./verdict.js").Word, string>} */
const TITLES = { network: "Network.", consumer: "Consumer.", broker: "The broker.", neither: "Neither is slow.", unknown: "Unknown." };

/** @param {{ queue: Queue }} props */
function Watch({ queue }) {
  const [isAsked, setAsked] = useState(false);
  if (isAsked) return h("span", {}, "watched from now on");
  if (!may("administrator")) return h("span", {}, "not watched");
  const watch = () => void attempt(() => change("PUT", path`api/warren/watched-queues/${queue.vhost}/${queue.name}`), "The queue is watched: its times come in a moment.").then(setAsked);
  return h("button", { type: "button", onClick: watch, "aria-label": `Watch it: the queue ${queue.name}` }, "Watch it");
}
