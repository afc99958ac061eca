// The favourites of a list of queues or exchanges, by virtual host and name: they may be anywhere in a list of any length.

import { useCallback, useEffect, useMemo, useState } from "../../vendor/modules/hooks.js";
import { get } from "../api.js";
import { path, withQuery } from "../address.js";
import { useRows } from "./list.js";
import { objectOfKey, keyOf } from "./object_key.js";
import { favourites } from "./saved.js";
import { follow, INTERVAL_MS } from "../resource.js";

/** Names that are asked for in one request: a pattern of them is in its address. */
const NAMES_AT_ONCE = 20;
/** Of a virtual host, as many as are asked for at once. */
const PAGE_LEN = 100;

/** @typedef {"queues" | "exchanges"} Kind */

/** @param {Kind} kind @param {string} columns @returns {Promise<any[]>} */
async function fetchFavourites(kind, columns, /** @type {string[]} */ keys, /** @type {AbortSignal} */ signal) {
  const wanted = new Set(keys);
  /** @type {Map<string, string[]>} */
  const names = new Map();
  for (const { vhost, name } of keys.map(objectOfKey)) names.set(vhost, [...(names.get(vhost) ?? []), name]);
  const asked = [...names].flatMap(([vhost, all]) => Array.from({ length: Math.ceil(all.length / NAMES_AT_ONCE) }, (_, part) => ({ vhost, some: all.slice(part * NAMES_AT_ONCE, (part + 1) * NAMES_AT_ONCE) })));
  const answers = await Promise.all(asked.map(async ({ vhost, some }) => {
    const pattern = `^(${some.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("|")})$`;
    try {
      return (await get(withQuery(kind === "queues" ? path`api/queues/${vhost}` : path`api/exchanges/${vhost}`, { columns, name: pattern, use_regex: true, page: 1, page_size: PAGE_LEN, pagination: true }), { signal })).items;
    } catch (error) {
      // A virtual host that has gone, with all that was in it.
      if (/** @type {any} */ (error)?.status === 404) return [];
      throw error;
    }
  }));
  return answers.flat().filter((/** @type {any} */ row) => wanted.has(keyOf(row)));
}

/**
 * The same as usePages gives.
 * @param {Kind} kind @param {import("./table.js").Column<any>[]} all columns @param {string} columns that are asked for
 * @param {{ by: string, isReversed: boolean }} order @param {{ name: string, vhost: string }} filter
 */
export function useFavourites(kind, all, columns, order, { name, vhost }) {
  const keys = favourites(kind).value;
  const [state, setState] = useState({ rows: /** @type {any[] | undefined} */ (undefined), error: /** @type {unknown} */ (undefined) });
  const [look, setLook] = useState({ look: async () => {} });
  useEffect(() => {
    const followed = follow((signal) => fetchFavourites(kind, columns, keys, signal),
      ({ data, error }) => setState((before) => (error === undefined ? { rows: data, error } : { ...before, error })), INTERVAL_MS);
    setLook(followed);
    return followed.end;
  }, [columns, keys]);
  const there = useMemo(() => state.rows?.filter((row) => (vhost === "" || row.vhost === vhost) && matches(name, row.name)), [state.rows, vhost, name]);
  const rows = useRows(there, all, order, (row) => row.name);
  const rowAt = useCallback((/** @type {number} */ index) => rows[index], [rows]);
  return { count: rows.length, all: keys.length, isThere: state.rows !== undefined, error: state.error, rowAt, onSeen: nothing, pages: state.rows, reload: look.look };
}

const nothing = () => {};

/** @param {string} pattern @param {string} name */
function matches(pattern, name) {
  try {
    return new RegExp(pattern, "u").test(name);
  } catch {
    return name.includes(pattern);
  }
}
