// A trace that runs: it is begun and ended by a person, and ends with the page.

import { useEffect, useRef, useState } from "../../vendor/modules/hooks.js";
import { sentenceOf } from "../api.js";
import { readLines } from "../stream.js";

/** Lines that are kept: the last ones. */
const KEPT_COUNT = 1000;
const BY_YOU = "Ended by you.";

/**
 * A trace of an address that gives lines.
 * @param {number} [keptCount]
 * @param {(line: any) => any} [shorten] what is kept of a line
 */
export function useTrace(keptCount = KEPT_COUNT, shorten = (line) => line) {
  const [lines, setLines] = useState(/** @type {any[]} */ ([]));
  const [end, setEnd] = useState(/** @type {{ text: string, isError: boolean } | null} */ (null));
  const [isRunning, setRunning] = useState(false);
  const running = useRef(/** @type {AbortController | null} */ (null));
  const waiting = useRef(/** @type {any[]} */ ([]));
  useEffect(() => () => running.current?.abort(), []);

  /** @param {string} path */
  const begin = async (path) => {
    running.current?.abort();
    const own = (running.current = new AbortController());
    setLines([]);
    setEnd(null);
    setRunning(true);
    waiting.current = [];
    let said = "";
    /** @type {number | undefined} */
    let drawn;
    const draw = () => {
      drawn = undefined;
      const news = waiting.current.splice(0);
      setLines((before) => [...before, ...news].slice(-keptCount));
    };
    try {
      await readLines(path, (line) => {
        if (line.event === "end") said = endOf(line);
        waiting.current.push(shorten(line));
        // Drawn at most once a frame, however fast they come.
        drawn ??= requestAnimationFrame(draw);
      }, own.signal);
      draw();
      if (running.current === own) setEnd({ text: own.signal.aborted ? BY_YOU : said || "The trace has ended.", isError: false });
    } catch (error) {
      if (running.current === own) setEnd(own.signal.aborted ? { text: BY_YOU, isError: false } : { text: sentenceOf(error), isError: true });
    }
    if (running.current === own) setRunning(false);
  };
  return { lines, end, isRunning, begin, stop: () => running.current?.abort() };
}

/** @param {any} line */
function endOf({ reason, cost_us: costUs, missed }) {
  const cost = typeof costUs === "number" ? ` It cost ${(costUs / 1000).toFixed(1)} ms of a processor.` : "";
  return `Ended: ${reason ?? "the broker ended it"}.${missed > 0 ? ` ${missed} events were dropped: the buffer was full.` : ""}${cost}`;
}
