// Which columns of a table a person sees.

import { useMemo } from "../../vendor/modules/hooks.js";
import { areTexts, stored } from "../stored.js";
import { h } from "./html.js";
import { Menu } from "./menu.js";

/** @type {Map<string, import("../../vendor/modules/signals.js").Signal<string[]>>} */
const choices = new Map();

/** @template Row @param {string} list @param {import("./table.js").Column<Row>[]} columns */
export function useColumns(list, columns) {
  const usual = columns.filter((column) => !column.isHidden).map((column) => column.id);
  const choice = choices.get(list) ?? stored(`columns.${list}`, usual, areTexts);
  choices.set(list, choice);
  const chosen = choice.value;
  const shown = useMemo(() => columns.filter(({ id }) => chosen.includes(id)), [columns, chosen]);
  return { shown, choice };
}

/** @param {{ choice: import("../../vendor/modules/signals.js").Signal<string[]>, columns: import("./table.js").Column<any>[] }} props */
export function ColumnChoice({ choice, columns }) {
  const toggle = (/** @type {string} */ id) => (choice.value = choice.value.includes(id) ? choice.value.filter((one) => one !== id) : [...choice.value, id]);
  return h(Menu, { title: "Columns", children: h("fieldset", { "aria-label": "Columns" }, columns.map(({ id, title, about }) =>
    h("label", { key: id, title: about }, h("input", { type: "checkbox", checked: choice.value.includes(id), disabled: id === "name", onChange: () => toggle(id) }), title))) });
}
