// The messages of a queue: looked at and searched without taking them; deleted, moved, sent back to where they died; published and got.

import { useEffect, useMemo, useRef, useState } from "../../vendor/modules/hooks.js";
import { ApiError, get, isRefusal, returns, sentenceOf } from "../api.js";
import { path } from "../address.js";
import { bytesOf, textOf } from "../parts/body.js";
import { Figure, Time } from "../parts/figure.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { DEFAULT_EXCHANGE } from "../parts/links.js";
import { Holder } from "../parts/message.js";
import { filterOf, MessageFilterForm } from "../parts/message_filter.js";
import { Note } from "../parts/note.js";
import { usePermitted } from "../parts/permitted.js";
import { PublishForm } from "../parts/publish.js";
import { Table } from "../parts/table.js";
import { INTERVAL_MS } from "../resource.js";
import { go, place, setQuery } from "../route.js";
import { GetMessages } from "./queue_get.js";
import { MessageActs } from "./queue_message_acts.js";
import { MessageDialog } from "./queue_message.js";

/** Messages of a page, and bytes of each body that are fetched for it. */
const PAGE_LENS = [20, 100, 500];
const PAGE_LEN = 100;
const PREVIEW_LEN = 160;

/** @typedef {{ messages: any[], next: string | null, isRunning: boolean, error: string, isPassing?: boolean, requests: number }} Found isPassing: it may be well soon */

const NOTHING = /** @type {Found} */ ({ messages: [], next: null, isRunning: true, error: "", requests: 0 });

/**
 * A page of messages. One request looks at a part of a long queue, so a search goes on until the page is full.
 * @param {string} messages the path @param {Record<string, string>} filter @param {string} from @param {number} count
 */
function useMessages(messages, filter, from, count) {
  const key = `${messages}?${new URLSearchParams(filter)}&${from}&${count}`;
  const [turn, setTurn] = useState(0);
  const [found, setFound] = useState({ ...NOTHING, key });
  const controller = useMemo(() => new AbortController(), [key, turn]);
  useEffect(() => {
    const { signal } = controller;
    void search(messages, filter, from, count, signal, (part) => !signal.aborted && setFound({ ...part, key }))
      .catch((error) => setFound((before) => signal.aborted ? { ...before, isRunning: false } : { ...(before.key === key && !isRefusal(error) ? before : NOTHING), isRunning: false, error: sentenceOf(error), isPassing: error instanceof ApiError && (error.isLost || error.isRefusal), key }));
    return () => controller.abort();
  }, [controller]);
  useEffect(() => {
    if (!found.isPassing || found.isRunning) return undefined;
    const timer = setTimeout(() => setTurn((before) => before + 1), INTERVAL_MS);
    return () => clearTimeout(timer);
  }, [found]);
  // The broker was away, and has come back.
  const known = useRef(returns.value);
  useEffect(() => {
    if (known.current !== returns.value) setTurn((before) => before + 1);
    known.current = returns.value;
  }, [returns.value]);
  return { ...(found.key === key ? found : NOTHING), reload: () => setTurn(turn + 1), stop: () => controller.abort() };
}

/** @param {string} messages @param {Record<string, string>} filter @param {string} from @param {number} count @param {AbortSignal} signal @param {(found: Found) => unknown} tell */
async function search(messages, filter, from, count, signal, tell) {
  const { tail, ...criteria } = filter;
  /** @type {any[]} */
  let found = [];
  let start = /** @type {Record<string, string>} */ (from ? { from } : tail ? { tail } : {});
  for (let requests = 1; ; requests += 1) {
    const query = new URLSearchParams({ ...criteria, ...start, count: String(count - found.length), truncate: String(PREVIEW_LEN) });
    const { messages: more, next } = await get(`${messages}?${query}`, { signal });
    found = [...found, ...more];
    const isDone = next === null || found.length >= count;
    tell({ messages: found, next, isRunning: !isDone, error: "", requests });
    if (isDone) return;
    start = { from: next };
  }
}

/**
 * @param {{ vhost: string, name: string, queue: any, reload: () => Promise<void>, isUnacked?: boolean }} props
 * isUnacked: those that consumers have and have not acknowledged, and which consumer has each
 */
export function QueueMessages({ vhost, name, queue, reload, isUnacked: isOfUnacked }) {
  const { query } = place.value;
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const { filter, wrong } = useMemo(() => filterOrWrong(query, isOfUnacked), [query, isOfUnacked]);
  const from = query.get("from") ?? "";
  const count = PAGE_LENS.find((len) => String(len) === query.get("size")) ?? PAGE_LEN;
  const found = useMessages(path`api/queues/${vhost}/${name}/messages`, filter, from, count);
  const isUnacked = filter.state === "unacked";
  const isSearched = Object.keys(filter).some((name) => name !== "state" || !isOfUnacked);
  const opened = query.get("message");
  const mayPublish = usePermitted("publish", { vhost, exchange: "amq.default", routing_key: name });
  const refresh = async () => {
    setChosen(new Set());
    found.reload();
    await reload();
  };
  const open = (/** @type {string | undefined} */ id) => setQuery({ message: id });
  const columns = useMemo(() => columnsOf(isUnacked, open), [isUnacked]);
  const there = useMemo(() => new Set([...chosen].filter((id) => found.messages.some((message) => message.id === id))), [chosen, found.messages]);
  return html`
    <p>Looking at messages changes nothing: they stay in the queue, unmarked. <span class="about">${h(Figure, { unit: "messages", value: queue.messages_ready })} ready, ${h(Figure, { unit: "messages", value: queue.messages_unacknowledged })} unacked just now.</span></p>
    ${h(Section, { title: "Search", isClosed: !isSearched && !wrong, about: isSearched ? "what is shown matches all of it" : "by body, header, routing key, age, death", children: h(MessageFilterForm, { onSearch: found.reload }) })}
    ${wrong ? h(Note, { children: wrong }) : html`
    <div class="filter">
      <button type="button" onClick=${refresh}>Refresh</button>
      ${from && html`<button type="button" onClick=${() => go(place.peek().path, { ...Object.fromEntries(place.peek().query), from: undefined })}>From the beginning</button>`}
      <button type="button" aria-disabled=${found.next === null || found.isRunning} onClick=${() => go(place.peek().path, { ...Object.fromEntries(place.peek().query), from: found.next ?? undefined, message: undefined })}>Next page</button>
      <label>Messages of a page <select value=${String(count)} onChange=${(/** @type {any} */ event) => setQuery({ size: event.currentTarget.value === String(PAGE_LEN) ? undefined : event.currentTarget.value })}>${PAGE_LENS.map((len) => html`<option value=${String(len)}>${len}</option>`)}</select></label>
      <span role="status" class="counted" aria-live="polite">${statusOf(found)}</span>
      ${found.isRunning && found.requests > 0 && html`<button type="button" onClick=${found.stop}>Stop searching</button>`}
    </div>
    ${!isUnacked && h(MessageActs, { vhost, name, filter, chosen: there, hasAny: found.messages.length > 0 || from !== "", onDone: refresh })}
    ${found.error && h(Note, { children: found.error })}
    ${(!found.error || found.messages.length > 0) && h(Table, { label: "Messages", columns, count: found.messages.length, rowAt: (index) => found.messages[index], keyOf: (message) => message.id, height: "60vh",
      chosen: isUnacked ? undefined : there, onChosen: isUnacked ? undefined : setChosen, empty: found.isRunning ? "Looking…" : emptyText(filter, isUnacked, from) })}`}
    <div class="below">
      ${mayPublish && !isOfUnacked && h(Section, { title: "Publish a message", about: "into this queue, by the default exchange", isClosed: true, children: h(PublishForm, { vhost, exchange: "", queue: name, onPublished: refresh }) })}
      ${!isOfUnacked && h(Section, { title: "Get messages", about: "takes them out of the queue, as a consumer does", isClosed: true, children: h(GetMessages, { vhost, name, onGot: refresh }) })}
    </div>
    ${opened !== null && h(MessageDialog, { vhost, name, id: opened, isUnacked, ids: found.messages.map((message) => message.id), onOpen: open })}`;
}

/** @param {URLSearchParams} query @param {boolean} [isUnacked] @returns {{ filter: Record<string, string>, wrong: string }} */
function filterOrWrong(query, isUnacked) {
  try {
    const filter = filterOf(query);
    return { filter: isUnacked ? { ...filter, state: "unacked" } : filter, wrong: "" };
  } catch (error) {
    return { filter: {}, wrong: sentenceOf(error) };
  }
}

/** @param {Found} found */
function statusOf({ messages, next, isRunning, requests }) {
  if (isRunning) return requests > 1 ? `Searching: ${messages.length} found so far` : "Looking…";
  return `${messages.length} shown${next === null ? ", up to the end" : ", more follow"}`;
}

/** @param {Record<string, string>} filter @param {boolean} isUnacked @param {string} from */
function emptyText(filter, isUnacked, from) {
  if (Object.keys(filter).some((name) => name !== "state")) return "No message matches. Clear the search to see all.";
  if (isUnacked) return "No message is unacked: consumers have acknowledged all that they got.";
  return from ? "No message follows." : "No message waits. Messages that no consumer has received appear here. You can publish one below.";
}

/** @param {boolean} isUnacked @param {(id: string) => void} open @returns {import("../parts/table.js").Column<any>[]} */
function columnsOf(isUnacked, open) {
  return [
    { id: "show", title: "Message", cell: (one) => html`<button type="button" aria-label=${`Show message ${one.id}`} onClick=${() => open(one.id)}>Show</button>` },
    { id: "entered", title: "Entered", about: "when it came into the queue", cell: (one) => h(Time, { at: one.entered, isAgo: true }) },
    ...(isUnacked ? [{ id: "held", title: "Held by", cell: (/** @type {any} */ one) => one.held_by && h(Holder, { holder: one.held_by }) }] : []),
    { id: "exchange", title: "Exchange", cell: (one) => h("bdi", {}, one.exchange || DEFAULT_EXCHANGE) },
    { id: "key", title: "Routing key", cell: (one) => h("bdi", { class: "mono" }, one.routing_key) },
    { id: "marks", title: "Marks", about: "P: persistent, R: may have been delivered before, †: a dead letter and of what it died first, the number: its priority", cell: marks },
    { id: "bytes", title: "Bytes", about: "of the body", isNumber: true, cell: (one) => h(Figure, { unit: "bytes", value: one.payload_bytes }) },
    { id: "body", title: "Body", about: "its beginning", cell: (one) => h("bdi", { class: "mono" }, textOf(one, bytesOf(one)) ?? `base64: ${one.payload.slice(0, 60)}`) },
  ];
}

/** @param {any} message */
function marks({ redelivered, properties }) {
  const reason = properties?.headers?.["x-first-death-reason"];
  const badges = /** @type {[string, string][]} */ ([
    ...(properties?.delivery_mode === 2 ? [["P", "persistent"]] : []), ...(redelivered ? [["R", "may have been delivered before"]] : []),
    ...(reason ? [[`† ${reason}`, "a dead letter"]] : []), ...(properties?.priority ? [[String(properties.priority), "priority"]] : []),
  ]);
  return badges.map(([text, about]) => h("span", { key: text, class: "badge", title: about }, text));
}
