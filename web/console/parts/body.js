// The body of a message: as text, as JSON set out, in hexadecimal or in base64, a piece at a time.

import { useMemo, useState } from "../../vendor/modules/hooks.js";
import { formatJson, looksLikeJson } from "../json.js";
import { Figure } from "./figure.js";
import { h } from "./html.js";

/** So much is put into the page at once: more would take it long to lay out. */
const PIECE_LEN = 16_384;
/** Longer texts are not set out as JSON: to read them through would take long. */
const JSON_LEN_MAX = 1_048_576;

/** @typedef {{ payload: string, payload_encoding: string, payload_bytes: number }} Body as the API has it; payload_bytes: of the whole body */

/** @param {Body} body */
export function bytesOf({ payload, payload_encoding }) {
  if (payload_encoding !== "base64") return new TextEncoder().encode(payload);
  const letters = atob(payload);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

/**
 * A body as text, if it is text. One that was cut within a letter came in base64, and is text all the same.
 * @param {Body} body @param {Uint8Array} bytes
 */
export function textOf({ payload, payload_encoding, payload_bytes }, bytes) {
  if (payload_encoding !== "base64") return payload;
  if (bytes.length === 0 || bytes.length >= payload_bytes) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}

/** Letters that are made of bytes at once: a function takes only so many arguments. */
const ARGUMENTS_MAX = 0x8000;

/** @param {Uint8Array} bytes */
function base64Of(bytes) {
  let letters = "";
  for (let start = 0; start < bytes.length; start += ARGUMENTS_MAX) letters += String.fromCharCode(...bytes.subarray(start, start + ARGUMENTS_MAX));
  return btoa(letters);
}

/** Bytes of a line of hexadecimal, and how long it is. */
const [LINE_BYTES, LINE_LEN] = [16, 78];

/** Sixteen bytes a line: their place, their values, and what is readable of them. @param {Uint8Array} bytes @param {number} end */
export function hexOf(bytes, end = bytes.length) {
  const lines = [];
  for (let start = 0; start < Math.min(end, bytes.length); start += LINE_BYTES) {
    const line = [...bytes.subarray(start, start + LINE_BYTES)];
    const values = line.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const letters = line.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${start.toString(16).padStart(8, "0")}  ${values.padEnd(47)}  ${letters}`);
  }
  return lines.join("\n");
}

/** @typedef {{ id: string, title: string, piece: (len: number) => { text: string, isAll: boolean } }} Form piece: about so many characters of it, from the beginning */

/** In which forms a body can be shown, the most readable first. @param {Body} body @param {Uint8Array} bytes @returns {Form[]} */
function formsOf(body, bytes) {
  const text = textOf(body, bytes);
  const isJson = text !== undefined && text.length <= JSON_LEN_MAX && looksLikeJson(text);
  return [
    ...(isJson ? [{ id: "json", title: "JSON", piece: (/** @type {number} */ len) => formatJson(text, len) }] : []),
    ...(text !== undefined ? [{ id: "text", title: "Text", piece: (/** @type {number} */ len) => ({ text: text.slice(0, len), isAll: len >= text.length }) }] : []),
    { id: "hex", title: "Hex", piece: (len) => {
      const end = Math.ceil(len / LINE_LEN) * LINE_BYTES;
      return { text: hexOf(bytes, end), isAll: end >= bytes.length };
    } },
    { id: "base64", title: "Base64", piece: (len) => {
      const end = Math.ceil(len / 4) * 3;
      return { text: base64Of(bytes.subarray(0, end)), isAll: end >= bytes.length };
    } },
  ];
}

/** @param {{ body: Body, name?: string, label?: string, onWhole?: () => unknown }} props name: of the file; label: of the message; onWhole: fetches the rest, where this is only the beginning */
export function BodyView({ body, name = "message", label, onWhole }) {
  const bytes = useMemo(() => bytesOf(body), [body]);
  const forms = useMemo(() => formsOf(body, bytes), [body]);
  const [chosen, setChosen] = useState("");
  const [len, setLen] = useState(PIECE_LEN);
  const form = forms.find(({ id }) => id === chosen) ?? forms[0];
  const { text, isAll } = useMemo(() => form?.piece(len) ?? { text: "", isAll: true }, [form, len]);
  const isCut = bytes.length < body.payload_bytes;
  if (body.payload_bytes === 0) return h("p", { class: "about" }, "The body is empty.");
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return h("div", { class: "message-body" },
    h("div", { class: "acts", role: "group", "aria-label": label ? `Form of the body of ${label}` : "Form of the body" },
      forms.map(({ id, title }) => h("button", { key: id, type: "button", "aria-pressed": id === form?.id, onClick: () => (setChosen(id), setLen(PIECE_LEN)) }, title)),
      h("button", { key: "save", type: "button", class: "quiet", onClick: save }, isCut ? "Save this part" : "Save as a file"),
      h("span", { key: "size", class: "about" }, h(Figure, { unit: "bytes", value: body.payload_bytes }))),
    isCut && h("p", { class: "about" }, "These are the first ", h(Figure, { unit: "bytes", value: bytes.length }), ". ",
      onWhole && h("button", { type: "button", onClick: onWhole }, "Fetch the whole body")),
    h("pre", { tabIndex: 0, role: "region", "aria-label": `Body${label ? ` of ${label}` : ""}, ${form?.title ?? ""}`, class: form?.id === "hex" ? "hex" : undefined }, text),
    !isAll && h("button", { type: "button", onClick: () => setLen(len * 2) }, "Show more of it"));
}
