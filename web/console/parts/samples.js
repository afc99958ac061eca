// Histories as charts draw them.

/**
 * Samples as RabbitMQ's API has them, as a line: newest first become oldest first.
 * @param {{ samples?: { timestamp: number, sample: number }[] } | undefined} details
 */
export function samplesOf(details) {
  const samples = [...(details?.samples ?? [])].reverse();
  return { times: samples.map((sample) => sample.timestamp / 1000), values: samples.map((sample) => sample.sample) };
}

/** The same as rates between samples. @param {{ samples?: { timestamp: number, sample: number }[] } | undefined} details */
export function ratesOf(details) {
  const { times, values } = samplesOf(details);
  const rates = values.slice(1).map((value, index) => {
    const seconds = (times[index + 1] ?? 0) - (times[index] ?? 0);
    return seconds > 0 ? Math.max(0, value - (values[index] ?? 0)) / seconds : 0;
  });
  return { times: times.slice(1), values: rates };
}

/**
 * When the first of some numbers was more than zero, in seconds since 1970: before that there was nothing, or it is not known.
 * @param {({ samples?: { timestamp: number, sample: number }[] } | undefined)[]} counters
 */
function beginOf(counters) {
  const begun = counters.flatMap((details) => (details?.samples ?? []).findLast(({ sample }) => sample > 0)?.timestamp ?? []);
  return begun.length > 0 ? Math.min(...begun) / 1000 : -Infinity;
}

/**
 * The history of a number; where none has begun, its value now.
 * @param {any} object @param {string} name @param {number} at when the object was asked for
 */
export function historyOf(object, name, at) {
  const details = object[`${name}_details`];
  return details?.samples?.length === 0 && typeof object[name] === "number" ? { samples: [{ timestamp: at, sample: object[name] }] } : details;
}

/**
 * Lines over the same times, from histories that may differ in length by a sample. They begin where one of the numbers is first more than zero: zeros before
 * that may be of a time before the object existed.
 * @param {[string, { samples?: { timestamp: number, sample: number }[] } | undefined][]} histories
 * @param {typeof samplesOf} read samplesOf or ratesOf
 * @param {{ counters?: any, since?: string }} [known] counters of the same object: once one counts, the object exists; since: when an object that never did anything was made
 */
export function linesOf(histories, read, { counters = {}, since } = {}) {
  const all = histories.map(([label, details]) => ({ label, ...read(details) }));
  const longest = all.reduce((longest, { times }) => (times.length > longest.length ? times : longest), /** @type {number[]} */ ([]));
  const counted = /** @type {any[]} */ (Object.entries(counters).flatMap(([name, details]) => (name.endsWith("_details") ? [details] : [])));
  const first = beginOf([...histories.map(([, details]) => details), ...counted]);
  const begins = first === -Infinity && since !== undefined ? Date.parse(since) / 1000 : first;
  // Of a rate the sample before belongs to it.
  const times = longest.filter((time, index) => (read === ratesOf ? (longest[index + 1] ?? Infinity) : time) >= begins);
  const lines = all.filter((line) => line.times.length > 0).map(({ label, times: own, values }) => {
    const at = new Map(own.map((time, index) => [time, values[index] ?? null]));
    return { label, values: times.map((time) => at.get(time) ?? null) };
  });
  return { times, lines };
}
