// Where the time between a delivery and its acknowledgement goes: on the way to the client and back, or in the client.

import { duration } from "../format.js";

/**
 * @typedef {{ state?: string, roundTripUs: number | undefined, ackUs: number | undefined, hasConsumers: boolean, acksNothing: boolean, isTooEarly?: boolean }} Seen
 * state: of the connection; roundTripUs: the least that the kernel has seen, since its mean is that of what the client was slow to answer, too;
 * ackUs: from delivery to ack, as near to this client as it is known; acksNothing: its consumers get messages that need no ack;
 * isTooEarly: it was not looked at often enough
 * @typedef {"network" | "consumer" | "broker" | "neither" | "unknown"} Word
 */

/** Shorter than this, a delivery and its ack are nothing to look at. */
const SHORT_US = 2000;
/** The way is what takes long if it is such a part of all. */
const PART = 0.5;

/** @param {number} us */
const time = (us) => duration(us / 1000);

/** @param {Seen} seen @returns {{ word: Word, text: string }} */
export function verdictOf({ state, roundTripUs, ackUs, hasConsumers, acksNothing, isTooEarly }) {
  if (state === "blocked" || state === "blocking") {
    return { word: "broker", text: state === "blocked" ? "An alarm blocks it: memory or disk is short, and the broker does not read from it until the alarm ends. The network is not the cause." : "An alarm is on: memory or disk is short, and the broker will not read what it publishes next until the alarm ends." };
  }
  if (state === "flow") return { word: "broker", text: "It is slowed down (flow): it publishes faster than the broker can store it, or than consumers can take it." };
  if (roundTripUs === undefined) {
    return { word: "unknown", text: "The kernel has no round trip of this client: it uses a WebSocket or a socket of this host, or is busy all the time." };
  }
  if (!hasConsumers) {
    return { word: roundTripUs > SHORT_US ? "network" : "neither", text: `It has no consumer. A publisher waits for the network, ${time(roundTripUs)} there and back, and for the broker; the stages of the overview show the broker's part.` };
  }
  if (acksNothing) return { word: "unknown", text: `Its consumers acknowledge nothing (auto ack), so the time that they take is unknown. The round trip takes ${time(roundTripUs)}.` };
  if (ackUs === undefined && isTooEarly) return { word: "unknown", text: "The page needs some seconds of data for a verdict." };
  if (ackUs === undefined) return { word: "unknown", text: `Nothing was acknowledged lately. The round trip takes ${time(roundTripUs)}.` };
  if (ackUs < SHORT_US) return { word: "neither", text: `Messages are acknowledged ${ackUs === 0 ? "at once" : `${time(ackUs)} after their delivery`}: neither the network nor the consumer is slow.` };
  if (roundTripUs >= ackUs * PART) return { word: "network", text: `It is the network: of ${time(ackUs)} from a delivery to its ack, the round trip takes ${time(roundTripUs)}.` };
  return { word: "consumer", text: `It is the consumer: of ${time(ackUs)} from a delivery to its ack, the round trip takes only ${time(roundTripUs)}. The consumer works on each message that long, or keeps many waiting (its prefetch).` };
}

/** Looks at a connection before it is known how long messages are with it: one look may meet a burst. */
export const LOOKS_MIN = 3;

/**
 * How long messages are with a client, by how many are and how many it acknowledges a second, in microseconds. Undefined: nothing flows,
 * or it was not looked at often enough.
 * @param {{ unacked: number, acksPerS: number }[]} looks
 */
export function ackTimeOf(looks) {
  const [unacked, acks] = [looks.reduce((sum, look) => sum + look.unacked, 0), looks.reduce((sum, look) => sum + look.acksPerS, 0)];
  return looks.length >= LOOKS_MIN && acks > 0 ? (unacked / acks) * 1e6 : undefined;
}
