// Which messages of a queue are looked for: what a person enters, which is in the address, and what the API takes.

import { useState } from "../../vendor/modules/hooks.js";
import { place, setQuery } from "../route.js";
import { FormField } from "./form.js";
import { h } from "./html.js";
import { Note } from "./note.js";

const YES_OR_NO = [["", "either"], ["true", "yes"], ["false", "no"]];

/** @type {import("./form.js").Field[]} */
const FIELDS = [
  { name: "state", label: "Messages that are", kind: "select", options: [["", "ready"], ["unacked", "unacked"]] },
  { name: "tail", label: "From the end", help: "Begin so many messages from the end: 20", placeholder: "20" },
  { name: "body", label: "Body contains" },
  { name: "header", label: "Header", help: "Its name" },
  { name: "header_value", label: "Value of the header" },
  { name: "routing_key", label: "Routing key" },
  { name: "exchange", label: "Exchange", help: "amq.default: the default one" },
  { name: "older_than", label: "In the queue for at least", help: "90s, 10m, 2h, 1d", placeholder: "10m" },
  { name: "younger_than", label: "In the queue for less than", help: "90s, 10m, 2h, 1d" },
  { name: "redelivered", label: "Redelivered", kind: "select", options: YES_OR_NO },
  { name: "dead", label: "Dead letters", kind: "select", options: YES_OR_NO },
  { name: "death_reason", label: "First died of", kind: "select", options: [["", "anything"], ["rejected", "rejected"], ["expired", "expired"], ["maxlen", "queue too long"], ["delivery_limit", "too many deliveries"]] },
];

const NAMES = FIELDS.map(({ name }) => name);
/** Where one begins and which state is looked at: no property of a message. */
const PLACES = ["state", "tail"];

const MS = /** @type {Record<string, number>} */ ({ ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 });

/** Milliseconds of a duration such as 90s; a number alone is seconds. @param {string} text */
export function millisecondsOf(text) {
  const [, number = "", unit = "s"] = text.trim().match(/^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?$/) ?? [];
  if (number === "") throw new Error(`${text} is not a duration. Examples: 90s, 10m, 2h, 1d.`);
  return Math.round(Number(number) * (MS[unit] ?? 1000));
}

/** @typedef {Record<string, string>} MessageFilter parameters of the API */

/** What the address says, as the API takes it. @param {URLSearchParams} query @returns {MessageFilter} */
export function filterOf(query) {
  /** @type {MessageFilter} */
  const filter = {};
  for (const name of NAMES) {
    const value = query.get(name);
    if (value === null || value === "") continue;
    if (name === "older_than" || name === "younger_than") filter[name] = String(millisecondsOf(value));
    else filter[name] = name === "exchange" && value === "amq.default" ? "" : value;
  }
  return filter;
}

/** Only what a message can match. @param {MessageFilter} filter @returns {MessageFilter} */
export const criteriaOf = (filter) => Object.fromEntries(Object.entries(filter).filter(([name]) => !PLACES.includes(name)));

/** The same as members of a JSON object. @param {MessageFilter} filter @returns {Record<string, unknown>} */
export function membersOf(filter) {
  const typed = (/** @type {string} */ name, /** @type {string} */ value) => (/_than$/.test(name) ? Number(value) : name === "redelivered" || name === "dead" ? value === "true" : value);
  return Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, typed(name, value)]));
}

/** In words, for questions. @param {MessageFilter} filter */
export function filterText(filter) {
  return Object.entries(criteriaOf(filter)).map(([name, value]) => `${FIELDS.find((field) => field.name === name)?.label ?? name}: ${/_than$/.test(name) ? `${Number(value) / 1000} s` : value || "(default)"}`).join(", ");
}

/** @param {{ onSearch: () => void }} props */
export function MessageFilterForm({ onSearch }) {
  const { query } = place.value;
  const said = NAMES.map((name) => query.get(name) ?? "").join("\n");
  const [entered, setEntered] = useState({ said, values: /** @type {Record<string, string>} */ ({}) });
  const [error, setError] = useState("");
  const values = entered.said === said ? entered.values : {};
  const valueOf = (/** @type {string} */ name) => values[name] ?? query.get(name) ?? "";
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      filterOf(new URLSearchParams(NAMES.map((name) => [name, valueOf(name)])));
    } catch (failure) {
      return setError(failure instanceof Error ? failure.message : String(failure));
    }
    setError("");
    setQuery({ ...Object.fromEntries(NAMES.map((name) => [name, valueOf(name)])), from: undefined, message: undefined });
    onSearch();
  };
  const clear = () => (setEntered({ said, values: {} }), setError(""), setQuery({ ...Object.fromEntries(NAMES.map((name) => [name, undefined])), from: undefined }));
  return h("form", { class: "message-filter", role: "search", "aria-label": "Search messages", onSubmit: submit },
    h("div", { class: "search-fields" }, FIELDS.map((field) => h(FormField, { key: field.name, field, value: valueOf(field.name), onInput: (value) => setEntered({ said, values: { ...values, [field.name]: value } }) }))),
    error && h(Note, { children: error }),
    h("div", { class: "acts" }, h("button", { type: "submit", class: "main" }, "Search"), h("button", { type: "button", onClick: clear }, "Clear the search")));
}
