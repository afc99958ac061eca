// Which delayed messages are looked for: what a person enters, which is in the address, and what the API takes.

import { useState } from "../../vendor/modules/hooks.js";
import { local } from "../format.js";
import { place, setQuery } from "../route.js";
import { h } from "./html.js";

/** Of the API, and in the address. */
const NAMES = ["due_from", "due_to", "routing_key", "header", "header_value"];

/** @param {URLSearchParams} query @returns {Record<string, string>} */
export function delayedFilterOf(query) {
  const given = NAMES.map((name) => [name, query.get(name) ?? ""]).filter(([name, value]) => value !== "" && (name !== "header_value" || query.get("header")));
  return Object.fromEntries(given);
}

/** In words, for questions. @param {Record<string, string>} filter */
export function delayedFilterText({ due_from: from, due_to: to, routing_key: key, header, header_value: value }) {
  return [from && `due at ${local(Number(from))} or later`, to && `due at ${local(Number(to))} or sooner`, key && `routing key ${key}`, header && `header ${header}${value ? ` of the value ${value}` : ""}`].filter(Boolean).join(", ");
}

/** What an input of local time shows. @param {string | undefined} ms */
function localOf(ms) {
  if (!ms || !Number.isFinite(Number(ms))) return "";
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? "" : new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function DelayedFilterForm() {
  const { query } = place.value;
  const said = NAMES.map((name) => query.get(name) ?? "").join("\n");
  const [entered, setEntered] = useState({ said, values: /** @type {Record<string, string>} */ ({}) });
  const values = entered.said === said ? entered.values : {};
  const valueOf = (/** @type {string} */ name) => values[name] ?? query.get(name) ?? "";
  const set = (/** @type {string} */ name, /** @type {string} */ value) => setEntered({ said, values: { ...values, [name]: value } });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    setQuery({ ...Object.fromEntries(NAMES.map((name) => [name, valueOf(name)])), after: undefined, message: undefined });
  };
  const clear = () => (setEntered({ said, values: {} }), setQuery({ ...Object.fromEntries(NAMES.map((name) => [name, undefined])), after: undefined }));
  const time = (/** @type {string} */ name, /** @type {string} */ label) => h("label", {}, `${label} `, h("input", { type: "datetime-local", value: localOf(valueOf(name)),
    onInput: (/** @type {any} */ event) => set(name, event.currentTarget.value === "" ? "" : String(new Date(event.currentTarget.value).getTime())) }));
  const text = (/** @type {string} */ name, /** @type {string} */ label) => h("label", {}, `${label} `, h("input", { value: valueOf(name), autocomplete: "off", spellcheck: false,
    onInput: (/** @type {any} */ event) => set(name, event.currentTarget.value) }));
  return h("form", { class: "filter", role: "search", "aria-label": "Search delayed messages", onSubmit: submit },
    time("due_from", "Due from"), time("due_to", "Due to"), text("routing_key", "Routing key"), text("header", "Header"), text("header_value", "Value of the header"),
    h("button", { type: "submit", class: "main" }, "Search"), h("button", { type: "button", onClick: clear }, "Clear the search"));
}
