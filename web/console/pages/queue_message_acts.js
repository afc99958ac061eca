// What can be done with messages that wait: those that are chosen, or all that match, in as many requests as it takes.

import { useState } from "../../vendor/modules/hooks.js";
import { change, get } from "../api.js";
import { path } from "../address.js";
import { ask, Dialog } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { h, html } from "../parts/html.js";
import { criteriaOf, filterText, membersOf } from "../parts/message_filter.js";
import { say } from "../parts/note.js";
import { SweepNote, useSweep } from "../parts/sweep.js";
import { useResource } from "../resource.js";

/** More than this are much: it takes the queue's name, typed. */
const MUCH = 1000;
/** Counting is given up here, and it is said that there are at least so many. */
const COUNT_MAX = 200_000;

/** @typedef {{ ids?: string[], criteria: Record<string, string> }} Which ids: those that are chosen; otherwise all that match */
/** @typedef {{ which: Which, count: number, isExhaustive: boolean }} Counted */

/** @param {Counted} counted */
const countText = ({ count, isExhaustive }) => `${isExhaustive ? "" : "at least "}${count.toLocaleString("en")} ${count === 1 ? "message" : "messages"}`;

/** @param {{ vhost: string, name: string, filter: Record<string, string>, chosen: Set<string>, hasAny: boolean, onDone: () => Promise<void> }} props */
export function MessageActs({ vhost, name, filter, chosen, hasAny, onDone }) {
  const { state, run, stop, dismiss } = useSweep();
  const [moving, setMoving] = useState(/** @type {{ counted: Counted, isBack: boolean } | null} */ (null));
  const messages = path`api/queues/${vhost}/${name}/messages`;
  const criteria = criteriaOf(filter);
  const isAll = chosen.size === 0;
  // The end of a queue is no property of its messages: what is shown of it can be chosen.
  if (isAll && filter.tail) return h("p", { class: "about" }, "Choose messages to delete or move them.");

  /** @returns {Promise<Counted | undefined>} */
  const counted = async () => {
    const which = { ids: isAll ? undefined : [...chosen], criteria: isAll ? criteria : {} };
    if (!isAll) return { which, count: chosen.size, isExhaustive: true };
    const result = await run("Counting what matches:", async (from, _, signal) => {
      const query = new URLSearchParams({ ...criteria, count: "1000", truncate: "0", ...(from === undefined ? {} : { from }) });
      const { messages: found, next } = await get(`${messages}?${query}`, { signal });
      return { count: found.length, next };
    }, { most: COUNT_MAX, isQuiet: true });
    if (result?.count === 0) say("No message matches now.");
    return result && result.count > 0 ? { which, count: result.count, isExhaustive: result.isExhaustive } : undefined;
  };
  const remove = async () => {
    const all = await counted();
    if (!all) return;
    const isYes = await ask({
      title: "Delete messages?", act: "Delete messages", isHarmful: true, word: all.count > MUCH || !all.isExhaustive ? name : undefined,
      text: [h("b", {}, countText(all)), ` of `, h("bdi", {}, name), isAll ? (filterText(filter) ? ` that match (${filterText(filter)})` : ", all that are ready,") : " that are chosen", all.count === 1 ? " is deleted for good." : " are deleted for good."],
    });
    if (!isYes) return;
    await run("Deleted:", async (from, done) => {
      const query = new URLSearchParams({ ...selectionOf(all, from, done), ...(all.which.ids ? { ids: all.which.ids.join(",") } : {}) });
      const { deleted, next, partial } = await change("DELETE", `${messages}?${query}`);
      return { count: deleted, next: partial ? next : null };
    }, { total: all.count, most: mostOf(all) });
    await onDone();
  };
  const move = async (/** @type {boolean} */ isBack) => {
    const all = await counted();
    if (all) setMoving({ counted: all, isBack });
  };
  const onMove = async (/** @type {Record<string, unknown>} */ destination) => {
    if (!moving) return;
    const { counted: all, isBack } = moving;
    setMoving(null);
    await run(isBack ? "Sent back:" : "Moved:", async (from, done) => {
      const { limit, all: isEverything, ...given } = selectionOf(all, from, done);
      const body = { ...membersOf(given), ...(limit ? { limit: Number(limit) } : {}), ...(isEverything ? { all: true } : {}), ...(all.which.ids ? { ids: all.which.ids } : {}), ...destination };
      const { moved = 0, redriven = 0, next, partial, ...others } = await change("POST", `${messages}/${isBack ? "redrive" : "move"}`, body);
      return { count: moved + redriven, next: partial ? next : null, tally: tallyOf(others) };
    }, { total: all.count, most: mostOf(all) });
    await onDone();
  };
  const isBusy = state?.isRunning ?? false;
  const which = isAll ? (Object.keys(criteria).length > 0 ? "all that match" : "all") : `the ${chosen.size} chosen`;
  // What has been done is told, also where nothing is left to do it with.
  return html`${hasAny && html`<div class="acts message-acts" role="group" aria-label="What to do with messages">
      <button type="button" class="harmful" aria-disabled=${isBusy} onClick=${remove}>Delete ${which}…</button>
      <button type="button" aria-disabled=${isBusy} onClick=${() => move(false)}>Move ${which}…</button>
      <button type="button" aria-disabled=${isBusy} onClick=${() => move(true)}>Send ${which} back…</button></div>`}
    ${h(SweepNote, { state, onStop: stop, onDismiss: dismiss })}
    ${moving && h(moving.isBack ? BackDialog : MoveDialog, { vhost, name, counted: moving.counted, onClose: () => setMoving(null), onMove })}`;
}

/** So many at most: what comes meanwhile stays. @param {Counted} counted */
const mostOf = ({ which, count, isExhaustive }) => (which.ids || !isExhaustive ? Infinity : count);

/** @param {Counted} counted @param {string | undefined} from @param {number} done @returns {Record<string, string>} */
function selectionOf(counted, from, done) {
  const { ids, criteria } = counted.which;
  const most = mostOf(counted);
  return {
    ...criteria,
    ...(!ids && Object.keys(criteria).length === 0 ? { all: "true" } : {}),
    ...(from === undefined ? {} : { from }),
    ...(Number.isFinite(most) ? { limit: String(Math.max(1, most - done)) } : {}),
  };
}

/** What stays, in words. @param {any} answer @returns {Record<string, number>} */
function tallyOf({ unroutable = 0, refused = 0, not_dead = 0, already_there = 0, missing_queues = {} }) {
  const missing = Object.entries(missing_queues).map(([queue, count]) => [`Stay because the queue ${queue} is deleted`, Number(count)]);
  return { "Stay because no other queue takes them": unroutable, "Stay because the queue is full or they are duplicates": refused, "Stay because they are not dead letters": not_dead, "Stay because they are there already": already_there, ...Object.fromEntries(missing) };
}

/** @typedef {{ vhost: string, name: string, counted: Counted, onClose: () => void, onMove: (destination: Record<string, unknown>) => Promise<void> }} MoveProps */

/** @param {MoveProps} props */
function MoveDialog({ vhost, name, counted, onClose, onMove }) {
  const { data: vhosts } = useResource("api/vhosts?columns=name", 0);
  const [values, setValues] = useState(/** @type {any} */ ({ kind: "queue", vhost }));
  const into = values.vhost ?? vhost;
  const query = `columns=name&disable_stats=true&pagination=true&page=1&page_size=50&name=${encodeURIComponent(values.queue ?? "")}`;
  const { data: found } = useResource(`${path`api/queues/${into}`}?${query}`, 0);
  const isQueue = values.kind !== "exchange";
  const names = (found?.items ?? []).map((/** @type {any} */ one) => [one.name, ""]).filter((/** @type {string[]} */ [one]) => one !== name || into !== vhost);
  const submit = async (/** @type {any} */ { kind, queue, exchange = "", key }) => {
    await onMove({ ...(kind === "exchange" ? { to_exchange: exchange === "amq.default" ? "" : exchange, ...(key ? { to_routing_key: key } : {}) } : { to_queue: queue }), ...(into === vhost ? {} : { to_vhost: into }) });
  };
  /** @type {import("../parts/form.js").Field[]} */
  const fields = [
    { name: "kind", label: "Move to", kind: "select", options: [["queue", "a queue"], ["exchange", "an exchange, which routes them"]] },
    { name: "vhost", label: "Virtual host", kind: "select", options: (vhosts ?? [{ name: vhost }]).map((/** @type {any} */ one) => [one.name, one.name]) },
    ...(isQueue ? [{ name: "queue", label: "Queue", isRequired: true, hints: names }] : [
      { name: "exchange", label: "Exchange", isRequired: true, help: "amq.default: the default one" }, { name: "key", label: "Routing key", help: "Empty: each message keeps its own" }]),
  ];
  return h(Dialog, { title: `Move ${countText(counted)}`, onClose, children: h("div", {},
    h("p", {}, "They arrive as if they were published now: at the end, with unchanged properties and bodies. A message that no queue accepts stays here."),
    h(Form, { label: "Move messages", act: "Move messages", fields, initial: values, keeps: true, onChange: setValues, onSubmit: submit })) });
}

/** @param {MoveProps} props */
function BackDialog({ counted, onClose, onMove }) {
  return h(Dialog, { title: `Send ${countText(counted)} back`, onClose, children: h("div", {},
    h("p", {}, "Each dead letter is moved to the queue that dead-lettered it. Messages that are not dead letters stay."),
    h(Form, { label: "Send dead letters back", act: "Send back", keeps: true, onSubmit: (/** @type {any} */ { to = "last" }) => onMove({ to }), fields: [
      { name: "to", label: "To the queue", kind: "select", options: [["last", "in which it died last"], ["first", "in which it died first"]] }] })) });
}
