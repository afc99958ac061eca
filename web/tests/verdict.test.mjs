import assert from "node:assert/strict";
import test from "node:test";
import { ackTimeOf, verdictOf } from "../console/parts/verdict.js";

const word = (seen) => verdictOf({ roundTripUs: 200, ackUs: 80_000, hasConsumers: true, acksNothing: false, ...seen }).word;

test("a long way is the network, a short one the consumer", () => {
  assert.equal(word({ roundTripUs: 80_056 }), "network");
  assert.equal(word({}), "consumer");
  assert.equal(word({ ackUs: 400 }), "neither");
});

test("what cannot be told is not told", () => {
  for (const seen of [{ roundTripUs: undefined }, { ackUs: undefined }, { acksNothing: true }]) assert.equal(word(seen), "unknown");
});

test("of a publisher the way is all there is", () => {
  assert.equal(word({ hasConsumers: false, ackUs: undefined, roundTripUs: 50_000 }), "network");
  assert.equal(word({ hasConsumers: false, ackUs: undefined }), "neither");
});

test("a publisher that an alarm blocks, or that is slowed down, is held up by the broker", () => {
  for (const state of ["blocked", "blocking", "flow"]) assert.equal(word({ state, hasConsumers: false, ackUs: undefined, roundTripUs: 12_000 }), "broker");
  assert.equal(word({ state: "running", hasConsumers: false, ackUs: undefined, roundTripUs: 12_000 }), "network");
});

test("there is no verdict before the connection has been looked at often enough", () => {
  assert.match(verdictOf({ roundTripUs: 6, ackUs: undefined, hasConsumers: true, acksNothing: false, isTooEarly: true }).text, /some seconds of data/);
  assert.equal(word({ ackUs: undefined, isTooEarly: true }), "unknown");
});

test("how long messages are with a client follows from how many are, and how many leave a second", () => {
  const looks = (...unacked) => unacked.map((count) => ({ unacked: count, acksPerS: 10 }));
  assert.equal(ackTimeOf(looks(50, 50, 50)), 5_000_000);
  assert.equal(ackTimeOf(looks(3, 0, 0)), 100_000);
  assert.equal(ackTimeOf(looks(50)), undefined, "one look may meet a burst");
  assert.equal(ackTimeOf([1, 2, 3].map(() => ({ unacked: 5, acksPerS: 0 }))), undefined);
});
