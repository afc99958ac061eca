// Forms: fields that say what they are for, and what the broker refused in its words.

import { useState } from "../../vendor/modules/hooks.js";
import { sentenceOf } from "../api.js";
import { h } from "./html.js";
import { Note } from "./note.js";

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {"text" | "password" | "number" | "checkbox" | "select" | "area" | "arguments"} [kind]
 * @property {string[][]} [options] value and what is shown
 * @property {string} [help]
 * @property {boolean} [isRequired]
 * @property {string} [placeholder]
 * @property {string} [pattern]
 * @property {string} [autocomplete]
 * @property {[string, string][]} [hints] what is offered, and what it means: names of arguments, values of a text
 * @property {string} [one] of arguments: what one of them is called
 */

/** @typedef {Record<string, any>} Values */

/**
 * @param {{ label: string, fields: Field[], initial?: Values, act: string, onSubmit: (values: Values) => Promise<unknown>, onChange?: (values: Values) => void, keeps?: boolean, children?: any }} props
 * keeps: what was entered stays there when it has been done
 */
export function Form({ label, fields, initial = {}, act, onSubmit, onChange, keeps, children }) {
  const [values, setValues] = useState(/** @type {Values} */ (initial));
  const [error, setError] = useState("");
  const [isRunning, setRunning] = useState(false);
  const set = (/** @type {string} */ name, /** @type {any} */ value) => {
    const now = { ...values, [name]: value };
    setValues(now);
    onChange?.(now);
  };
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setRunning(true);
    setError("");
    try {
      await onSubmit(values);
      if (!keeps) setValues(initial);
    } catch (failure) {
      setError(sentenceOf(failure));
    }
    setRunning(false);
  };
  return h("form", { class: "form", "aria-label": label, onSubmit: submit },
    fields.map((field) => h(FormField, { key: field.name, field, value: values[field.name], onInput: (value) => set(field.name, value) })),
    children,
    error && h(Note, { children: error }),
    h("div", { class: "acts" }, h("button", { type: "submit", class: "main", "aria-disabled": isRunning }, act)));
}

let lastId = 0;

/** @param {{ field: Field, value: any, onInput: (value: any) => void }} props */
export function FormField({ field, value, onInput }) {
  const [id] = useState(() => `field-${(lastId += 1)}`);
  const { label, kind = "text", options = [], help, isRequired, placeholder, pattern, autocomplete = "off" } = field;
  const described = help ? `${id}-help` : undefined;
  const common = { id, required: isRequired, "aria-describedby": described, onInput: (/** @type {any} */ event) => onInput(event.currentTarget.value) };
  const input = () => {
    switch (kind) {
      case "checkbox":
        return h("input", { id, type: "checkbox", "aria-describedby": described, checked: Boolean(value), onChange: (/** @type {any} */ event) => onInput(event.currentTarget.checked) });
      case "select":
        return h("select", { ...common, value: value ?? options[0]?.[0] }, options.map(([one, text]) => h("option", { key: one, value: one }, text)));
      case "area":
        return h("textarea", { ...common, rows: 5, value: value ?? "", spellcheck: false, placeholder });
      case "arguments":
        return h(ArgumentsField, { id, label, one: field.one ?? "argument", value: value ?? [], onInput, hints: field.hints ?? [] });
      default:
        return h("input", { ...common, type: kind, value: value ?? "", placeholder, pattern, autocomplete, spellcheck: false, list: field.hints ? `${id}-hints` : undefined });
    }
  };
  const name = h("label", { for: kind === "arguments" ? undefined : id }, label);
  return h("div", { class: `field ${kind}` },
    // The field says by itself that it is required: the mark is no part of its name.
    isRequired ? h("span", {}, name, h("span", { class: "required", title: "required", "aria-hidden": "true" }, " *")) : name,
    input(), kind === "text" && field.hints && h("datalist", { id: `${id}-hints` }, field.hints.map(([one, about]) => h("option", { key: one, value: one }, about))),
    help && h("p", { class: "help", id: described }, help));
}

/** @typedef {{ name: string, type: string, text: string }} Argument */

const TYPES = ["String", "Number", "Boolean", "List"];

/** @param {{ id: string, label: string, one: string, value: Argument[], onInput: (value: Argument[]) => void, hints: [string, string][] }} props */
function ArgumentsField({ id, label, one, value, onInput, hints }) {
  const rows = [...value, { name: "", type: "String", text: "" }];
  const set = (/** @type {number} */ index, /** @type {Partial<Argument>} */ part) => {
    const now = rows.map((row, at) => (at === index ? { ...row, ...part } : row));
    onInput(now.filter((row) => row.name !== "" || row.text !== ""));
  };
  return h("div", { class: "arguments", role: "group", "aria-label": label, id },
    rows.map((row, index) => h("div", { key: String(index), class: "argument" },
      h("input", { "aria-label": `Name of ${one} ${index + 1}`, value: row.name, list: `${id}-names`, autocomplete: "off", spellcheck: false,
        onInput: (/** @type {any} */ event) => set(index, { name: event.currentTarget.value }) }),
      h("input", { "aria-label": `Value of ${one} ${index + 1}`, value: row.text, autocomplete: "off", spellcheck: false,
        onInput: (/** @type {any} */ event) => set(index, { text: event.currentTarget.value }) }),
      h("select", { "aria-label": `Type of ${one} ${index + 1}`, value: row.type, onChange: (/** @type {any} */ event) => set(index, { type: event.currentTarget.value }) },
        TYPES.map((type) => h("option", { key: type, value: type }, type))))),
    h("datalist", { id: `${id}-names` }, hints.map(([name, about]) => h("option", { key: name, value: name }, about))));
}

/** What arguments mean, as the API takes them. @param {Argument[]} [rows] */
export function argumentsOf(rows = []) {
  return Object.fromEntries(rows.filter(({ name }) => name !== "").map(({ name, type, text }) => [name, valueOf(name, type, text)]));
}

/** @param {string} name @param {string} type @param {string} text @returns {unknown} */
function valueOf(name, type, text) {
  switch (type) {
    case "Number": {
      const value = Number(text);
      if (text.trim() === "" || Number.isNaN(value)) throw new Error(`The argument ${name} is not a number: ${text}`);
      return value;
    }
    case "Boolean":
      if (text !== "true" && text !== "false") throw new Error(`The argument ${name} must be true or false.`);
      return text === "true";
    case "List":
      return text.split(",").map((one) => one.trim());
    default:
      return text;
  }
}
