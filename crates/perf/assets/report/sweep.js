"use strict";
// Several runs that differ in variables: what changes with them.

/** Names of variables that have a number in every run, those with most values first. @param {Run[]} runs */
function numericVariables(runs) {
  const names = Object.keys(runs[0].variables).filter((name) => runs.every((run) => typeof run.variables[name] === "number"));
  const valueCount = (/** @type {string} */ name) => new Set(runs.map((run) => run.variables[name])).size;
  return names.filter((name) => valueCount(name) > 1).sort((a, b) => valueCount(b) - valueCount(a));
}

/** @type {{ title: string, unit: Unit, lines: { label: string, colour: number, dashed?: boolean, width?: number, of: (run: Run) => number | null | undefined }[] }[]} */
const SERIES = [
  {
    title: "Rate",
    unit: UNITS.rate,
    lines: [
      { label: "published", colour: 1, width: 4, of: (run) => divide(run.summary.counts.published, run.summary.duration_s) },
      { label: "confirmed", colour: 2, dashed: true, of: (run) => divide(run.summary.counts.confirmed || null, run.summary.duration_s) },
      { label: "consumed", colour: 3, of: (run) => divide(run.summary.counts.consumed || null, run.summary.duration_s) },
    ],
  },
  {
    title: "Consumer latency",
    unit: UNITS.time,
    lines: [
      { label: "median", colour: 1, of: (run) => run.summary.latencies.consumer?.percentiles.p50_ns },
      { label: "p99", colour: 2, of: (run) => run.summary.latencies.consumer?.percentiles.p99_ns },
      { label: "max", colour: 4, of: (run) => run.summary.latencies.consumer?.percentiles.max_ns },
    ],
  },
  {
    title: "Confirm latency",
    unit: UNITS.time,
    lines: [
      { label: "median", colour: 1, of: (run) => run.summary.latencies.confirm?.percentiles.p50_ns },
      { label: "p99", colour: 2, of: (run) => run.summary.latencies.confirm?.percentiles.p99_ns },
      { label: "max", colour: 4, of: (run) => run.summary.latencies.confirm?.percentiles.max_ns },
    ],
  },
  { title: "Messages a CPU second of the broker", unit: UNITS.plain, lines: [{ label: "messages", colour: 2, of: (run) => messagesPerCpuSecond(run.summary) }] },
  { title: "Memory of the broker, at most", unit: UNITS.bytes, lines: [{ label: "memory", colour: 2, of: (run) => run.summary.broker?.usage.memory }] },
];

/** Series charts, with a choice of the variable along the axis where there is one. @param {Results} results */
function sweepSection(results) {
  const { runs } = results;
  const variables = numericVariables(runs);
  const section = element("section", element("h2", "Over the sweep"));
  if (variables.length > 0) {
    const charts = element("div.charts");
    const show = (/** @type {number} */ index) => charts.replaceChildren(...seriesCharts(results, variables[index]));
    show(0);
    if (variables.length > 1) section.append(element("div.chooser", chooser("Along the axis", variables, 0, show)));
    section.append(charts);
  }
  section.append(element("div.card.runs", element("h3", "All runs"), sweepTable(results)));
  return section;
}

/** @param {Results} results @param {string} variable */
function seriesCharts(results, variable) {
  const { runs } = results;
  const xs = [...new Set(runs.map((run) => Number(run.variables[variable])))].sort((a, b) => a - b);
  const others = otherValues(runs, variable);
  const positive = xs[0] > 0;
  const x = { label: variable, values: xs, ticks: xs.length <= 10 ? xs : undefined, unit: UNITS.exact, isLog: positive && xs[xs.length - 1] / xs[0] >= 20 };
  const padding = xs.length > 1 ? (xs[xs.length - 1] - xs[0]) * 0.03 : 1;
  /** @type {[number, number]} */
  const range = x.isLog ? [xs[0] / 1.15, xs[xs.length - 1] * 1.15] : [xs[0] - padding, xs[xs.length - 1] + padding];
  const made = [];
  for (const series of SERIES) {
    const valueAt = (/** @type {string} */ other, /** @type {number} */ at, /** @type {(run: Run) => number | null | undefined} */ of) => {
      const run = runs.find((candidate) => Number(candidate.variables[variable]) === at && otherLabel(candidate, variable) === other);
      return (run && of(run)) ?? null;
    };
    // With one line for each value of the other variables, each number needs a chart of its own.
    const specs =
      others.length === 1
        ? [{ title: series.title, lines: series.lines.map(({ of, ...line }) => ({ ...line, values: xs.map((at) => valueAt(others[0], at, of)) })) }]
        : series.lines.map(({ of, label }) => ({
            title: series.lines.length > 1 ? `${series.title}, ${label}` : series.title,
            lines: others.map((other, index) => ({ label: other, colour: (index % 8) + 1, dashed: index >= 8, values: xs.map((at) => valueAt(other, at, of)) })),
          }));
    for (const spec of specs) {
      const lines = spec.lines.filter((line) => line.values.some((value) => value !== null));
      if (lines.length === 0) continue;
      const scale = series.unit === UNITS.time ? (spread(lines) > 30 ? "log" : "linear") : undefined;
      made.push(chart({ ...spec, lines, note: `By ${variable}.`, x: { ...x, range }, unit: series.unit, points: true, scale, subtitle: subtitleOf(results, null) }));
    }
  }
  return made;
}

/** The values of all variables but one. @param {Run} run @param {string} variable */
function otherLabel(run, variable) {
  const names = Object.keys(run.variables).filter((name) => name !== variable);
  return names.map((name) => `${name}=${run.variables[name]}`).join(", ");
}

/** In their natural order. @param {Run[]} runs @param {string} variable */
function otherValues(runs, variable) {
  const labels = [...new Set(runs.map((run) => otherLabel(run, variable)))];
  return labels.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

/** @param {Results} results */
function sweepTable(results) {
  const names = [...new Set(results.runs.flatMap((run) => Object.keys(run.variables)))];
  const head = [...(names.length > 0 ? names : ["run"]), "published/s", "consumed/s", "consumer p50", "p99", "max", "confirm p50", "p99", "max", "lost", "verdict"];
  const rows = results.runs.map((run) => {
    const { summary } = run;
    const labels = names.length > 0 ? names.map((name) => String(run.variables[name] ?? "–")) : [run.label];
    const rate = (/** @type {number} */ count) => (summary.duration_s > 0 ? formatNumber(count / summary.duration_s) : "–");
    const times = [summary.latencies.consumer, summary.latencies.confirm].flatMap((distribution) =>
      distribution ? [distribution.percentiles.p50_ns, distribution.percentiles.p99_ns, distribution.percentiles.max_ns].map(formatTime) : ["–", "–", "–"],
    );
    const failed = run.verdicts.filter((verdict) => !verdict.passed).length;
    const verdict = run.interrupted !== null ? "interrupted" : run.verdicts.length === 0 ? "–" : failed > 0 ? `${failed} failed` : "passed";
    return [...labels, rate(summary.counts.published), rate(summary.counts.consumed), ...times, formatNumber(summary.sequence.total.lost), verdict];
  });
  return dataTable("All runs", head, rows);
}
