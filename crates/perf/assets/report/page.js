"use strict";
// Puts the page together.

/** @param {PageData} data */
function showPage(data) {
  const main = /** @type {HTMLElement} */ (document.getElementById("page"));
  if (!HAS_UPLOT) {
    main.append(banner("", "No charts:", "this build of warren perf has no uPlot in it, so that there are only tables. Run “make web” (needs npm), build again, and write the report anew from its JSON."));
  }
  main.append(data.comparison ? comparisonPage(data, data.comparison) : resultsPage(data, data.results[0]));
  main.append(element("footer", `Written by warren perf ${data.results[0]?.version ?? ""}. This page holds all that it shows and loads nothing.`));
}

/** @param {PageData} data @param {Results} results */
function resultsPage(data, results) {
  const page = element("div");
  const { runs } = results;
  const header = element("header", element("h1", results.name || "warren perf"));
  if (results.description) header.append(element("p.description", results.description));
  const seconds = runs.reduce((sum, run) => sum + run.summary.duration_s, 0);
  const measured = runs.length > 1 ? `${runs.length} runs, ${formatDuration(seconds)} measured` : `${formatDuration(seconds)} measured`;
  header.append(element("p.facts", [brokerName(results), measured, machineName(results), results.started_at].join(" · ")));
  page.append(header);
  if (runs.length === 0) {
    page.append(banner(".bad", "No run:", "nothing was measured."), aboutSection(data, results));
    return page;
  }
  page.append(verdictCard(runs) ?? "");
  page.append(...runs.flatMap((run) => runBanners(run, runs.length === 1)).slice(0, 8));
  if (results.warnings.length > 0) page.append(banner("", results.warnings.length > 1 ? "Warnings:" : "Warning:", results.warnings.join(" · ")));
  if (runs.length === 1) {
    page.append(runSections(results, runs[0]));
  } else {
    page.append(sweepSection(results), oneOfMany(results));
  }
  page.append(aboutSection(data, results));
  return page;
}

/** A sweep's runs, one at a time. @param {Results} results */
function oneOfMany(results) {
  const { runs } = results;
  const section = element("section", element("h2", "One run"));
  const shown = element("div", runSections(results, runs[0]));
  const labels = runs.map((run, index) => run.label || `run ${index + 1}`);
  const show = (/** @type {number} */ index) => shown.replaceChildren(runSections(results, runs[index]));
  section.append(element("div.chooser", chooser("Run", labels, 0, show)), shown);
  return section;
}

/** @param {Results} results @param {Run} run */
function runSections(results, run) {
  const subtitle = subtitleOf(results, run);
  const made = element("div", keyNumbers(results, run));
  const parts = [breakdown(run, subtitle), ...latencyCurves(run, subtitle)].filter((part) => part !== null);
  if (parts.length > 0) made.append(element("h2", "Where the time went"), element("div.charts", ...parts));
  const timeline = timelineCharts(run, subtitle);
  if (timeline.length > 0) made.append(element("h2", "What happened when"), element("div.charts", ...timeline));
  return made;
}

showPage(JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent ?? ""));
