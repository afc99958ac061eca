// The body of a message: as text, as JSON set out, in hexadecimal or in base64, a piece at a time.

import { useMemo, useState } from "../../vendor/modules/hooks.js";
import { formatJson } from "../json.js";
import { Figure } from "./figure.js";
import { h } from "./html.js";

/** So much is put into the page at once: more would take it long to lay out. */
const PIECE_LEN = 16_384;

/** @typedef {{ payload: string, payload_encoding: string, payload_bytes: number }} Body as the API has it; payload_bytes: of the whole body */

/** @param {Body} body */
export function bytesOf({ payload, payload_encoding }) {
  if (payload_encoding !== "base64") return new TextEncoder().encode(payload);
  return Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0));
}

/** @param {Uint8Array} bytes */
function base64Of(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(text);
}

/** Sixteen bytes a line: their place, their values, and what is readable of them. @param {Uint8Array} bytes */
export function hexOf(bytes) {
  const lines = [];
  for (let start = 0; start < bytes.length; start += 16) {
    const line = [...bytes.subarray(start, start + 16)];
    const values = line.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const letters = line.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${start.toString(16).padStart(8, "0")}  ${values.padEnd(47)}  ${letters}`);
  }
  return lines.join("\n");
}

/** @typedef {{ id: string, title: string, text: () => string }} Form */

/** In which forms a body can be shown, the most readable first. @param {Body} body @returns {Form[]} */
function formsOf(body) {
  const isText = body.payload_encoding !== "base64";
  const json = isText ? formatJson(body.payload) : undefined;
  return [
    ...(json === undefined ? [] : [{ id: "json", title: "JSON", text: () => json }]),
    ...(isText ? [{ id: "text", title: "Text", text: () => body.payload }] : []),
    { id: "hex", title: "Hex", text: () => hexOf(bytesOf(body)) },
    { id: "base64", title: "Base64", text: () => (isText ? base64Of(bytesOf(body)) : body.payload) },
  ];
}

/** @param {{ body: Body, name?: string, label?: string, onWhole?: () => unknown }} props name: of the file; label: of the message; onWhole: fetches the rest, where this is only the beginning */
export function BodyView({ body, name = "message", label, onWhole }) {
  const forms = useMemo(() => formsOf(body), [body]);
  const [chosen, setChosen] = useState("");
  const [len, setLen] = useState(PIECE_LEN);
  const form = forms.find(({ id }) => id === chosen) ?? forms[0];
  const text = useMemo(() => form?.text() ?? "", [form]);
  const bytes = useMemo(() => bytesOf(body), [body]);
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
    h("pre", { tabIndex: 0, role: "region", "aria-label": `Body${label ? ` of ${label}` : ""}, ${form?.title ?? ""}`, class: form?.id === "hex" ? "hex" : undefined }, text.slice(0, len)),
    text.length > len && h("button", { type: "button", onClick: () => setLen(len + PIECE_LEN) }, `Show more: ${(text.length - len).toLocaleString("en")} characters follow`));
}
