"use strict";
// A chart: title, picture, legend, table. uPlot draws the picture; without it the table is what there is to see.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const PLOT_HEIGHT = 250;
const HAS_UPLOT = typeof uPlot !== "undefined";

/** Draws all charts anew: the colours have changed. @type {Set<() => void>} */
const redraws = new Set();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach((redraw) => redraw()));

/** @param {ChartSpec} spec */
function chart(spec) {
  const figure = element(spec.wide ? "figure.card.chart.wide" : "figure.card.chart");
  const tools = element("div.tools");
  const title = element("h3", spec.title);
  figure.append(element("figcaption", element("div", title, spec.note ? element("p", spec.note) : null), tools));
  const hidden = new Set();
  let isLog = spec.scale === "log";
  if (HAS_UPLOT) {
    const plot = element("div.plot");
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", `${spec.title}: ${spec.lines.map((line) => line.label).join(", ")}. The table below has the values.`);
    /** @type {uPlot | null} */
    let drawn = null;
    const legend = lineLegend(spec, hidden, (index, isShown) => drawn?.setSeries(index + 1, { show: isShown }));
    const draw = () => {
      drawn?.destroy();
      drawn = plot.clientWidth > 0 ? makePlot(spec, { isLog, hidden, scale: 1, width: plot.clientWidth, height: PLOT_HEIGHT, onCursor: legend.showValues }, plot) : null;
    };
    new ResizeObserver(() => (drawn ? drawn.setSize({ width: plot.clientWidth, height: PLOT_HEIGHT }) : draw())).observe(plot);
    redraws.add(draw);
    if (spec.scale) {
      const toggle = button(isLog ? "Linear axis" : "Log axis", () => {
        isLog = !isLog;
        toggle.textContent = isLog ? "Linear axis" : "Log axis";
        draw();
      });
      tools.append(toggle);
    }
    tools.append(button("Save as PNG", () => savePicture(spec.title, (picture) => paintChart(picture, spec, isLog, hidden))));
    figure.append(plot, legend.list);
  }
  figure.append(disclosure("Table", !HAS_UPLOT, () => valueTable(spec)));
  return figure;
}

/**
 * Buttons that show and hide lines, with the values at the cursor.
 *
 * @param {ChartSpec} spec
 * @param {Set<number>} hidden
 * @param {(index: number, isShown: boolean) => void} onToggle
 */
function lineLegend(spec, hidden, onToggle) {
  const values = spec.lines.map(() => element("span.value"));
  const list = element("ul.legend");
  spec.lines.forEach((line, index) => {
    const toggle = button("", () => {
      const isShown = hidden.delete(index) || !hidden.add(index);
      toggle.setAttribute("aria-pressed", String(isShown));
      onToggle(index, isShown);
    });
    toggle.setAttribute("aria-pressed", "true");
    toggle.title = "Show or hide";
    toggle.append(element(`span.swatch.line-${line.colour}${line.dashed ? ".dashed" : ""}`), line.label, " ", values[index]);
    list.append(element("li", toggle));
  });
  /** @param {number | null | undefined} at */
  const showValues = (at) =>
    spec.lines.forEach((line, index) => {
      const value = at === null || at === undefined ? null : line.values[at];
      values[index].textContent = value === null || value === undefined ? "" : spec.unit.full(value);
    });
  return { list, showValues };
}

/** @param {ChartSpec} spec */
function valueTable(spec) {
  const head = [spec.x.label, ...spec.lines.map((line) => line.label)];
  const rows = spec.x.values.map((x, index) => [
    spec.x.unit.full(x),
    ...spec.lines.map((line) => (line.values[index] === null || line.values[index] === undefined ? "–" : spec.unit.full(/** @type {number} */ (line.values[index])))),
  ]);
  return dataTable(spec.title, head, rows);
}

/**
 * @typedef {object} PlotOptions
 * @property {boolean} isLog
 * @property {Set<number>} hidden
 * @property {number} scale how much larger than usual all is drawn
 * @property {number} width
 * @property {number} height
 * @property {(index: number | null | undefined) => void} [onCursor]
 * @property {(plot: uPlot) => void} [onDrawn]
 */

/** @param {ChartSpec} spec @param {PlotOptions} options @param {HTMLElement} parent */
function makePlot(spec, options, parent) {
  const { isLog, scale } = options;
  const font = `${Math.round(12 * scale)}px ${FONT}`;
  /** @type {uPlot.Axis} */
  const axis = {
    font,
    labelFont: font,
    stroke: colourOf("quiet"),
    grid: { stroke: colourOf("grid"), width: scale },
    ticks: { stroke: colourOf("grid"), width: scale, size: 5 * scale },
    gap: 4 * scale,
  };
  // Of a logarithmic axis, lines at the powers of ten are enough.
  const decades = (/** @type {uPlot} */ _, /** @type {(number | null)[]} */ splits) => splits.map((value) => (value !== null && isPowerOfTen(value) ? value : null));
  const logGrid = { grid: { ...axis.grid, filter: decades }, ticks: { ...axis.ticks, filter: decades } };
  /** @type {uPlot.Series[]} */
  const series = spec.lines.map((line, index) => ({
    label: line.label,
    show: !options.hidden.has(index),
    stroke: colourOf(`line-${line.colour}`),
    width: (line.width ?? 2) * scale,
    dash: line.dashed ? [6 * scale, 4 * scale] : undefined,
    spanGaps: true,
    points: { show: spec.points || spec.x.values.length < 2, size: 7 * scale },
  }));
  // A logarithmic axis has no place for zero.
  const drawable = (/** @type {number | null} */ value) => (isLog && value !== null && value <= 0 ? null : value);
  /** @type {uPlot.AlignedData} */
  const data = [spec.x.values, ...spec.lines.map((line) => line.values.map(drawable))];
  /** @type {uPlot.Options} */
  const uplotOptions = {
    width: options.width,
    height: options.height,
    pxAlign: 0,
    padding: [14 * scale, rightPadding(spec) * scale, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false }, sync: spec.sync && scale === 1 ? { key: spec.sync } : undefined },
    scales: {
      x: { time: false, distr: spec.x.isLog ? 3 : 1, range: spec.x.range },
      y: isLog ? { distr: 3, range: logRange } : { range: linearRange },
    },
    axes: [
      {
        ...axis,
        ...(spec.x.ticks ? { splits: () => /** @type {number[]} */ (spec.x.ticks), filter: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits } : spec.x.isLog ? logGrid : {}),
        label: spec.x.label,
        labelSize: 20 * scale,
        size: 26 * scale,
        space: 64 * scale,
        incrs: spec.x.unit.steps,
        values: (_, splits) => splits.map((value) => (value === null ? "" : spec.x.unit.tick(value))),
      },
      {
        ...axis,
        ...(isLog ? logGrid : {}),
        space: (isLog ? 24 : 34) * scale,
        incrs: spec.unit.steps,
        values: (_, splits) => splits.map((value) => (value === null ? "" : spec.unit.tick(value))),
        size: (_, values) => (16 + 7.2 * Math.max(3, ...(values ?? []).map((value) => value.length))) * scale,
      },
    ],
    series: [{}, ...series],
    hooks: {
      drawClear: [(plot) => paintPhases(plot, spec.phases ?? [], scale)],
      setCursor: [(plot) => options.onCursor?.(plot.cursor.idx)],
      draw: [(plot) => options.onDrawn?.(plot)],
    },
  };
  return new uPlot(uplotOptions, data, parent);
}

/** Half of the last label stands beyond the axis, where the axis ends at a label. @param {ChartSpec} spec */
function rightPadding({ x: { ticks, unit } }) {
  const last = ticks?.at(-1);
  return last === undefined ? 14 : Math.max(14, unit.tick(last).length * 4);
}

/** @param {number} value */
function isPowerOfTen(value) {
  const power = Math.log10(value);
  return Math.abs(power - Math.round(power)) < 1e-9;
}

/**
 * From zero, so that lengths can be compared.
 *
 * @param {uPlot} _
 * @param {number | null} min
 * @param {number | null} max
 * @returns {[number, number]}
 */
function linearRange(_, min, max) {
  if (min === null || max === null) return [0, 1];
  const top = max > 0 ? max * 1.08 : 0;
  const bottom = min < 0 ? min * 1.08 : 0;
  return top === bottom ? [0, 1] : [bottom, top];
}

/**
 * @param {uPlot} _
 * @param {number | null} min
 * @param {number | null} max
 * @returns {[number, number]}
 */
function logRange(_, min, max) {
  if (min === null || max === null) return [1, 10];
  // Steps of 1, 2 and 5 leave less air than whole decades.
  const down = 10 ** Math.floor(Math.log10(min));
  const up = 10 ** Math.floor(Math.log10(max));
  const low = /** @type {number} */ ([5, 2, 1].map((step) => step * down).find((value) => value <= min));
  const high = [1, 2, 5, 10].map((step) => step * up).find((value) => value >= max) ?? max;
  return high / low < 9 ? [down, Math.max(down * 10, high)] : [low, high];
}

/** Every second phase is shaded, each is named where there is room. @param {uPlot} plot @param {Phase[]} phases @param {number} scale */
function paintPhases(plot, phases, scale) {
  if (phases.length < 1) return;
  const { ctx, bbox } = plot;
  const size = Math.round(11 * scale * devicePixelRatio);
  ctx.save();
  ctx.font = `${size}px ${FONT}`;
  ctx.textBaseline = "top";
  phases.forEach((phase, index) => {
    const clamp = (/** @type {number} */ x) => Math.min(Math.max(x, bbox.left), bbox.left + bbox.width);
    const left = clamp(plot.valToPos(phase.start_s, "x", true));
    const right = clamp(plot.valToPos(phase.end_s, "x", true));
    if (index % 2 === 0) {
      ctx.fillStyle = colourOf("band");
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
    ctx.fillStyle = colourOf("quiet");
    if (ctx.measureText(phase.name).width + 8 * scale < right - left) ctx.fillText(phase.name, left + 4 * scale * devicePixelRatio, bbox.top - size - 2 * scale);
  });
  ctx.restore();
}
