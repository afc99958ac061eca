// A small line of what a number has been since the page shows it.

import { h } from "./html.js";

const LEN_MAX = 60;
const KEY_COUNT_MAX = 2000;
/** Numbers by what they are of; those of what is seen no more go first. @type {Map<string, number[]>} */
const known = new Map();

/** Adds a number, if it is one. @param {string} key @param {unknown} value */
export function remember(key, value) {
  if (typeof value !== "number") return;
  const values = known.get(key) ?? [];
  known.delete(key);
  values.push(value);
  if (values.length > LEN_MAX) values.shift();
  known.set(key, values);
  for (const old of known.keys()) {
    if (known.size <= KEY_COUNT_MAX) break;
    known.delete(old);
  }
}

/** @param {{ of: string, label: string }} props of: what is remembered under this name */
export function Sparkline({ of, label }) {
  const values = known.get(of) ?? [];
  const [width, height] = [72, 18];
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => `${((index / (LEN_MAX - 1)) * width).toFixed(1)},${(height - 1 - (value / most) * (height - 2)).toFixed(1)}`);
  return h("svg", { class: "sparkline", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label}, lately up to ${most}` },
    points.length > 1 && h("polyline", { points: points.join(" ") }));
}
