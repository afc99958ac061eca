import assert from "node:assert/strict";
import test from "node:test";
import { bytes, count, duration, rate, utc } from "../console/format.js";

test("numbers are read with their units", () => {
  assert.deepEqual([count(12345), bytes(0), bytes(1536), bytes(5 * 2 ** 30), rate(0.5), rate(12345.6)], ["12,345", "0 B", "1.5 KiB", "5 GiB", "0.5/s", "12,346/s"]);
  assert.deepEqual([duration(0.012), duration(1.5), duration(1500), duration(3_600_000 * 5)], ["12 µs", "1.5 ms", "1.5 s", "5 h 0 min"]);
});

test("what is not known is no number", () => {
  for (const show of [count, bytes, rate, duration]) for (const value of [undefined, null, NaN, "12"]) assert.equal(show(value), "–");
});

test("the world's time is said as such", () => assert.equal(utc("2026-11-26T23:01:02Z"), "2026-11-26 23:01:02 UTC"));
