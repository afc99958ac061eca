// What a number of each row has been since the page shows it.

import { useCallback, useEffect, useState } from "../../vendor/modules/hooks.js";
import { remember } from "./sparkline.js";

/**
 * Remembers a number of each row that is seen, whenever the list has come again. Gives what the table is to call with the rows that are seen.
 * @param {{ rowAt: (index: number) => any, pages: unknown, onSeen: (start: number, end: number) => void }} list of usePages
 * @param {(row: any) => string} keyOf
 * @param {(row: any) => unknown} valueOf
 */
export function useLately(list, keyOf, valueOf) {
  const [seen, setSeen] = useState(/** @type {[number, number]} */ ([0, 40]));
  useEffect(() => {
    for (let index = seen[0]; index < seen[1]; index += 1) {
      const row = list.rowAt(index);
      if (row) remember(keyOf(row), valueOf(row));
    }
  }, [list.pages]);
  return useCallback((/** @type {number} */ start, /** @type {number} */ end) => (setSeen([start, end]), list.onSeen(start, end)), [list.onSeen]);
}
