import assert from "node:assert/strict";
import test from "node:test";
import { definitionOf, entered, uriText, withoutPassword, withoutPasswords } from "../console/parts/settings.js";

const FIELDS = [
  { name: "uri", label: "", isUri: true }, { name: "queue", label: "" }, { name: "count", label: "", kind: "number" }, { name: "end", label: "", hints: [["never", ""]] },
  { name: "headers", label: "", kind: "checkbox" }, { name: "mode", label: "", kind: "select", options: [["a", ""], ["b", ""]] }, { name: "choice", label: "", isNoKey: true },
];

test("no password is shown, whatever is in it", () => {
  const check = (uri, expected) => assert.equal(withoutPassword(uri), expected);
  check("amqp://me:secret@here", "amqp://me:***@here");
  check("amqps://me:a@b,c/d?e:f@here/shop?verify=verify_peer", "amqps://me:***@here/shop?verify=verify_peer");
  check("amqps://here?keyfile=k&password=secret&verify=x", "amqps://here?keyfile=k&password=***&verify=x");
  check("http://:secret@here", "http://:***@here");
  check("amqp://me@here:5672", "amqp://me@here:5672");
  check("amqp:///shop", "amqp:///shop");
  assert.equal(uriText(["amqp://a:b@c", "amqp://d:e@f"]), "amqp://a:***@c amqp://d:***@f");
  assert.deepEqual(withoutPasswords({ value: { uri: ["amqp://a:b@c", 1, null] } }), { value: { uri: ["amqp://a:***@c", 1, null] } });
});

test("what is entered becomes a definition: what is empty is left out", () => {
  const values = { uri: " amqp://a  amqp://b ", queue: "q", count: "5", end: "7", choice: "x", further: '{"more": {"x": 1}}' };
  assert.deepEqual(definitionOf(values, FIELDS), { uri: ["amqp://a", "amqp://b"], queue: "q", count: 5, end: 7, mode: "a", more: { x: 1 } });
  assert.deepEqual(definitionOf({ uri: "amqp://", queue: "", end: "never", headers: true, mode: "b" }, FIELDS), { uri: "amqp://", end: "never", headers: true, mode: "b" });
});

test("a field of a URI that is left empty keeps what there is", () => {
  assert.deepEqual(definitionOf({ uri: "" }, FIELDS, { uri: "amqp://me:secret@here", queue: "gone" }), { uri: "amqp://me:secret@here", mode: "a" });
});

test("a definition that is changed comes back as it was, but for what was changed", () => {
  const definition = { uri: ["amqp://me:secret@here"], queue: "q", count: 5, end: 7, headers: true, mode: "b", "queue-args": { "x-max-length": 1 }, other: false };
  const values = entered(definition, FIELDS);
  assert.equal(JSON.stringify(values).includes("secret"), false);
  assert.deepEqual(definitionOf(values, FIELDS, definition), definition);
  assert.deepEqual(definitionOf({ ...values, count: "6" }, FIELDS, definition), { ...definition, count: 6 });
});

test("what no field can show is among the further keys", () => {
  const definition = { queue: "", count: 1.5, headers: false, end: "queue-length", mode: "c" };
  const values = entered(definition, FIELDS);
  assert.deepEqual(definitionOf(values, FIELDS, definition), definition);
  assert.deepEqual(JSON.parse(values.further), { queue: "", headers: false, mode: "c" });
});

test("further keys that are no object are refused", () => {
  for (const further of ["[1]", "null", "{", "7"]) assert.throws(() => definitionOf({ further }, FIELDS), /no JSON object/);
});
