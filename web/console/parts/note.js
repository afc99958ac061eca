// What is said to a person: errors in the API's words, warnings, hints; and for a moment what has been done.

import { signal } from "../../vendor/modules/signals.js";
import { sentenceOf } from "../api.js";
import { h } from "./html.js";

/** @param {{ error?: unknown, kind?: "error" | "warning" | "hint", children?: any }} props */
export function Note({ error, kind = "error", children }) {
  return h("p", { class: `note ${kind}`, role: kind === "error" ? "alert" : "note" }, error === undefined ? children : sentenceOf(error));
}

/** @typedef {{ id: number, text: string, kind: "done" | "error" }} Said */

const said = signal(/** @type {Said[]} */ ([]));
let lastId = 0;

/** Says for a moment what has been done. @param {string} text @param {"done" | "error"} [kind] */
export function say(text, kind = "done") {
  const id = (lastId += 1);
  said.value = [...said.value.slice(-3), { id, text, kind }];
  setTimeout(() => (said.value = said.value.filter((one) => one.id !== id)), kind === "error" ? 12_000 : 5000);
}

/**
 * Does something and says how it went. True: it has been done.
 * @param {() => Promise<unknown>} act
 * @param {string} done
 */
export async function attempt(act, done) {
  try {
    await act();
    if (done) say(done);
    return true;
  } catch (error) {
    say(sentenceOf(error), "error");
    return false;
  }
}

/** Where it is said. */
export function Said() {
  return h("div", { class: "said", role: "status", "aria-live": "polite", "aria-label": "What has been done" },
    said.value.map(({ id, text, kind }) => h("p", { key: String(id), class: kind }, text)));
}
