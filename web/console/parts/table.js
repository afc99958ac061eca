// A table of any length, of which only the rows that are seen are in the page.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/modules/hooks.js";
import { signal } from "../../vendor/modules/signals.js";
import { h } from "./html.js";

/** All rows are as high, in pixels: so it is known where each one is. The same as `--row` of the style. */
const ROW_HEIGHT = 34;
/** Rows beyond those that are seen, above and below. */
const OVERSCAN = 6;

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} id
 * @property {string} title
 * @property {string} [about] what it is and in which unit, on hover
 * @property {(row: Row) => any} cell
 * @property {string} [sort] by which the list is sorted; absent: it cannot be sorted by this
 * @property {boolean} [isNumber] stands right
 * @property {string} [width] of CSS
 * @property {boolean} [isHidden] until a person chooses it
 * @property {boolean} [isMain] on a phone it stands before those that are not
 */

/**
 * @template Row
 * @typedef {object} TableProps
 * @property {string} label what the table lists
 * @property {Column<Row>[]} columns
 * @property {number} count of all rows
 * @property {(index: number) => Row | undefined} rowAt undefined: not there yet
 * @property {(row: Row) => string} keyOf
 * @property {(row: Row) => string} [nameOf] what a person knows a row by, where that is not its key
 * @property {(start: number, end: number) => void} [onSeen] which rows are seen
 * @property {{ by: string, isReversed: boolean }} [order]
 * @property {(by: string, isReversed: boolean) => void} [onOrder]
 * @property {any} [empty] what stands there without rows
 * @property {Set<string>} [chosen] keys of rows that are chosen; absent: none can be
 * @property {(keys: Set<string>) => void} [onChosen]
 * @property {string} [height] the most it takes, of CSS
 * @property {number} [before] rows of pages before this one, where the table is a page of a list
 * @property {number} [all] rows of all pages
 */

const phone = matchMedia("(max-width: 700px)");
const isNarrow = signal(phone.matches);
phone.addEventListener("change", () => (isNarrow.value = phone.matches));

/** @param {TableProps<any>} props */
export function Table(props) {
  const columns = useMemo(() => (isNarrow.value ? [...props.columns].sort((a, b) => Number(b.isMain ?? false) - Number(a.isMain ?? false)) : props.columns), [props.columns, isNarrow.value]);
  const { label, count, rowAt, keyOf, nameOf, onSeen, order, onOrder, empty, chosen, onChosen, height, before = 0, all = count } = props;
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [seen, setSeen] = useState({ start: 0, end: 40 });
  const look = () => {
    const element = box.current;
    if (!element) return;
    const start = Math.max(0, Math.floor(element.scrollTop / ROW_HEIGHT) - OVERSCAN);
    const end = Math.ceil((element.scrollTop + element.clientHeight) / ROW_HEIGHT) + OVERSCAN;
    setSeen((before) => (before.start === start && before.end === end ? before : { start, end }));
  };
  useLayoutEffect(look, [count]);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const [start, end] = [Math.min(seen.start, Math.max(0, count - 1)), Math.min(seen.end, count)];
  useEffect(() => onSeen?.(start, end), [start, end, count, onSeen]);

  const latest = useRef(props);
  latest.current = props;
  const onToggle = useCallback((/** @type {any} */ row) => {
    const { keyOf, chosen, onChosen } = latest.current;
    const keys = new Set(chosen);
    if (!keys.delete(keyOf(row))) keys.add(keyOf(row));
    onChosen?.(keys);
  }, []);

  if (count === 0 && empty) return h("div", { class: "empty" }, empty);
  const width = columns.length + (chosen ? 1 : 0);
  const rows = [];
  for (let index = start; index < end; index += 1) {
    const row = rowAt(index);
    if (row === undefined) rows.push(h(AwaitedRow, { key: String(index), index: before + index, width }));
    else rows.push(h(TableRow, { key: String(index), index: before + index, columns, row, name: (nameOf ?? keyOf)(row), isChosen: chosen && chosen.has(keyOf(row)), onToggle }));
  }
  const gap = (/** @type {number} */ rows, /** @type {string} */ key) =>
    rows > 0 && h("tr", { key, class: "gap", "aria-hidden": "true" }, h("td", { colSpan: width, style: { height: `${rows * ROW_HEIGHT}px` } }));
  return h("div", { class: "table", ref: box, onScroll: look, tabIndex: 0, role: "region", "aria-label": label, style: height ? { maxHeight: height } : undefined },
    h("table", { "aria-label": label, "aria-rowcount": all + 1 },
      h("thead", {}, h("tr", { "aria-rowindex": 1 },
        chosen && onChosen && h("th", { scope: "col", class: "choice" }, h(ChooseAll, { start, end, rowAt, keyOf, chosen, onChosen })),
        columns.map((column) => h(Heading, { key: column.id, column, order, onOrder })))),
      h("tbody", {}, gap(start, "above"), rows, gap(count - end, "below"))));
}

/** @param {{ column: Column<any>, order?: { by: string, isReversed: boolean }, onOrder?: (by: string, isReversed: boolean) => void }} props */
function Heading({ column, order, onOrder }) {
  const { title, about, sort, isNumber, width } = column;
  const isOrder = sort !== undefined && order?.by === sort;
  const direction = isOrder ? (order?.isReversed ? "descending" : "ascending") : undefined;
  const style = width ? { width, minWidth: width } : undefined;
  if (sort === undefined || !onOrder) return h("th", { scope: "col", class: isNumber ? "number" : undefined, title: about, style }, title);
  // The first time large numbers come first, and names from A.
  const next = isOrder ? !order?.isReversed : Boolean(isNumber);
  return h("th", { scope: "col", class: isNumber ? "number" : undefined, "aria-sort": direction, style },
    h("button", { type: "button", class: "order", title: about, onClick: () => onOrder(sort, next) }, title,
      h("span", { class: "arrow", "aria-hidden": "true" }, isOrder ? (order?.isReversed ? "▼" : "▲") : "")));
}

/** A row that is on its way. It has one cell: thousands of them go by while one scrolls. @param {{ index: number, width: number }} props */
function AwaitedRow({ index, width }) {
  return h("tr", { "aria-rowindex": index + 2 }, h("td", { colSpan: width }, h("span", { class: "awaited", role: "img", "aria-label": "not there yet" })));
}

/**
 * A row, which is made anew only when it is another one or has changed.
 * @param {{ index: number, columns: Column<any>[], row: any, name: string, isChosen?: boolean, onToggle: (row: any) => void }} props isChosen: undefined where none can be
 */
function TableRow({ index, columns, row, name, isChosen, onToggle }) {
  return useMemo(() => h("tr", { "aria-rowindex": index + 2, class: isChosen ? "chosen" : undefined },
    isChosen !== undefined && h("td", { class: "choice" }, h("input", { type: "checkbox", checked: isChosen, "aria-label": `Choose ${name}`, onChange: () => onToggle(row) })),
    columns.map((column) => h("td", { key: column.id, class: column.isNumber ? "number" : undefined }, column.cell(row)))), [index, columns, row, name, isChosen]);
}

/** @param {{ start: number, end: number, rowAt: (index: number) => any, keyOf: (row: any) => string, chosen: Set<string>, onChosen: (keys: Set<string>) => void }} props */
function ChooseAll({ start, end, rowAt, keyOf, chosen, onChosen }) {
  const keys = Array.from({ length: end - start }, (_, index) => rowAt(start + index)).filter((row) => row !== undefined).map(keyOf);
  const isAll = keys.length > 0 && keys.every((key) => chosen.has(key));
  const choose = () => onChosen(isAll ? new Set() : new Set([...chosen, ...keys]));
  return h("input", { type: "checkbox", checked: isAll, "aria-label": isAll ? "Choose none" : "Choose those that are seen", onChange: choose });
}
