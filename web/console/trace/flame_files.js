// Flame graphs of profiles that were kept or come from files, and what differs between two.

import { useState } from "../../vendor/modules/hooks.js";
import { signal } from "../../vendor/modules/signals.js";
import { count } from "../format.js";
import { sentenceOf } from "../api.js";
import { FlameGraph } from "../parts/flame.js";
import { h, html } from "../parts/html.js";
import { Note, say } from "../parts/note.js";
import { difference, treeOfFolded } from "../parts/stacks.js";

const KEPT_MAX = 8;
/** A file that is longer is refused: it would not be drawn in time. */
const FILE_LEN_MAX = 16 << 20;

const kept = signal(/** @type {{ title: string, folded: string }[]} */ ([]));

/** @param {string} title @param {string} folded */
export function keepFlames(title, folded) {
  kept.value = [...kept.value.filter((one) => one.title !== title), { title, folded }].slice(-KEPT_MAX);
  say(`Kept as “${title}” until this page is closed; the tab Flame graphs compares.`);
}

export function FlameFiles() {
  const [first, setFirst] = useState("");
  const [second, setSecond] = useState("");
  const [error, setError] = useState("");
  const take = async (/** @type {any} */ event) => {
    setError("");
    for (const file of event.currentTarget.files ?? []) {
      try {
        if (file.size > FILE_LEN_MAX) throw new Error(`${file.name} is longer than 16 MiB.`);
        const folded = await file.text();
        treeOfFolded(folded);
        keepFlames(file.name, folded);
        setFirst(file.name);
      } catch (failure) {
        setError(sentenceOf(failure));
      }
    }
  };
  const find = (/** @type {string} */ title) => kept.value.find((one) => one.title === title);
  const [a, b] = [find(first), find(second)];
  const root = a && (b ? difference(treeOfFolded(a.folded), treeOfFolded(b.folded)) : treeOfFolded(a.folded));
  const choice = (/** @type {string} */ label, /** @type {string} */ value, /** @type {(value: string) => void} */ set, /** @type {string} */ none) => html`<label>${label} <select value=${value} onChange=${(/** @type {any} */ event) => set(event.currentTarget.value)}>
    <option value="">${none}</option>${kept.value.map(({ title }) => html`<option value=${title}>${title}</option>`)}</select></label>`;
  return html`
    <p>Folded stacks, as <code>warren profile cpu -o before.folded</code> and <code>warren profile wall PATTERN -o after.folded</code> write them, and profiles that were kept here.</p>
    <div class="filter"><label>Open files <input type="file" accept=".folded,.txt" multiple onChange=${take} /></label>
      ${choice("Show", first, setFirst, "choose a profile")}${choice("Compare with", second, setSecond, "nothing")}</div>
    ${error && h(Note, { children: error })}
    ${root && b && html`<p class="note hint">Red takes more of the whole in “${second}” than in “${first}”, blue less.</p>`}
    ${root && h(FlameGraph, { label: b ? `What differs between ${first} and ${second}` : first, root, show: (total) => (b ? `${(total * 100).toFixed(1)} %` : count(total)) })}
    ${!root && html`<p class="empty">No profile is selected. Keep one in the tab “Where time goes”, or open a file.</p>`}`;
}
