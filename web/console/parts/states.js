// States of connections and channels, and what they mean.

import { h } from "./html.js";

/** @type {Record<string, [string, string]>} */
const STATES = {
  running: ["", "it works"],
  flow: ["warn", "it publishes faster than the broker takes it: it is slowed down"],
  blocking: ["warn", "memory or disk are short: its next publish will block it"],
  blocked: ["bad", "memory or disk are short: what it publishes is not read"],
  starting: ["", "it has begun to log in"],
  tuning: ["", "it logs in"],
  opening: ["", "it logs in"],
  closing: ["warn", "it is being closed"],
};

/** @param {{ state: string | undefined | null }} props */
export function State({ state }) {
  const [kind, about] = STATES[state ?? ""] ?? ["", ""];
  return kind === "" ? h("span", { title: about }, state ?? "") : h("span", { class: `badge ${kind}`, title: about }, state);
}
