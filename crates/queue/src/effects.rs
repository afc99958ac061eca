//! What follows from what happens to a queue, for its owner to carry out.

use model::ids::QueueSeq;

use crate::consumers::{ConsumerId, DrainedCredit};
use crate::lane::Load;

/// How often a message has come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// How often it has failed: what the delivery limit is about.
    pub delivery_count: u32,
    /// How often it has been handed out, but for the last time.
    pub acquired_count: u32,
}

/// One attempt to hand a message to a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<M> {
    /// The consumer that gets it.
    pub consumer: ConsumerId,
    /// Its position.
    pub seq: QueueSeq,
    /// The message.
    pub message: M,
    /// It may have been handed out before.
    pub redelivered: bool,
    /// It is settled by this; the queue knows nothing more of it.
    pub no_ack: bool,
    /// How often it has come back, where that is counted.
    pub counts: Counts,
}

/// Why a message leaves without an ack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// A consumer does not want it, and no other is to get it.
    Rejected,
    /// Its time is over.
    Expired,
    /// There were more messages than the queue may have.
    MaxLength,
    /// It has failed too often.
    DeliveryLimit,
}

/// A message that leaves the queue. It is lost, or set aside until it is settled: [`Rules::keeps_dropped`](crate::Rules::keeps_dropped).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedMessage<M> {
    /// Its position.
    pub seq: QueueSeq,
    /// The message, with its body where it is set aside.
    pub message: M,
    /// Why.
    pub reason: DropReason,
    /// How often it has come back, this time included if it has failed.
    pub counts: Counts,
}

/// A message that has come back, with what must be remembered of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReturnedMessage {
    /// Which message.
    pub seq: QueueSeq,
    /// How often that has happened.
    pub counts: Counts,
    /// Until when it waits, in milliseconds since 1970; 0: not at all.
    pub waits_until_ms: u64,
    /// Whether the message lasts, so that this does.
    pub is_journaled: bool,
}

/// Effects of one or more calls, in the order in which they came about. Reuse one: it keeps its memory.
#[derive(Debug)]
pub struct Effects<M> {
    /// What was handed to consumers.
    pub deliveries: Vec<Delivery<M>>,
    /// What leaves. What has to be read first comes when it has been read.
    pub dropped: Vec<DroppedMessage<M>>,
    /// All that has been set aside to leave, in the order in which it is to arrive elsewhere, whether or not it had to be read first. Empty
    /// where nothing that leaves is kept.
    pub leaving: Vec<QueueSeq>,
    /// What has come back.
    pub returned: Vec<ReturnedMessage>,
    /// What must be read from segments.
    pub loads: Vec<Load>,
    /// Drains that have ended, after the deliveries to these consumers.
    pub drained: Vec<DrainedCredit>,
}

impl<M> Default for Effects<M> {
    fn default() -> Self {
        Effects {
            deliveries: Vec::new(),
            dropped: Vec::new(),
            leaving: Vec::new(),
            returned: Vec::new(),
            loads: Vec::new(),
            drained: Vec::new(),
        }
    }
}
