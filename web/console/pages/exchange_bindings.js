// What is bound to an exchange and from it: as a picture, as lists; and new bindings.

import { useEffect, useMemo, useState } from "../../vendor/modules/hooks.js";
import { change, get } from "../api.js";
import { path as pathOf } from "../address.js";
import { BindingGraph } from "../parts/binding_graph.js";
import { DEPTH_MAX, exchangesBehind } from "../parts/binding_layers.js";
import { useChanges } from "../parts/changes.js";
import { ask } from "../parts/dialog.js";
import { argumentsOf, Form } from "../parts/form.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { ExchangeLink, QueueLink } from "../parts/links.js";
import { List } from "../parts/list.js";
import { say } from "../parts/note.js";
import { useBindingRights } from "../parts/permitted.js";
import { follow, useResource } from "../resource.js";
import { exchangeSegment } from "../route.js";
import { getRows } from "../rows.js";

/** @typedef {import("../parts/binding_layers.js").Binding} Binding */

/** The broker gives all bindings at once, which may be many. */
const INTERVAL_MS = 15_000;
/** Exchanges behind this one that are asked for. */
const ASKED_MAX = 24;

/** What a binding is called in its path. @param {any} binding */
const unbindPath = ({ vhost, source, destination, destination_type: type, properties_key: key }) => pathOf`api/bindings/${vhost}/e/${exchangeSegment(source)}/${type === "exchange" ? "e" : "q"}/${destination}/${key}`;

/** The bindings of exchanges that are behind others, layer by layer. @param {string} vhost @param {Binding[]} from @param {AbortSignal} signal */
async function walk(vhost, from, signal) {
  /** @type {Map<string, Binding[]>} */
  const known = new Map();
  let names = exchangesBehind(from);
  for (let depth = 1; depth < DEPTH_MAX && names.length > 0; depth += 1) {
    const asked = names.filter((name) => !known.has(name)).slice(0, ASKED_MAX - known.size);
    const answers = await Promise.all(asked.map((name) => get(`${pathOf`api/exchanges/${vhost}/${exchangeSegment(name)}`}/bindings/source?columns=source,destination,destination_type,routing_key,arguments`, { signal })));
    asked.forEach((name, index) => known.set(name, answers[index]));
    names = [...new Set(answers.flatMap((bindings) => exchangesBehind(bindings)))];
  }
  return known;
}

/** @param {string} vhost @param {string} name @param {Binding[] | undefined} from */
function useBehind(vhost, name, from) {
  const [known, setKnown] = useState(/** @type {Map<string, Binding[]>} */ (new Map()));
  const next = useMemo(() => exchangesBehind(from ?? []).join("\n"), [from]);
  useEffect(() => {
    if (next === "" || !from) return undefined;
    return follow((signal) => walk(vhost, from, signal), ({ data }) => data && setKnown(data), INTERVAL_MS).end;
  }, [vhost, name, next]);
  return useMemo(() => (from ? new Map([...known, [name, from]]) : known), [known, from, name]);
}

/** A value, as it was before what was drawn last. @template T @param {T} value */
function useLater(value) {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value));
    return () => clearTimeout(timer);
  }, [value]);
  return later;
}

/** @param {{ vhost: string, name: string }} props name: empty for the default exchange */
export function ExchangeBindings({ vhost, name }) {
  const of = pathOf`api/exchanges/${vhost}/${exchangeSegment(name)}`;
  const from = useResource(`${of}/bindings/source`, INTERVAL_MS, getRows);
  const to = useResource(`${of}/bindings/destination`, INTERVAL_MS, getRows);
  const { mayRead, mayWrite } = useBindingRights({ vhost, exchange: exchangeSegment(name) });
  const reload = async () => void (await Promise.all([from.reload(), to.reload()]));
  useChanges(/^binding\.(created|deleted)$/, () => (from.data?.length ?? 0) < 2000 && reload());
  // The picture of very many is made after the lists.
  const [pictured, before] = useLater(useMemo(() => [from.data, to.data], [from.data, to.data]));
  const behind = useBehind(vhost, name, pictured);
  const unbind = async (/** @type {any} */ binding) => {
    const { source, destination, destination_type: type, routing_key: key } = binding;
    const isDone = await ask({
      title: "Remove the binding?", act: "Unbind", isHarmful: true, run: () => change("DELETE", unbindPath(binding)),
      text: ["Messages from the exchange ", h("bdi", {}, source), " with the key ", h("bdi", { class: "mono" }, key || "(empty)"), ` do not reach the ${type} `, h("bdi", {}, destination), " by it any longer."],
    });
    if (!isDone) return;
    say("The binding is removed.");
    await reload();
  };
  const columns = useMemo(() => ({ from: columnsOf("from", mayRead ? unbind : undefined), to: columnsOf("to", mayWrite ? unbind : undefined) }), [mayRead, mayWrite]);
  if (name === "") {
    return html`<p class="empty">Every queue is bound to the default exchange by its own name, always: a message goes to the queue that its routing key names. Nothing else can be bound to it or from it.</p>`;
  }
  const isThere = pictured !== undefined && before !== undefined;
  return html`
    ${h(Section, { title: "Picture", about: "what sends messages to this exchange, and what gets messages from it", children: isThere ? h(BindingGraph, { vhost, name, to: before, from: behind }) : html`<p class="awaited-text" role="status">Asking the broker…</p>` })}
    ${h(Section, { title: "From this exchange", children: h(List, { label: "Bindings from this exchange", rows: from.data, error: from.error, columns: columns.from, keyOf, textOf, by: "destination", height: "30rem",
      empty: "Nothing is bound from this exchange: what is published here reaches no queue. Add a binding below." }) })}
    ${h(Section, { title: "To this exchange", isClosed: (to.data?.length ?? 0) === 0, children: h(List, { label: "Bindings to this exchange", rows: to.data, error: to.error, columns: columns.to, keyOf, textOf, by: "source", height: "20rem", hasFilter: false,
      empty: "No other exchange sends messages here." }) })}
    ${(mayRead || mayWrite) && h(Section, { title: "Add a binding", children: h(AddBinding, { key: `${mayRead}${mayWrite}`, vhost, name, mayRead, mayWrite, onAdded: reload }) })}`;
}

/** @param {any} one */
const keyOf = (one) => JSON.stringify([one.source, one.destination_type, one.destination, one.properties_key]);
/** @param {any} one */
const textOf = (one) => `${one.destination} ${one.routing_key}`;

/** @param {"from" | "to"} direction @param {((binding: any) => unknown) | undefined} unbind @returns {import("../parts/table.js").Column<any>[]} */
function columnsOf(direction, unbind) {
  return [
    direction === "from"
      ? { id: "to", title: "To", sort: "destination", cell: (one) => html`<span class="kind">${one.destination_type}</span> ${h(one.destination_type === "exchange" ? ExchangeLink : QueueLink, { vhost: one.vhost, name: one.destination })}` }
      : { id: "from", title: "From exchange", sort: "source", cell: (one) => h(ExchangeLink, { vhost: one.vhost, name: one.source }) },
    { id: "key", title: "Routing key", sort: "routing_key", cell: (one) => h("bdi", { class: "mono" }, one.routing_key) },
    { id: "arguments", title: "Arguments", cell: (one) => h("bdi", {}, Object.entries(one.arguments ?? {}).map(([of, value]) => `${of}: ${JSON.stringify(value)}`).join(", ")) },
    ...(unbind ? [{ id: "unbind", title: "Unbind", cell: (/** @type {any} */ one) => html`<button type="button" aria-label=${`Unbind ${direction === "from" ? one.destination : one.source} ${one.routing_key}`} onClick=${() => unbind(one)}>Unbind</button>` }] : []),
  ];
}

/** @param {{ vhost: string, name: string, mayRead: boolean, mayWrite: boolean, onAdded: () => Promise<void> }} props */
function AddBinding({ vhost, name, mayRead, mayWrite, onAdded }) {
  const [kind, setKind] = useState(mayRead ? "queue" : "source");
  const [typed, setTyped] = useState("");
  const list = kind === "queue" ? pathOf`api/queues/${vhost}` : pathOf`api/exchanges/${vhost}`;
  const { data } = useResource(`${list}?columns=name&disable_stats=true&pagination=true&page=1&page_size=50&name=${encodeURIComponent(typed)}`, 0);
  /** @type {[string, string][]} */
  const offered = (data?.items ?? []).map((/** @type {any} */ one) => one.name).filter(Boolean).map((/** @type {string} */ one) => [one, ""]);
  const add = async (/** @type {any} */ { what = kind, other, key = "", args }) => {
    const body = { routing_key: key, arguments: argumentsOf(args) };
    if (what === "source") await change("POST", pathOf`api/bindings/${vhost}/e/${other}/e/${name}`, body);
    else await change("POST", pathOf`api/bindings/${vhost}/e/${name}/${what === "exchange" ? "e" : "q"}/${other}`, body);
    say("The binding is there.");
    await onAdded();
  };
  return h(Form, { label: "Add a binding", act: "Bind", initial: { what: kind }, onSubmit: add, onChange: (/** @type {any} */ { what = kind, other = "" }) => (setKind(what), setTyped(other)), fields: [
    { name: "what", label: "Binding", kind: "select", options: [...(mayRead ? [["queue", "from this exchange to a queue"], ["exchange", "from this exchange to an exchange"]] : []), ...(mayWrite ? [["source", "from an exchange to this one"]] : [])] },
    { name: "other", label: kind === "queue" ? "Queue" : "Exchange", isRequired: true, hints: offered },
    { name: "key", label: "Routing key", help: "What it means depends on the type of the exchange. A topic exchange knows * for one word and # for any number; x-consistent-hash takes a weight." },
    { name: "args", label: "Arguments", kind: "arguments", help: "For headers exchanges: the headers to look for, and x-match.", hints: [["x-match", "all, any, all-with-x or any-with-x"]] },
  ] });
}
