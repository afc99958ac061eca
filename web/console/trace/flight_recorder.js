// The last calls of everything, in a fixed piece of memory.

import { address, path } from "../address.js";
import { change } from "../api.js";
import { bytes } from "../format.js";
import { Figure } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { attempt, Note } from "../parts/note.js";
import { useResource } from "../resource.js";

export function FlightRecorder() {
  const { data, error, reload } = useResource("api/flight-recorder");
  if (!data) return error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  const turn = async (/** @type {boolean} */ running) => {
    if (await attempt(() => change("PUT", "api/flight-recorder", { running }), running ? "The flight recorder runs." : "The flight recorder is off.")) await reload();
  };
  return html`
    <p>The flight recorder keeps the last calls of all functions in ${bytes(data.bytes)} of memory: at full load seconds, else much more. It is saved by itself when a request is slow or an alarm is raised. It costs processor time while it runs.</p>
    <p class="acts">${data.running ? html`<span class="badge good">runs on ${data.node}</span>` : html`<span class="badge">off on ${data.node}</span>`}
      <button type="button" class=${data.running ? "" : "main"} onClick=${() => turn(!data.running)}>${data.running ? "Stop" : "Start"}</button>
      ${data.running && html`<a class="button" href=${address("api/flight-recorder/recording")} download="recording.json">Save what it has now</a>`}</p>
    ${data.saved.length === 0 ? html`<p class="empty">Nothing has been saved. Recordings open in Perfetto (ui.perfetto.dev) and in chrome://tracing.</p>`
      : html`<table class="plain"><caption>Recordings that were saved</caption><thead><tr><th scope="col">Name</th><th scope="col" class="number">Length</th></tr></thead>
        <tbody>${data.saved.map((/** @type {any} */ one) => html`<tr><th scope="row"><a href=${address(path`api/flight-recorder/recordings/${one.name}`)} download=${one.name}>${one.name}</a></th><td class="number">${h(Figure, { unit: "bytes", value: one.bytes })}</td></tr>`)}</tbody></table>`}`;
}
