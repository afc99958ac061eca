// A picture of bindings: exchanges and queues in layers, from the left to the right; and the same as a list.

import { useEffect, useMemo, useRef } from "../../vendor/modules/hooks.js";
import { exchangeSegment, href } from "../route.js";
import { h, html } from "./html.js";
import { DEFAULT_EXCHANGE, ExchangeLink, QueueLink } from "./links.js";
import { layersOf } from "./binding_layers.js";

/** @typedef {import("./binding_layers.js").Node} Node */
/** @typedef {import("./binding_layers.js").Edge} Edge */

const [NODE_WIDTH, NODE_HEIGHT, GAP_X, GAP_Y, MARGIN] = [190, 30, 130, 12, 6];
/** How far lines that lead back hang down. */
const SAG = 44;
const LABEL_LEN_MAX = 15;

const letters = new Intl.Segmenter("en", { granularity: "grapheme" });

/** The first letters, as people count them. @param {string} text */
function short(text) {
  let [out, count] = ["", 0];
  for (const { segment } of letters.segment(text)) {
    if (count === LABEL_LEN_MAX) return `${out}…`;
    out += segment;
    count += 1;
  }
  return out;
}

/** @param {Edge} edge */
const labelOf = ({ keys, count }) => [short(keys.find((key) => key !== "") ?? ""), count > 1 ? `+${count - 1}` : ""].filter(Boolean).join(" ");
/** @param {Edge} edge */
const keysText = ({ keys, count }) => `${keys.map((key) => (key === "" ? "no key" : key)).join("; ")}${count > keys.length ? `; ${count - keys.length} more` : ""}`;
/** @param {Node} node */
const titleOf = ({ kind, name }) => `${kind} ${name === "" ? DEFAULT_EXCHANGE : name}`;

/**
 * @param {{ vhost: string, name: string, to: import("./binding_layers.js").Binding[], from: Map<string, import("./binding_layers.js").Binding[]> }} props
 */
export function BindingGraph({ vhost, name, to, from }) {
  const graph = useMemo(() => layersOf(name, to, from), [name, to, from]);
  const { nodes, edges, layers, more, unfollowed } = graph;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  // Where the picture is larger than its place, the exchange in question is in the middle of it.
  useEffect(() => {
    const here = box.current?.querySelector(".here rect");
    if (!box.current || !here) return;
    box.current.scrollLeft = Number(here.getAttribute("x")) - (box.current.clientWidth - NODE_WIDTH) / 2;
    box.current.scrollTop = Number(here.getAttribute("y")) - (box.current.clientHeight - NODE_HEIGHT) / 2;
  }, [name, layers.length, edges.length > 0]);
  if (edges.length === 0) return html`<p class="empty">Nothing is bound to this exchange or from it: what is published here reaches no queue. Add a binding below.</p>`;
  const rows = Math.max(...layers.map((layer) => layer?.length ?? 0));
  const width = layers.length * NODE_WIDTH + (layers.length - 1) * GAP_X + 2 * MARGIN;
  const height = rows * (NODE_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN + (edges.some(isBack) ? SAG : 0);
  const at = (/** @type {Node} */ { layer, row }) => {
    const free = (rows - (layers[layer]?.length ?? 0)) * (NODE_HEIGHT + GAP_Y) / 2;
    return { x: MARGIN + layer * (NODE_WIDTH + GAP_X), y: MARGIN + free + row * (NODE_HEIGHT + GAP_Y) };
  };
  return html`<div class="scrolled graph" ref=${box} tabindex="0" role="region" aria-label="Picture of the bindings; the list below says the same">
      <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">
        ${edges.map((edge) => h(Line, { key: `${edge.from.id} ${edge.to.id}`, edge, at }))}
        ${nodes.map((node) => h(Box, { key: node.id, node, vhost, at, isHere: node.kind === "exchange" && node.name === name }))}
      </svg></div>
    ${(more > 0 || unfollowed > 0) && html`<p class="about">${more > 0 && `${more.toLocaleString("en")} more ${more === 1 ? "is" : "are"} bound than can be shown here; the lists below have all of this exchange. `}${unfollowed > 0 && `What is behind ${unfollowed === 1 ? "one exchange" : `${unfollowed} exchanges`} is not shown.`}</p>`}
    <details class="graph-list"><summary>The same as a list</summary><ul>${nodes.filter((node) => edges.some((edge) => edge.from === node)).map((node) => html`<li key=${node.id}><${ExchangeLink} vhost=${vhost} name=${node.name} /> sends to<ul>
      ${edges.filter((edge) => edge.from === node).map((edge) => html`<li key=${edge.to.id}>${edge.to.kind} ${h(edge.to.kind === "queue" ? QueueLink : ExchangeLink, { vhost, name: edge.to.name })} by <bdi class="mono">${keysText(edge)}</bdi></li>`)}</ul></li>`)}</ul></details>`;
}

/** Whether a line leads against the direction, as in a circle. @param {Edge} edge */
const isBack = ({ from, to }) => to.layer <= from.layer;

/** A curve of Bézier: its four points. @param {Edge} edge @param {(node: Node) => { x: number, y: number }} at @returns {[number, number][]} */
function curveOf(edge, at) {
  const [from, to] = [at(edge.from), at(edge.to)];
  if (isBack(edge)) {
    const [x1, y1, x2, y2] = [from.x + NODE_WIDTH * 0.4, from.y + NODE_HEIGHT, to.x + NODE_WIDTH * 0.6, to.y + NODE_HEIGHT];
    return [[x1, y1], [x1, y1 + SAG], [x2, y2 + SAG], [x2, y2]];
  }
  const [x1, y1, x2, y2] = [from.x + NODE_WIDTH, from.y + NODE_HEIGHT / 2, to.x, to.y + NODE_HEIGHT / 2];
  return [[x1, y1], [(x1 + x2) / 2, y1], [(x1 + x2) / 2, y2], [x2, y2]];
}

/** @param {{ edge: Edge, at: (node: Node) => { x: number, y: number } }} props */
function Line({ edge, at }) {
  const points = curveOf(edge, at);
  const [x, y] = points[3] ?? [0, 0];
  const isUp = isBack(edge);
  // The label is nearer to the end, since several lines may begin at one place.
  const part = 0.62;
  const weights = [(1 - part) ** 3, 3 * (1 - part) ** 2 * part, 3 * (1 - part) * part ** 2, part ** 3];
  const on = (/** @type {0 | 1} */ axis) => points.reduce((sum, point, index) => sum + point[axis] * (weights[index] ?? 0), 0);
  return h("g", { class: isUp ? "edge back" : "edge" },
    h("title", {}, `${titleOf(edge.from)} to ${titleOf(edge.to)}: ${keysText(edge)}`),
    h("path", { d: `M${points[0]?.join(" ")} C${points.slice(1).map((point) => point.join(" ")).join(" ")}` }),
    h("path", { class: "tip", d: isUp ? `M${x - 4} ${y + 7} L${x} ${y} L${x + 4} ${y + 7} Z` : `M${x - 7} ${y - 4} L${x} ${y} L${x - 7} ${y + 4} Z` }),
    h("text", { x: on(0), y: on(1) - 3, "text-anchor": "middle" }, labelOf(edge)));
}

/** @param {{ node: Node, vhost: string, isHere: boolean, at: (node: Node) => { x: number, y: number } }} props */
function Box({ node, vhost, isHere, at }) {
  const { x, y } = at(node);
  const path = node.kind === "queue" ? ["queues", vhost, node.name] : ["exchanges", vhost, exchangeSegment(node.name)];
  return h("g", { class: `node ${node.kind}${isHere ? " here" : ""}` },
    h("rect", { x, y, width: NODE_WIDTH, height: NODE_HEIGHT, rx: node.kind === "queue" ? 2 : NODE_HEIGHT / 2 }),
    h("foreignObject", { x, y, width: NODE_WIDTH, height: NODE_HEIGHT },
      h("a", { href: href(path), tabIndex: -1, title: titleOf(node) }, h("bdi", {}, node.name === "" ? DEFAULT_EXCHANGE : node.name))));
}
