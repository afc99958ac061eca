// Traces into files, which go on while no page looks.

import { address, path } from "../address.js";
import { change } from "../api.js";
import { ask } from "../parts/dialog.js";
import { Figure } from "../parts/figure.js";
import { Form } from "../parts/form.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { attempt } from "../parts/note.js";
import { useResource } from "../resource.js";

/** Filters of a trace, as the API names them. @type {[string, string][]} */
const FILTERS = [["queue", "Queue"], ["exchange", "Exchange"], ["routing_key", "Routing key"], ["message_id", "Message id"], ["user", "User"], ["connection", "Connection"]];

export function TraceFiles() {
  const traces = useResource("api/traces");
  const files = useResource("api/trace-files");
  const { data: vhosts } = useResource("api/vhosts?columns=name", 60_000);
  const names = (vhosts ?? []).map((/** @type {any} */ vhost) => vhost.name);
  const end = async (/** @type {any} */ trace) => {
    const isYes = await ask({ title: `End the trace ${trace.name}?`, text: "Its file stays.", act: "End the trace" });
    if (isYes && (await attempt(() => change("DELETE", path`api/traces/${trace.vhost}/${trace.name}`), `The trace ${trace.name} has ended.`))) await traces.reload();
  };
  const remove = async (/** @type {any} */ file) => {
    const isYes = await ask({ title: `Delete the file ${file.name}?`, text: "Its contents are deleted for good.", act: "Delete the file", isHarmful: true });
    if (isYes && (await attempt(() => change("DELETE", path`api/trace-files/${file.name}`), `The file ${file.name} is deleted.`))) await files.reload();
  };
  const add = async (/** @type {any} */ values) => {
    const { vhost = names[0] ?? "/", name, format = "events", pattern, max_payload_bytes: most, ...rest } = values;
    const filters = Object.fromEntries(FILTERS.map(([key]) => [key, rest[key]]).filter(([, value]) => value));
    await change("PUT", path`api/traces/${vhost}/${name}`, { format, pattern: pattern || "#", ...(most ? { max_payload_bytes: Number(most) } : {}), ...filters });
    await Promise.all([traces.reload(), files.reload()]);
  };
  return html`
    ${h(Section, { title: "Traces that run", children: h(List, { label: "Traces", rows: traces.data, error: traces.error, by: "name", keyOf: (trace) => `${trace.vhost} ${trace.name}`, height: "20rem", hasFilter: false, empty: "No trace runs. One that is added below writes what happens to messages into a file, also after a restart, until it is ended.", columns: [
      { id: "name", title: "Name", sort: "name", cell: (trace) => h("bdi", {}, trace.name) }, { id: "vhost", title: "Virtual host", sort: "vhost", cell: (trace) => h("bdi", {}, trace.vhost) }, { id: "pattern", title: "Pattern", cell: (trace) => trace.pattern }, { id: "format", title: "Format", cell: (trace) => trace.format },
      { id: "written", title: "Written", about: "events in the file", isNumber: true, cell: (trace) => h(Figure, { value: trace.written }) }, { id: "missed", title: "Missed", about: "events that were dropped because the buffer was full", isNumber: true, cell: (trace) => h(Figure, { value: trace.missed }) },
      { id: "error", title: "Error", cell: (trace) => trace.error }, { id: "end", title: "End", cell: (trace) => h("button", { type: "button", "aria-label": `End ${trace.name}`, onClick: () => end(trace) }, "End") },
    ] }) })}
    ${h(Section, { title: "Files", children: h(List, { label: "Trace files", rows: files.data, error: files.error, by: "name", keyOf: (file) => file.name, height: "20rem", hasFilter: false, empty: "There are no files yet.", columns: [
      { id: "name", title: "Name", sort: "name", cell: (file) => html`<a href=${address(path`api/trace-files/${file.name}`)} download=${file.name}><bdi>${file.name}</bdi></a>` },
      { id: "size", title: "Length", sort: "size", isNumber: true, cell: (file) => h(Figure, { unit: "bytes", value: file.size }) },
      { id: "delete", title: "Delete", cell: (file) => h("button", { type: "button", class: "harmful", "aria-label": `Delete ${file.name}`, onClick: () => remove(file) }, "Delete") },
    ] }) })}
    ${h(Section, { title: "Add a trace", children: h(Form, { label: "Add a trace", act: "Add trace", onSubmit: add, fields: [
      { name: "vhost", label: "Virtual host", kind: "select", options: names.map((/** @type {string} */ one) => [one, one]) }, { name: "name", label: "Name", isRequired: true },
      { name: "format", label: "Format", kind: "select", options: [["events", "Everything that happens"], ["text", "RabbitMQ's text"], ["json", "RabbitMQ's JSON"]] },
      { name: "pattern", label: "Pattern", placeholder: "#", help: "Keys of the firehose: publish.EXCHANGE, deliver.QUEUE, # for all." },
      { name: "max_payload_bytes", label: "Bytes of bodies at most", kind: "number" }, ...FILTERS.map(([name, label]) => ({ name, label: `Only: ${label.toLowerCase()}` })),
    ] }) })}`;
}
