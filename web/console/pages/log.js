// The log of the process: its last lines, and those that come.

import { useEffect, useRef, useState } from "../../vendor/modules/hooks.js";
import { change, get } from "../api.js";
import { withQuery } from "../address.js";
import { local, utc } from "../format.js";
import { Heading } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { attempt, Note } from "../parts/note.js";
import { place, setQuery } from "../route.js";
import { useTail } from "./tail.js";

/** @typedef {{ id: number | string, at: string | number, level: string, target?: string, text: string }} Line */

/** Lines that are kept, as many as the broker keeps. */
const KEPT_MAX = 2000;
/** Lines that are in the page. */
const SHOWN_MAX = 250;
/** From the least to the most severe. */
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical"];
/** What levels are called elsewhere. @type {Record<string, string>} */
const SAME = { trace: "debug", warn: "warning", err: "error", alert: "critical", emergency: "critical" };

/** @param {string} level */
const levelOf = (level) => SAME[level.toLowerCase()] ?? level.toLowerCase();

/** A line of a broker that gives its log as text. @param {string} text @param {number} index @returns {Line} */
function lineOf(text, index) {
  const [, at, level, target, rest] = text.match(/^(\d{4}-\S+)\s+([A-Z]+)\s+(?:([\w:]+): )?(.*)$/s) ?? [];
  return at ? { id: `${at} ${index}`, at, level: level ?? "", target, text: rest ?? "" } : { id: `${index} ${text}`, at: "", level: "", text };
}

/** @param {Record<string, string | number | undefined>} query @returns {(known: Line[], signal: AbortSignal) => Promise<Line[]>} */
const asker = (query) => async (known, signal) => {
  const last = known[known.length - 1];
  const after = typeof last?.id === "number" ? last.id : undefined;
  const { lines = [] } = await get(withQuery("api/log", { format: "json", lines: KEPT_MAX, ...query, after }), { signal });
  const isText = typeof lines[0] === "string";
  const came = isText ? lines.map(lineOf) : lines;
  return isText || after === undefined ? came : [...known, ...came].slice(-KEPT_MAX);
};

export default function Log() {
  const { query } = place.value;
  const level = query.get("level") ?? "";
  const search = query.get("search") ?? "";
  const [isPaused, setPaused] = useState(false);
  const [beyond, setBeyond] = useState(0);
  const { entries, isThere, error, isOld } = useTail({ key: `${level} ${search}`, ask: asker({ level, search }), part: "log", isPaused });
  const least = LEVELS.indexOf(level);
  // A broker that gives text does not look at them.
  const found = entries.filter((line) => (least < 0 || LEVELS.indexOf(levelOf(line.level)) >= least || line.level === "") && (search === "" || `${line.target ?? ""} ${line.text}`.toLowerCase().includes(search.toLowerCase())));
  const end = Math.max(Math.min(SHOWN_MAX, found.length), found.length - beyond);
  const shown = found.slice(Math.max(0, end - SHOWN_MAX), end);
  const pause = () => {
    setPaused(!isPaused);
    setBeyond(0);
  };
  return html`
    ${h(Heading, { title: "Log", children: h(LevelChange, {}) })}
    <div class="filter" role="search">
      <label>At least <select value=${level} onChange=${(/** @type {any} */ event) => setQuery({ level: event.currentTarget.value })}><option value="">all levels</option>${LEVELS.slice(1).map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
      <label>Search <input type="search" value=${search} spellcheck=${false} autocomplete="off" onInput=${(/** @type {any} */ event) => setQuery({ search: event.currentTarget.value })} /></label>
      <button type="button" aria-pressed=${isPaused} onClick=${pause}>${isPaused ? "Go on" : "Pause"}</button>
      <output class="counted">${isThere && `${found.length.toLocaleString("en")} lines`}${isPaused && ", paused"}</output>
    </div>
    ${error !== undefined && h(Note, { error })}
    ${(!isThere || isOld) && error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${isThere && !isOld && found.length === 0 && html`<p class="empty">${level || search ? "No line is like that. Choose another level, or another word." : "The log has no line yet."}</p>`}
    ${shown.length > 0 && h(Lines, { lines: shown, search, isFollowing: !isPaused && beyond === 0 })}
    ${found.length > SHOWN_MAX && html`<p class="acts">
      <button type="button" disabled=${end <= SHOWN_MAX} onClick=${() => (setPaused(true), setBeyond(found.length - end + SHOWN_MAX))}>Earlier lines</button>
      <button type="button" disabled=${beyond === 0} onClick=${() => setBeyond(Math.max(0, beyond - SHOWN_MAX))}>Later lines</button>
      <span class="about">${(end - shown.length + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${found.length.toLocaleString("en")}</span></p>`}
    <p class="about">At most 2,000 lines and 256 KiB are kept in memory, of this process only. Where else the log goes, the configuration says.</p>`;
}

/** @param {{ lines: Line[], search: string, isFollowing: boolean }} props */
function Lines({ lines, search, isFollowing }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  // It stays at the end, until a person scrolls up.
  const isAtEnd = useRef(true);
  const look = () => {
    const element = box.current;
    if (element) isAtEnd.current = element.scrollTop + element.clientHeight > element.scrollHeight - 40;
  };
  useEffect(() => {
    if (box.current && isFollowing && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines[lines.length - 1]?.id, lines.length, isFollowing]);
  return h("div", { class: "tail", ref: box, tabIndex: 0, role: "region", "aria-label": "Lines of the log", onScroll: look },
    h("ol", {}, lines.map((line) => h("li", { key: String(line.id) },
      line.at !== "" && h("time", { title: utc(line.at) }, local(line.at), " "),
      h("span", { class: `level ${levelOf(line.level)}` }, line.level), " ",
      line.target && h("span", { class: "from" }, line.target, " "),
      h("bdi", {}, marked(line.text, search))))));
}

/** The text, with what was searched for marked. @param {string} text @param {string} search */
function marked(text, search) {
  const at = search === "" ? -1 : text.toLowerCase().indexOf(search.toLowerCase());
  if (at < 0) return text;
  return [text.slice(0, at), h("mark", { key: "mark" }, text.slice(at, at + search.length)), text.slice(at + search.length)];
}

function LevelChange() {
  const set = (/** @type {any} */ event) => {
    const level = event.currentTarget.value;
    event.currentTarget.value = "";
    if (level !== "") void attempt(() => change("PUT", "api/warren/log-level", { level }), `From now on, what is ${level} or more severe is logged, until the process ends.`);
  };
  return html`<label class="acts">Log from now on <select onChange=${set}><option value="">choose a level</option>${[...LEVELS, "none"].map((one) => html`<option value=${one}>${one}</option>`)}</select></label>`;
}
