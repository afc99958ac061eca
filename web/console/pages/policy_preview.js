// What a policy would change, before it does: which queues and exchanges it matches, and what becomes of each.

import { h, html } from "../parts/html.js";
import { Plain } from "../parts/plain.js";
import { exchangeSegment, href } from "../route.js";
import { aboutKey } from "./policy_keys.js";

/**
 * @typedef {{ key: string, from?: any, to?: any }} Change
 * @typedef {{ matched?: { queues?: number, exchanges?: number }, changed_count?: number, changed?: { kind: string, vhost?: string, name: string, policy_before?: string | null, policy_after?: string | null, changes: Change[] }[] }} Preview
 */

/** Objects that are named. */
const SHOWN_MAX = 50;

const isThere = (/** @type {any} */ value) => value !== undefined && value !== null;
const text = (/** @type {any} */ value) => (typeof value === "string" ? value : JSON.stringify(value));

/** From one value to another one. @param {{ from?: any, to?: any }} props */
export function FromTo({ from, to }) {
  return h("span", { class: "diff" },
    isThere(from) && h("del", { "aria-label": `before: ${text(from)}` }, text(from)), isThere(from) && isThere(to) && " ",
    isThere(to) && h("ins", { "aria-label": `after: ${text(to)}` }, text(to)));
}

/** @param {number | undefined} number @param {string} one @param {string} many */
export const counted = (number = 0, one = "", many = "") => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** @param {{ preview: Preview, vhost?: string }} props vhost: where its objects are, for links */
export function PolicyPreview({ preview, vhost }) {
  const { matched = {}, changed_count: count = 0, changed = [] } = preview;
  const rows = changed.slice(0, SHOWN_MAX).map(({ kind, name, policy_before: before, policy_after: after, changes }) => ({ key: `${kind} ${name}`, cells: [
    nameOf(kind, vhost, name),
    kind,
    before === after ? h("bdi", {}, after ?? "none") : h(FromTo, { from: before ?? "none", to: after ?? "none" }),
    changes.length === 0 ? "nothing" : h("ul", { class: "changes" }, changes.map((change) => h("li", { key: change.key }, h("code", { title: aboutKey(change.key) }, change.key), " ", h(FromTo, change)))),
  ] }));
  return html`<div role="status" class="preview">
    <p>It matches <strong>${counted(matched.queues, "queue", "queues")}</strong> and <strong>${counted(matched.exchanges, "exchange", "exchanges")}</strong>.
      ${count === 0 ? " Nothing changes for any of them." : html` <strong>${counted(count, "of them changes", "of them change")}</strong>:`}</p>
    ${rows.length > 0 && h(Plain, { label: "What changes", head: ["Name", "Kind", "Policy", "Settings in force"], rows })}
    ${count > rows.length && html`<p class="about">The first ${rows.length} are shown, ${counted(count - rows.length, "more changes", "more change")}.</p>`}
  </div>`;
}

/** @param {string} kind @param {string | undefined} vhost @param {string} name */
function nameOf(kind, vhost, name) {
  if (vhost === undefined) return h("bdi", {}, name || "(default)");
  const address = kind === "exchange" ? href(["exchanges", vhost, exchangeSegment(name)]) : href(["queues", vhost, name]);
  return html`<a href=${address}><bdi>${name || "(default)"}</bdi></a>`;
}
