// How a queue is, in a word.

import { h } from "./html.js";

/** @param {{ queue: { state?: string, idle_since?: string | null, paused?: boolean } }} props */
export function StateBadge({ queue: { state, idle_since, paused } }) {
  if (!state) return null;
  if (paused) return h("span", { class: "badge warn", title: "an operator has paused it: consumers get nothing" }, "paused");
  if (state !== "running") return h("span", { class: `badge ${/down|crash|stop/.test(state) ? "bad" : "warn"}` }, state);
  return idle_since ? h("span", { class: "badge", title: `since ${idle_since}` }, "idle") : h("span", { class: "badge good" }, "running");
}
