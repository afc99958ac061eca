// Lists in tables: one that the broker sorts, filters and gives a page at a time, and one that is here as a whole.

import { useCallback, useEffect, useMemo, useRef, useState } from "../../vendor/modules/hooks.js";
import { get, isRefusal } from "../api.js";
import { withQuery } from "../address.js";
import { follow, INTERVAL_MS } from "../resource.js";
import { place, setQuery } from "../route.js";
import { h, html } from "./html.js";
import { Note } from "./note.js";
import { PagedTable } from "./paged_table.js";
import { Table } from "./table.js";

/** Rows that are asked for at once. */
const PAGE_LEN = 100;
/** Pages that are kept: those that were seen last. */
const PAGE_COUNT_MAX = 6;

/** The order that the address says, or the usual one. @param {string} by @param {boolean} isReversed */
export function useOrder(by, isReversed) {
  const { query } = place.value;
  const order = { by: query.get("sort") ?? by, isReversed: query.has("sort") ? query.get("reverse") === "true" : isReversed };
  const onOrder = (/** @type {string} */ by, /** @type {boolean} */ isReversed) => setQuery({ sort: by, reverse: isReversed ? "true" : undefined, page: undefined });
  return { order, onOrder };
}

/**
 * Pages of a list that the API has.
 * @param {string} path
 * @param {Record<string, string | boolean | undefined>} asked
 * @param {number} intervalMs
 */
export function usePages(path, asked, intervalMs = INTERVAL_MS) {
  // What is no regular expression is looked for as it is.
  const query = asked.use_regex && !isPattern(asked.name) ? { ...asked, use_regex: undefined } : asked;
  const key = withQuery(path, query);
  const [state, setState] = useState({ key, total: -1, all: -1, pages: /** @type {Map<number, any[]>} */ (new Map()), error: /** @type {unknown} */ (undefined) });
  const current = useRef(key);
  const wanted = useRef(/** @type {number[]} */ ([1]));
  const handle = useRef({ look: async () => {}, end: () => {} });
  current.current = key;
  useEffect(() => {
    const ask = async (/** @type {AbortSignal} */ signal) => {
      const numbers = wanted.current;
      const answers = await Promise.all(numbers.map((page) => get(withQuery(path, { ...query, page, page_size: PAGE_LEN, pagination: true }), { signal })));
      return answers.map((answer, index) => ({ answer, number: numbers[index] ?? 1 }));
    };
    const followed = follow(ask, ({ data, error }) => {
      setState((before) => {
        const isSame = before.key === key;
        if (!data) {
          // A page beyond the end, since the list has become shorter: there is always a first one.
          const isBeyond = /page/.test(String(error)) && wanted.current.some((page) => page > 1);
          if (isBeyond) wanted.current = [1];
          return isRefusal(error) ? { key, total: -1, all: -1, pages: new Map(), error } : { ...before, key, error };
        }
        const pages = new Map(isSame ? before.pages : []);
        for (const { answer, number } of data) {
          pages.delete(number);
          pages.set(number, answer.items);
        }
        for (const number of pages.keys()) if (pages.size > PAGE_COUNT_MAX) pages.delete(number);
        const last = data[0]?.answer;
        return { key, total: last.filtered_count, all: last.total_count, pages, error: undefined };
      });
    }, intervalMs);
    handle.current = followed;
    return followed.end;
  }, [key, intervalMs]);
  const { pages, total, all, error } = state;
  const isOld = state.key !== key;
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const known = useRef(pages);
  known.current = pages;
  const onSeen = useCallback((/** @type {number} */ start, /** @type {number} */ end) => {
    const first = Math.floor(start / PAGE_LEN) + 1;
    const last = Math.max(first, Math.floor(Math.max(0, end - 1) / PAGE_LEN) + 1);
    wanted.current = first === last ? [first] : [first, last];
    if (wanted.current.every((page) => known.current.has(page))) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void handle.current.look(), 60);
  }, []);
  const rowAt = useCallback((/** @type {number} */ index) => pages.get(Math.floor(index / PAGE_LEN) + 1)?.[index % PAGE_LEN], [pages]);
  return { count: Math.max(0, total), all: Math.max(0, all), isThere: total >= 0, isOld, error, rowAt, onSeen, pages, reload: () => handle.current.look() };
}

/**
 * Rows of a list that is here as a whole, sorted and filtered here.
 * @template Row
 * @param {Row[] | undefined} rows
 * @param {import("./table.js").Column<Row>[]} columns
 * @param {{ by: string, isReversed: boolean }} order
 * @param {(row: Row) => string} textOf what the filter looks at
 */
export function useRows(rows, columns, order, textOf) {
  const filter = place.value.query.get("filter") ?? "";
  // Put in order once, and not at each letter of a filter.
  const ordered = useMemo(() => (columns.some((column) => column.sort === order.by) ? inOrder(rows ?? [], order) : (rows ?? [])), [rows, order.by, order.isReversed]);
  return useMemo(() => {
    const matches = matcher(filter);
    return filter === "" ? ordered : ordered.filter((row) => matches(textOf(row)));
  }, [ordered, filter]);
}

/** @template Row @param {Row[]} rows @param {{ by: string, isReversed: boolean }} order @returns {Row[]} */
export function inOrder(rows, { by, isReversed }) {
  const names = by.split(".");
  const texts = rows.length <= COLLATED_MAX ? collator.compare : byLetter;
  const sign = isReversed ? -1 : 1;
  // What is compared is looked up once a row, and not once a comparison.
  const valued = rows.map((row) => {
    const value = names.reduce((/** @type {any} */ of, name) => of?.[name], row);
    return { row, value: typeof value === "number" ? value : String(value ?? "") };
  });
  return valued.sort((a, b) => sign * compare(a.value, b.value, texts)).map(({ row }) => row);
}

/** So many rows are put in the order of people, in which 2 is before 10; it would take long with more. */
const COLLATED_MAX = 2000;
const collator = new Intl.Collator("en", { numeric: true });
/** @param {string} a @param {string} b */
const byLetter = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** @param {any} a @param {any} b @param {(a: string, b: string) => number} texts */
function compare(a, b, texts) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return texts(String(a), String(b));
}

/** @param {unknown} text */
function isPattern(text) {
  try {
    return new RegExp(String(text)) !== undefined;
  } catch {
    return false;
  }
}

/** What a filter finds: a regular expression, or where it is none, its letters. @param {string} filter */
export function matcher(filter) {
  if (filter === "") return () => true;
  try {
    const pattern = new RegExp(filter, "i");
    return (/** @type {string} */ text) => pattern.test(text);
  } catch {
    return (/** @type {string} */ text) => text.toLowerCase().includes(filter.toLowerCase());
  }
}

/**
 * The field above a list.
 * @param {{ label: string, count?: number, all?: number, children?: any, name?: string }} props
 */
export function Filter({ label, count, all, children, name = "filter" }) {
  const { query } = place.value;
  const set = (/** @type {string} */ value) => setQuery({ [name]: value, page: undefined });
  const counted = count === undefined ? "" : all !== undefined && all !== count ? `${count.toLocaleString("en")} of ${all.toLocaleString("en")}` : count.toLocaleString("en");
  return h("div", { class: "filter", role: "search" },
    h("label", {}, h("span", {}, label), h("input", {
      type: "search", value: query.get(name) ?? "", placeholder: "regular expression", spellcheck: false, autocomplete: "off",
      onInput: (/** @type {any} */ event) => set(event.currentTarget.value),
    })),
    h("output", { class: "counted", "aria-live": "polite" }, counted), children);
}

/**
 * A whole list: its filter, its table, and what is said where there is nothing or where it cannot be had.
 * @param {{ label: string, rows: any[] | undefined, error?: unknown, columns: import("./table.js").Column<any>[], keyOf: (row: any) => string,
 *   textOf?: (row: any) => string, by: string, isReversed?: boolean, empty?: any, tools?: any, chosen?: Set<string>, onChosen?: (keys: Set<string>) => void, height?: string, hasFilter?: boolean }} props
 */
export function List({ label, rows, error, columns, keyOf, textOf, by, isReversed, empty, tools, chosen, onChosen, height, hasFilter = true }) {
  const { order, onOrder } = useOrder(by, isReversed ?? false);
  const found = useRows(rows, columns, order, textOf ?? keyOf);
  const isFiltered = rows !== undefined && found.length !== rows.length;
  return html`
    ${(hasFilter || tools) && (hasFilter ? h(Filter, { label: `Filter ${label.toLowerCase()}`, count: rows && found.length, all: rows?.length, children: tools }) : html`<div class="filter">${tools}</div>`)}
    ${error !== undefined && h(Note, { error })}
    ${rows === undefined && error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${rows !== undefined && h(hasFilter ? PagedTable : Table, { label, columns, count: found.length, rowAt: (index) => found[index], keyOf, order, onOrder, chosen, onChosen, height,
      empty: isFiltered ? "No row matches. Clear the filter to see all." : empty })}`;
}
