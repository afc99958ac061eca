// One stream of events for all tabs of a browser, which has no more than six connections to a broker. A tab that holds the lock reads the
// stream for all and passes on what comes; when it goes, another one takes over. A page that did not come by TLS has no locks in most
// browsers: then the tab that claimed the stream last has it.

import { useEffect, useRef } from "../vendor/modules/hooks.js";
import { effect, signal } from "../vendor/modules/signals.js";
import { reach, returns, send } from "./api.js";
import { exchangeSegment } from "./route.js";
import { look, user } from "./session.js";

/**
 * @typedef {{ name: string, data: any }} LiveEvent
 * @typedef {(event: LiveEvent) => void} Listener
 */

const NAME = "warren-console";
/** Events of numbers come as often as this. */
const INTERVAL_S = 5;
const RETRY_MIN_MS = 1000;
const RETRY_MAX_MS = 15_000;
/** A tab tells again what it wants, and another one that told nothing for long is gone. Timers of hidden tabs may run once a minute. */
const TELL_MS = 20_000;
const FORGET_MS = 150_000;
/** Parts that one stream may have; the tab that is seen goes first. */
const PART_COUNT_MAX = 95;
/** And letters that they may have in the address, whatever names there are: some proxies take 8 KiB of it. */
const ADDRESS_LEN_MAX = 7000;

const me = crypto.getRandomValues(new Uint32Array(2)).join("-");
const channel = new BroadcastChannel(NAME);

/** What this tab wants: listeners by part. @type {Map<string, Set<Listener>>} */
const listeners = new Map();
/** What each tab wants, and when it said so. @type {Map<string, { parts: string[], at: number, isSeen: boolean }>} */
const wants = new Map();

/** Whether events come. */
export const isLive = signal(false);

let isReader = false;
/** Whether another tab has read before, and nothing has been read since. */
let isNewReader = false;
/** @type {AbortController | undefined} */
let stream;
let streamed = "";

/** The part of which an event tells. @param {LiveEvent} event */
export function partOf({ name, data }) {
  const kind = name === "gone" ? data.kind : name;
  const encode = (/** @type {string} */ text) => encodeURIComponent(text);
  switch (kind) {
    case "queue":
    case "exchange":
      return partOfObject(kind, data.vhost, data.name);
    case "vhost":
    case "connection":
    case "channel":
      return `${kind}:${encode(data.name)}`;
    case "change":
      return "changes";
    case "alert":
      return "alerts";
    default:
      return kind;
  }
}

/** @param {LiveEvent} event */
function hear(event) {
  const told = event.name === "missed" || event.name === "end" ? [...listeners.values()] : [listeners.get(partOf(event)) ?? []];
  for (const set of told) for (const listener of set) listener(event);
}

function tellWants() {
  const parts = [...listeners.keys()];
  const isSeen = !document.hidden;
  wants.set(me, { parts, at: Date.now(), isSeen });
  channel.postMessage({ type: "wants", from: me, parts, isSeen });
  settle();
}

let isToTell = false;
/** Tells once, however many parts come and go at a time. */
function tellSoon() {
  if (isToTell) return;
  isToTell = true;
  queueMicrotask(() => {
    isToTell = false;
    tellWants();
  });
}

/** What all tabs want. */
function allParts() {
  for (const [tab, { at }] of wants) if (tab !== me && Date.now() - at > FORGET_MS) wants.delete(tab);
  // What tells of everything goes first, then what the tabs want that are seen.
  const parts = [...wants.values()].sort((a, b) => Number(b.isSeen) - Number(a.isSeen)).flatMap((want) => want.parts);
  const all = [...new Set([...parts.filter((part) => !part.includes(":")), ...parts])].slice(0, PART_COUNT_MAX);
  let len = 0;
  return all.filter((part) => (len += encodeURIComponent(part).length) <= ADDRESS_LEN_MAX).sort();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let settling;
/** The reader opens the stream anew where something else is wanted. */
function settle() {
  clearTimeout(settling);
  settling = setTimeout(() => {
    if (!isReader) return;
    const parts = allParts();
    const wanted = user.peek() ? parts.join(",") : "";
    if (wanted === streamed) return;
    stream?.abort();
    streamed = wanted;
    stream = new AbortController();
    if (wanted !== "") read(parts, stream.signal);
    else show(false);
  }, 150);
}

/** What happened while no stream was read is not told any more: what is shown is asked for again. */
let wasLive = false;

/** @param {boolean} is @param {boolean} isNew whether something may have been missed */
function note(is, isNew) {
  // It ends where the broker goes, or where rights are revoked: each tab finds out which.
  if (isLive.peek() && !is) void look();
  isLive.value = is;
  if (is && isNew && wasLive) returns.value += 1;
  wasLive ||= is;
}

/** @param {boolean} is @param {boolean} [isNew] */
function show(is, isNew = false) {
  note(is, isNew);
  channel.postMessage({ type: "live", is, isNew });
}

/** Reads until it is ended. @param {string[]} parts @param {AbortSignal} signal */
async function read(parts, signal) {
  let retryMs = RETRY_MIN_MS;
  let isNew = false;
  while (!signal.aborted) {
    try {
      const query = new URLSearchParams({ events: parts.join(","), interval: String(INTERVAL_S) });
      const response = await send("GET", `api/live?${query}`, { signal, isLong: true });
      show(true, isNew || isNewReader);
      isNew = true;
      isNewReader = false;
      retryMs = RETRY_MIN_MS;
      await readEvents(response, signal);
    } catch {
      // It is tried again, whatever it was; requests of the pages say what is wrong.
    }
    if (signal.aborted) return;
    show(false);
    void look();
    await new Promise((resolve) => setTimeout(resolve, retryMs * (0.5 + Math.random())));
    retryMs = Math.min(RETRY_MAX_MS, retryMs * 2);
    if (reach.peek() === "lost") retryMs = RETRY_MIN_MS;
  }
}

/** @param {Response} response @param {AbortSignal} signal */
async function readEvents(response, signal) {
  if (!response.body) return;
  let text = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined), { once: true });
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const events = (text + piece.value).split("\n\n");
    text = events.pop() ?? "";
    for (const written of events) {
      const [, name, data] = written.match(/^event: (.*)\ndata: (.*)$/m) ?? [];
      if (!name) continue;
      const event = { name, data: JSON.parse(data) };
      channel.postMessage({ type: "event", event });
      hear(event);
    }
  }
}

function becomeReader() {
  isReader = true;
  isNewReader = true;
  streamed = "";
  channel.postMessage({ type: "claim", from: me });
  tellWants();
}

function stopReading() {
  isReader = false;
  stream?.abort();
  streamed = "";
}

let readerSeenAt = Date.now();
channel.addEventListener("message", ({ data }) => {
  switch (data.type) {
    case "wants":
      wants.set(data.from, { parts: data.parts, at: Date.now(), isSeen: data.isSeen });
      if (isReader) settle();
      break;
    case "claim":
      readerSeenAt = Date.now();
      if (isReader && !navigator.locks) stopReading();
      tellWants();
      break;
    case "bye":
      wants.delete(data.from);
      if (isReader) settle();
      else if (!navigator.locks && data.wasReader) becomeReader();
      break;
    case "live":
      readerSeenAt = Date.now();
      note(data.is, data.isNew);
      break;
    case "event":
      readerSeenAt = Date.now();
      hear(data.event);
      break;
  }
});

/** Begins: called once, by the page. */
export function beginLive() {
  if (navigator.locks) void navigator.locks.request(NAME, () => (becomeReader(), new Promise(() => undefined)));
  else setTimeout(() => Date.now() - readerSeenAt > INTERVAL_S * 1000 && becomeReader(), 100 + Math.random() * 400);
  setInterval(() => {
    tellWants();
    if (isReader) channel.postMessage({ type: "live", is: isLive.peek() });
    else if (!navigator.locks && !document.hidden && Date.now() - readerSeenAt > 2 * TELL_MS) becomeReader();
  }, TELL_MS);
  document.addEventListener("visibilitychange", tellWants);
  addEventListener("pagehide", () => channel.postMessage({ type: "bye", from: me, wasReader: isReader }));
  addEventListener("pageshow", ({ persisted }) => void (persisted && tellWants()));
  // Another user has other rights, and so another stream.
  effect(() => {
    if (user.value === undefined) return;
    stream?.abort();
    streamed = "";
    settle();
  });
}

/**
 * Hears what the stream tells of a part, as `docs/live.md` names them, until the function that it gives is called.
 * @param {string} part
 * @param {Listener} listener
 */
export function listen(part, listener) {
  const set = listeners.get(part) ?? new Set();
  listeners.set(part, set.add(listener));
  if (set.size === 1) tellSoon();
  return () => {
    set.delete(listener);
    if (set.size === 0 && listeners.get(part) === set) listeners.delete(part);
    if (set.size === 0) tellSoon();
  };
}

/** The same, while a component is shown. @param {string | null} part @param {Listener} listener */
export function useLive(part, listener) {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => (part === null ? undefined : listen(part, (event) => latest.current(event))), [part]);
}

/** The part that tells of an object. The default exchange has a name here, as in paths. @param {"queue" | "exchange"} kind @param {string} vhost @param {string} name */
export const partOfObject = (kind, vhost, name) => `${kind}:${encodeURIComponent(vhost)}/${encodeURIComponent(kind === "exchange" ? exchangeSegment(name) : name)}`;
