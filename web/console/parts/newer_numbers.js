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
 * Samples with those of an earlier answer that the later one has not any more: another node that has become the leader knows nothing of before.
 * @param {Samples} before @param {Samples} now @returns {Samples}
 */
function withEarlier(before, now) {
  const step = (/** @type {Samples} */ samples) => (samples[0]?.timestamp ?? 0) - (samples[1]?.timestamp ?? 0);
  const [last, newest, oldest] = [before[0], now[0], now.at(-1)];
  if (!last || !newest || !oldest || (now.length > 1 && step(before) !== step(now))) return now;
  const span = last.timestamp - (before.at(-1)?.timestamp ?? 0);
  return [...now, ...before.filter(({ timestamp }) => timestamp < oldest.timestamp && timestamp >= newest.timestamp - span)];
}

/** An answer, with the histories of the one before where its own begin later. @param {any} before @param {any} answer @returns {any} */
export function withHistories(before, answer) {
  if (!isTable(before) || !isTable(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => {
    if (name === "samples" && Array.isArray(value) && Array.isArray(before.samples)) return [name, withEarlier(before.samples, value)];
    return [name, isTable(value) ? withHistories(before[name], value) : value];
  }));
}
