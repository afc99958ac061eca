import assert from "node:assert/strict";
import test from "node:test";
import { RowReader } from "../console/rows.js";

/** Reads a text in pieces of a length. */
function read(text, len) {
  const reader = new RowReader();
  const rows = [];
  for (let from = 0; from < text.length; from += len) rows.push(...reader.push(text.slice(from, from + len)));
  return { rows, mark: `${reader.len} ${reader.hash}` };
}

const ROWS = [{ name: 'a"},{"b\\', list: [1, [2, { of: "]" }]] }, { name: "\\", empty: {} }, { name: "é🐇}", none: null, last: [] }, {}];

test("rows are the same, wherever the text is cut", () => {
  for (const text of [JSON.stringify(ROWS), JSON.stringify(ROWS, null, 2), "[]", " [ ] "]) {
    for (let len = 1; len <= text.length; len += 1) assert.deepEqual(read(text, len).rows, JSON.parse(text), `${len}`);
  }
});

test("a text is told from another one, and not by its pieces", () => {
  const text = JSON.stringify(ROWS);
  for (let len = 1; len <= text.length; len += 1) assert.equal(read(text, len).mark, read(text, text.length).mark);
  assert.notEqual(read(text.replace("é", "è"), 7).mark, read(text, 7).mark);
});
