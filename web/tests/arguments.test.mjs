import assert from "node:assert/strict";
import test from "node:test";
import { argumentsOf } from "../console/parts/form.js";
import { path, withQuery } from "../console/address.js";

test("arguments have the types that were chosen", () => {
  const rows = [{ name: "x-max-length", type: "Number", text: "10" }, { name: "x-single-active-consumer", type: "Boolean", text: "true" }, { name: "a", type: "List", text: "b, c" }, { name: "", type: "String", text: "" }];
  assert.deepEqual(argumentsOf(rows), { "x-max-length": 10, "x-single-active-consumer": true, a: ["b", "c"] });
});

test("what is no number is refused with its name", () => {
  for (const text of ["", "ten"]) assert.throws(() => argumentsOf([{ name: "x-expires", type: "Number", text }]), /x-expires is not a number/);
});

test("values in paths stay one segment", () => {
  assert.equal(path`api/queues/${"/"}/${"a/b%?#"}`, "api/queues/%2F/a%2Fb%25%3F%23");
  assert.equal(withQuery("api/queues", { name: "^a&b", page: 1, sort: "", use_regex: false }), "api/queues?name=%5Ea%26b&page=1");
});
