// JSON is set out without a change of what it says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatJson, looksLikeJson } from "../console/json.js";

const all = (/** @type {string} */ text) => formatJson(text).text;

test("members stand on lines of their own", () => {
  assert.equal(all('{"a":1,"b":[true,null]}'), '{\n  "a": 1,\n  "b": [\n    true,\n    null\n  ]\n}');
});

test("what is empty stays on its line", () => {
  assert.equal(all('{"a":[],"b":{},"c":[[]]}'), '{\n  "a": [],\n  "b": {},\n  "c": [\n    []\n  ]\n}');
});

test("long numbers and members that are there twice stay as they were written", () => {
  assert.equal(all('{"n":12345678901234567890,"n":1.50}'), '{\n  "n": 12345678901234567890,\n  "n": 1.50\n}');
});

test("brackets and quotes within texts are text", () => {
  assert.equal(all('["a:{},[]\\"b\\\\"]'), '[\n  "a:{},[]\\"b\\\\"\n]');
});

test("what is set out means the same", () => {
  const text = JSON.stringify({ deep: [{ é: "\u2028", list: [1, [2, { x: {} }]] }], "": false });
  assert.deepEqual(JSON.parse(all(text)), JSON.parse(text));
});

test("a piece ends early and says so", () => {
  const { text, isAll } = formatJson(JSON.stringify(Array.from({ length: 1000 }, (_, index) => index)), 50);
  assert.ok(text.length < 70 && text.startsWith("[\n  0,\n  1"));
  assert.equal(isAll, false);
  assert.equal(formatJson("[1]", 50).isAll, true);
});

test("only whole objects and lists look like JSON", () => {
  for (const text of ["1", '"a"', "[1,2", "{a:1}", "", "null"]) assert.equal(looksLikeJson(text), false, text);
  for (const text of ["[]", ' {"a":1} ']) assert.equal(looksLikeJson(text), true, text);
});
