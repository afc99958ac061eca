// States of connections and channels, and what they mean.

import { h } from "./html.js";

/** @type {Record<string, [string, string]>} */
const STATES = {
  running: ["", "it works"],
  flow: ["warn", "it publishes faster than the broker accepts: the broker slows it down"],
  blocking: ["warn", "memory or disk is short: its next publish will block it"],
  blocked: ["bad", "memory or disk is short: the broker does not read what it publishes"],
  starting: ["", "the client is logging in"],
  tuning: ["", "it logs in"],
  opening: ["", "it logs in"],
  closing: ["warn", "it is being closed"],
};

/** @param {{ state: string | undefined | null }} props */
export function State({ state }) {
  const [kind, about] = STATES[state ?? ""] ?? ["", ""];
  return kind === "" ? h("span", { title: about }, state ?? "") : h("span", { class: `badge ${kind}`, title: about }, state);
}
