import assert from "node:assert/strict";
import test from "node:test";
import { withHistories, withNewer } from "../console/parts/newer_numbers.js";

test("newer numbers take the place of older ones, and histories stay", () => {
  const samples = [{ sample: 3, timestamp: 5000 }];
  const answer = { queue_totals: { messages: 3, messages_details: { rate: 0, samples } }, message_stats: { publish: 3, publish_details: { rate: 1, samples } }, node: "n", listeners: [1] };
  const newer = { queue_totals: { messages: 7, messages_details: { rate: 0.8 } }, message_stats: { publish: 7, publish_details: { rate: 0.8 }, ack: 1, ack_details: { rate: 0.2 } }, listeners: [2] };
  assert.deepEqual(withNewer(answer, newer), {
    queue_totals: { messages: 7, messages_details: { rate: 0.8, samples } },
    message_stats: { publish: 7, publish_details: { rate: 0.8, samples }, ack: 1, ack_details: { rate: 0.2 } }, node: "n", listeners: [2],
  });
  assert.equal(withNewer(undefined, newer), undefined, "what is not known is not known by halves");
  assert.equal(withNewer(answer, undefined), answer);
});

test("what a page has seen stays where another leader knows nothing of it", () => {
  const samples = (...all) => all.map(([timestamp, sample]) => ({ timestamp, sample }));
  const of = (list) => ({ message_stats: { publish: 9, publish_details: { rate: 1, samples: list } } });
  const shown = (before, now) => withHistories(of(before), of(now), 15).message_stats.publish_details.samples.map(({ timestamp, sample }) => [timestamp, sample]);
  const before = samples([20, 40], [15, 30], [10, 20], [5, 10]);
  assert.deepEqual(shown(before, samples([25, 1])), [[25, 1], [20, 40], [15, 30], [10, 20]], "another leader counts from zero");
  assert.deepEqual(shown(before, samples([25, 50], [20, 40], [15, 30], [10, 20])), [[25, 50], [20, 40], [15, 30], [10, 20]], "the oldest falls off, as always");
  assert.deepEqual(shown(samples([20, 40]), samples([25, 1])), [[25, 1], [20, 40]], "one that is short grows");
  assert.deepEqual(shown(before, samples([60, 90], [0, 0])), [[60, 90], [0, 0]], "another span has other samples");
  assert.deepEqual(withHistories(undefined, of(before), 15), of(before));
});

test("a leader that has no history yet, or tells of zeros, does not empty what was known", () => {
  const samples = (...all) => all.map(([timestamp, sample]) => ({ timestamp, sample }));
  const published = samples([15, 50], [10, 50]);
  const before = { messages_details: { rate: 0, samples: samples([15, 50], [10, 50], [5, 50]) }, message_stats: { publish: 50, publish_details: { rate: 1, samples: published } } };
  const empty = withHistories(before, { messages_details: { rate: 0, samples: [] } }, 15);
  assert.deepEqual(empty.messages_details.samples, before.messages_details.samples);
  assert.deepEqual(empty.message_stats, { publish_details: { rate: 0, samples: published } }, "what it has not counted has no rate");
  const zeros = withHistories(empty, { messages_details: { rate: 0, samples: samples([20, 50], [15, 0], [10, 0]) } }, 15);
  assert.deepEqual(zeros.messages_details.samples, samples([20, 50], [15, 50], [10, 50], [5, 50]));
  const gap = withHistories(withHistories(before, { messages_details: { samples: samples([30, 50]) } }, 60), { messages_details: { samples: samples([35, 50], [30, 50]) } }, 60);
  assert.deepEqual(gap.messages_details.samples, samples([35, 50], [30, 50], [15, 50], [10, 50], [5, 50]));
});
