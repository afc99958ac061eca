//! Every number a reviewer would ask about.

/// Entries in one block of a [`Fifo`](crate::fifo::Fifo): 4 KiB of them, so that a growing backlog never copies what it has.
pub(crate) const FIFO_BLOCK_LEN: usize = 128;

/// Entries whose space a drained fifo keeps: enough for a trickle to need no allocation, little enough for 100,000 idle queues.
pub(crate) const FIFO_KEPT_LEN: usize = 8;

/// Slots in one block of unacked messages.
pub(crate) const UNACKED_BLOCK_LEN: usize = 64;

/// Slots whose space an empty table of unacked messages keeps.
pub(crate) const UNACKED_KEPT_LEN: usize = 8;

/// Requeued messages that stay in memory although a segment has them too. Beyond it they go back to ranges.
pub(crate) const RETURNED_WITH_PLACE_MAX: usize = 1024;

/// Messages that a queue drops in one dispatch or for one get: others wait for its lock. The rest is due at once.
pub(crate) const DROPPED_COUNT_MAX: usize = 1024;

/// Messages that come back in one turn from consumers that held them for too long. The rest is due at once.
pub(crate) const TAKEN_BACK_COUNT_MAX: usize = 4096;

/// Messages whose wait is over that are ready again in one dispatch. The rest is due at once.
pub(crate) const ENDED_WAIT_COUNT_MAX: usize = 1024;

/// Slots between two ranges that are read at once: reading through them is cheaper than a second read.
pub(crate) const GAP_SLOTS_MAX: u32 = 64;

/// Unacked messages looked at to find out whether two ranges may be joined; beyond it they stay two.
pub(crate) const GAP_LOOKS_MAX: usize = 64;

/// Ranges of which a look at the queue knows, but for those that overlap where it begins.
pub(crate) const LOOK_RANGES_MAX: usize = 16;

/// The first load of a queue that has not been read for a while.
pub(crate) const LOAD_BYTES_MIN: u32 = 32 * 1024;

/// The load of a queue whose consumers are faster than the disk: doubled up to here each time that they had to wait.
pub(crate) const LOAD_BYTES_MAX: u32 = 1024 * 1024;

/// Messages of one priority that are passed over because their groups are held by consumers that can take no more. What is behind them
/// waits.
pub(crate) const PASSED_OVER_COUNT_MAX: usize = 1024;

/// Bytes in bodies of those of them that lie in segments, and are in memory for being looked at only.
pub(crate) const PASSED_OVER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Unacked messages for whose groups a table keeps its space when it is empty.
pub(crate) const GROUPS_KEPT_LEN: usize = 64;

/// What a message is taken to cost beside its body.
pub(crate) const MESSAGE_OVERHEAD: u64 = 64;

/// Ready bytes beyond which the consumers of a queue lag that would take more: more than is on its way to one connection at a time,
/// little enough to be still in the processor's caches.
pub(crate) const LAG_LEN: u64 = 2 << 20;

/// Publishes from one look to the next at the rate of acks.
pub(crate) const ACK_RATE_COUNT: u32 = 4096;

/// The rate of acks is high where consumers settle this part of what is published. Slower ones are slow anyway, and stop no publisher.
pub(crate) const ACK_RATE_SHARE: u32 = 16;

const _: () = assert!(FIFO_KEPT_LEN <= FIFO_BLOCK_LEN && UNACKED_KEPT_LEN <= UNACKED_BLOCK_LEN);
const _: () = assert!(LOAD_BYTES_MIN <= LOAD_BYTES_MAX);
