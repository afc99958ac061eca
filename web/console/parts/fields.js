// Tables of AMQP as people read them: headers, arguments, properties of clients. Anything may be in them.

import { h } from "./html.js";

/** Members of one table that are shown. */
const SHOWN_MAX = 200;
const DEPTH_MAX = 8;

/** @param {{ fields: Record<string, unknown> | undefined | null, empty?: string }} props */
export function Fields({ fields, empty = "none" }) {
  const entries = Object.entries(fields ?? {});
  if (entries.length === 0) return h("p", { class: "about" }, empty);
  return h(Table, { entries, depth: 0 });
}

/** @param {{ entries: [string, unknown][], depth: number }} props */
function Table({ entries, depth }) {
  return h("dl", { class: depth === 0 ? "fields" : "fields inner" },
    entries.slice(0, SHOWN_MAX).map(([name, value]) => h("div", { key: name }, h("dt", {}, h("bdi", {}, name)), h("dd", {}, h(Value, { value, depth })))),
    entries.length > SHOWN_MAX && h("div", {}, h("dt", {}, `${entries.length - SHOWN_MAX} more`), h("dd", {}, "are not shown")));
}

/** How the API begins what is no text. */
const NO_TEXT = "Not UTF-8, base64 is: ";

/** Whether a value is bytes that are no text. @param {unknown} value @returns {value is string} */
export const isBytes = (value) => typeof value === "string" && value.startsWith(NO_TEXT);

/** A text, or bytes that are none: these in base64. @param {{ text: string }} props */
export function Text({ text }) {
  if (!isBytes(text)) return h("bdi", {}, text);
  const bytes = text.slice(NO_TEXT.length);
  return h("span", { title: "bytes that are not text, in base64" }, `${Math.floor((bytes.replace(/=+$/, "").length * 3) / 4)} bytes: `, h("code", {}, bytes));
}

/** @param {{ value: unknown, depth: number }} props */
export function Value({ value, depth }) {
  if (typeof value === "string") return h(Text, { text: value });
  if (value === null || typeof value !== "object") return h("span", {}, value === null ? "nothing" : String(value));
  const entries = Object.entries(value);
  if (entries.length === 0) return h("span", {}, Array.isArray(value) ? "[]" : "{}");
  const isFlat = Array.isArray(value) && value.every((one) => one === null || typeof one !== "object");
  if (isFlat || depth >= DEPTH_MAX) return h("bdi", {}, isFlat ? value.slice(0, SHOWN_MAX).map((one) => (one === null ? "nothing" : String(one))).join(", ") : JSON.stringify(value));
  return h(Table, { entries, depth: depth + 1 });
}
