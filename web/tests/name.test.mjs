import assert from "node:assert/strict";
import test from "node:test";
import { seenName } from "../console/parts/name.js";

test("a name of spaces is seen, and others are as they are", () => {
  assert.equal(seenName(" "), "␣");
  assert.equal(seenName("  "), "␣␣");
  for (const name of ["", "a b", " a"]) assert.equal(seenName(name), name);
});
