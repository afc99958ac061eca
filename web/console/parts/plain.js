// A short table, all of which is in the page. One that turns out to be long has only the rows that are seen in it.

import { h } from "./html.js";
import { Table } from "./table.js";

/** Longer ones are shown as lists are. */
const COUNT_MAX = 60;

/**
 * @typedef {string | { title: string, about?: string, isNumber?: boolean }} HeadCell
 * @param {{ label: string, head: HeadCell[], rows: { key: string, cells: any[] }[], empty?: any }} props
 * The first cell of a row names it.
 */
export function Plain({ label, head, rows, empty }) {
  if (rows.length === 0 && empty !== undefined) return h("p", { class: "empty" }, empty);
  const cells = head.map((cell) => (typeof cell === "string" ? { title: cell, about: undefined, isNumber: false } : cell));
  const kind = (/** @type {number} */ index) => (cells[index]?.isNumber ? "number" : undefined);
  if (rows.length > COUNT_MAX) {
    return h(Table, { label, count: rows.length, rowAt: (index) => rows[index], keyOf: (row) => row.key, height: "24rem",
      columns: cells.map(({ title, about, isNumber }, index) => ({ id: String(index), title: title || "Actions", about, isNumber, cell: (/** @type {{ cells: any[] }} */ row) => row.cells[index] })) });
  }
  return h("div", { class: "scrolled", tabIndex: 0, role: "region", "aria-label": label },
    h("table", { class: "plain", "aria-label": label },
      h("thead", {}, h("tr", {}, cells.map(({ title, about }, index) => h("th", { key: `${index}`, scope: "col", class: kind(index), title: about }, title || h("span", { class: "unseen" }, "Actions"))))),
      h("tbody", {}, rows.map(({ key, cells }) => h("tr", { key }, cells.map((cell, index) =>
        index === 0 ? h("th", { key: "0", scope: "row" }, cell) : h("td", { key: `${index}`, class: kind(index) }, cell)))))));
}
