// A flame graph: who calls whom, each as wide as its share. Waiting has a colour of its own.

import { useMemo, useState } from "../../vendor/modules/hooks.js";
import { h, html } from "./html.js";
import { matcher } from "./list.js";

const WIDTH = 1200;
const HEIGHT = 20;
/** What is narrower than this share is not drawn: it could neither be read nor hit. */
const SHARE_MIN = 0.003;
const DEPTH_MAX = 60;
const BLOCK_COUNT_MAX = 500;

/** @typedef {import("./stacks.js").Frame} Frame */
/** @typedef {{ frame: Frame, x: number, width: number, depth: number, path: string }} Block */

/** Where each block is. @param {Frame} root */
function layOut(root) {
  /** @type {Block[]} */
  const blocks = [];
  const place = (/** @type {Frame} */ frame, /** @type {number} */ x, /** @type {number} */ width, /** @type {number} */ depth, /** @type {string} */ path) => {
    if (width < SHARE_MIN || depth > DEPTH_MAX || blocks.length >= BLOCK_COUNT_MAX) return;
    blocks.push({ frame, x, width, depth, path });
    const sum = frame.children.reduce((all, child) => all + child.total, 0);
    const whole = Math.max(frame.total, sum, 1e-12);
    let at = x;
    for (const child of [...frame.children].sort((a, b) => b.total - a.total)) {
      const share = (child.total / whole) * width;
      place(child, at, share, depth + 1, `${path};${child.name}`);
      at += share;
    }
  };
  place(root, 0, 1, 0, root.name);
  return blocks;
}

/** @param {Frame} frame */
function classOf(frame) {
  if (frame.before !== undefined && frame.now !== undefined) {
    const change = frame.now - frame.before;
    return Math.abs(change) < 0.002 ? "same" : change > 0 ? "more" : "less";
  }
  return frame.kind === "call" ? `call call-${frame.name.length % 3}` : frame.kind === "thread" || frame.kind === "work" ? frame.kind : "wait";
}

const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(1)} %`;

/** @param {{ label: string, root: Frame, show: (total: number) => string }} props show: a figure with its unit */
export function FlameGraph({ label, root, show }) {
  const [path, setPath] = useState(/** @type {string[]} */ ([]));
  const [text, setText] = useState("");
  const shown = useMemo(() => {
    let at = root;
    for (const name of path) at = at.children.find((child) => child.name === name) ?? at;
    return at;
  }, [root, path]);
  const blocks = useMemo(() => layOut(shown), [shown]);
  const depth = Math.max(...blocks.map((block) => block.depth)) + 1;
  const finds = text === "" ? () => false : matcher(text);
  const say = (/** @type {Frame} */ frame) => frame.before !== undefined && frame.now !== undefined
    ? `${frame.name}: ${percent(frame.before)} before, ${percent(frame.now)} now`
    : `${frame.name}: ${show(frame.total)}, ${percent(root.total > 0 ? frame.total / root.total : 0)}`;
  const zoom = (/** @type {Block} */ block) => setPath([...path, ...block.path.split(";").slice(1)]);
  const onKeyDown = (/** @type {KeyboardEvent} */ event, /** @type {Block} */ block) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    zoom(block);
  };
  return h("div", { class: "flame" },
    html`<div class="filter"><label>Search in the graph <input type="search" value=${text} placeholder="regular expression" onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)} /></label>
      ${path.length > 0 && html`<button type="button" onClick=${() => setPath([])}>Show the whole</button>`}
      <span class="about">Enter or a click on a block widens it.</span></div>`,
    h("svg", { viewBox: `0 0 ${WIDTH} ${depth * HEIGHT}`, role: "group", "aria-label": label, class: "graph", preserveAspectRatio: "none", height: depth * HEIGHT }, blocks.map((block) => {
      const { frame, x, width } = block;
      const room = Math.floor((width * WIDTH - 6) / 6.6);
      return h("g", { key: block.path, tabindex: 0, role: "button", class: `${classOf(frame)}${finds(frame.name) ? " found" : ""}`, onClick: () => zoom(block), onKeyDown: (/** @type {any} */ event) => onKeyDown(event, block) },
        h("title", {}, say(frame)),
        h("rect", { x: x * WIDTH, y: block.depth * HEIGHT, width: Math.max(1, width * WIDTH - 1), height: HEIGHT - 1 }),
        room > 2 && h("text", { "aria-hidden": "true", x: x * WIDTH + 3, y: block.depth * HEIGHT + 14 }, frame.name.length > room ? `${frame.name.slice(0, room - 1)}…` : frame.name));
    })));
}
