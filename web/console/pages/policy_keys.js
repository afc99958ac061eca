// What policies can set, and what it does: offered where a policy is written.

/**
 * @typedef {object} PolicyKey
 * @property {string} key
 * @property {string} about
 * @property {"number" | "text" | "boolean"} kind
 * @property {string[]} [options] values that there are
 * @property {boolean} [isOperators] operator policies can set it, too
 * @property {string} [of] what it is for, if not for all queues
 */

/** Keys that have an effect. @type {PolicyKey[]} */
export const POLICY_KEYS = [
  { key: "message-ttl", kind: "number", about: "how long a message may wait, in milliseconds", isOperators: true },
  { key: "expires", kind: "number", about: "after how many milliseconds without use the queue is deleted", isOperators: true },
  { key: "max-length", kind: "number", about: "how many messages may be ready", isOperators: true },
  { key: "max-length-bytes", kind: "number", about: "how many bytes of bodies may be ready", isOperators: true },
  { key: "overflow", kind: "text", about: "what happens when the queue is full", options: ["drop-head", "reject-publish", "reject-publish-dlx"], isOperators: true },
  { key: "dead-letter-exchange", kind: "text", about: "where messages go that expire, are rejected, or exceed the length; empty: the default exchange" },
  { key: "dead-letter-routing-key", kind: "text", about: "with which routing key they go there, if not with their own" },
  { key: "dead-letter-strategy", kind: "text", about: "whether a message is kept until it has arrived there", options: ["at-most-once", "at-least-once"], of: "quorum queues" },
  { key: "delivery-limit", kind: "number", about: "after how many failed deliveries a message is given up; negative: never", isOperators: true, of: "quorum queues" },
  { key: "consumer-timeout", kind: "number", about: "how many milliseconds a consumer may hold a message", of: "quorum queues" },
  { key: "delayed-retry-type", kind: "text", about: "which returned messages are delayed", options: ["disabled", "all", "failed", "returned"], isOperators: true, of: "quorum queues" },
  { key: "delayed-retry-min", kind: "number", about: "how many milliseconds they wait", isOperators: true, of: "quorum queues" },
  { key: "delayed-retry-max", kind: "number", about: "how many milliseconds they wait at most", isOperators: true, of: "quorum queues" },
  { key: "delayed-retry-backoff", kind: "text", about: "how the wait grows", options: ["linear", "exponential"], isOperators: true, of: "quorum queues" },
  { key: "message-group-header", kind: "text", about: "messages with the same value of this header go to one consumer at a time, in order" },
  { key: "alternate-exchange", kind: "text", about: "where messages go that reach no queue", of: "exchanges" },
  { key: "shards-per-node", kind: "number", about: "how many queues of its own the exchange has", of: "exchanges" },
  { key: "routing-key", kind: "text", about: "the routing key by which those are bound", of: "exchanges" },
  { key: "federation-upstream", kind: "text", about: "the upstream that feeds it", of: "exchanges and queues" },
  { key: "federation-upstream-set", kind: "text", about: "the set of upstreams that feed it; all: every upstream of the virtual host", of: "exchanges and queues" },
  { key: "federation-upstream-pattern", kind: "text", about: "a regular expression of names: the upstreams that feed it", of: "exchanges and queues" },
  { key: "message-deduplication", kind: "boolean", about: "whether a message that was there before is dropped", of: "queues and exchanges" },
  { key: "deduplication-header", kind: "text", about: "the header by which messages are the same", of: "queues and exchanges" },
  { key: "deduplication-replaces", kind: "boolean", about: "whether the newer message takes the older one's place", of: "queues" },
  { key: "cache-size", kind: "number", about: "how many keys are remembered", of: "queues and exchanges" },
  { key: "cache-ttl", kind: "number", about: "how many milliseconds a key is remembered", of: "queues and exchanges" },
  { key: "delayed-message", kind: "boolean", about: "whether the exchange delays messages", of: "exchanges" },
  { key: "delayed-release-rate", kind: "number", about: "how many delayed messages a second are released at most", of: "exchanges" },
];

/** @param {string} key */
export const aboutKey = (key) => POLICY_KEYS.find((one) => one.key === key)?.about;

/** What a policy applies to. @type {[string, string][]} */
export const APPLY_TO = [["all", "Exchanges and queues"], ["queues", "Queues"], ["classic_queues", "Classic queues"], ["quorum_queues", "Quorum queues"], ["exchanges", "Exchanges"]];

/** @param {string} id */
export const applyTitle = (id) => APPLY_TO.find(([one]) => one === id)?.[1] ?? id;
