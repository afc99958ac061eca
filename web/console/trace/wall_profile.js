// Where the time of requests goes, waiting included.

import { useState } from "../../vendor/modules/hooks.js";
import { withQuery } from "../address.js";
import { duration } from "../format.js";
import { Figure } from "../parts/figure.js";
import { FlameGraph } from "../parts/flame.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { foldedOf, tableOf, treeOfWall } from "../parts/stacks.js";
import { Table } from "../parts/table.js";
import { place, setQuery } from "../route.js";
import { keepFlames } from "./flame_files.js";
import { useTrace } from "./session.js";

/** @type {import("../parts/table.js").Column<any>[]} */
const COLUMNS = [
  { id: "name", title: "Function or wait", cell: (row) => row.name },
  { id: "count", title: "CNT", about: "how often", isNumber: true, cell: (row) => h(Figure, { value: row.count }) },
  { id: "total", title: "ACC", about: "time with all that it called", isNumber: true, cell: (row) => h(Figure, { unit: "us", value: row.total }) },
  { id: "own", title: "OWN", about: "time without what it called", isNumber: true, cell: (row) => h(Figure, { unit: "us", value: row.own }) },
];

export function WallProfile() {
  const { query } = place.value;
  const [pattern, setPattern] = useState(query.get("pattern") ?? "http::*");
  const [seconds, setSeconds] = useState(query.get("seconds") ?? "10");
  const { lines, end, isRunning, begin, stop } = useTrace();
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    setQuery({ pattern, seconds });
    void begin(withQuery("api/profile/wall", { pattern, seconds }));
  };
  const answer = lines.at(-1);
  return html`
    <form class="form" aria-label="Profile requests" onSubmit=${start}>
      <div class="field"><label for="pattern">Functions</label><input id="pattern" value=${pattern} required spellcheck=${false} onInput=${(/** @type {any} */ event) => setPattern(event.currentTarget.value)} />
        <p class="help">amqp::basic.publish, http::GET /api/queues*, amqp::*: calls that match are followed across threads, with what they wait for.</p></div>
      <div class="field"><label for="seconds">Seconds</label><input id="seconds" type="number" min="1" max="300" value=${seconds} onInput=${(/** @type {any} */ event) => setSeconds(event.currentTarget.value)} /></div>
      <div class="acts"><button type="submit" class="main" aria-disabled=${isRunning}>Begin</button><button type="button" onClick=${stop} aria-disabled=${!isRunning}>Break off</button></div>
    </form>
    ${isRunning && html`<p role="status">Measuring for ${seconds} s…</p>`}
    ${end?.isError && h(Note, { children: end.text })}
    ${answer?.frames && h(Shown, { answer, pattern })}`;
}

/** @param {{ answer: any, pattern: string }} props */
function Shown({ answer, pattern }) {
  if (answer.frames.length === 0) return html`<p class="empty">No call of ${pattern} began and ended meanwhile. The list of the tab Calls names what there is.</p>`;
  const root = treeOfWall(answer.frames);
  const rows = tableOf(root);
  const title = `${pattern}, ${new Date().toLocaleTimeString()}`;
  return html`<p class="note hint">${answer.calls} calls in ${answer.seconds.toFixed(1)} s on ${answer.node}. The profile itself cost ${duration(answer.cost_us / 1000)} of a processor.
      ${answer.lost > 0 ? `${answer.lost} frames were too many to keep.` : ""} <button type="button" onClick=${() => keepFlames(title, foldedOf(root))}>Keep to compare</button></p>
    ${h(FlameGraph, { label: `Where the time of ${pattern} went`, root, show: (total) => duration(total / 1000) })}
    ${h(Table, { label: "Functions by their own time", columns: COLUMNS, count: rows.length, rowAt: (index) => rows[index], keyOf: (row) => row.name, height: "24rem" })}`;
}
