//! The numbers by which crates name queues, messages and places in files. Each says what it counts.
//!
//! None of these is ever reused, so a stale one names nothing rather than something else.

use std::fmt;

/// A queue, for as long as the data directory lives. Ids of deleted queues are never given out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u64);

/// A message's position in one queue: the first message ever published to it has 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueSeq(pub u64);

impl QueueSeq {
    /// The position of a queue's first message.
    pub const FIRST: QueueSeq = QueueSeq(1);

    /// The position after this one.
    #[must_use]
    pub const fn next(self) -> QueueSeq {
        QueueSeq(self.0 + 1)
    }
}

/// A byte position in the node's one journal, counted from its creation over all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JournalPosition(pub u64);

impl JournalPosition {
    /// Where the journal begins.
    pub const START: JournalPosition = JournalPosition(0);
    /// Later than every record.
    pub const MAX: JournalPosition = JournalPosition(u64::MAX);
}

/// A file of messages that outlived their journal file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u32);

impl SegmentId {
    /// Set in the ids of segments that a start deletes unread.
    pub const TRANSIENT_BIT: u32 = 1 << 31;

    /// The id of the transient segment with this number.
    ///
    /// # Panics
    /// If `number` does not fit below the transient bit: two thousand million segments of one node.
    #[must_use]
    pub const fn transient(number: u32) -> SegmentId {
        assert!(number & Self::TRANSIENT_BIT == 0, "segment numbers fit in 31 bits");
        SegmentId(number | Self::TRANSIENT_BIT)
    }

    /// Whether the segment holds messages that need not survive a restart.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        self.0 & Self::TRANSIENT_BIT != 0
    }

    /// The id without the transient bit.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0 & !Self::TRANSIENT_BIT
    }
}

/// Where a message lies in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file.
    pub segment: SegmentId,
    /// The message's index in the file, from 0; also its bit in the segment's ack bitmap.
    pub slot: u32,
}

macro_rules! display_as_number {
    ($($id:ty),*) => {$(
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

display_as_number!(QueueId, QueueSeq, JournalPosition);

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_transient() { write!(f, "t{}", self.number()) } else { self.0.fmt(f) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.segment, self.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_segments_are_told_by_their_high_bit() {
        assert!(SegmentId::transient(7).is_transient());
        assert_eq!(SegmentId::transient(7).number(), 7);
        assert!(!SegmentId(7).is_transient());
    }

    #[test]
    fn places_sort_by_segment_then_slot() {
        let place = |segment, slot| Place { segment: SegmentId(segment), slot };
        assert!(place(1, 9) < place(2, 0));
        assert!(place(2, 0) < place(2, 1));
    }

    #[test]
    fn a_place_prints_segment_and_slot() {
        assert_eq!(Place { segment: SegmentId::transient(3), slot: 8 }.to_string(), "t3:8");
        assert_eq!(Place { segment: SegmentId(3), slot: 8 }.to_string(), "3:8");
    }
}
