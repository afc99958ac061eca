import assert from "node:assert/strict";
import test from "node:test";
import { difference, foldedOf, tableOf, treeOfFolded, treeOfWall } from "../console/parts/stacks.js";

const FRAMES = [
  { parent: null, kind: "call", name: "http::list", holder: null, count: 2, total_us: 100, own_us: 20 },
  { parent: 0, kind: "lock", name: "the rows", holder: "refresh", count: 2, total_us: 80, own_us: 80 },
];

test("a profile of requests is a tree under one root", () => {
  const root = treeOfWall(FRAMES);
  assert.equal(root.total, 100);
  assert.equal(root.children[0].children[0].name, "lock the rows, held by refresh");
});

test("folded stacks and trees are the same", () => {
  const text = "a;b 3\na;c 2\nd 1\n";
  assert.deepEqual(foldedOf(treeOfFolded(text)).trim().split("\n").sort(), text.trim().split("\n").sort());
  assert.equal(treeOfFolded("a_[t];b 1").children[0].kind, "thread");
  assert.throws(() => treeOfFolded("nothing of the kind"), /no folded stacks/);
});

test("a difference has shares of both, also of what only one has", () => {
  const joined = difference(treeOfFolded("a 1\nb 3"), treeOfFolded("a 10\nc 10"));
  const shares = Object.fromEntries(joined.children.map(({ name, before, now }) => [name, [before, now]]));
  assert.deepEqual(shares, { a: [0.25, 0.5], b: [0.75, 0], c: [0, 0.5] });
});

test("what calls itself is counted once with all that it calls", () => {
  const [first] = tableOf(treeOfFolded("a;a;a 5"));
  assert.deepEqual([first.name, first.total, first.own], ["a", 5, 5]);
});
