"use strict";
// What happened when: a chart for each thing that was sampled, over the time of the run.

/** @param {Run} run @param {string} subtitle */
function timelineCharts(run, subtitle) {
  const { samples } = run;
  if (samples.length === 0) return [];
  const base = {
    x: { label: "time since the start", values: samples.map((sample) => sample.end_s), unit: UNITS.clock },
    phases: run.phases,
    sync: "time",
    subtitle,
  };
  /** @param {(sample: Sample) => number | null | undefined} value @returns {(number | null)[]} */
  const each = (value) => samples.map((sample) => value(sample) ?? null);
  /** @param {(sample: Sample) => number | null | undefined} value */
  const perSecond = (value) => each((sample) => divide(value(sample), sample.duration_s));
  /** @param {string} title @param {string} note @param {Unit} unit @param {Line[]} lines @param {Partial<ChartSpec>} [more] */
  const make = (title, note, unit, lines, more) => {
    const filled = lines.filter((line) => line.values.some((value) => value !== null && value !== 0));
    return filled.length > 0 ? chart({ ...base, title, note, unit, lines: filled, ...more }) : null;
  };

  const rates = make(
    "Rates",
    "Messages a second.",
    UNITS.rate,
    [
      { label: "published", colour: 1, width: 4, values: perSecond((sample) => sample.counts.published) },
      { label: "confirmed", colour: 2, values: perSecond((sample) => sample.counts.confirmed), dashed: true },
      { label: "consumed", colour: 3, values: perSecond((sample) => sample.counts.consumed) },
      { label: "returned or refused", colour: 4, values: perSecond((sample) => sample.counts.returned + sample.counts.nacked) },
    ],
    { wide: true },
  );
  const latency = (/** @type {string} */ title, /** @type {string} */ note, /** @type {(sample: Sample) => Percentiles | null | undefined} */ of) => {
    const lines = percentileLines((pick) => each((sample) => (of(sample) ? pick(/** @type {Percentiles} */ (of(sample))) : null)));
    return make(title, note, UNITS.time, lines, { scale: spread(lines) > 30 ? "log" : "linear" });
  };
  const probes = [...new Set(samples.flatMap((sample) => Object.keys(sample.probes)))].sort();
  return [
    rates,
    latency("Consumer latency", "From when a message was due until a consumer had it.", (sample) => sample.consumer_latency),
    latency("Confirm latency", "From when a message was due until it was confirmed.", (sample) => sample.confirm_latency),
    make("Backlog", "Messages that are published and not yet consumed; what the broker says where it is asked.", UNITS.count, [
      { label: "published, not consumed", colour: 1, values: each((sample) => sample.backlog) },
      { label: "ready", colour: 3, values: each((sample) => sample.broker?.ready) },
      { label: "unacked", colour: 4, values: each((sample) => sample.broker?.unacked) },
    ]),
    latency("Lateness of the generator", "How long after it was due a message was sent. Large: a full confirm window, a blocked connection or the generator held it back.", (sample) => sample.lateness),
    make("CPU", "Processors busy on average.", UNITS.cores, [
      { label: "broker", colour: 2, values: perSecond((sample) => sample.broker?.usage.cpu_s) },
      { label: "generator", colour: 7, values: perSecond((sample) => sample.generator.cpu_s), dashed: true },
    ]),
    make("Memory", "Resident, at the end of each interval.", UNITS.bytes, [
      { label: "broker", colour: 2, values: each((sample) => sample.broker?.usage.memory) },
      { label: "generator", colour: 7, values: each((sample) => sample.generator.memory), dashed: true },
    ]),
    make("Disk of the broker", "Bytes a second, as the system counts them: whole pages, each time they are written.", UNITS.byteRate, [
      { label: "written", colour: 4, values: perSecond((sample) => sample.broker?.usage.disk_written) },
      { label: "read", colour: 6, values: perSecond((sample) => sample.broker?.usage.disk_read) },
    ]),
    make("Network of the broker", "Bytes a second, of all that shares its network.", UNITS.byteRate, [
      { label: "in", colour: 1, values: perSecond((sample) => sample.broker?.usage.network_in) },
      { label: "out", colour: 3, values: perSecond((sample) => sample.broker?.usage.network_out) },
    ]),
    make("Sockets of the generator", "Bytes a second, with the protocol's own.", UNITS.byteRate, [
      { label: "sent", colour: 1, values: perSecond((sample) => sample.counts.sent_wire_bytes) },
      { label: "received", colour: 3, values: perSecond((sample) => sample.counts.received_wire_bytes) },
    ]),
    ...probes.map((name) => latency(`Probe ${name}`, "How long its answers took.", (sample) => sample.probes[name])),
    make("Connections", "Open, and blocked by the broker.", UNITS.count, [
      { label: "open", colour: 1, values: each((sample) => sample.connections) },
      { label: "blocked", colour: 4, values: each((sample) => sample.blocked) },
      { label: "simulated users", colour: 5, values: each((sample) => sample.users) },
    ]),
    make("Coming and going", "A second.", UNITS.rate, [
      { label: "connections lost", colour: 4, values: perSecond((sample) => sample.counts.connections_lost) },
      { label: "made and removed", colour: 5, values: perSecond((sample) => sample.counts.churned) },
      { label: "scripts done", colour: 3, values: perSecond((sample) => sample.counts.scripts_done) },
      { label: "scripts failed", colour: 2, values: perSecond((sample) => sample.counts.scripts_failed), dashed: true },
      { label: "requests failed", colour: 8, values: perSecond((sample) => sample.counts.requests_failed), dashed: true },
    ]),
  ].filter((made) => made !== null);
}

/** @param {number | null | undefined} value @param {number} seconds */
function divide(value, seconds) {
  return value === null || value === undefined || seconds <= 0 ? null : value / seconds;
}

/** @param {(pick: (percentiles: Percentiles) => number) => (number | null)[]} each @returns {Line[]} */
function percentileLines(each) {
  return [
    { label: "median", colour: 1, values: each((percentiles) => percentiles.p50_ns) },
    { label: "p99", colour: 2, values: each((percentiles) => percentiles.p99_ns) },
    { label: "p99.9", colour: 5, values: each((percentiles) => percentiles.p999_ns), dashed: true },
    { label: "max", colour: 4, values: each((percentiles) => percentiles.max_ns) },
  ];
}

/** How many times the largest value is the smallest. @param {Line[]} lines */
function spread(lines) {
  let [low, high] = [Infinity, 0];
  for (const value of lines.flatMap((line) => line.values)) {
    if (value === null || value <= 0) continue;
    [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return high > 0 ? high / low : 1;
}
