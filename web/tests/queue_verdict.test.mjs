import assert from "node:assert/strict";
import test from "node:test";
import { queueVerdictOf } from "../console/parts/queue_verdict.js";

/** A queue at 100/s whose two consumers keep up, but for what is said. */
const verdict = (seen) => queueVerdictOf({ ready: 0, unacked: 2, consumers: 2, capacity: 1, publish: 100, deliver: 100, ack: 100, redeliver: 0, growth: 0, laps: 0, prefetch: 20, acksNothing: false, roundTripUs: 50, isInAlarm: false, looks: 5, ...seen });
const word = (seen) => verdict(seen).word;

test("a queue that keeps up is not slow, whatever it carries", () => {
  for (const seen of [{}, { publish: 20_000, deliver: 20_000, ack: 20_000, unacked: 71, prefetch: undefined }, { ready: 40, growth: -3 }, { publish: 0, deliver: 0, ack: 0, unacked: 0, consumers: 0 }]) assert.equal(word(seen), "nothing", JSON.stringify(seen));
});

test("each cause is named by what shows it", () => {
  const full = { ready: 900, unacked: 20, growth: 40 };
  assert.equal(word({ ready: 5, consumers: 0 }), "consumers");
  assert.equal(word({ ...full, ack: 10, deliver: 10 }), "consumers");
  assert.equal(word({ ...full, prefetch: 2, unacked: 2, ack: 24, deliver: 24, roundTripUs: 80_000 }), "network");
  assert.equal(word({ ...full, capacity: 1, unacked: 1 }), "broker");
  assert.equal(word({ ...full, capacity: 0.2, unacked: 1 }), "consumers");
  assert.equal(word({ unacked: 7, ack: 0, deliver: 0 }), "stuck");
  assert.equal(word({ redeliver: 90, ack: 10 }), "rejected");
  assert.equal(word({ laps: 227, publish: 227, ack: 0, unacked: 0 }), "loop");
  assert.equal(word({ isInAlarm: true, publish: 0, deliver: 0, ack: 0, unacked: 0 }), "alarm");
  assert.equal(word({ isPaused: true, ...full, ack: 0 }), "paused");
});

test("there is no verdict before there is evidence", () => {
  assert.equal(word({ looks: 2, ready: 900, unacked: 20, growth: 40, ack: 10 }), "early");
  assert.equal(word({ looks: 1, ready: 5, consumers: 0 }), "consumers", "that no program consumes is seen at once");
});

test("what is told has its figures", () => {
  assert.match(verdict({ ready: 1, consumers: 0 }).text, /1 message waits/);
  assert.match(verdict({ ready: 900, unacked: 20, growth: 40, ack: 10, deliver: 10 }).text, /prefetch \(20 together\).*10\/s.*2 s after its delivery/);
});
