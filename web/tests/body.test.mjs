// Bodies are shown as what they are.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, hexOf, textOf } from "../console/parts/body.js";

const body = (/** @type {number[]} */ bytes, /** @type {number} */ whole) => ({ payload: Buffer.from(bytes).toString("base64"), payload_encoding: "base64", payload_bytes: whole });
const textFrom = (/** @type {any} */ one) => textOf(one, bytesOf(one));

test("hexadecimal has the place, the values and what is readable", () => {
  assert.equal(hexOf(Uint8Array.from([...new TextEncoder().encode("0123456789abcdef"), 0, 0xff])),
    "00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef\n00000010  00 ff                                            ..");
});

test("hexadecimal of a piece ends with it", () => {
  assert.equal(hexOf(new Uint8Array(64), 32).split("\n").length, 2);
});

test("a text that was cut within a letter is text", () => {
  assert.equal(textFrom(body([0x61, 0xc3], 10)), "a");
});

test("bytes that are no text are none", () => {
  assert.equal(textFrom(body([0x61, 0xff, 0x62], 10)), undefined);
});

test("a whole body that the broker took for bytes stays bytes", () => {
  assert.equal(textFrom(body([0x61, 0xc3], 2)), undefined);
});
