// Lists that are asked for again when something of theirs is created or deleted.

import { useEffect, useRef } from "../../vendor/modules/hooks.js";
import { useLive } from "../live.js";

/** A burst of changes is one question. */
const PAUSE_MS = 1000;

/** @param {RegExp} pattern of the names of events @param {() => unknown} reload */
export function useChanges(pattern, reload) {
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => () => clearTimeout(timer.current), []);
  useLive("changes", ({ name, data }) => {
    if (name !== "missed" && !pattern.test(data?.event ?? "")) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, PAUSE_MS);
  });
}
