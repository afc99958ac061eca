// A figure with its unit: the short form is seen, the exact one is told on hover and to readers of screens.

import * as format from "../format.js";
import { h } from "./html.js";

/** @typedef {"count" | "messages" | "bytes" | "rate" | "byterate" | "ms" | "s" | "us" | "percent"} Unit */

/** @type {Record<Unit, { show: (value: unknown) => string, exact: (value: number) => string }>} */
const UNITS = {
  count: { show: format.count, exact: (value) => format.count(value) },
  messages: { show: format.count, exact: (value) => `${format.count(value)} messages` },
  bytes: { show: format.bytes, exact: (value) => `${format.count(value)} bytes` },
  rate: { show: format.rate, exact: (value) => `${value} a second` },
  byterate: { show: (value) => (format.isNumber(value) ? `${format.bytes(value)}/s` : format.UNKNOWN), exact: (value) => `${format.count(value)} bytes a second` },
  ms: { show: format.duration, exact: (value) => `${value} milliseconds` },
  us: { show: (value) => format.duration(format.isNumber(value) ? value / 1000 : value), exact: (value) => `${value} microseconds` },
  s: { show: (value) => format.duration(format.isNumber(value) ? value * 1000 : value), exact: (value) => `${value} seconds` },
  percent: { show: (value) => (format.isNumber(value) ? `${value.toFixed(value < 10 ? 1 : 0)} %` : format.UNKNOWN), exact: (value) => `${value} percent` },
};

/** @param {Unit} unit @param {unknown} value */
export const shown = (unit, value) => UNITS[unit].show(value);

/** @param {{ unit?: Unit, value: unknown, title?: string }} props */
export function Figure({ unit = "count", value, title }) {
  const exact = format.isNumber(value) ? UNITS[unit].exact(value) : "not known";
  return h("span", { class: "figure", title: title ? `${title}: ${exact}` : exact }, UNITS[unit].show(value));
}

/** A time: local, and on hover of the whole world. @param {{ at: number | string | null | undefined, isAgo?: boolean, isMoment?: boolean }} props */
export function Time({ at, isAgo, isMoment }) {
  if (at === undefined || at === null || at === "") return h("span", { class: "figure" }, format.UNKNOWN);
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return h("span", {}, String(at));
  return h("time", { dateTime: date.toISOString(), title: format.utc(date) }, isAgo ? format.ago(date) : isMoment ? format.moment(date) : format.local(date));
}
