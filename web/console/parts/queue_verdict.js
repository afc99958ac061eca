// What keeps the messages of a queue from getting on, by what can be seen of it: the first of these that holds.

import { duration, rate } from "../format.js";
import { verdictOf } from "./verdict.js";

/**
 * @typedef {object} Seen of a queue
 * @property {number} ready
 * @property {number} unacked
 * @property {number} consumers
 * @property {boolean} [isPaused] an operator has
 * @property {number} [capacity] how much of the time its consumers could take messages, from 0 to 1
 * @property {number} publish messages a second that come in
 * @property {number} deliver messages a second that are handed out
 * @property {number} ack
 * @property {number} redeliver
 * @property {number} growth ready messages a second that there are more, by the looks
 * @property {number} laps dead letters a second that come back to it
 * @property {number} [prefetch] messages that its consumers may have together; undefined: any number, or it is not known
 * @property {boolean} acksNothing its consumers get messages that need no ack
 * @property {number} [roundTripUs] to its consumers, the longest of the least that the kernel has seen
 * @property {boolean} isInAlarm publishers are blocked
 * @property {number} looks how often it was looked at
 *
 * @typedef {{ word: "nothing" | "paused" | "consumers" | "network" | "alarm" | "loop" | "rejected" | "stuck" | "broker" | "early", text: string }} Verdict
 */

/** Looks before a rate is evidence: one may meet a burst. */
export const LOOKS_MIN = 3;
/** So many dead letters a second come back to a queue that goes round in circles. Retries come back, too, after a pause. */
const LAPS_MIN = 20;
/** Consumers that can take messages so much of the time are not what others wait for. */
const CAPACITY_FREE = 0.9;
/** Such a part of a prefetch in use is all of it: some acks are always on their way. */
const PREFETCH_FULL = 0.8;

/** @param {number} count */
const messages = (count) => (count === 1 ? "1 message" : `${count.toLocaleString("en")} messages`);

/** @param {Seen} seen @returns {Verdict} */
export function queueVerdictOf(seen) {
  const { ready, unacked, consumers, publish, deliver, laps, isPaused, isInAlarm } = seen;
  if (isPaused) return { word: "paused", text: `An operator has paused the queue: nothing is handed out until it is resumed.${ready > 0 ? ` ${messages(ready)} ${ready === 1 ? "waits" : "wait"}.` : ""}` };
  if (laps >= LAPS_MIN) return { word: "loop", text: `Dead letters go round in circles: ${rate(laps)} come back here, where they died before. None is lost, and none is ever done: check where this queue's dead letters go, and why they die.` };
  if (ready > 0 && consumers === 0) return { word: "consumers", text: `It has no consumer: ${messages(ready)} ${ready === 1 ? "waits" : "wait"} until a program consumes.` };
  if (seen.looks < LOOKS_MIN) return { word: "early", text: "The page needs some seconds of data for a verdict." };
  return consumersVerdictOf(seen) ?? (isInAlarm && publish === 0
    ? { word: "alarm", text: "An alarm blocks publishers: nothing comes in until memory and disk are sufficient again." }
    : { word: "nothing", text: ready + unacked === 0 && publish === 0 ? "Nothing waits in it, and nothing comes in." : `Nothing is slow: ${rate(publish)} come in, ${rate(deliver)} go out, and ${messages(ready)} ${ready === 1 ? "is" : "are"} ready.` });
}

/** What is wrong with consumers, or the way to them. @param {Seen} seen @returns {Verdict | undefined} */
function consumersVerdictOf(seen) {
  const { ready, unacked, consumers, deliver, ack, redeliver, growth, acksNothing, prefetch, capacity = 0, roundTripUs } = seen;
  if (consumers === 0) return undefined;
  if (redeliver > 1 && redeliver >= deliver / 2 && redeliver > ack) {
    return { word: "rejected", text: `Consumers send messages back: ${rate(redeliver)} of ${rate(deliver)} had been handed out before. Perhaps no consumer can process one of the messages, and it comes back again and again.` };
  }
  if (!acksNothing && unacked > 0 && ack === 0) {
    return { word: "stuck", text: `Consumers acknowledge nothing: ${messages(unacked)} ${unacked === 1 ? "is" : "are"} with them.${isFull(unacked, prefetch) ? " They get no more until they do." : ""}` };
  }
  if (ready === 0 || growth < 0) return undefined;
  if (!acksNothing && ack > 0 && isFull(unacked, prefetch)) {
    const ackUs = (unacked / ack) * 1e6;
    const { word } = verdictOf({ roundTripUs: roundTripUs ?? 0, ackUs, hasConsumers: true, acksNothing });
    if (word === "network") return { word, text: `It is the network: an ack comes ${duration(ackUs / 1000)} after its delivery, and the way to the consumers and back takes ${duration((roundTripUs ?? 0) / 1000)}. A larger prefetch (${prefetch} now) bridges it.` };
    return { word: "consumers", text: `Consumers are slow: they have all that their prefetch (${prefetch} together) allows, and acknowledge ${rate(ack)}, each message ${duration(ackUs / 1000)} after its delivery. More consumers, or faster ones, help.` };
  }
  if (capacity >= CAPACITY_FREE && growth > 0) return { word: "broker", text: `Consumers could take more ${Math.round(capacity * 100)} % of the time, and ${messages(ready)} wait: the time is spent in the broker. The stages below say where.` };
  if (growth > 0) return { word: "consumers", text: `Consumers take less than comes in: ${rate(deliver)} of ${rate(seen.publish)}. They could take messages ${Math.round(capacity * 100)} % of the time.` };
  return undefined;
}

/** Whether consumers have as much as they may. @param {number} unacked @param {number | undefined} prefetch */
const isFull = (unacked, prefetch) => prefetch !== undefined && prefetch > 0 && unacked >= prefetch * PREFETCH_FULL;
