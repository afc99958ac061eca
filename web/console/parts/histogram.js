// How many were of which size, or took how long.

import { Figure, shown } from "./figure.js";
import { h, html } from "./html.js";

/** @param {{ histogram: { buckets: Record<string, number>, count: number, sum: number }, unit: "bytes" | "ms", label: string }} props buckets: how many were at most so much */
export function Histogram({ histogram: { buckets, count, sum }, unit, label }) {
  if (count === 0) return html`<p class="empty">Nothing has been counted yet.</p>`;
  const bounds = Object.entries(buckets).map(([bound, upTo]) => ({ bound: Number(bound), upTo })).sort((a, b) => a.bound - b.bound);
  const rows = bounds.map(({ bound, upTo }, index) => ({ title: `up to ${shown(unit, bound)}`, of: upTo - (bounds[index - 1]?.upTo ?? 0) }));
  rows.push({ title: `more than ${shown(unit, bounds.at(-1)?.bound)}`, of: count - (bounds.at(-1)?.upTo ?? 0) });
  const last = rows.findLastIndex(({ of }) => of > 0);
  return html`<div class="scrolled" tabindex="0" role="region" aria-label=${label}><table class="plain">
    <thead><tr><th scope="col">${unit === "bytes" ? "Size" : "Time"}</th><th scope="col" class="number">Messages</th><th scope="col">Share</th></tr></thead>
    <tbody>${rows.slice(0, last + 1).map(({ title, of }) => html`<tr><th scope="row">${title}</th><td class="number">${h(Figure, { unit: "messages", value: of })}</td>
      <td><meter min="0" max=${count} value=${of} aria-label=${`Share that is ${title}`}></meter></td></tr>`)}</tbody></table></div>
    <p class="about">The mean of ${count.toLocaleString("en")} is ${h(Figure, { unit, value: sum / count })}.</p>`;
}
