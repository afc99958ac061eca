// What the processors do, by thread and by kind of work. Names of functions are known to the command line, which has the program.

import { useState } from "../../vendor/modules/hooks.js";
import { withQuery } from "../address.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { useTrace } from "./session.js";

/** Samples that are kept: at the usual rate what ten threads do in a minute and a half. */
const SAMPLE_COUNT_MAX = 100_000;
const withoutStack = (/** @type {any} */ line) => (line.sample ? { sample: { ...line.sample, stack: undefined } } : line);

export function CpuProfile() {
  const [seconds, setSeconds] = useState("10");
  const { lines, end, isRunning, begin, stop } = useTrace(SAMPLE_COUNT_MAX, withoutStack);
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    void begin(withQuery("api/profile/cpu", { seconds }));
  };
  return html`
    <form class="form" aria-label="Profile processors" onSubmit=${start}>
      <div class="field"><label for="seconds">Seconds</label><input id="seconds" type="number" min="1" max="300" value=${seconds} onInput=${(/** @type {any} */ event) => setSeconds(event.currentTarget.value)} /></div>
      <div class="acts"><button type="submit" class="main" aria-disabled=${isRunning}>Begin</button><button type="button" onClick=${stop} aria-disabled=${!isRunning}>Break off</button></div>
    </form>
    ${end?.isError && h(Note, { children: end.text })}
    ${isRunning && html`<p role="status">Measuring the processors for ${seconds} s…</p>`}
    ${lines.length > 0 && h(Shares, { lines })}
    <p class="about">By function: <code>warren profile cpu --seconds ${seconds} -o flame.svg</code> on the broker's host; names come from the broker's own program, which the browser has not.
      The same as <code>-o FILE.folded</code> opens in the tab Flame graphs.</p>`;
}

/** @param {{ lines: any[] }} props */
function Shares({ lines }) {
  const threads = new Map(lines.filter((line) => line.thread).map(({ thread }) => [thread.number, thread.name]));
  const samples = lines.filter((line) => line.sample).map((line) => line.sample);
  const ends = lines.find((line) => line.end)?.end;
  if (samples.length === 0) return html`<p class="empty">No thread was seen at work${ends ? ": the broker is idle" : " yet"}.</p>`;
  const by = (/** @type {(sample: any) => string} */ key) => {
    const sums = new Map();
    for (const sample of samples) sums.set(key(sample), (sums.get(key(sample)) ?? 0) + sample.count);
    return [...sums].sort((a, b) => b[1] - a[1]);
  };
  return html`<div class="columns">${h(ShareTable, { title: "By kind of work", rows: by((sample) => sample.work) })}${h(ShareTable, { title: "By thread", rows: by((sample) => threads.get(sample.thread) ?? String(sample.thread)) })}</div>
    ${ends?.process_ns > 0 && html`<p class="note hint">The profile itself cost ${(((ends.handler_ns + ends.session_ns) / ends.process_ns) * 100).toFixed(2)} % of the broker's processor time.</p>`}`;
}

/** @param {{ title: string, rows: [string, number][] }} props */
function ShareTable({ title, rows }) {
  const all = rows.reduce((sum, [, value]) => sum + value, 0);
  return html`<section><h2>${title}</h2><table class="plain"><thead><tr><th scope="col">Name</th><th scope="col" class="number">Share</th><th scope="col">Share, drawn</th></tr></thead>
    <tbody>${rows.map(([name, value]) => html`<tr><th scope="row">${name}</th><td class="number">${((value / all) * 100).toFixed(1)} %</td><td><meter min="0" max=${all} value=${value} aria-label=${`Share of ${name}`}></meter></td></tr>`)}</tbody></table></section>`;
}
