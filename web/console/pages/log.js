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

/** @typedef {{ id: number, time?: string, level?: string, text: string }} Line */

/** Lines that are kept, as many as the broker keeps. */
const KEPT_MAX = 2000;
/** Lines that are in the page. */
const SHOWN_MAX = 250;
/** Levels of lines, from the least to the most severe. */
const LEVELS = ["debug", "info", "warning", "error"];
/** Levels from which on the log can be written. */
const WRITTEN = ["debug", "info", "notice", "warning", "error", "critical", "none"];

/** @param {Record<string, string | boolean>} query @returns {(known: Line[], signal: AbortSignal) => Promise<Line[]>} */
const asker = (query) => async (known, signal) => {
  const after = known[known.length - 1]?.id;
  const answer = await get(withQuery("api/log", { format: "json", lines: KEPT_MAX, ...query, after }), { signal });
  if (after === undefined || answer.last_id >= after) return [...known, ...answer.lines].slice(-KEPT_MAX);
  // Another process has begun: its ids begin anew.
  const { lines } = await get(withQuery("api/log", { format: "json", lines: KEPT_MAX, ...query }), { signal });
  return lines;
};

export default function Log() {
  const { query } = place.value;
  const level = query.get("level") ?? "";
  const search = query.get("search") ?? "";
  const isPattern = query.get("regex") === "yes";
  const [isPaused, setPaused] = useState(false);
  const [beyond, setBeyond] = useState(0);
  const { entries, isThere, error, isOld } = useTail({ key: `${level} ${isPattern} ${search}`, ask: asker({ level, search, use_regex: isPattern && search !== "" }), part: "log", isPaused });
  const end = Math.max(Math.min(SHOWN_MAX, entries.length), entries.length - beyond);
  const shown = entries.slice(Math.max(0, end - SHOWN_MAX), end);
  const pause = () => {
    setPaused(!isPaused);
    setBeyond(0);
  };
  return html`
    ${h(Heading, { title: "Log", children: h(LevelChange, {}) })}
    <div class="filter" role="search">
      <label>At least <select value=${level} onChange=${(/** @type {any} */ event) => setQuery({ level: event.currentTarget.value })}><option value="">all levels</option>${LEVELS.slice(1).map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
      <label>Search <input type="search" value=${search} spellcheck=${false} autocomplete="off" onInput=${(/** @type {any} */ event) => setQuery({ search: event.currentTarget.value })} /></label>
      <label><input type="checkbox" checked=${isPattern} onChange=${(/** @type {any} */ event) => setQuery({ regex: event.currentTarget.checked ? "yes" : undefined })} /> Regular expression</label>
      <button type="button" aria-pressed=${isPaused} onClick=${pause}>${isPaused ? "Go on" : "Pause"}</button>
      <output class="counted">${isThere && `${entries.length.toLocaleString("en")} lines`}${isPaused && ", paused"}</output>
    </div>
    ${error !== undefined && h(Note, { error })}
    ${(!isThere || isOld) && error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${isThere && !isOld && entries.length === 0 && html`<p class="empty">${level || search ? "No line matches. Choose another level, or another word." : "The log has no line yet."}</p>`}
    ${shown.length > 0 && h(Lines, { lines: shown, find: finder(search, isPattern), isFollowing: !isPaused && beyond === 0 })}
    ${entries.length > SHOWN_MAX && html`<p class="acts">
      <button type="button" aria-disabled=${end <= SHOWN_MAX} onClick=${() => (setPaused(true), setBeyond(entries.length - end + SHOWN_MAX))}>Earlier lines</button>
      <button type="button" aria-disabled=${beyond === 0} onClick=${() => setBeyond(Math.max(0, beyond - SHOWN_MAX))}>Later lines</button>
      <span class="about">${(end - shown.length + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${entries.length.toLocaleString("en")}</span></p>`}
    <p class="about">The broker keeps the last lines of this process in memory: at most 2,000, and 256 KiB. The configuration says where else it writes its log.</p>`;
}

/** @param {{ lines: Line[], find: RegExp | null, isFollowing: boolean }} props */
function Lines({ lines, find, isFollowing }) {
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
      line.time && h("time", { title: utc(line.time) }, local(line.time), " "),
      line.level && h("span", { class: `level ${line.level}` }, line.level), " ",
      h("bdi", {}, marked(line.text, find))))));
}

/** What is searched for, as the broker finds it. @param {string} search @param {boolean} isPattern */
function finder(search, isPattern) {
  if (search === "") return null;
  try {
    return isPattern ? new RegExp(search) : new RegExp(search.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  } catch {
    return null;
  }
}

/** The text, with what was searched for marked. @param {string} text @param {RegExp | null} find */
function marked(text, find) {
  const found = find?.exec(text);
  if (!found || found[0] === "") return text;
  const end = found.index + found[0].length;
  return [text.slice(0, found.index), h("mark", { key: "mark" }, text.slice(found.index, end)), text.slice(end)];
}

function LevelChange() {
  // Arrows choose one level after the other: it is changed by a button.
  const [level, setLevel] = useState("");
  const set = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (level !== "") void attempt(() => change("PUT", "api/warren/log-level", { level }), `The broker logs lines of level ${level} or more severe, until the process ends.`);
  };
  return html`<form class="acts" onSubmit=${set}><label class="acts">Log from now on <select value=${level} onChange=${(/** @type {any} */ event) => setLevel(event.currentTarget.value)}><option value="">choose a level</option>${WRITTEN.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
    <button type="submit" aria-disabled=${level === ""}>Change the level</button></form>`;
}
