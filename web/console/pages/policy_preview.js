// What a policy would change, before it does: which queues and exchanges it matches, and what becomes of each.

import { useState } from "../../vendor/modules/hooks.js";
import { h, html } from "../parts/html.js";
import { Name } from "../parts/name.js";
import { attempt } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { exchangeSegment, href } from "../route.js";
import { aboutKey } from "./policy_keys.js";

/**
 * @typedef {{ key: string, from?: any, to?: any }} Change
 * @typedef {{ matched?: { queues?: number, exchanges?: number }, changed_count?: number, changed?: { kind: string, vhost?: string, name: string, policy_before?: string | null, policy_after?: string | null, changes: Change[] }[], next?: string | null }} Preview
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

/**
 * @param {{ preview: Preview, vhost?: string, more?: (after: string) => Promise<Preview> }} props
 * vhost: where its objects are, for links; more: asks for the next page
 */
export function PolicyPreview({ preview, vhost, more }) {
  const { matched = {}, changed_count: count = 0 } = preview;
  const [known, setKnown] = useState({ changed: preview.changed ?? [], next: preview.next });
  const [start, setStart] = useState(0);
  const end = Math.min(start + SHOWN_MAX, known.changed.length);
  const rows = known.changed.slice(start, end).map(({ kind, name, policy_before: before, policy_after: after, changes }) => ({ key: `${kind} ${name}`, cells: [
    nameOf(kind, vhost, name),
    kind,
    before === after ? h("bdi", {}, after ?? "none") : h(FromTo, { from: before ?? "none", to: after ?? "none" }),
    changes.length === 0 ? "nothing" : h("ul", { class: "changes" }, changes.map((change) => h("li", { key: change.key }, h("code", { title: aboutKey(change.key) }, change.key), " ", h(FromTo, change)))),
  ] }));
  const later = () => attempt(async () => {
    if (end === known.changed.length && known.next && more) {
      const { changed = [], next } = await more(known.next);
      setKnown({ changed: [...known.changed, ...changed], next });
    }
    setStart(start + SHOWN_MAX);
  }, "");
  const hasMore = end < known.changed.length || (known.next !== undefined && known.next !== null && more !== undefined);
  return html`<div role="status" class="preview">
    <p>It matches <strong>${counted(matched.queues, "queue", "queues")}</strong> and <strong>${counted(matched.exchanges, "exchange", "exchanges")}</strong>.
      ${count === 0 ? " Nothing changes for any of them." : html` <strong>${counted(count, "of them changes", "of them change")}</strong>:`}</p>
    ${rows.length > 0 && h(Plain, { label: "What changes", head: ["Name", "Kind", "Policy", "Settings in force"], rows })}
    ${count > rows.length && html`<p class="acts"><button type="button" aria-disabled=${start === 0} onClick=${() => setStart(Math.max(0, start - SHOWN_MAX))}>Those before</button>
      <button type="button" aria-disabled=${!hasMore} onClick=${later}>Those after</button><span class="about">${(start + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${count.toLocaleString("en")}</span></p>`}
  </div>`;
}

/** @param {string} kind @param {string | undefined} vhost @param {string} name */
function nameOf(kind, vhost, name) {
  if (vhost === undefined) return h("bdi", {}, name || "(default)");
  const address = kind === "exchange" ? href(["exchanges", vhost, exchangeSegment(name)]) : href(["queues", vhost, name]);
  return h("a", { href: address }, h(Name, { name: name || "(default)" }));
}
