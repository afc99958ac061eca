// What a person looks for becomes what the API takes, and nothing else: a search that is misunderstood would delete what was not meant.

import assert from "node:assert/strict";
import { before, test } from "node:test";

/** @type {typeof import("../console/parts/message_filter.js")} */
let filters;
before(async () => {
  const page = { location: { hash: "" }, addEventListener: () => undefined, document: { documentElement: { dataset: {} } }, history: { replaceState: () => undefined } };
  for (const [name, value] of Object.entries(page)) if (!(name in globalThis)) Object.assign(globalThis, { [name]: value });
  filters = await import("../console/parts/message_filter.js");
});

test("durations are milliseconds, and a number alone is seconds", () => {
  for (const [text, ms] of /** @type {[string, number][]} */ ([["90s", 90_000], ["10m", 600_000], ["2h", 7_200_000], ["1d", 86_400_000], ["1.5s", 1500], ["200 ms", 200], ["5", 5000]])) {
    assert.equal(filters.millisecondsOf(text), ms, text);
  }
  for (const text of ["", "soon", "10 x", "-1s"]) assert.throws(() => filters.millisecondsOf(text), /is not a duration/, text);
});

test("what the address has becomes parameters", () => {
  const query = new URLSearchParams({ tab: "messages", body: "a=b", older_than: "10m", redelivered: "true", exchange: "amq.default", header: "", message: "0-1" });
  assert.deepEqual(filters.filterOf(query), { body: "a=b", older_than: "600000", redelivered: "true", exchange: "" });
});

test("where one begins is no property of a message", () => {
  assert.deepEqual(filters.criteriaOf({ state: "unacked", tail: "20", body: "a" }), { body: "a" });
});

test("members of an object have their types", () => {
  assert.deepEqual(filters.membersOf({ older_than: "5000", dead: "false", header: "n", header_value: "1" }), { older_than: 5000, dead: false, header: "n", header_value: "1" });
});
