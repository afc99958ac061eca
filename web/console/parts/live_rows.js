// Numbers of the rows that are seen, as the stream tells of them between two answers of a list.

import { useCallback, useEffect, useRef, useState } from "../../vendor/modules/hooks.js";
import { listen } from "../live.js";

/** Rows that the stream is asked about: it tells of a hundred things to all tabs together. */
const ROW_COUNT_MAX = 60;
/** Rows are asked about when they stay for so long. */
const SETTLE_MS = 500;
/** What comes together is shown together. */
const SHOW_MS = 100;

/**
 * @param {{ rowAt: (index: number) => any, pages: unknown }} list
 * @param {[number, number]} seen the first row that is seen, and the one after the last
 * @param {(row: any) => string} partOf the part of the stream that tells of a row
 * @returns {(index: number) => any} the rows, with the newest numbers
 */
export function useLiveRows(list, [start, end], partOf) {
  const numbers = useRef(/** @type {Map<string, { data: any, of?: any, row?: any }>} */ (new Map()));
  const heard = useRef(/** @type {Map<string, () => void>} */ (new Map()));
  const showing = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const [turn, setTurn] = useState(0);
  const show = () => {
    showing.current ??= setTimeout(() => {
      showing.current = undefined;
      setTurn((before) => before + 1);
    }, SHOW_MS);
  };
  useEffect(() => {
    const timer = setTimeout(() => {
      const wanted = new Set();
      for (let index = start; index < end && wanted.size < ROW_COUNT_MAX; index += 1) {
        const row = list.rowAt(index);
        if (row !== undefined) wanted.add(partOf(row));
      }
      for (const [part, end] of heard.current) {
        if (wanted.delete(part)) continue;
        end();
        heard.current.delete(part);
        numbers.current.delete(part);
      }
      for (const part of wanted) heard.current.set(part, listen(part, ({ name, data }) => void (name !== "gone" && name !== "end" && name !== "missed" && (numbers.current.set(part, { data }), show()))));
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [start, end, list.pages]);
  // The list is newer than what was told before it.
  useEffect(() => numbers.current.clear(), [list.pages]);
  useEffect(() => () => {
    clearTimeout(showing.current);
    for (const end of heard.current.values()) end();
    heard.current.clear();
  }, []);
  return useCallback((/** @type {number} */ index) => {
    const row = list.rowAt(index);
    const newer = row === undefined ? undefined : numbers.current.get(partOf(row));
    if (newer === undefined) return row;
    // The same row as long as nothing has changed.
    if (newer.of !== row) [newer.of, newer.row] = [row, { ...row, ...newer.data }];
    return newer.row;
  }, [list.rowAt, turn]);
}
