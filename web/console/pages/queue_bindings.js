// How messages come into a queue: its bindings, and new ones.

import { change } from "../api.js";
import { path, withQuery } from "../address.js";
import { ask } from "../parts/dialog.js";
import { argumentsOf, Form } from "../parts/form.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { ExchangeLink } from "../parts/links.js";
import { List } from "../parts/list.js";
import { say } from "../parts/note.js";
import { useBindingRights } from "../parts/permitted.js";
import { INTERVAL_MS, useResource } from "../resource.js";
import { getRows } from "../rows.js";

/** Offered where the name of an exchange is entered. */
const OFFERED_MAX = 200;

/** @param {{ vhost: string, name: string }} props */
export function QueueBindings({ vhost, name }) {
  const { data, error, reload } = useResource(path`api/queues/${vhost}/${name}/bindings`, INTERVAL_MS, getRows);
  const { mayWrite: mayBind } = useBindingRights({ vhost, queue: name });
  const unbind = async (/** @type {any} */ { source, routing_key: key, properties_key: properties }) => {
    const isDone = await ask({
      title: "Remove the binding?", text: ["Messages that come over ", h("bdi", {}, source), " with the key ", h("bdi", { class: "mono" }, key || "(empty)"), " no longer reach this queue through it."],
      act: "Unbind", isHarmful: true, run: () => change("DELETE", path`api/bindings/${vhost}/e/${source}/q/${name}/${properties}`),
    });
    if (!isDone) return;
    say("The binding has been removed.");
    await reload();
  };
  /** @type {import("../parts/table.js").Column<any>[]} */
  const columns = [
    { id: "source", title: "From exchange", sort: "source", cell: (one) => h(ExchangeLink, { vhost, name: one.source }) },
    { id: "key", title: "Routing key", sort: "routing_key", cell: (one) => h("bdi", { class: "mono" }, one.routing_key) },
    { id: "arguments", title: "Arguments", cell: (one) => h("bdi", {}, Object.entries(one.arguments ?? {}).map(([of, value]) => `${of}: ${JSON.stringify(value)}`).join(", ")) },
    { id: "unbind", title: "Unbind", cell: (one) => one.source === "" ? html`<span class="about">always there</span>` : mayBind && html`<button type="button" aria-label=${`Unbind ${one.source} ${one.routing_key}`} onClick=${() => unbind(one)}>Unbind</button>` },
  ];
  return html`${h(List, { label: "Bindings", rows: data, error, columns, keyOf: (one) => `${one.source} ${one.properties_key}`, textOf: (one) => `${one.source} ${one.routing_key}`, by: "source",
    empty: "No exchange sends messages to this queue. Add a binding below." })}
    ${mayBind && h(AddBinding, { vhost, name, onAdded: reload })}`;
}

/** @param {{ vhost: string, name: string, onAdded: () => Promise<void> }} props */
function AddBinding({ vhost, name, onAdded }) {
  const { data } = useResource(withQuery(path`api/exchanges/${vhost}`, { columns: "name", disable_stats: true, page: 1, page_size: OFFERED_MAX, pagination: true }), 0);
  const offered = (data?.items ?? []).map((/** @type {any} */ one) => one.name).filter(Boolean);
  const add = async (/** @type {any} */ { source, key = "", args }) => {
    await change("POST", path`api/bindings/${vhost}/e/${source}/q/${name}`, { routing_key: key, arguments: argumentsOf(args) });
    say(`${name} gets messages from ${source}.`);
    await onAdded();
  };
  return h(Section, { title: "Add a binding to this queue", children: h(Form, { label: "Add a binding to this queue", act: "Bind", onSubmit: add, fields: [
    { name: "source", label: "From exchange", isRequired: true, hints: offered.map((/** @type {string} */ one) => [one, ""]) },
    { name: "key", label: "Routing key", help: "What it means depends on the type of the exchange; a topic exchange knows * for one word and # for any number." },
    { name: "args", label: "Arguments", kind: "arguments", help: "For headers exchanges: the headers to look for, and x-match." },
  ] }) });
}
