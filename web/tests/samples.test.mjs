import assert from "node:assert/strict";
import test from "node:test";
import { linesOf, ratesOf, samplesOf } from "../console/parts/samples.js";

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

test("lengths are drawn as far back as they are known", () => {
  assert.deepEqual(linesOf([["Ready", history(0, 0, 3)]], samplesOf), { times: [5, 10, 15], lines: [{ label: "Ready", values: [0, 0, 3] }] });
});
