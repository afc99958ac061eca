//! What the queue needs to know of a message, and where messages lie in segments.

use std::num::NonZeroU64;

use model::ids::{Place, QueueSeq};

/// A message's handle: small, cheap to clone; the body is elsewhere.
pub trait Message: Clone {
    /// Bytes of the body, for counts and limits.
    fn len(&self) -> u32;

    /// Bytes that a delivery of it takes on its way to a consumer, for what bounds that. Asked only of a message with its body.
    fn delivered_len(&self) -> u32 {
        self.len()
    }

    /// Whether the body is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the message lasts: it has a journal record, and its segments survive a restart.
    fn is_journaled(&self) -> bool;

    /// Its priority in this queue: 0 where there are none.
    fn priority(&self) -> u8 {
        0
    }

    /// Whether it has a time to live of its own. Answered without its body.
    fn has_ttl(&self) -> bool {
        false
    }

    /// Its own time to live, in milliseconds. Asked only of a message with its body.
    fn ttl_ms(&self) -> Option<u64> {
        None
    }

    /// When it entered the queue, in milliseconds since 1970. Asked only of a message with its body.
    fn entered_at_ms(&self) -> u64 {
        0
    }

    /// Which group it is in: a hash of what its header of this name says, the same as long as the process lives. Asked only of a
    /// message with its body.
    fn group(&self, _header: &str) -> Option<NonZeroU64> {
        None
    }

    /// Its slot in a segment, once it has been written to one.
    fn place(&self) -> Option<Place>;

    /// It has been written to a segment, or moved to another.
    fn set_place(&mut self, place: Place);

    /// Lets go of the body if a segment has it ([`place`](Message::place)), to keep unacked messages small. After it
    /// [`has_body`](Message::has_body) may be false. The default keeps the body.
    fn release_body(&mut self) {}

    /// A handle for callers that only have to know where the message is: without the body if a segment has it.
    #[must_use]
    fn without_body(&self) -> Self {
        let mut handle = self.clone();
        if handle.place().is_some() {
            handle.release_body();
        }
        handle
    }

    /// Whether the message can be delivered as it is. One that cannot returns to its segment when it is requeued, and is loaded again.
    fn has_body(&self) -> bool {
        true
    }
}

/// A message that has been written to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedMessage {
    /// Which message.
    pub seq: QueueSeq,
    /// Where it lies now.
    pub place: Place,
}

/// A message that compaction has copied from one segment to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedMessage {
    /// Which message.
    pub seq: QueueSeq,
    /// Where it lay.
    pub from: Place,
    /// Where it lies now.
    pub to: Place,
    /// Bytes of its body.
    pub len: u32,
}
