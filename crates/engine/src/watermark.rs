//! How far a durable queue has been delivered, as the journal knows it: what came back after a crash is marked redelivered by this.
//!
//! A queue journals no mark per delivery. Its watermark is *closed* (nothing above it has been delivered) or *open* (anything may have
//! been). It is opened before the first delivery beyond a closed mark, and such deliveries wait in their outboxes until that record is
//! durable. It is closed again when the queue's backlog has rested for a while, and at a clean stop.
//!
//! **Invariant: no message above a closed mark has been handed out.** The mark is changed here alone, by a caller that holds the shard's
//! lock and journals the change under it ([`crate::maintenance`], [`crate::dispatch`]).

use model::ids::QueueSeq;

use crate::position::Position;

/// A queue's watermark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    mark: Mark,
    /// What had been delivered when it was last looked at whether the queue rests.
    delivered_then: QueueSeq,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The queue is not durable: nothing is journaled.
    None,
    /// Nothing above has been delivered.
    Closed(QueueSeq),
    /// Anything may have been delivered, once the journal is durable up to here. None: it is open since before the start.
    Open(Option<Position>),
}

impl Watermark {
    /// Of a queue that is not durable.
    pub const NONE: Watermark = Watermark { mark: Mark::None, delivered_then: QueueSeq(0) };

    /// Nothing above `seq` has been delivered.
    #[must_use]
    pub const fn closed_at(seq: QueueSeq) -> Self {
        Self { mark: Mark::Closed(seq), delivered_then: QueueSeq(0) }
    }

    /// As a start finds it: closed at a mark, or open.
    #[must_use]
    pub const fn recovered(mark: Option<QueueSeq>) -> Self {
        match mark {
            Some(seq) => Self::closed_at(seq),
            None => Watermark { mark: Mark::Open(None), delivered_then: QueueSeq(0) },
        }
    }

    /// The mark that a checkpoint keeps: `None` where anything may have been delivered.
    #[must_use]
    pub(crate) fn closed_mark(&self) -> Option<QueueSeq> {
        match self.mark {
            Mark::Closed(seq) => Some(seq),
            Mark::None | Mark::Open(_) => None,
        }
    }

    /// Until where the journal must be durable before what has been delivered, up to `last_delivered`, may leave. `None`: nothing has to
    /// wait. `open` journals that the mark is open, where it is closed below, and says where.
    pub(crate) fn cover(&mut self, last_delivered: QueueSeq, open: impl FnOnce() -> Position) -> Option<Position> {
        match self.mark {
            Mark::None => None,
            Mark::Closed(mark) if last_delivered <= mark => None,
            Mark::Closed(_) => Some(self.open(open)),
            Mark::Open(position) => position,
        }
    }

    /// Opens a closed mark ahead of time. Says whether it was closed.
    pub(crate) fn preopen(&mut self, open: impl FnOnce() -> Position) -> bool {
        let is_closed = matches!(self.mark, Mark::Closed(_));
        if is_closed {
            self.open(open);
        }
        is_closed
    }

    fn open(&mut self, open: impl FnOnce() -> Position) -> Position {
        let position = open();
        self.mark = Mark::Open(Some(position));
        position
    }

    /// Whether anything may have been delivered.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.mark, Mark::Open(_))
    }

    /// Whether nothing has been delivered since this was asked last.
    pub(crate) fn is_at_rest(&mut self, last_delivered: QueueSeq) -> bool {
        std::mem::replace(&mut self.delivered_then, last_delivered) == last_delivered
    }

    /// Closes it at what has been delivered. The caller journals that before anything else is delivered.
    pub(crate) fn close(&mut self, last_delivered: QueueSeq) {
        self.mark = Mark::Closed(last_delivered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::StoreNumber;

    fn at(at: u64) -> Position {
        Position::new(StoreNumber::ONLY, at)
    }

    #[test]
    fn deliveries_beyond_a_closed_mark_wait_for_its_opening() {
        let mut watermark = Watermark::closed_at(QueueSeq(5));
        let never = || panic!("nothing is to be journalled");
        assert_eq!(watermark.cover(QueueSeq(5), never), None);
        assert_eq!(watermark.closed_mark(), Some(QueueSeq(5)));
        assert_eq!(watermark.cover(QueueSeq(6), || at(70)), Some(at(70)));
        assert!(watermark.is_open() && watermark.closed_mark().is_none());
        // Later ones wait for the same record.
        assert_eq!(watermark.cover(QueueSeq(900), never), Some(at(70)));
        watermark.close(QueueSeq(900));
        assert_eq!(watermark.cover(QueueSeq(900), never), None);
        assert!(watermark.preopen(|| at(99)) && !watermark.preopen(never));
    }

    #[test]
    fn a_queue_that_is_not_durable_journals_nothing() {
        let mut watermark = Watermark::NONE;
        assert_eq!(watermark.cover(QueueSeq(7), || panic!("nothing is to be journalled")), None);
        assert!(!watermark.preopen(|| panic!("nothing is to be journalled")) && !watermark.is_open());
    }
}
