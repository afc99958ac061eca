// The audit log: what users and the broker have done, the latest first.

import { useState } from "../../vendor/modules/hooks.js";
import { get, sentenceOf } from "../api.js";
import { withQuery } from "../address.js";
import { Dialog } from "../parts/dialog.js";
import { Time } from "../parts/figure.js";
import { Facts } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Note, say } from "../parts/note.js";
import { Table } from "../parts/table.js";
import { exactly, href, place, setQuery } from "../route.js";
import { Admin } from "./admin_frame.js";
import { useTail } from "./tail.js";

/** @typedef {{ id: number, at: string, event: string, user?: string, via?: string, from?: string, about?: any }} Entry */

/** Entries that are asked for at once. */
const COUNT = 200;
/** Entries that are kept here. */
const KEPT_MAX = 5000;
/** What can be filtered by: name in the query, what is shown. @type {[string, string, string][]} */
const FILTERS = [["event", "Event", "^queue\\."], ["user", "User", ""], ["vhost", "Virtual host", ""], ["name", "Name", ""]];
/** Beginnings of events that are offered. */
const EVENTS = ["queue.created", "queue.deleted", "queue.purged", "queue.messages.deleted", "queue.messages.moved", "exchange.created", "exchange.deleted", "binding.created", "binding.deleted", "connection.created", "connection.closed",
  "user.authentication.success", "user.authentication.failure", "user.created", "user.deleted", "user.password.changed", "user.tags.set", "permission.created", "permission.deleted", "vhost.created", "vhost.updated", "vhost.deleted",
  "policy.set", "policy.cleared", "operator.policy.set", "parameter.set", "alarm.set", "alarm.cleared", "alert.firing", "alert.resolved", "node.up", "node.down", "leader.changed"];

/** @param {Record<string, string>} filter @returns {(known: Entry[], signal: AbortSignal) => Promise<Entry[]>} */
const asker = (filter) => async (known, signal) => {
  const newest = /** @type {Entry[]} */ (await get(withQuery("api/audit", { count: COUNT, ...filter }), { signal }));
  const oldest = newest[newest.length - 1];
  // Where all of them are new there may be others between them and those that are known.
  if (!oldest || !known.some((entry) => entry.id >= oldest.id)) return newest;
  return [...newest, ...known.filter((entry) => entry.id < oldest.id)].slice(0, KEPT_MAX);
};

export default function Audit() {
  const { query } = place.value;
  const filter = Object.fromEntries(FILTERS.map(([name]) => [name, query.get(name) ?? ""]).filter(([, value]) => value !== ""));
  const [isPaused, setPaused] = useState(false);
  const [shown, setShown] = useState(/** @type {Entry | null} */ (null));
  const [isEnd, setEnd] = useState("");
  const key = JSON.stringify(filter);
  const { entries, isThere, error, isOld, replace } = useTail({ key, ask: asker(filter), part: "audit", isPaused });
  const older = async () => {
    const last = entries[entries.length - 1];
    try {
      const more = await get(withQuery("api/audit", { count: COUNT, ...filter, before: last?.id }));
      if (more.length === 0) setEnd(key);
      else replace([...entries, ...more]);
    } catch (failure) {
      say(sentenceOf(failure), "error");
    }
  };
  return h(Admin, { title: "Audit", children: html`
    <form class="filter" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      ${FILTERS.map(([name, title, placeholder]) => html`<label>${title} <input type="text" value=${query.get(name) ?? ""} placeholder=${placeholder} list=${name === "event" ? "audit-events" : undefined} spellcheck=${false} autocomplete="off" onChange=${(/** @type {any} */ event) => setQuery({ [name]: event.currentTarget.value })} /></label>`)}
      <datalist id="audit-events">${EVENTS.map((event) => html`<option value=${event}></option>`)}</datalist>
      <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? "Go on" : "Pause"}</button>
      <output class="counted" aria-live="off">${isThere && !isOld && `${entries.length.toLocaleString("en")} shown`}${isPaused && ", paused"}</output>
    </form>
    ${error !== undefined && h(Note, { error })}
    ${(!isThere || isOld) && error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${isThere && !isOld && h(Table, { label: "Audit log", columns: columns(setShown), count: entries.length, rowAt: (index) => entries[index], keyOf: (entry) => String(entry.id), height: "calc(100vh - 16rem)",
      empty: key === "{}" ? "Nothing has been done yet. What users create, change and delete appears here, and logins." : "No event matches. Clear a filter to see more." })}
    ${isThere && !isOld && entries.length >= COUNT && isEnd !== key && html`<p class="acts"><button type="button" onClick=${older}>Older entries</button></p>`}
    ${isEnd === key && html`<p class="about">The broker keeps the last 2,000 events since its start. With warren.audit.file they are also written to a file.</p>`}
    ${shown && h(Dialog, { title: shown.event, onClose: () => setShown(null), children: h(EntryFacts, { entry: shown }) })}` });
}

/** @param {(entry: Entry) => void} show @returns {import("../parts/table.js").Column<Entry>[]} */
const columns = (show) => [
  { id: "at", title: "At", cell: ({ at }) => h(Time, { at }) },
  { id: "event", title: "Event", cell: ({ event }) => html`<a href=${href(["audit"], { event: exactly(event) })} title="only such events">${event}</a>` },
  { id: "about", title: "About", cell: ({ about }) => h("bdi", {}, summary(about)) },
  { id: "user", title: "User", about: "the user who did it; rmq-internal is the broker, local-operator warren ctl on the host", cell: ({ user }) => h("bdi", {}, user ?? "–") },
  { id: "via", title: "Via", cell: ({ via, from }) => `${via ?? ""}${from ? `, ${from}` : ""}` },
  { id: "more", title: "More", cell: (entry) => html`<button type="button" aria-label=${`More about ${entry.event} ${entry.id}`} onClick=${() => show(entry)}>More</button>` },
];

/** What it is about, in a line. @param {any} about */
function summary(about) {
  if (about === null || typeof about !== "object") return String(about ?? "");
  const { name, vhost, user, ...rest } = about;
  const first = [name ?? user, vhost !== undefined && `in ${vhost}`].filter((one) => one !== undefined && one !== false).join(" ");
  const others = Object.entries(rest).map(([key, value]) => `${key}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
  return [first, others].filter(Boolean).join("; ");
}

/** @param {{ entry: Entry }} props */
function EntryFacts({ entry: { id, at, event, user, via, from, about } }) {
  return html`${h(Facts, { facts: [["At", h(Time, { at })], ["Event", event], ["User", user && h("bdi", {}, user)], ["Via", via], ["From", from], ["Number", String(id)]] })}
    <pre tabindex="0" aria-label="About">${JSON.stringify(about, null, 2)}</pre>`;
}
