"use strict";
// What it takes to believe the numbers, and to measure them again.

/** @param {Results} results */
function brokerName(results) {
  const { broker } = results;
  if (broker === null) return "unknown broker";
  return broker.variant ?? `${broker.product} ${broker.version}`.trim();
}

/** @param {Results} results */
function machineName(results) {
  const { machine } = results;
  return `${machine.processors} × ${machine.processor || "processor"}, ${formatBytes(machine.memory)}`;
}

/** In pictures, under the title. @param {Results} results @param {Run | null} run */
function subtitleOf(results, run) {
  return [results.name, run?.label, brokerName(results), results.started_at.slice(0, 10)].filter(Boolean).join(" · ");
}

/** @param {PageData} data @param {Results} results */
function aboutSection(data, results) {
  const section = element("section.about", element("h2", "How it was measured"));
  const { broker, machine } = results;
  const facts = element("dl");
  const fact = (/** @type {string} */ name, /** @type {string | null | undefined | false} */ value) => {
    if (value) facts.append(element("dt", name), element("dd", value));
  };
  fact("started", results.started_at);
  fact("broker", broker && [`${broker.product} ${broker.version}`, broker.variant, broker.platform].filter(Boolean).join(", "));
  fact("addresses", broker?.uris.join(", "));
  fact("generator", `warren perf ${results.version}, seed ${results.seed}`);
  fact("machine", `${machineName(results)}, ${machine.system}`);
  fact("agents", results.agents.join(", "));
  fact("thinned", data.thinned > 1 && `each point of a chart stands for up to ${data.thinned} intervals, with the worst percentiles among them; the JSON has all`);
  section.append(element("div.card", facts));
  if (results.command.length > 0) {
    section.append(element("div.card", element("h3", "The command"), element("pre", results.command.map(shellWord).join(" "))));
  }
  const { workload } = results;
  if (workload !== null) {
    section.append(element("div.card", element("h3", "The workload"), element("pre", workload)));
  }
  if (results.warnings.length > 0) {
    section.append(element("div.card", element("h3", "Warnings"), element("ul", ...results.warnings.map((warning) => element("li", warning)))));
  }
  const astray = results.runs.flatMap((run) => run.summary.sequence.publishers.map((one) => ({ run, ...one })));
  if (astray.length > 0) {
    const rows = astray.map(({ run, publisher, counts }) => [`${run.label ? `${run.label}: ` : ""}${publisher}`, ...[counts.lost, counts.duplicate, counts.out_of_order, counts.redelivered].map(formatNumber)]);
    const head = ["publisher", "lost", "duplicate", "out of order", "redelivered"];
    section.append(element("div.card", element("h3", "Messages that went astray"), dataTable("Messages that went astray, by publisher", head, rows)));
  }
  return section;
}

/** As one would type it. @param {string} word */
function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
