// The requests that took longest of late.

import { Figure, Time } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { useResource } from "../resource.js";

export function SlowRequests() {
  const { data, error } = useResource("api/warren/slow-requests");
  const rows = data?.requests.map((/** @type {any} */ request, /** @type {number} */ index) => ({ ...request, index }));
  return html`${data && !data.recorder_running && html`<p class="note hint">The flight recorder shows what they waited for, while it runs.</p>`}
    ${h(List, { label: "Slow requests", rows, error, by: "duration_us", isReversed: true, keyOf: (row) => `${row.index}`, textOf: (row) => row.request, empty: "No request has been answered yet.", columns: [
      { id: "request", title: "Request", sort: "request", cell: (row) => row.request }, { id: "duration", title: "Took", sort: "duration_us", isNumber: true, cell: (row) => h(Figure, { unit: "us", value: row.duration_us }) },
      { id: "status", title: "Answer", sort: "status", cell: (row) => row.status }, { id: "protocol", title: "Protocol", cell: (row) => row.protocol }, { id: "at", title: "When", sort: "at", cell: (row) => h(Time, { at: row.at }) },
      { id: "waits", title: "Waited for", cell: (row) => (row.waits ? JSON.stringify(row.waits) : "") },
    ] })}`;
}
