import assert from "node:assert/strict";
import test from "node:test";
import { historyOf, linesOf, ratesOf, samplesOf } from "../console/parts/samples.js";

/** A history of five seconds a sample, the oldest first. */
const history = (...samples) => ({ samples: samples.map((sample, index) => ({ sample, timestamp: 5000 * (index + 1) })).reverse() });

test("rates are those between samples, and a counter that begins anew has none", () => {
  assert.deepEqual(ratesOf(history(10, 20, 5)), { times: [10, 15], values: [2, 0] });
});

test("lines of rates begin where the first of them is counted", () => {
  const counters = [["Publish", history(0, 0, 0, 50, 100)], ["Ack", history(0, 0, 0, 0, 10)], ["Get", undefined]];
  assert.deepEqual(linesOf(counters, ratesOf), { times: [15, 20, 25], lines: [{ label: "Publish", values: [0, 10, 10] }, { label: "Ack", values: [0, 0, 2] }] });
  assert.equal(linesOf([["Publish", history(7, 7, 7)]], ratesOf).times.length, 2, "what was counted before is counted");
  assert.equal(linesOf([["Publish", history(0, 0, 0)]], ratesOf).times.length, 2, "that nothing is counted is known");
});

test("lengths begin where something is known of the object, and not with zeros of the time before it existed", () => {
  const ready = [["Ready", history(0, 0, 3, 0)], ["Unacked", history(0, 0, 0, 1)]];
  assert.deepEqual(linesOf(ready, samplesOf), { times: [15, 20], lines: [{ label: "Ready", values: [3, 0] }, { label: "Unacked", values: [0, 1] }] });
  assert.deepEqual(linesOf(ready, samplesOf, { counters: { publish: 3, publish_details: history(0, 1, 3, 3) } }).times, [10, 15, 20], "it was empty, and there");
  assert.deepEqual(linesOf(ready, samplesOf, { counters: { publish_details: history(7, 7, 9, 9) } }).times, [5, 10, 15, 20], "it had been used before");
});

test("an object that never did anything has a line from when it was made", () => {
  const made = new Date(12_000).toISOString();
  assert.deepEqual(linesOf([["Ready", history(0, 0, 0, 0)]], samplesOf, { since: made }).times, [15, 20]);
  assert.deepEqual(linesOf([["Ready", history(0, 0)]], samplesOf).times, [5, 10]);
  assert.deepEqual(linesOf([["Ready", history(0, 4)]], samplesOf, { since: made }).times, [10], "since its last change it rests");
});

test("before there is a history its value now is known", () => {
  assert.deepEqual(historyOf({ messages: 7, messages_details: { samples: [] } }, "messages", 5000), { samples: [{ timestamp: 5000, sample: 7 }] });
  assert.deepEqual(historyOf({ messages: 7, messages_details: history(1) }, "messages", 9000), history(1));
  assert.equal(historyOf({ messages: 7 }, "messages", 9000), undefined);
});
