// What a document of definitions has that the broker has not, what is another there, and what the broker has beyond.

import { useState } from "../../vendor/modules/hooks.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { FromTo } from "./policy_preview.js";

/** Objects of a kind that are named. */
const SHOWN_MAX = 200;

/** Kinds, as they are named in documents. @type {Record<string, string>} */
const KINDS = {
  users: "Users", vhosts: "Virtual hosts", permissions: "Permissions", topic_permissions: "Topic permissions", parameters: "Parameters", global_parameters: "Global parameters",
  policies: "Policies", queues: "Queues", exchanges: "Exchanges", bindings: "Bindings", user_limits: "User limits", vhost_limits: "Limits of virtual hosts", operator_policies: "Operator policies",
};

/** @param {any} entry */
const nameOf = (entry) => (typeof entry === "string" ? entry : (entry?.name ?? JSON.stringify(entry)));

/** How many there are of all kinds. @param {Record<string, any[]> | undefined} kinds */
export const countOf = (kinds) => Object.values(kinds ?? {}).reduce((sum, list) => sum + list.length, 0);

/**
 * @param {{ title: string, kinds: Record<string, any[]> | undefined, counts?: Record<string, number>, none: string, show?: (entry: any) => any }} props
 * counts: of all, where not all are listed
 */
function Kinds({ title, kinds, counts, none, show = (entry) => h("bdi", {}, nameOf(entry)) }) {
  const given = Object.entries(kinds ?? {}).filter(([, list]) => list.length > 0);
  const all = counts ? Object.values(counts).reduce((sum, count) => sum + count, 0) : countOf(kinds);
  return html`<h3>${title} (${all.toLocaleString("en")})</h3>
    ${given.length === 0 ? html`<p class="about">${none}</p>` : given.map(([kind, list]) => h(Kind, { key: kind, title: KINDS[kind] ?? kind, list, count: counts?.[kind] ?? list.length, show }))}`;
}

/** Entries are in the page only while they are looked at. @param {{ title: string, list: any[], count: number, show: (entry: any) => any }} props */
function Kind({ title, list, count, show }) {
  const [isOpen, setOpen] = useState(list.length <= 20);
  return html`<details open=${isOpen} onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}><summary>${title} (${count.toLocaleString("en")})</summary>
    ${isOpen && html`<ul>${list.slice(0, SHOWN_MAX).map((entry) => html`<li>${show(entry)}</li>`)}</ul>`}
    ${isOpen && count > SHOWN_MAX && html`<p class="about">and ${(count - SHOWN_MAX).toLocaleString("en")} more</p>`}</details>`;
}

/** Members that differ. @param {any} entry */
function changesOf(entry) {
  const { from, to } = entry;
  if (typeof from !== "object" || typeof to !== "object" || from === null || to === null) return html`<bdi>${nameOf(entry)}</bdi>: ${h(FromTo, { from, to })}`;
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((key) => JSON.stringify(from[key]) !== JSON.stringify(to[key]));
  return html`<bdi>${nameOf(entry)}</bdi><ul>${keys.map((key) => html`<li><code>${key}</code> ${h(FromTo, { from: from[key], to: to[key] })}</li>`)}</ul>`;
}

/** @param {{ diff: any }} props */
export function Difference({ diff }) {
  const same = Object.entries(diff.same ?? {}).filter(([, number]) => number > 0);
  const isSame = countOf(diff.added) + countOf(diff.changed) + countOf(diff.missing) === 0;
  return html`<section aria-label="Difference" aria-live="polite">
    ${isSame ? h(Note, { kind: "hint", children: "The broker has everything that is in the document, and nothing else." }) : html`
      ${h(Kinds, { title: "Added by an import", kinds: diff.added, counts: diff.counts?.added, none: "Nothing: the broker has all of it." })}
      ${h(Kinds, { title: "Changed by an import", kinds: diff.changed, counts: diff.counts?.changed, none: "Nothing is different.", show: changesOf })}
      ${h(Kinds, { title: "Missing in the document", kinds: diff.missing, counts: diff.counts?.missing, none: "The broker has nothing else." })}
      <p class="about">These objects stay, unless you import and prune.</p>`}
    ${same.length > 0 && html`<p>The same: ${same.map(([kind, number]) => `${(KINDS[kind] ?? kind).toLowerCase()} ${number}`).join(", ")}.</p>`}
  </section>`;
}

/** What a prune deletes or has deleted, and what it spares. @param {{ answer: any }} props */
export function Pruned({ answer }) {
  return html`<section aria-label="Prune" aria-live="polite">
    ${h(Kinds, { title: answer.dry_run ? "A prune would delete" : "Deleted", kinds: answer.deleted, none: "Nothing." })}
    ${countOf(answer.spared) > 0 && h(Kinds, { title: "Spared", kinds: answer.spared, none: "Nothing." })}
  </section>`;
}

/** @param {{ names: string[] }} props */
export function LeftOut({ names }) {
  if (names.length === 0) return h(Note, { kind: "hint", children: "All of it is imported." });
  return html`<section aria-label="Left out" aria-live="polite"><h3>Imported, but for ${names.length === 1 ? "one entry" : `${names.length} entries`}</h3><ul>${names.slice(0, SHOWN_MAX).map((name) => html`<li>${name}</li>`)}</ul></section>`;
}
