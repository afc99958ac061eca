// What is out of order: a banner on every page for what stops clients or may lose something, and warnings on the pages of the whole.

import { signal } from "../../vendor/modules/signals.js";
import { useEffect } from "../../vendor/modules/hooks.js";
import { get } from "../api.js";
import { useLive } from "../live.js";
import { follow, INTERVAL_MS } from "../resource.js";
import { href } from "../route.js";
import { may } from "../session.js";
import { h, html } from "./html.js";
import { Note } from "./note.js";

/**
 * @typedef {{ kind: string, severity: "problem" | "warning", text: string, node?: string | null, vhost?: string, queue?: string, count?: number }} Trouble
 */

/** As the broker has told it last. */
const troubles = signal(/** @type {Trouble[]} */ ([]));

/** Where one goes on from a trouble. @param {Trouble} trouble @returns {[string, string] | undefined} text and address */
function wayFrom({ kind, node, vhost, queue }) {
  if (kind === "blocked") return ["Which connections", href(["connections"], { sort: "state" })];
  if (queue !== undefined) return ["The queue", href(["queues", vhost ?? "", queue])];
  if (!may("monitoring")) return undefined;
  return node ? ["The node", href(["nodes", node])] : ["The cluster", href(["cluster"])];
}

/** @param {Trouble} trouble */
const keyOf = ({ kind, node, vhost, queue }) => `${kind} ${node} ${vhost} ${queue}`;

/** @param {Trouble} trouble */
function words(trouble) {
  const way = wayFrom(trouble);
  return html`${trouble.text}${way && html` <a href=${way[1]}>${way[0]}</a>`}`;
}

/** What concerns a user on whatever page: asked for as long as a page is shown. */
export function Banners() {
  useEffect(() => {
    troubles.value = [];
    const { look, end } = follow((signal) => get("api/warren/troubles", { signal }), ({ data }) => void (Array.isArray(data) && (troubles.value = data)), INTERVAL_MS);
    lookAgain = look;
    return end;
  }, []);
  useLive("changes", ({ data }) => void (/^(alarm|node|leader)\./.test(data?.event ?? "") && lookAgain()));
  const shown = troubles.value.filter(({ severity }) => severity === "problem");
  return h("div", { class: "banners", role: "region", "aria-label": "Out of order", "aria-live": "polite", hidden: shown.length === 0 },
    shown.map((trouble) => h("p", { key: keyOf(trouble), class: "banner" }, words(trouble))));
}

let lookAgain = /** @type {() => unknown} */ (() => undefined);

/** What may become a problem. */
export function Warnings() {
  return troubles.value.filter(({ severity }) => severity !== "problem").map((trouble) => h(Note, { key: keyOf(trouble), kind: "warning", children: words(trouble) }));
}

/** Whether publishers are blocked now. */
export const isInAlarm = () => troubles.value.some(({ kind }) => kind.endsWith("-alarm"));
