"use strict";
// What is seen first: whether it is good enough, and the numbers that people quote.

/** @param {Run[]} runs */
function verdictCard(runs) {
  const verdicts = runs.flatMap((run) => run.verdicts.map((verdict) => ({ run, ...verdict })));
  if (verdicts.length === 0) return null;
  const failed = verdicts.filter((verdict) => !verdict.passed);
  const list = element("ul");
  // Of a sweep, only what failed is worth a line each.
  const shown = runs.length === 1 ? verdicts : failed.slice(0, 12);
  for (const verdict of shown) {
    const mark = element(verdict.passed ? "span.mark" : "span.mark.failed", verdict.passed ? "✓" : "✗");
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", verdict.passed ? "passed" : "failed");
    const label = runs.length > 1 ? `${verdict.run.label}: ` : "";
    list.append(element("li", mark, `${label}${verdict.expected} – `, element("strong", verdict.measured)));
  }
  if (runs.length > 1) {
    const more = failed.length > shown.length ? ` ${failed.length - shown.length} more failed.` : "";
    list.append(element("li.quiet", `${verdicts.length - failed.length} of ${verdicts.length} expectations came true over ${runs.length} runs.${more}`));
  }
  // What came true until it was cut short might not have come true at its end.
  const isCut = runs.some((run) => run.interrupted !== null);
  const [kind, word] = failed.length > 0 ? [".failed", "FAILED"] : isCut ? [".doubtful", "CUT SHORT"] : ["", "PASSED"];
  const card = element(`section.verdict${kind}`);
  card.setAttribute("aria-label", "Verdict");
  card.append(element("div.word", word), list);
  return card;
}

/** @param {string} kind @param {string} title @param {string} text */
function banner(kind, title, text) {
  const made = element(`div.banner${kind}`, element("strong", title), ` ${text}`);
  made.setAttribute("role", "note");
  return made;
}

/** What makes the numbers doubtful. @param {Run} run @param {boolean} isOne */
function runBanners(run, isOne) {
  const name = isOne ? "" : ` (${run.label})`;
  const banners = [];
  if (run.interrupted !== null) {
    banners.push(banner(".bad", `Interrupted${name}:`, `${run.interrupted}. What is shown is what was measured until then.`));
  }
  if (run.summary.bottleneck !== null) {
    banners.push(banner("", `The generator was the bottleneck${name}:`, `${run.summary.bottleneck}. These numbers say more about it than about the broker.`));
  }
  return banners;
}

/** @param {Results} results @param {Run} run */
function keyNumbers(results, run) {
  const { summary } = run;
  const { counts, latencies } = summary;
  const seconds = summary.duration_s;
  const rate = (/** @type {number} */ count) => (seconds > 0 ? `${formatNumber(count / seconds)}` : "–");
  const box = element("section.numbers");
  box.setAttribute("aria-label", "Key numbers");

  const sizes = counts.published > 0 ? `${formatBytes(counts.published_bytes / counts.published)} a message, ` : "";
  box.append(
    numberCard(
      "Messages a second",
      [
        counts.published > 0 && { label: "published", value: rate(counts.published) },
        counts.confirmed > 0 && { label: "confirmed", value: rate(counts.confirmed) },
        counts.consumed > 0 && { label: "consumed", value: rate(counts.consumed) },
      ],
      `${sizes}over ${formatDuration(seconds)}`,
    ),
  );
  box.append(...latencyCards(latencies));

  const { total, is_complete, incomplete_because } = summary.sequence;
  const mishap = (/** @type {string} */ label, /** @type {number} */ count) => ({ label, value: formatNumber(count), mood: count > 0 ? "bad" : "good" });
  const found = [mishap("lost", total.lost), mishap("duplicate", total.duplicate), mishap("out of order", total.out_of_order)];
  const others = [
    ["redelivered", counts.redelivered],
    ["refused", counts.nacked],
    ["returned", counts.returned],
  ].filter(([, count]) => Number(count) > 0);
  const rest = others.map(([label, count]) => `${formatNumber(Number(count))} ${label}`).join(", ");
  if (is_complete || total.lost + total.duplicate + total.out_of_order > 0) {
    box.append(numberCard("Messages that went astray", found, rest || "every publisher's sequence was followed"));
  } else {
    box.append(numberCard("Messages that went astray", [{ label: "could not be followed", value: "?" }], [rest, incomplete_because].filter(Boolean).join("; ")));
  }
  box.append(brokerCard(run));
  box.append(generatorCard(results, run));
  return box;
}

/** @param {Summary["latencies"]} latencies */
function latencyCards(latencies) {
  /** @type {[string, Distribution | null, string][]} */
  const kinds = [
    ["Consumer latency", latencies.consumer, "from when a message was due until a consumer had it"],
    ["Confirm latency", latencies.confirm, "from when a message was due until it was confirmed"],
  ];
  return kinds.map(([title, distribution, note]) => {
    if (distribution === null) return numberCard(title, [{ label: "not measured", value: "–" }], note);
    const { p50_ns, p99_ns, max_ns } = distribution.percentiles;
    return numberCard(
      title,
      [
        { label: "median", value: formatTime(p50_ns) },
        { label: "p99", value: formatTime(p99_ns) },
        { label: "max", value: formatTime(max_ns) },
      ],
      note,
    );
  });
}

/** Messages through the broker for each second of its CPU; what was consumed, where anybody consumed. @param {Summary} summary */
function messagesPerCpuSecond(summary) {
  const cpu = summary.broker?.usage.cpu_s;
  const messages = summary.counts.consumed || summary.counts.published;
  return cpu ? messages / cpu : null;
}

/** @param {Run} run */
function brokerCard(run) {
  const { summary } = run;
  const usage = summary.broker?.usage;
  if (!usage) return numberCard("Broker", [{ label: "was not watched", value: "–" }], "its CPU and memory are known when it runs on this machine, or an agent does on its");
  const perCpu = messagesPerCpuSecond(summary);
  return numberCard(
    "Broker",
    [
      perCpu !== null && { label: "messages a CPU second", value: formatNumber(perCpu) },
      usage.memory !== null && { label: "memory, at most", value: formatBytes(usage.memory) },
    ],
    usage.cpu_s !== null && summary.duration_s > 0 ? `${formatNumber(usage.cpu_s / summary.duration_s)} CPUs busy on average` : "",
  );
}

/** The share of its machines' processors that the generator itself took. @param {Results} results @param {Run} run */
function generatorShare(results, run) {
  const cpu = run.summary.generator.cpu_s;
  // Older results have none: without agents the machine's are meant.
  const processors = results.generator_processors || results.machine.processors;
  const most = run.summary.duration_s * processors;
  return cpu === null || most <= 0 ? null : cpu / most;
}

/** @param {Results} results @param {Run} run */
function generatorCard(results, run) {
  const share = generatorShare(results, run);
  const isBottleneck = run.summary.bottleneck !== null;
  const memory = run.summary.generator.memory;
  const card = numberCard(
    "The generator itself",
    [share !== null && { label: results.agents.length > 0 ? "of the agents' CPU" : "of this machine's CPU", value: formatPercent(share), mood: isBottleneck ? "bad" : undefined }, memory !== null && { label: "memory", value: formatBytes(memory) }],
    isBottleneck ? "it was the bottleneck: see above" : "it was not the bottleneck",
  );
  if (isBottleneck) card.querySelector("p")?.classList.add("warn");
  return card;
}

/**
 * @param {string} title
 * @param {({ label: string, value: string, mood?: string } | false)[]} numbers
 * @param {string} note
 */
function numberCard(title, numbers, note) {
  const list = element("dl");
  for (const number of numbers) {
    if (number === false) continue;
    const value = element(number.mood ? `dd.${number.mood}` : "dd");
    // The unit is smaller than the number, for it is the number that people look for.
    const unit = /^(.*\d) ([^\d]+)$/.exec(number.value);
    value.append(...(unit ? [unit[1], element("small", ` ${unit[2]}`)] : [number.value]));
    list.append(element("div", element("dt", number.label), value));
  }
  return element("div.card", element("h3", title), list, note ? element("p", note) : null);
}
