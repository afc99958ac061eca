// What comes in at the end of a log: asked for, and asked for again as soon as the stream says that there is more.

import { useEffect, useRef, useState } from "../../vendor/modules/hooks.js";
import { isRefusal } from "../api.js";
import { useLive } from "../live.js";
import { follow } from "../resource.js";

const INTERVAL_MS = 3000;
/** However fast they come, it is not asked more often than this. */
const PAUSE_MS = 1000;

/**
 * @template Entry
 * @param {{ key: string, ask: (known: Entry[], signal: AbortSignal) => Promise<Entry[]>, part: string, isPaused: boolean }} options
 * key: what is asked for: with another one it begins anew; ask: gives all entries, those that are known and those that have come;
 * part: of the stream
 */
export function useTail({ key, ask, part, isPaused }) {
  const [state, setState] = useState({ key, entries: /** @type {Entry[]} */ ([]), isThere: false, error: /** @type {unknown} */ (undefined) });
  const known = useRef(/** @type {Entry[]} */ ([]));
  const handle = useRef({ look: async () => {} });
  const nudge = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const asking = useRef(ask);
  asking.current = ask;
  useEffect(() => {
    known.current = [];
    setState({ key, entries: [], isThere: false, error: undefined });
  }, [key]);
  useEffect(() => {
    if (isPaused) return undefined;
    const { look, end } = follow((signal) => asking.current(known.current, signal), ({ data, error }) => {
      if (data || isRefusal(error)) known.current = data ?? [];
      setState((before) => {
        const isKept = before.key === key && !isRefusal(error);
        return { key, entries: data ?? (isKept ? before.entries : []), isThere: data !== undefined || (isKept && before.isThere), error };
      });
    }, INTERVAL_MS);
    handle.current = { look };
    return () => {
      clearTimeout(nudge.current);
      nudge.current = undefined;
      end();
    };
  }, [key, isPaused]);
  useLive(isPaused ? null : part, () => {
    nudge.current ??= setTimeout(() => {
      nudge.current = undefined;
      void handle.current.look();
    }, PAUSE_MS);
  });
  const replace = (/** @type {Entry[]} */ entries) => {
    known.current = entries;
    setState((before) => ({ ...before, entries }));
  };
  return { ...state, isOld: state.key !== key, replace };
}
