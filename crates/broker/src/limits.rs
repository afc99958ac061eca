//! Every number of the broker that a reviewer would ask about.

use std::time::Duration;

/// Bytes of deliveries that may wait for a connection's task before queues stop handing it messages.
pub(crate) const OUTBOX_WINDOW_LEN: i64 = 1 << 20;

/// So many consumers leave a queue while it is locked: others are served before the next.
pub(crate) const LEAVING_COUNT_MAX: usize = 1024;

/// Direct replies, which no queue holds back, may overdraw the window by this much; more are dropped.
pub(crate) const OUTBOX_OVERDRAFT_LEN: i64 = 16 << 20;

/// What a delivery counts in the window besides its content: it bounds how many tiny messages wait.
pub(crate) const DELIVERY_OVERHEAD_LEN: i64 = 64;

/// A connection stops encoding deliveries when this much waits to be written, and stops reading at four times as much.
pub(crate) const OUTPUT_LEN: usize = 128 << 10;

/// How much one read may bring.
pub(crate) const READ_LEN: usize = 128 << 10;

/// A connection whose publishes outrun the consumers of its queues pauses for [`PACE`] after so many bytes. Else the processor would go
/// into taking messages in rather than handing them on, and a backlog would grow that has to be moved to disk and back.
pub(crate) const PACE_LEN: u64 = 64 << 10;

/// See [`PACE_LEN`]: so long for each connection that pauses at that time, so that fifty of them leave consumers as much as one does.
/// Consumers that are merely slow stop nobody.
pub(crate) const PACE: Duration = Duration::from_millis(1);

/// [`PACE`]s of one pause for one connection: what one read brings. A message of many megabytes is much more than consumers have in
/// memory at a time, and still only one.
pub(crate) const PAUSES_MAX: u32 = 4;

/// The longest pause.
pub(crate) const PACE_MAX: Duration = Duration::from_millis(100);

/// Publishes and acknowledgements of one read that are brought to their queues together, at most.
pub(crate) const BATCH_COUNT: usize = 1024;

/// Routes to more queues than this are not cached: finding them costs little beside filling them, and they would fill a connection's
/// memory.
pub(crate) const CACHED_TARGET_COUNT: usize = 64;

/// Sets of queues under one lock each. More than processors, so that two busy queues rarely share one.
pub(crate) const SHARD_COUNT: usize = 32;
const _: () = assert!(SHARD_COUNT.is_power_of_two() && SHARD_COUNT <= 64, "a batch keeps its shards in a u64");

/// How long a refused login waits before its connection is closed, where the client cannot be told (RabbitMQ: 1 s).
pub(crate) const REFUSED_LOGIN_DELAY: Duration = Duration::from_secs(1);

/// How long a client may take, at most, to say close-ok or to close its socket when it has been told so. RabbitMQ's.
pub(crate) const CLOSE_TIMEOUT_MAX: Duration = Duration::from_secs(30);

/// How long a client may take to end its direction when the server has ended the other one: it has read all that there is.
pub(crate) const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest body that any configuration may allow (RabbitMQ: 512 MiB).
pub(crate) const MESSAGE_LEN_MAX: u64 = 512 << 20;

/// Bytes of messages that a recent-history exchange keeps, whatever the count that it was declared with.
pub(crate) const HISTORY_LEN_MAX: usize = 16 << 20;

/// How often histories that have changed are recorded.
pub(crate) const HISTORY_INTERVAL: Duration = Duration::from_secs(5);

/// Keys of messages that a queue or an exchange remembers, whatever it was declared with. In memory and in checkpoints each takes about a
/// quarter of a KiB. Beyond it the oldest is forgotten.
pub(crate) const KEY_COUNT_MAX: u64 = 1_000_000;

/// Those of an exchange that names neither a number nor a time: as LavinMQ has it.
pub(crate) const KEYS_OF_EXCHANGE_DEFAULT: u64 = 128;

/// So long after a key has expired somebody looks after it: not for every single one.
pub(crate) const EXPIRED_KEYS_LOOK_MS: u64 = 1000;

/// Expired keys that are forgotten under one lock.
pub(crate) const KEYS_FORGOTTEN_MAX: usize = 1024;

/// Records of keys that do not count any more which are removed in one batch of the journal.
pub(crate) const KEYS_SWEPT_COUNT: usize = 4096;

/// Objects that somebody has looked at of which a history is kept. Each takes up to 20 KiB as samples are usually kept.
pub(crate) const HISTORY_COUNT_MAX: usize = 2048;

/// Lists begin histories up to here: the rest is for who looks at one object.
pub(crate) const HISTORY_COUNT_OF_LISTS_MAX: usize = 1024;

/// Where there is no room for another history, those go for which nobody has asked for so long.
pub(crate) const HISTORY_UNASKED_MS: u64 = 60_000;

/// Exchanges, and queues, of which a channel knows how much it publishes to them.
pub(crate) const CHANNEL_EDGE_COUNT_MAX: usize = 32;

/// Exchanges of which a queue knows how much comes from them.
pub(crate) const QUEUE_EDGE_COUNT_MAX: usize = 256;

/// How often memory and disk are looked at.
pub(crate) const ALARM_INTERVAL: Duration = Duration::from_secs(1);

/// How often queues that rest get their delivery watermark written.
pub(crate) const WATERMARK_INTERVAL: Duration = Duration::from_secs(5);

/// Events that wait for one who follows them.
pub(crate) const SUBSCRIPTION_EVENT_COUNT_MAX: usize = 1000;
/// Bytes of these.
pub(crate) const SUBSCRIPTION_LEN_MAX: usize = 1 << 20;
