// Why a queue is slow: what the broker knows of it and of its consumers, weighed.

import { useEffect, useRef, useState } from "../../vendor/modules/hooks.js";
import { get } from "../api.js";
import { path, withQuery } from "../address.js";
import { follow } from "../resource.js";
import { href } from "../route.js";
import { Figure } from "./figure.js";
import { Facts } from "./heading.js";
import { h, html } from "./html.js";
import { isInAlarm } from "./troubles.js";
import { queueVerdictOf } from "./queue_verdict.js";

/** Connections of consumers that are asked how far it is to them. */
const CONNECTIONS_MAX = 5;
const INTERVAL_MS = 10_000;
/** Looks of which the growth is told: those of about a minute. */
const LOOKS_MAX = 12;

/** @typedef {{ prefetch?: number, acksNothing: boolean, roundTripUs?: number }} Consumers */

/** @param {string} vhost @param {string} name @param {AbortSignal} signal @returns {Promise<Consumers>} */
async function lookAtConsumers(vhost, name, signal) {
  const { consumer_details: consumers = [] } = await get(withQuery(path`api/queues/${vhost}/${name}`, { columns: "consumer_details" }), { signal });
  const names = [...new Set(consumers.map((/** @type {any} */ one) => one.channel_details?.connection_name))].filter(Boolean).slice(0, CONNECTIONS_MAX);
  const asked = await Promise.all(names.map((one) => get(withQuery(path`api/connections/${one}`, { columns: "network" }), { signal }).catch(() => undefined)));
  const trips = asked.map((one) => one?.network?.round_trip_min_us ?? one?.network?.round_trip_us).filter((us) => us !== undefined);
  const limits = consumers.map((/** @type {any} */ one) => one.prefetch_count);
  return {
    acksNothing: consumers.length > 0 && consumers.every((/** @type {any} */ one) => one.ack_required === false),
    prefetch: limits.length > 0 && limits.every((/** @type {number} */ limit) => limit > 0) ? limits.reduce((/** @type {number} */ sum, /** @type {number} */ limit) => sum + limit, 0) : undefined,
    roundTripUs: trips.length > 0 ? Math.max(...trips) : undefined,
  };
}

/** @type {Record<import("./queue_verdict.js").Verdict["word"], string>} */
const TITLES = { nothing: "It is not slow.", paused: "Paused.", consumers: "Consumers.", network: "Network.", alarm: "An alarm.", loop: "Dead letters in circles.", rejected: "Redelivered.", stuck: "No acks.", broker: "The broker.", early: "Not known yet." };

/** @param {{ vhost: string, name: string, queue: any, laps: number }} props laps: dead letters a second that come back here */
export function QueueSlowness({ vhost, name, queue, laps }) {
  const [consumers, setConsumers] = useState(/** @type {Consumers | undefined} */ (undefined));
  useEffect(() => follow((signal) => lookAtConsumers(vhost, name, signal), ({ data }) => data && setConsumers(data), INTERVAL_MS).end, [vhost, name]);
  const looks = useRef(/** @type {{ ready: number, at: number }[]} */ ([]));
  const last = useRef(/** @type {any} */ (undefined));
  if (last.current !== queue) {
    last.current = queue;
    looks.current = [...looks.current.slice(1 - LOOKS_MAX), { ready: queue.messages_ready ?? 0, at: performance.now() }];
  }
  const stats = queue.message_stats ?? {};
  const rate = (/** @type {string} */ of) => stats[`${of}_details`]?.rate ?? 0;
  const [first, now] = [looks.current[0], looks.current.at(-1)];
  const seconds = first && now ? (now.at - first.at) / 1000 : 0;
  const seen = {
    ready: queue.messages_ready ?? 0, unacked: queue.messages_unacknowledged ?? 0, consumers: queue.consumers ?? 0, isPaused: queue.paused === true, capacity: queue.consumer_capacity,
    publish: rate("publish"), deliver: rate("deliver_get"), ack: rate("ack"), redeliver: rate("redeliver"), growth: seconds > 0 && first && now ? (now.ready - first.ready) / seconds : 0, laps,
    acksNothing: false, ...consumers, isInAlarm: isInAlarm(), looks: consumers ? looks.current.length : 0,
  };
  const { word, text } = queueVerdictOf(seen);
  return html`<p class=${`note ${word === "nothing" || word === "early" ? "hint" : "warning"}`} role="note"><b>${TITLES[word]}</b> ${text}</p>
    ${h(Facts, { facts: [
      ["Grows by", h(Figure, { unit: "rate", value: seen.growth }), "ready messages, since this page looks"],
      ["Consumers could take messages", seen.consumers > 0 && h(Figure, { unit: "percent", value: typeof seen.capacity === "number" ? seen.capacity * 100 : undefined }), "how much of the time"],
      ["Prefetch together", seen.consumers > 0 && (seen.prefetch === undefined ? "no limit" : h(Figure, { value: seen.prefetch }))],
      ["Delivery to ack", seen.ack > 0 && h(Figure, { unit: "us", value: (seen.unacked / seen.ack) * 1e6 }), "unacked messages by acks a second"],
      ["Round trip at best", seen.roundTripUs !== undefined && h(Figure, { unit: "us", value: seen.roundTripUs }), "to the consumers and back, by the kernel"],
    ] })}
    ${seen.consumers > 0 && html`<p class="about"><a href=${href(["queues", vhost, name], { tab: "consumers" })}>Its consumers</a> lead to their connections, which tell a slow network from a slow program.</p>`}`;
}
