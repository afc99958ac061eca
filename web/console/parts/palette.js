// The command palette: Ctrl+K, a few letters, Enter.

import { useEffect, useState } from "../../vendor/modules/hooks.js";
import { signal } from "../../vendor/modules/signals.js";
import { get } from "../api.js";
import { withQuery } from "../address.js";
import { PAGES } from "../pages.js";
import { exchangeSegment, href } from "../route.js";
import { logOut, may } from "../session.js";
import { chooseNextAppearance } from "./appearance.js";
import { Dialog } from "./dialog.js";
import { h } from "./html.js";
import { DEFAULT_EXCHANGE } from "./links.js";

export const isPaletteOpen = signal(false);

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    isPaletteOpen.value = !isPaletteOpen.value;
  }
});

/** @typedef {{ key: string, kind: string, text: string, go?: string, act?: () => unknown }} Entry */

/** Forms that add something: on a page, which opens them. @type {{ text: string, path: string[], query: Record<string, string>, role: import("../pages.js").Role }[]} */
const ADDED = [
  { text: "Add an exchange", path: ["exchanges"], query: { add: "yes" }, role: "management" },
  { text: "Add a queue", path: ["queues"], query: { add: "yes" }, role: "management" },
  { text: "Add a user", path: ["users"], query: { add: "yes" }, role: "administrator" },
  { text: "Add a virtual host", path: ["vhosts"], query: { add: "yes" }, role: "administrator" },
  { text: "Add a policy", path: ["policies"], query: { add: "yes" }, role: "policymaker" },
  { text: "Add an operator policy", path: ["policies"], query: { tab: "operator-policies", add: "yes" }, role: "administrator" },
  { text: "Add a shovel", path: ["dynamic-shovels"], query: { add: "yes" }, role: "policymaker" },
  { text: "Add an upstream", path: ["federation-upstreams"], query: { add: "yes" }, role: "policymaker" },
  { text: "Add a rule of alerts", path: ["alerts"], query: { tab: "rules", add: "yes" }, role: "administrator" },
  { text: "Add a webhook", path: ["alerts"], query: { tab: "webhooks", add: "yes" }, role: "administrator" },
];

/** What is there without asking the broker. @returns {Entry[]} */
function commands() {
  const pages = PAGES.filter(({ title, role }) => title && (!role || may(role)));
  return [
    ...pages.map(({ title = "", pattern }) => ({ key: `page ${pattern}`, kind: "Page", text: title, go: href(pattern.split("/").filter(Boolean)) })),
    ...ADDED.filter(({ role }) => may(role)).map(({ text, path, query }) => ({ key: text, kind: "Do", text, go: href(path, query) })),
    { key: "appearance", kind: "Do", text: "Change the appearance: system, light, dark", act: chooseNextAppearance },
    { key: "log out", kind: "Do", text: "Log out", act: logOut },
  ];
}

/** Objects that are looked for: in the API and in addresses, what one is called, and whether its name is one of a virtual host. @type {[string, string, boolean][]} */
const KINDS = [["queues", "queue", true], ["exchanges", "exchange", true], ["connections", "connection", false], ["channels", "channel", false], ["vhosts", "virtual host", false]];
/** Of each kind. */
const FOUND_MAX = 6;
const ENTRIES_MAX = 30;

/** Objects whose names have these letters. @param {string} text @param {AbortSignal} signal @returns {Promise<Entry[]>} */
async function objects(text, signal) {
  const query = { name: text, page: 1, page_size: FOUND_MAX, pagination: true, columns: "name,vhost", disable_stats: true };
  const answers = await Promise.all(KINDS.map(([kind]) => get(withQuery(`api/${kind}`, query), { signal }).catch(() => ({ items: [] }))));
  return KINDS.flatMap(([kind, title, inVhost], index) => (answers[index].items ?? []).map((/** @type {any} */ { name, vhost }) => ({
    key: `${kind} ${vhost} ${name}`,
    kind: title,
    text: inVhost ? `${name || DEFAULT_EXCHANGE} in ${vhost}` : name,
    go: href(inVhost ? [kind, vhost, kind === "exchanges" ? exchangeSegment(name) : name] : [kind, name]),
  })));
}

export function Palette() {
  return isPaletteOpen.value ? h(OpenPalette, {}) : null;
}

function OpenPalette() {
  const [text, setText] = useState("");
  const [found, setFound] = useState(/** @type {Entry[]} */ ([]));
  const [chosen, setChosen] = useState(0);
  useEffect(() => {
    if (text.trim() === "") return setFound([]);
    const ended = new AbortController();
    const timer = setTimeout(() => void objects(text.trim(), ended.signal).then(setFound, () => undefined), 150);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [text]);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const entries = [...commands().filter((entry) => words.every((word) => entry.text.toLowerCase().includes(word))), ...found].slice(0, ENTRIES_MAX);
  const at = Math.min(chosen, Math.max(0, entries.length - 1));
  const close = () => (isPaletteOpen.value = false);
  const run = (/** @type {Entry | undefined} */ entry) => {
    if (!entry) return;
    close();
    if (entry.go) location.hash = entry.go;
    entry.act?.();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((at + step + entries.length) % Math.max(1, entries.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(entries[at]);
    }
  };
  return h(Dialog, { title: "Find", onClose: close, children: h("div", { class: "palette" },
    h("input", { type: "text", role: "combobox", "aria-label": "Find a page, an object or something to do", "aria-expanded": true, "aria-controls": "palette-found",
      "aria-activedescendant": entries.length > 0 ? `palette-${at}` : undefined, "aria-autocomplete": "list", placeholder: "a page, a queue, an exchange, a connection, a channel", value: text, autocomplete: "off", spellcheck: false,
      onInput: (/** @type {any} */ event) => (setText(event.currentTarget.value), setChosen(0)), onKeyDown }),
    h("ul", { id: "palette-found", role: "listbox", "aria-label": "Found" }, entries.map((entry, index) =>
      h("li", { key: entry.key, id: `palette-${index}`, role: "option", "aria-selected": index === at, onClick: () => run(entry), onMouseMove: () => setChosen(index) },
        h("span", { class: "kind" }, entry.kind), " ", h("bdi", {}, entry.text))))) });
}
