"use strict";
// Percentile curves as HdrHistogram draws them: each step to the right is a tenth of the messages of the step before.

/**
 * @param {string} title
 * @param {string} note
 * @param {{ label: string, colour: number, dashed?: boolean, distribution: Distribution | null | undefined }[]} curves
 * @param {string} subtitle
 */
function percentileChart(title, note, curves, subtitle) {
  const tables = curves.flatMap(({ distribution, ...line }) => (distribution ? [{ ...line, points: curvePoints(distribution) }] : []));
  if (tables.length === 0) return null;
  const xs = [...new Set(tables.flatMap((table) => [...table.points.keys()]))].sort((a, b) => a - b);
  /** @type {Line[]} */
  const lines = tables.map(({ points, ...line }) => ({ ...line, values: xs.map((x) => points.get(x) ?? null) }));
  const last = Math.max(10, xs[xs.length - 1]);
  return chart({
    title,
    note,
    x: {
      label: "share that took no longer",
      values: xs,
      unit: { tick: formatShare, full: formatShare },
      isLog: true,
      range: [1, last * 1.05],
    },
    unit: UNITS.time,
    lines,
    scale: spread(lines) > 30 ? "log" : "linear",
    subtitle,
    wide: true,
  });
}

/** By 1/(1-q). The maximum is where one message of all is. @param {Distribution} distribution @returns {Map<number, number>} */
function curvePoints(distribution) {
  const points = new Map();
  let last = 1;
  for (const [share, ns] of distribution.curve) {
    const x = share < 1 ? 1 / (1 - share) : Math.max(last, distribution.percentiles.count);
    // Rounded, so that the curves of one chart share their points.
    last = Number(x.toPrecision(6));
    points.set(last, Math.max(points.get(last) ?? 0, ns));
  }
  return points;
}

/** 10 is `90%`, 1,000 is `99.9%`. @param {number} x */
function formatShare(x) {
  if (x <= 1) return "0%";
  const decimals = Math.max(0, Math.min(12, Math.ceil(Math.log10(x) - 2 - 1e-9)));
  return `${Number((100 * (1 - 1 / x)).toFixed(decimals + (decimals > 0 ? 0 : 1)))}%`;
}

/** @param {Run} run @param {string} subtitle */
function latencyCurves(run, subtitle) {
  const { latencies, probes } = run.summary;
  const probeCurves = Object.keys(probes).map((name, index) => ({ label: name, colour: (index % 8) + 1, distribution: probes[name] }));
  return [
    percentileChart(
      "Percentile curve",
      "Solid from when a message was due, dashed from when it was really sent: the gap between the two is how long messages waited before they left.",
      [
        { label: "consumer", colour: 3, distribution: latencies.consumer },
        { label: "consumer, from sent", colour: 3, dashed: true, distribution: latencies.consumer_sent },
        { label: "confirm", colour: 2, distribution: latencies.confirm },
        { label: "confirm, from sent", colour: 2, dashed: true, distribution: latencies.confirm_sent },
      ],
      subtitle,
    ),
    percentileChart("Percentile curve of the probes", "How long answers took.", probeCurves, subtitle),
  ].filter((made) => made !== null);
}
