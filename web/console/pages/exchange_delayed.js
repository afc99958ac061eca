// Messages that wait at an exchange until they are due: looked at, cancelled, put off, released.

import { useEffect, useMemo, useState } from "../../vendor/modules/hooks.js";
import { change, get, sentenceOf } from "../api.js";
import { path as pathOf, withQuery } from "../address.js";
import { DelayedFilterForm, delayedFilterOf, delayedFilterText } from "../parts/delayed_filter.js";
import { ask } from "../parts/dialog.js";
import { Figure, Time } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { Note, say } from "../parts/note.js";
import { Reschedule } from "../parts/reschedule.js";
import { forEach } from "../parts/several.js";
import { SweepNote, useSweep } from "../parts/sweep.js";
import { Table } from "../parts/table.js";
import { follow } from "../resource.js";
import { exchangeSegment, go, place, setQuery } from "../route.js";
import { DelayedDialog } from "./delayed_message.js";

const PAGE_LEN = 100;
/** What is due leaves the list by itself. */
const INTERVAL_MS = 10_000;
/** More than this are much: it takes the exchange's name, typed. */
const MUCH = 1000;
/** Counting is given up here, and it is said that there are at least so many. */
const COUNT_MAX = 200_000;

/** @typedef {{ messages: any[], next: string | null, isSearching: boolean, error: string, key: string }} Found */

/**
 * A page of messages. One request looks at a part of many, so a search goes on until the page is full.
 * @param {string} path @param {Record<string, string>} filter @param {string} after
 */
function useDelayed(path, filter, after) {
  const key = withQuery(path, { ...filter, after });
  const [found, setFound] = useState(/** @type {Found} */ ({ messages: [], next: null, isSearching: true, error: "", key: "" }));
  const handle = useMemo(() => ({ look: async () => {} }), [key]);
  useEffect(() => {
    const search = async (/** @type {AbortSignal} */ signal) => {
      /** @type {any[]} */
      let messages = [];
      for (let from = after; ;) {
        const { messages: more, next } = await get(withQuery(path, { ...filter, after: from, count: PAGE_LEN - messages.length }), { signal });
        messages = [...messages, ...more];
        const isDone = next === null || messages.length >= PAGE_LEN;
        if (isDone) return { messages, next };
        setFound((before) => (before.key === key && !before.isSearching ? before : { messages, next, isSearching: true, error: "", key }));
        from = next;
      }
    };
    const followed = follow(search, ({ data, error }) => setFound((before) =>
      data ? { ...data, isSearching: false, error: "", key } : { ...(before.key === key ? before : { messages: [], next: null }), isSearching: false, error: sentenceOf(error), key }), INTERVAL_MS);
    handle.look = followed.look;
    return followed.end;
  }, [key]);
  return { ...(found.key === key ? found : { messages: [], next: null, isSearching: true, error: "" }), reload: () => handle.look() };
}

/** @param {{ vhost: string, name: string, exchange: any, reload: () => Promise<void> }} props */
export function DelayedMessages({ vhost, name, exchange, reload }) {
  const { query } = place.value;
  const messages = pathOf`api/delayed/${vhost}/${exchangeSegment(name)}` + "/messages";
  const filter = delayedFilterOf(query);
  const after = query.get("after") ?? "";
  const found = useDelayed(messages, filter, after);
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const [isRescheduling, setRescheduling] = useState(false);
  const there = useMemo(() => new Set([...chosen].filter((id) => found.messages.some((message) => message.id === id))), [chosen, found.messages]);
  const opened = query.get("message");
  const isFiltered = Object.keys(filter).length > 0;
  const refresh = async () => {
    setChosen(new Set());
    await Promise.all([found.reload(), reload()]);
  };
  const onChosen = async (/** @type {(id: string) => Promise<unknown>} */ act, /** @type {string} */ done) => {
    await forEach([...there], act, (count) => `${count.toLocaleString("en")} ${count === 1 ? "message is" : "messages are"} ${done}.`);
    await refresh();
  };
  const { state, run, stop, dismiss } = useSweep();
  const isBusy = state?.isRunning ?? false;
  const cancelAll = () => cancelMatching({ messages, filter, name, run, onDone: refresh });
  return html`
    <p>A message waits here until it is due, and is routed then, by the bindings of that moment. <span class="about">${h(Figure, { unit: "messages", value: exchange.messages_delayed ?? 0 })} wait just now.</span></p>
    ${h(DelayedFilterForm, {})}
    <div class="filter">
      <button type="button" onClick=${refresh}>Refresh</button>
      ${after && html`<button type="button" onClick=${() => go(place.peek().path, { ...Object.fromEntries(place.peek().query), after: undefined })}>From the beginning</button>`}
      <button type="button" aria-disabled=${found.next === null || found.isSearching} onClick=${() => go(place.peek().path, { ...Object.fromEntries(place.peek().query), after: found.next ?? undefined, message: undefined })}>Next page</button>
      <span class="counted" role="status" aria-live="polite">${found.isSearching ? "Looking…" : `${found.messages.length} shown${found.next === null ? ", up to the end" : ", more follow"}`}</span>
      ${there.size > 0 && html`<button type="button" class="harmful" onClick=${() => cancelChosen([...there], messages, onChosen)}>Cancel ${there.size} chosen…</button>
        <button type="button" onClick=${() => setRescheduling(true)}>Reschedule ${there.size} chosen…</button>
        <button type="button" onClick=${() => onChosen((id) => change("POST", `${messages}/${encodeURIComponent(id)}/release`), "released")}>Release ${there.size} chosen</button>`}
      ${there.size === 0 && found.messages.length > 0 && html`<button type="button" class="harmful" aria-disabled=${isBusy} onClick=${cancelAll}>Cancel ${isFiltered ? "all that match" : "all"}…</button>`}
    </div>
    ${h(SweepNote, { state, onStop: stop, onDismiss: dismiss })}
    ${found.error && h(Note, { children: found.error })}
    ${(!found.error || found.messages.length > 0) && h(Table, { label: "Delayed messages", columns: COLUMNS, count: found.messages.length, rowAt: (index) => found.messages[index], keyOf: (message) => message.id, height: "60vh", chosen: there, onChosen: setChosen,
      empty: found.isSearching ? "Looking…" : isFiltered ? "No message matches. Clear the search to see all." : html`No message waits. One that is published here with the header <code>x-delay</code>, a number of milliseconds, waits that long.` })}
    ${isRescheduling && h(Reschedule, { title: `Reschedule ${there.size} ${there.size === 1 ? "message" : "messages"}`, onClose: () => setRescheduling(false),
      onWhen: async (when) => (setRescheduling(false), onChosen((id) => change("PUT", `${messages}/${encodeURIComponent(id)}`, when), "rescheduled")) })}
    ${opened !== null && opened !== "" && h(DelayedDialog, { key: opened, vhost, messages, id: opened, onClose: () => setQuery({ message: undefined }), onDone: refresh })}`;
}

/** @param {string[]} ids @param {string} messages @param {(act: (id: string) => Promise<unknown>, done: string) => Promise<void>} onChosen */
async function cancelChosen(ids, messages, onChosen) {
  const many = ids.length === 1 ? "one message" : `${ids.length} messages`;
  const isYes = await ask({ title: `Cancel ${many}`, act: `Cancel ${many}`, keep: "Keep", isHarmful: true, text: `${ids.length === 1 ? "It is" : "They are"} never delivered, and cannot be had back.` });
  if (isYes) await onChosen((id) => change("DELETE", `${messages}/${encodeURIComponent(id)}`), "cancelled");
}

/** Counts first, and asks. @param {{ messages: string, filter: Record<string, string>, name: string, run: ReturnType<typeof useSweep>["run"], onDone: () => Promise<void> }} props */
async function cancelMatching({ messages, filter, name, run, onDone }) {
  const counted = await run("Counting what matches:", async (from, _, signal) => {
    const { messages: found, next } = await get(withQuery(messages, { ...filter, count: 1000, after: from }), { signal });
    return { count: found.length, next };
  }, { most: COUNT_MAX, isQuiet: true });
  if (!counted) return;
  const { count, isExhaustive } = counted;
  if (count === 0) return say("No messages match any longer.");
  const many = `${isExhaustive ? "" : "at least "}${count.toLocaleString("en")} ${count === 1 ? "message" : "messages"}`;
  const said = delayedFilterText(filter);
  const isYes = await ask({
    title: "Cancel all that match", act: "Cancel them", keep: "Keep them", isHarmful: true, word: count > MUCH || !isExhaustive ? name : undefined,
    text: html`<p><b>${many}</b> of <bdi>${name}</bdi>${said ? html` that match (<bdi>${said}</bdi>)` : ", all that wait here,"} ${count === 1 ? "is" : "are"} never delivered, and cannot be had back.</p>`,
  });
  if (!isYes) return;
  await run("Cancelled:", async () => {
    const { cancelled, partial } = await change("DELETE", withQuery(messages, Object.keys(filter).length > 0 ? filter : { all: true }));
    return { count: cancelled, next: partial ? "on" : null };
  }, { total: isExhaustive ? count : undefined });
  await onDone();
}

/** @type {import("../parts/table.js").Column<any>[]} */
const COLUMNS = [
  { id: "show", title: "Message", cell: (one) => html`<button type="button" aria-label=${`Show message ${one.id}`} onClick=${() => setQuery({ message: one.id })}>Show</button>` },
  { id: "due", title: "Due", about: "when it is routed", cell: (one) => h(Time, { at: one.due }) },
  { id: "in", title: "In", about: "how long it waits from now", isNumber: true, cell: (one) => h(Figure, { unit: "ms", value: Math.max(0, one.due - Date.now()) }) },
  { id: "exchange", title: "Published to", cell: (one) => h("bdi", {}, one.exchange || "(AMQP default)") },
  { id: "key", title: "Routing key", cell: (one) => h("bdi", { class: "mono" }, one.routing_key) },
  { id: "headers", title: "Headers", cell: (one) => h("bdi", { class: "mono" }, Object.entries(one.properties?.headers ?? {}).filter(([name]) => name !== "x-delay").map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ")) },
  { id: "persistent", title: "Persistent", about: "whether it outlives a restart", cell: (one) => (one.durable ? "yes" : "no") },
  { id: "bytes", title: "Bytes", about: "of the body", isNumber: true, cell: (one) => h(Figure, { unit: "bytes", value: one.payload_bytes }) },
];
