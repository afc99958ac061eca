// How far back charts look, which is in the address.

import { place, setQuery } from "../route.js";
import { h } from "./html.js";

/** Name, title, and seconds of all and between samples. @type {[string, string, number, number][]} */
const SPANS = [["minute", "last minute", 60, 5], ["ten", "last ten minutes", 600, 5], ["hour", "last hour", 3600, 60], ["eight", "last eight hours", 28_800, 600], ["day", "last day", 86_400, 1800]];

/** The span that the address says: its name, its title, and seconds of all and between samples. */
const spanOf = () => SPANS.find(([name]) => name === (place.value.query.get("history") ?? "ten")) ?? ["", "", 600, 5];

/** How far back charts look, in milliseconds. */
export const historyMs = () => spanOf()[2] * 1000;

/**
 * The span that the address says, as the API is asked for it.
 * @param {("lengths" | "msg_rates" | "data_rates")[]} kinds of histories
 */
export function historyQuery(kinds) {
  const [, , age, step] = spanOf();
  return kinds.map((kind) => `${kind}_age=${age}&${kind}_incr=${step}`).join("&");
}

export function HistoryChoice() {
  const asked = place.value.query.get("history") ?? "ten";
  return h("label", { class: "acts" }, "History ", h("select", {
    value: asked, onChange: (/** @type {any} */ event) => setQuery({ history: event.currentTarget.value === "ten" ? undefined : event.currentTarget.value }),
  }, SPANS.map(([name, title]) => h("option", { key: name, value: name }, title))));
}
