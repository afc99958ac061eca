// Kinds of alert rules: what each counts, in which unit, and what a rule of it can say.

/**
 * @typedef {object} AlertKind
 * @property {string} id
 * @property {string} title
 * @property {string} about what is counted
 * @property {import("../parts/figure.js").Unit} [unit] of the threshold; absent: there is none
 * @property {string} [per] what stands after the value
 * @property {number} [usual] the threshold of a rule that does not say one; absent: it has to
 * @property {boolean} [isOfQueues]
 * @property {boolean} [hasWindow]
 */

/** @type {AlertKind[]} */
export const ALERT_KINDS = [
  { id: "queue-length", title: "A queue is long", about: "ready messages of a queue", unit: "messages", per: "messages", isOfQueues: true },
  { id: "no-consumers", title: "A queue has no consumers", about: "ready messages of a queue without consumers", unit: "messages", per: "messages", usual: 0, isOfQueues: true },
  { id: "oldest-age", title: "A message waits for long", about: "the age of a queue's oldest ready message, in seconds", unit: "s", isOfQueues: true },
  { id: "growth", title: "A queue grows", about: "by how many ready messages a second a queue has grown, over the window", unit: "rate", isOfQueues: true, hasWindow: true },
  { id: "memory-alarm", title: "Memory alarm", about: "fires while memory runs short and publishers are blocked" },
  { id: "disk-alarm", title: "Disk alarm", about: "fires while the disk runs short and publishers are blocked" },
  { id: "data-loss", title: "Data loss", about: "fires while messages were lost to damaged files, and no operator has acknowledged it" },
  { id: "cluster", title: "Cluster", about: "what is out of order among the nodes: one does not run, does not answer, is behind, or has another time", unit: "count", per: "troubles", usual: 0 },
  { id: "flow", title: "Flow control", about: "connections in flow control, in percent of all", unit: "percent", usual: 0 },
  { id: "lock-outs", title: "Lock-outs", about: "how often a user or an address was locked out, within the window", unit: "count", per: "times", usual: 0, hasWindow: true },
  { id: "connections", title: "Many connections", about: "open connections, in percent of the limit", unit: "percent" },
  { id: "unroutable", title: "Unroutable messages", about: "messages that reached no queue, a minute, over the window", unit: "count", per: "a minute", hasWindow: true },
];

/** @param {string} id */
export const kindOf = (id) => ALERT_KINDS.find((kind) => kind.id === id);

/** Milliseconds, as one writes them: 90s, 5m, 1h. @param {unknown} ms */
export function durationText(ms) {
  if (typeof ms !== "number" || ms === 0) return "";
  for (const [unit, len] of /** @type {[string, number][]} */ ([["h", 3_600_000], ["m", 60_000], ["s", 1000]])) if (ms % len === 0) return `${ms / len}${unit}`;
  return `${ms}ms`;
}

/** How bad it is, as a badge has it. @type {Record<string, string>} */
export const SEVERITY = { info: "", warning: "warn", critical: "bad" };
