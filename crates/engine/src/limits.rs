//! Every number of the data path that a reviewer would ask about.

/// Bytes of deliveries that may wait for a connection's task before queues stop handing it messages.
pub const OUTBOX_WINDOW_LEN: i64 = 1 << 20;

/// Direct replies, which no queue holds back, may overdraw the window by this much; more are dropped.
pub const OUTBOX_OVERDRAFT_LEN: i64 = 16 << 20;

/// What a delivery counts in the window besides its content: it bounds how many tiny messages wait.
pub(crate) const DELIVERY_OVERHEAD_LEN: i64 = 16;

/// Publishes and acknowledgements of one read that are brought to their queues together, at most.
pub const BATCH_COUNT: usize = 1024;

/// Sets of queues under one lock each. More than processors, so that two busy queues rarely share one.
pub(crate) const SHARD_COUNT: usize = 32;
const _: () = assert!(SHARD_COUNT.is_power_of_two() && SHARD_COUNT <= 64, "a batch keeps its shards in a u64");

/// Keys of messages that a queue or an exchange remembers, whatever it was declared with. In memory and in checkpoints each takes about a
/// quarter of a KiB. Beyond it the oldest is forgotten.
pub(crate) const KEY_COUNT_MAX: u64 = 1_000_000;

/// Those of an exchange that names neither a number nor a time: as LavinMQ has it.
pub(crate) const KEYS_OF_EXCHANGE_DEFAULT: u64 = 128;

/// So long after a key has expired it is looked after: not for every single one.
pub(crate) const EXPIRED_KEYS_LOOK_MS: u64 = 1000;

/// Expired keys that are forgotten under one lock.
pub(crate) const KEYS_FORGOTTEN_MAX: usize = 1024;

/// Records of keys that no longer count which are removed in one batch of the journal.
pub(crate) const KEYS_SWEPT_COUNT: usize = 4096;

/// Objects besides the node and its vhosts of which a history is kept. Each takes up to 20 KiB as samples are usually kept.
pub const HISTORY_COUNT_MAX: usize = 2048;

/// Lists begin histories up to here: the rest is for requests that look at one object.
pub const HISTORY_COUNT_OF_LISTS_MAX: usize = 1024;

/// Objects that change get a history before any request looks at them, up to here: where there are few, charts begin before they are
/// shown.
pub const HISTORY_COUNT_UNASKED_MAX: usize = 512;

/// Where there is no room for another history, those go that have not been asked for for so long.
pub(crate) const HISTORY_UNASKED_MS: u64 = 60_000;

/// Messages of one queue, or on their way to one connection, that are timed at once.
pub const PROBE_COUNT: usize = 4;

/// Queues that are watched at once. Each takes about 20 KiB.
pub const WATCHED_QUEUE_COUNT_MAX: usize = 64;

/// Exchanges of which a queue knows how much comes from them.
pub(crate) const QUEUE_EDGE_COUNT_MAX: usize = 256;

/// Sections in which one thread republishes dead letters before it returns to its own work. What is left is due at once, on the timers'
/// thread, which serves others in between.
pub(crate) const TURN_BATCH_COUNT: usize = 256;

/// The same in messages: so that the last section may have as many as fit into it.
pub(crate) const TURN_MESSAGE_COUNT: usize = 4_096;

/// The same in bytes.
pub(crate) const TURN_LEN: u64 = 8 << 20;
