import assert from "node:assert/strict";
import test from "node:test";
import { DEPTH_MAX, exchangesBehind, LAYER_LEN_MAX, layersOf } from "../console/parts/binding_layers.js";

const bind = (source, type, destination, routing_key = "", args = {}) => ({ source, destination_type: type, destination, routing_key, arguments: args });
const shown = ({ layers, edges }) => ({ layers: layers.map((layer) => layer.map(({ name }) => name)), edges: edges.map(({ from, to, keys }) => `${from.name} > ${to.name}: ${keys.join(" ")}`) });

test("exchanges stand in layers, before and behind the one in question", () => {
  const from = new Map([["shop", [bind("shop", "queue", "mail", "m"), bind("shop", "exchange", "orders", "o")]], ["orders", [bind("orders", "queue", "eu", "e"), bind("orders", "queue", "eu", "f")]]]);
  assert.deepEqual(shown(layersOf("shop", [bind("web", "exchange", "shop", "s")], from)), {
    layers: [["web"], ["shop"], ["orders", "mail"], ["eu"]],
    edges: ["shop > orders: o", "shop > mail: m", "orders > eu: e f", "web > shop: s"],
  });
});

test("a circle leads back, and has an end", () => {
  const from = new Map([["a", [bind("a", "exchange", "b")]], ["b", [bind("b", "exchange", "a"), bind("b", "exchange", "b")]]]);
  const graph = layersOf("a", [bind("b", "exchange", "a")], from);
  assert.deepEqual(shown(graph).layers, [["a"], ["b"]]);
  assert.deepEqual(graph.edges.filter(({ from, to }) => to.layer <= from.layer).map(({ from, to }) => from.name + to.name), ["ba", "bb"]);
});

test("a queue and an exchange of one name are two", () => {
  const graph = layersOf("a", [], new Map([["a", [bind("a", "queue", "a")]]]));
  assert.deepEqual(graph.nodes.map(({ kind, name }) => `${kind} ${name}`), ["exchange a", "queue a"]);
});

test("what is too much is counted", () => {
  const many = Array.from({ length: LAYER_LEN_MAX + 5 }, (_, index) => bind("a", "queue", `q${index}`));
  const graph = layersOf("a", Array.from({ length: LAYER_LEN_MAX + 2 }, (_, index) => bind(`s${index}`, "exchange", "a")), new Map([["a", many]]));
  assert.deepEqual([graph.more, graph.nodes.length], [7, 1 + 2 * LAYER_LEN_MAX]);
});

test("exchanges beyond the last layer are not followed, and that is told", () => {
  const names = Array.from({ length: DEPTH_MAX + 3 }, (_, index) => `e${index}`);
  const from = new Map(names.slice(0, -1).map((name, index) => [name, [bind(name, "exchange", names[index + 1])]]));
  const graph = layersOf("e0", [], from);
  assert.deepEqual([graph.layers.length, graph.unfollowed], [DEPTH_MAX + 1, 1]);
});

test("arguments stand beside the key", () => {
  const graph = layersOf("a", [], new Map([["a", [bind("a", "queue", "q", "k", { "x-match": "any", n: 1 })]]]));
  assert.deepEqual(graph.edges[0].keys, ["k x-match=any, n=1"]);
});

test("exchanges are asked for once each, in the order of people", () => {
  assert.deepEqual(exchangesBehind([bind("a", "exchange", "e10"), bind("a", "queue", "q"), bind("a", "exchange", "e2"), bind("a", "exchange", "e2", "k")]), ["e2", "e10"]);
});
