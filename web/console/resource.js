// What a page shows of the API, asked for again from time to time.

import { useEffect, useMemo, useRef } from "../vendor/modules/hooks.js";
import { effect, signal } from "../vendor/modules/signals.js";
import { get, isRefusal, returns } from "./api.js";

/** How often is asked at most. */
export const INTERVAL_MS = 5000;
/** A share of the time may be spent with waiting for answers: so a list that is expensive is asked for less often. */
const WAITING_SHARE = 1 / 50;
/** However long answers take, it is asked as often as this. */
const INTERVAL_MAX_MS = 60_000;

/**
 * @template T
 * @typedef {{ data: T | undefined, error: unknown, at: number, reload: () => Promise<void> }} Resource
 * data: the last answer, also when a later request failed, unless it was refused: what is not for the user any more is not shown any more;
 * error: of the last request; at: when data came, 0 before
 */

/**
 * Asks now, and again each interval while the page is seen and `ask` is the same.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} ask
 * @param {(state: { data?: T, error?: unknown }) => void} take
 * @param {number} intervalMs 0: only once
 */
export function follow(ask, take, intervalMs) {
  const ended = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let isAsking = false;
  let isToAskAgain = false;
  let asked = Promise.resolve();
  let tookBefore = 0;
  const once = async () => {
    try {
      const data = await ask(ended.signal);
      if (!ended.signal.aborted) take({ data });
    } catch (error) {
      if (!ended.signal.aborted) take({ error });
    }
  };
  const all = async () => {
    isAsking = true;
    clearTimeout(timer);
    const startedAt = performance.now();
    do {
      isToAskAgain = false;
      await once();
    } while (isToAskAgain && !ended.signal.aborted);
    isAsking = false;
    const took = performance.now() - startedAt;
    // One answer that took long, as while a cluster elects, does not make it rare.
    const usual = Math.min(took, tookBefore) / WAITING_SHARE;
    tookBefore = took;
    if (intervalMs > 0 && !ended.signal.aborted) timer = setTimeout(() => !document.hidden && look(), Math.max(intervalMs, Math.min(usual, INTERVAL_MAX_MS)));
  };
  // What is asked for while an answer is awaited may be something else, or something that has changed: it is asked for afterwards.
  const look = () => {
    if (ended.signal.aborted) return asked;
    if (isAsking) isToAskAgain = true;
    else asked = all();
    return asked;
  };
  const seen = () => void (!document.hidden && intervalMs > 0 && look());
  document.addEventListener("visibilitychange", seen);
  let known = returns.peek();
  const forget = effect(() => {
    if (returns.value !== known) look();
    known = returns.value;
  });
  look();
  return {
    look,
    end: () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
      forget();
    },
  };
}

/**
 * What the API answers to a path, kept up to date while the component is shown.
 * @template [T=any]
 * @param {string | null} path null: nothing is asked for
 * @param {number} [intervalMs] 0: only once
 * @param {(path: string, options: { signal: AbortSignal }, before: T | undefined) => Promise<T>} [ask] how it is asked for
 * @returns {Resource<T>}
 */
export function useResource(path, intervalMs = INTERVAL_MS, ask = get) {
  const state = useMemo(() => signal({ data: /** @type {T | undefined} */ (undefined), error: /** @type {unknown} */ (undefined), at: 0 }), [path]);
  const handle = useMemo(() => ({ reload: async () => {} }), [path]);
  useEffect(() => {
    if (path === null) return undefined;
    const { look, end } = follow((signal) => ask(path, { signal }, state.peek().data), ({ data, error }) => {
      const { data: before, at } = state.peek();
      state.value = error === undefined ? { data, error: undefined, at: Date.now() } : { data: isRefusal(error) ? undefined : before, error, at };
    }, intervalMs);
    handle.reload = look;
    return end;
  }, [path, intervalMs]);
  return { ...state.value, reload: () => handle.reload() };
}

/**
 * What was known stays while the same object is asked for in another way: another span of its history.
 * @template T
 * @param {Resource<T>} resource of a component that shows one object only
 * @returns {Resource<T>}
 */
export function useKept(resource) {
  const known = useRef(resource.data);
  if (resource.data !== undefined || isRefusal(resource.error)) known.current = resource.data;
  return { ...resource, data: known.current };
}
