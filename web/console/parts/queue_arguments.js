// Arguments of queues and exchanges, and what they do: offered where one is entered.

/** @type {[string, string][]} */
export const QUEUE_ARGUMENTS = [
  ["x-message-ttl", "how long a message may wait, in milliseconds"],
  ["x-expires", "after how long without use the queue is deleted, in milliseconds"],
  ["x-max-length", "how many messages may be ready"],
  ["x-max-length-bytes", "how many bytes of bodies may be ready"],
  ["x-overflow", "what happens when the queue is full: drop-head, reject-publish, reject-publish-dlx"],
  ["x-dead-letter-exchange", "where messages go that expire, are rejected, or exceed the length"],
  ["x-dead-letter-routing-key", "with which key"],
  ["x-single-active-consumer", "only one consumer at a time: true"],
  ["x-max-priority", "how many priorities there are"],
  ["x-delivery-limit", "after how many deliveries a message is given up (quorum)"],
  ["x-queue-type", "classic or quorum"],
];

/** @type {[string, string][]} */
export const EXCHANGE_ARGUMENTS = [
  ["alternate-exchange", "where messages go that reach no queue"],
  ["x-delayed-type", "how an exchange of the type x-delayed-message routes: direct, fanout, topic, headers"],
  ["x-delayed-exchange", "true: an exchange of any other type delays"],
  ["x-delayed-release-rate", "how many messages that are due it releases a second at most"],
  ["x-message-deduplication", "true: duplicates are dropped"],
  ["x-cache-size", "how many messages are remembered to find duplicates"],
  ["x-cache-ttl", "for how long, in milliseconds"],
  ["hash-header", "what x-consistent-hash hashes: the header of this name"],
  ["hash-property", "or message_id, correlation_id or timestamp"],
  ["x-recent-history-length", "how many messages x-recent-history keeps"],
];
