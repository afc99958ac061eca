// Newer numbers over older ones: what only the older answer has stays, such as histories.

/** @param {unknown} value */
const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {any} answer @param {any} newer the same members, or some of them @returns {any} */
export function withNewer(answer, newer) {
  if (!answer || !newer) return answer;
  const merged = Object.entries(newer).map(([name, value]) => [name, isTable(value) && isTable(answer[name]) ? withNewer(answer[name], value) : value]);
  return { ...answer, ...Object.fromEntries(merged) };
}

/** @typedef {{ timestamp: number, sample: number }[]} Samples newest first */

/**
 * Samples with those of an earlier answer that the later one has not any more: another node that has become the leader knows nothing of before, or tells of zeros.
 * @param {Samples} before @param {Samples} now @param {number} spanMs how far back is asked for @returns {Samples}
 */
function withEarlier(before, now, spanMs) {
  // While leaders change there may be gaps.
  const step = (/** @type {Samples} */ samples) => Math.min(...samples.slice(1).map(({ timestamp }, index) => (samples[index]?.timestamp ?? 0) - timestamp));
  const [newest, oldest] = [now[0], now.at(-1)];
  if (!newest || !oldest) return before;
  if (now.length > 1 && before.length > 1 && step(before) !== step(now)) return now;
  const known = now.findLastIndex(({ sample }) => sample > 0);
  const earlier = new Map(before.map((one) => [one.timestamp, one]));
  return [...now.map((one, index) => (index > known ? (earlier.get(one.timestamp) ?? one) : one)), ...before.filter(({ timestamp }) => timestamp < oldest.timestamp && timestamp >= newest.timestamp - spanMs)];
}

/** The samples of numbers that an answer has not any more, of which nothing has been counted since. @param {any} before @returns {[string, any][]} */
const restingOf = (before) => Object.entries(before ?? {}).flatMap(([name, value]) => (name.endsWith("_details") && value?.samples ? [[name, { rate: 0, samples: value.samples }]] : []));

/** An answer, with the histories of the one before where its own begin later. @param {any} before @param {any} answer @param {number} spanMs @returns {any} */
export function withHistories(before, answer, spanMs) {
  if (!isTable(before) || !isTable(answer)) return answer;
  const resting = restingOf(before.message_stats).filter(([name]) => answer.message_stats?.[name] === undefined);
  if (resting.length > 0) answer = { ...answer, message_stats: { ...Object.fromEntries(resting), ...answer.message_stats } };
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => {
    if (name === "samples" && Array.isArray(value) && Array.isArray(before.samples)) return [name, withEarlier(before.samples, value, spanMs)];
    return [name, isTable(value) ? withHistories(before[name], value, spanMs) : value];
  }));
}
