// Charts of numbers over time, by uPlot, which is fetched when the first chart is shown.

import { useEffect, useRef } from "../../vendor/modules/hooks.js";
import { appearance } from "./appearance.js";
import { shown } from "./figure.js";
import { h } from "./html.js";

export { historyOf, linesOf, ratesOf, samplesOf } from "./samples.js";

/**
 * @typedef {{ label: string, values: (number | null)[] }} Line
 * @typedef {{ title: string, times: number[], lines: Line[], unit: import("./figure.js").Unit, height?: number }} ChartProps
 * times: seconds since 1970
 */

const COLORS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6", "--line-7", "--line-8"];

/** @param {ChartProps} props */
export function Chart(props) {
  const { title, times, lines, unit, height = 180 } = props;
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const names = lines.map((line) => line.label).join("\n");
  const data = [times, ...lines.map((line) => line.values)];
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    let isGone = false;
    /** @type {ResizeObserver | undefined} */
    let observer;
    void import("../../vendor/modules/uplot.js").then(({ default: UPlot }) => {
      const element = box.current;
      if (isGone || !element) return;
      plot.current = new UPlot(optionsOf(element, props), /** @type {any} */ (latest.current), element);
      observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
      observer.observe(element);
    }, () => box.current?.replaceChildren("Charts need what `make web` fetches; this build is without it."));
    return () => {
      isGone = true;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names, unit, height, appearance.value]);
  useEffect(() => plot.current?.setData(data), [times, lines]);
  if (lines.length === 0) return h("p", { class: "empty" }, `${title}: nothing has been counted yet.`);
  const said = lines.map(({ label, values }) => `${label}: ${shown(unit, values.at(-1))}`).join(", ");
  return h("figure", { class: "chart" },
    h("figcaption", {}, title),
    h("div", { ref: box, class: "plot", role: "img", "aria-label": `${title}. ${said}`, "data-since": times[0], style: { minHeight: `${height}px` } }),
    h("ul", { class: "legend" }, lines.map(({ label, values }, index) => h("li", { key: label },
      h("span", { class: `swatch line-${index + 1}`, "aria-hidden": "true" }), label, " ", h("b", {}, shown(unit, values.at(-1)))))));
}

/** @param {HTMLElement} element @param {ChartProps} props */
function optionsOf(element, { lines, unit, height = 180 }) {
  const style = getComputedStyle(element);
  const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const isWhole = unit === "count" || unit === "messages";
  const axis = { stroke: color("--faint"), grid: { stroke: color("--edge"), width: 1 }, ticks: { stroke: color("--edge"), width: 1 } };
  return {
    width: element.clientWidth || 300,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: { x: { range: (/** @type {any} */ _, /** @type {number} */ first, /** @type {number} */ last) => /** @type {[number, number]} */ (first === last ? [first - 60, last] : [first, last]) }, y: { range: (/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => /** @type {[number, number]} */ ([Math.min(0, low), high > 0 ? high * 1.1 : 1]) } },
    axes: [{ ...axis, space: 70 }, { ...axis, size: unit === "byterate" ? 84 : 64, values: (/** @type {any} */ _, /** @type {number[]} */ ticks) => ticks.map((tick) => (isWhole && !Number.isInteger(tick) ? "" : shown(unit, tick))) }],
    series: [{}, ...lines.map((line, index) => ({ label: line.label, stroke: color(COLORS[index % COLORS.length] ?? ""), width: 1.5, points: { show: (/** @type {any} */ plot) => plot.data[0].length < 3 } }))],
  };
}
