//! What the store needs from the owner of the queues: the messages that are still alive, and a receiver for their new places.

use model::ids::{Place, QueueId, QueueSeq, SegmentId};
use queue::{Counts, Load, MovedMessage, PagedRange, PlacedMessage};

use crate::Content;
use crate::segment::ReadError;

/// The owner of the queues. All of it is called on the store's own threads. Of the store's locks they hold at most the one that keeps
/// checkpoints and moves apart, which nothing takes that may be called from here: appending, settling slots, asking for loads.
pub trait QueueOwner: Send + Sync {
    /// Gives every message that is in memory, in no segment, and old (as `queue::Queue::in_memory` does), and the state of every
    /// durable queue, idle ones too.
    ///
    /// Visits the lock of every shard once, also where nothing is old: whatever was appended before this was called, its
    /// slots are settled when it returns. Locks may be released from one queue to the next.
    fn collect(&self, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents);

    /// These messages of one queue and lane, by rising seq, are in a segment now. Under the lock of the queue's shard: notify
    /// the queue, and settle the slots of deleted ones before the lock is released. Of an unknown queue all are deleted.
    fn relocate(&self, queue: QueueId, lane: u8, placed: &[PlacedMessage]);

    /// The answer to [`Store::load`](crate::Store::load).
    fn loaded(&self, queue: QueueId, loaded: LoadAnswer);

    /// Memory is short, and nothing is left to be moved to segments. Lets go of what was read ahead (`queue::Queue::unload`), at least
    /// in queues that no consumer takes from just now.
    fn unload(&self) {}

    /// What was alive of this queue in the segments `from` has been copied elsewhere; `moved` is all of it, by rising seq. Under
    /// the lock of the queue's shard: notify the queue, and settle the new slots of deleted ones before the lock is released. Of an unknown
    /// queue all are deleted.
    fn moved(&self, queue: QueueId, from: &[SegmentId], moved: &[MovedMessage]);
}

/// What [`QueueOwner::collect`] gathers.
#[derive(Debug, Default)]
pub struct CollectedResidents {
    /// Every durable queue.
    pub queues: Vec<QueueState>,
    /// The old messages.
    pub lanes: Vec<LaneResidents>,
    /// What is known of messages that last and have come back, wherever they are.
    pub returned: Vec<(QueueId, QueueSeq, Returns)>,
}

/// What is known of a message that has come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Returns {
    /// How often that has happened.
    pub counts: Counts,
    /// Until when it waits, in milliseconds since 1970; 0: not at all.
    pub waits_until_ms: u64,
}

/// What must be known of a durable queue besides its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// Which queue.
    pub queue: QueueId,
    /// The seq of the next message.
    pub next_seq: QueueSeq,
    /// No message above has been delivered; `None` if any may have been.
    pub watermark: Option<QueueSeq>,
    /// Whether some message may have a time to live of its own.
    pub may_expire: bool,
}

/// Messages of one queue and lane.
#[derive(Debug, Clone)]
pub struct LaneResidents {
    /// Which queue.
    pub queue: QueueId,
    /// Which lane of it: a number of the queue's own, the messages' priority. Messages that last and others are never in one.
    pub lane: u8,
    /// Whether the messages last.
    pub is_journaled: bool,
    /// By rising seq.
    pub residents: Vec<Resident>,
}

/// A message in memory.
#[derive(Debug, Clone)]
pub struct Resident {
    /// Its position in the queue.
    pub seq: QueueSeq,
    /// What is to be written.
    pub content: Content,
    /// What the queue counts for it.
    pub body_len: u32,
}

/// What was read from a segment.
#[derive(Debug)]
pub struct LoadAnswer {
    /// What was asked for.
    pub load: Load,
    /// The messages in `[load.first_slot, next_slot)` that are not settled, by slot.
    pub entries: Vec<LoadedMessage>,
    /// How far it came. `load.first_slot` if nothing could be read now, or the messages have been moved meanwhile: ask again.
    pub next_slot: u32,
    /// Runs `(first, end)` of slots before `next_slot` that cannot be read and are not settled: those messages are lost to their queues,
    /// though not deleted.
    pub lost: Vec<(u32, u32)>,
    /// What went wrong: with the first of `lost`, or if nothing could be read now. The latter is reported once for a segment.
    pub error: Option<ReadError>,
}

/// A message read from a segment.
#[derive(Debug, Clone)]
pub struct LoadedMessage {
    /// Its position in the queue.
    pub seq: QueueSeq,
    /// Where it lies.
    pub place: Place,
    /// What the queue counts for it.
    pub body_len: u32,
    /// What was written.
    pub content: Content,
}

/// A queue's messages in one segment, after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveredRange {
    /// Which lane of the queue.
    pub lane: u8,
    /// Where they are; count and bytes leave out what is settled.
    pub range: PagedRange,
}
