"use strict";
// Several results beside each other: the numbers with their ratios to the first, and curves over each other.

/** So many runs are compared with charts at once. */
const CHARTED_RUNS_MAX = 3;

/** @param {PageData} data @param {Comparison} comparison */
function comparisonPage(data, comparison) {
  const page = element("div");
  page.append(element("h1", document.title), element("p.description", "Ratios are to the first, which is the base."));
  page.append(comparedTable(data));
  for (const name of comparison.unmatched) page.append(banner("", "Not compared, for the others do not have it:", name));
  for (const note of comparison.notes) page.append(banner("", "Note:", note));
  comparison.runs.forEach((compared) => {
    const runs = data.results.map((results, part) => results.runs[compared.indexes[part] ?? -1] ?? null);
    const section = element("section", element("h2", compared.label || "Numbers"));
    section.append(element("div.card.compared", ratioTable(comparison.names, compared)));
    // A sweep's hundreds of charts are made when somebody wants to see them.
    const charts = () => overlaidCharts(comparison.names, runs, compared.label);
    section.append(comparison.runs.length <= CHARTED_RUNS_MAX ? charts() : disclosure("Charts", false, charts));
    page.append(section);
  });
  return page;
}

/** What is compared. @param {PageData} data */
function comparedTable({ results, names }) {
  const rows = results.map((one, index) => [names[index], brokerName(one), one.started_at, machineName(one)]);
  const cells = rows.map(([name, ...texts]) => [name, ...texts.map((text) => element("td.text", text))]);
  return element("div.card.compared", dataTable("What is compared", ["results", "broker", "started", "machine"], cells));
}

/** @param {string[]} names @param {{ rows: ComparisonRow[] }} compared */
function ratioTable(names, compared) {
  const rows = compared.rows.map((row) => {
    const cells = row.shown.map((shown, index) => {
      const ratio = row.ratios[index];
      const text = index === 0 || ratio === null ? (shown ?? "–") : `${shown ?? "–"}  (×${formatNumber(ratio)})`;
      return element(`td${moodOf(row, index)}`, text);
    });
    return [`${row.group}, ${row.metric}`, ...cells];
  });
  return dataTable("Compared numbers", ["", ...names], rows);
}

/** Less than three percent is noise until somebody shows otherwise. @param {ComparisonRow} row @param {number} index */
function moodOf(row, index) {
  const ratio = row.ratios[index];
  if (index === 0 || ratio === null || row.better === null || Math.abs(ratio - 1) < 0.03) return "";
  return ratio > 1 === (row.better === "higher") ? ".better" : ".worse";
}

/** @param {string[]} names @param {(Run | null)[]} runs @param {string} label */
function overlaidCharts(names, runs, label) {
  const subtitle = [names.join(" · "), label].filter(Boolean).join(" · ");
  const charts = element("div.charts");
  const present = runs.flatMap((run, index) => (run ? [{ run, name: names[index], colour: (index % 8) + 1, dashed: index > 0 && index % 2 === 1 }] : []));
  const curve = (/** @type {string} */ title, /** @type {(run: Run) => Distribution | null} */ of) =>
    percentileChart(title, "", present.map(({ run, name, ...line }) => ({ ...line, label: name, distribution: of(run) })), subtitle);
  const overTime = (/** @type {string} */ title, /** @type {Unit} */ unit, /** @type {(sample: Sample) => number | null | undefined} */ of, isTime = false) => {
    const times = [...new Set(present.flatMap(({ run }) => run.samples.map(secondOf)))].sort((a, b) => a - b);
    const lines = present.map(({ run, name, colour, dashed }) => {
      const values = new Map(run.samples.map((sample) => [secondOf(sample), of(sample) ?? null]));
      return { label: name, colour, dashed, values: times.map((time) => values.get(time) ?? null) };
    });
    const filled = lines.filter((line) => line.values.some((value) => value));
    if (filled.length === 0) return null;
    const x = { label: "time since the start", values: times, unit: UNITS.clock };
    return chart({ title, x, unit, lines: filled, sync: `compare ${label}`, subtitle, scale: isTime ? (spread(filled) > 30 ? "log" : "linear") : undefined });
  };
  const made = [
    curve("Consumer latency", (run) => run.summary.latencies.consumer),
    curve("Confirm latency", (run) => run.summary.latencies.confirm),
    overTime("Published", UNITS.rate, (sample) => divide(sample.counts.published, sample.duration_s)),
    overTime("Consumed", UNITS.rate, (sample) => divide(sample.counts.consumed, sample.duration_s)),
    overTime("Consumer latency over time, p99", UNITS.time, (sample) => sample.consumer_latency?.p99_ns, true),
    overTime("Backlog", UNITS.count, (sample) => sample.backlog),
    overTime("CPU of the broker", UNITS.cores, (sample) => divide(sample.broker?.usage.cpu_s, sample.duration_s)),
    overTime("Memory of the broker", UNITS.bytes, (sample) => sample.broker?.usage.memory),
  ];
  charts.append(...made.filter((one) => one !== null));
  return charts;
}

/** Samples of two runs never end at the very same time; a tenth of a second makes them one. @param {Sample} sample */
function secondOf(sample) {
  return Math.round(sample.end_s * 10) / 10;
}
