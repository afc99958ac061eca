// What is done with many messages of a queue, request by request: each answer says where to go on.

import { useEffect, useRef, useState } from "../../vendor/modules/hooks.js";
import { sentenceOf } from "../api.js";
import { h } from "./html.js";

/**
 * @typedef {{ count: number, next: string | null, tally?: Record<string, number> }} Step how many were done, where to go on, and what else there is to tell
 * @typedef {{ title: string, count: number, total?: number, tally: Record<string, number>, isRunning: boolean, isStopped: boolean, error: string }} Sweep
 */

/**
 * Goes on until the end, or until it is stopped.
 * @param {(from: string | undefined, done: number, signal: AbortSignal) => Promise<Step>} step
 * @param {AbortSignal} signal
 * @param {(count: number, tally: Record<string, number>) => void} onStep
 * @param {number} [most] so many at most
 */
export async function sweep(step, signal, onStep, most = Infinity) {
  /** @type {string | undefined} */
  let from;
  let count = 0;
  /** @type {Record<string, number>} */
  const tally = {};
  for (;;) {
    signal.throwIfAborted();
    const { count: now, next, tally: told = {} } = await step(from, count, signal);
    count += now;
    for (const [name, value] of Object.entries(told)) tally[name] = (tally[name] ?? 0) + value;
    onStep(count, tally);
    if (next === null || count >= most) return { count, tally, isExhaustive: next === null };
    from = next;
  }
}

/** One sweep at a time, which ends when its page does. */
export function useSweep() {
  const [state, setState] = useState(/** @type {Sweep | null} */ (null));
  const ended = useRef(/** @type {AbortController | undefined} */ (undefined));
  useEffect(() => () => ended.current?.abort(), []);
  /**
   * @param {string} title what is being done
   * @param {Parameters<typeof sweep>[0]} step
   * @param {{ total?: number, most?: number, isQuiet?: boolean }} [options] isQuiet: nothing is told when it has been done
   */
  const run = async (title, step, { total, most, isQuiet } = {}) => {
    ended.current?.abort();
    const controller = new AbortController();
    ended.current = controller;
    const begun = { title, count: 0, total, tally: {}, isRunning: true, isStopped: false, error: "" };
    let last = /** @type {Sweep} */ (begun);
    setState(begun);
    try {
      const done = await sweep(step, controller.signal, (count, tally) => setState((last = { ...begun, count, tally: { ...tally } })), most);
      setState(isQuiet ? null : { ...last, isRunning: false });
      return done;
    } catch (error) {
      const isStopped = controller.signal.aborted;
      if (ended.current === controller) setState(isStopped && isQuiet ? null : { ...last, isRunning: false, isStopped, error: isStopped ? "" : sentenceOf(error) });
      return undefined;
    }
  };
  return { state, run, stop: () => ended.current?.abort(), dismiss: () => setState(null) };
}

/** @param {{ state: Sweep | null, onStop: () => void, onDismiss: () => void }} props */
export function SweepNote({ state, onStop, onDismiss }) {
  if (!state) return h("div", { role: "status", "aria-live": "polite" });
  const { title, count, total, tally, isRunning, isStopped, error } = state;
  const so = `${count.toLocaleString("en")}${total === undefined ? "" : ` of ${total.toLocaleString("en")}`}`;
  const others = Object.entries(tally).filter(([, value]) => value > 0).map(([name, value]) => `${name}: ${value.toLocaleString("en")}`);
  const kind = error ? "error" : others.length > 0 || isStopped ? "warning" : "hint";
  return h("div", { role: "status", "aria-live": "polite", class: `note ${kind} sweep` },
    h("span", {}, h("b", {}, title), ` ${so}`, isStopped ? ". Stopped: what was done stays done." : "", error ? `. ${error} What was done before stays done.` : ""),
    others.length > 0 && h("ul", {}, others.map((text) => h("li", { key: text }, text))),
    isRunning && h("progress", { value: total ? Math.min(count, total) : undefined, max: total || undefined, "aria-label": title }),
    isRunning ? h("button", { type: "button", onClick: onStop }, "Stop") : h("button", { type: "button", class: "quiet", onClick: onDismiss }, "Close"));
}
