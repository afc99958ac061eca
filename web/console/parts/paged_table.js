// A table that is shown a page at a time, for people who want pages. Until a person chooses how many rows a page has, it scrolls through all there are. The
// number that was chosen last holds for all lists; it and the page are in their addresses.

import { useCallback, useEffect } from "../../vendor/modules/hooks.js";
import { place, setQuery } from "../route.js";
import { stored } from "../stored.js";
import { h } from "./html.js";
import { Table } from "./table.js";

/** Rows that a page may have. */
const SIZES = [20, 50, 100, 200, 500];

/** What was chosen last; 0: all rows are on one page. */
const chosen = stored("rows", 0, /** @type {(value: unknown) => value is number} */ ((value) => value === 0 || SIZES.includes(Number(value))));

/** Rows of a page, as the address says, else what was chosen last; 0: all. */
function useSize() {
  const { query } = place.value;
  const said = Number(query.get("rows"));
  const size = SIZES.includes(said) ? said : chosen.value;
  useEffect(() => void (size > 0 && said !== size && setQuery({ rows: String(size) })), [size, said]);
  return size;
}

/** @param {import("./table.js").TableProps<any>} props */
export function PagedTable(props) {
  const { label, count, rowAt, onSeen } = props;
  const size = useSize();
  const pageCount = size > 0 ? Math.max(1, Math.ceil(count / size)) : 1;
  const page = Math.min(Math.max(1, Math.floor(Number(place.value.query.get("page"))) || 1), pageCount);
  const before = (page - 1) * size;
  const shown = size > 0 ? Math.min(size, count - before) : count;
  const pageRowAt = useCallback((/** @type {number} */ index) => rowAt(before + index), [rowAt, before]);
  const onPageSeen = useCallback((/** @type {number} */ start, /** @type {number} */ end) => onSeen?.(before + start, before + end), [onSeen, before]);
  return [
    h(Table, { ...props, key: `${size} ${page}`, count: shown, rowAt: pageRowAt, onSeen: onPageSeen, before, all: count }),
    count > Math.min(...SIZES) && h(Pages, { key: "pages", label, size, page, pageCount, first: before + 1, last: before + shown, count }),
  ];
}

/** @param {{ label: string, size: number, page: number, pageCount: number, first: number, last: number, count: number }} props */
function Pages({ label, size, page, pageCount, first, last, count }) {
  const turn = (/** @type {number} */ to) => to >= 1 && to <= pageCount && setQuery({ page: to === 1 ? undefined : String(to) });
  const choose = (/** @type {any} */ event) => {
    chosen.value = Number(event.currentTarget.value);
    setQuery({ rows: chosen.value > 0 ? String(chosen.value) : undefined, page: undefined });
  };
  const [from, to, all] = [first, last, count].map((number) => number.toLocaleString("en"));
  return h("nav", { class: "pages", "aria-label": `Pages of ${label}` },
    h("label", {}, "Rows of a page ", h("select", { value: String(size), onChange: choose },
      h("option", { value: "0" }, "all"), SIZES.map((one) => h("option", { key: one, value: String(one) }, String(one))))),
    size > 0 && [
      h("button", { key: "back", type: "button", "aria-disabled": page === 1, onClick: () => turn(page - 1) }, "Previous page"),
      h("button", { key: "on", type: "button", "aria-disabled": page === pageCount, onClick: () => turn(page + 1) }, "Next page"),
      h("label", { key: "to" }, "Page ", h("input", { type: "number", min: 1, max: pageCount, value: page, onChange: (/** @type {any} */ event) => turn(Number(event.currentTarget.value)) })),
      h("span", { key: "of" }, `of ${pageCount.toLocaleString("en")}`),
      h("span", { key: "rows", role: "status", class: "counted" }, `Rows ${from} to ${to} of ${all}`),
    ]);
}
