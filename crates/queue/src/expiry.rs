//! When messages expire.
//!
//! A message's time begins when it enters the queue. Its own time to live is in its content; the queue's is not stored with it: what
//! was in force when it came is found by its seq. So expiry costs no memory, and changing the queue's time to live touches no
//! message.

use model::ids::QueueSeq;

use crate::message::Message;

/// The queue's times to live, each from the message on that came first under it. Milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TtlHistory {
    /// By rising seq; `None`: without end.
    changes: Vec<(QueueSeq, Option<u64>)>,
}

impl TtlHistory {
    /// One time to live for all messages.
    #[must_use]
    pub fn always(ttl_ms: Option<u64>) -> TtlHistory {
        let changes = ttl_ms.map(|ttl_ms| (QueueSeq(0), Some(ttl_ms)));
        TtlHistory { changes: changes.into_iter().collect() }
    }

    /// The changes, each from a seq on, by rising seq.
    #[must_use]
    pub fn of(mut changes: Vec<(QueueSeq, Option<u64>)>) -> TtlHistory {
        changes.sort_by_key(|(seq, _)| *seq);
        TtlHistory { changes }
    }

    /// The changes, each from a seq on, by rising seq.
    #[must_use]
    pub fn changes(&self) -> &[(QueueSeq, Option<u64>)] {
        &self.changes
    }

    /// What is in force for the newest messages.
    #[must_use]
    pub fn current(&self) -> Option<u64> {
        self.changes.last().and_then(|(_, ttl_ms)| *ttl_ms)
    }

    /// Another time to live holds for messages from `seq` on. Whether that is a change.
    pub fn change(&mut self, from: QueueSeq, ttl_ms: Option<u64>) -> bool {
        if self.current() == ttl_ms {
            return false;
        }
        self.changes.retain(|(seq, _)| *seq < from);
        // Without a change before it, nothing would be lost by leaving "without end" out.
        if !self.changes.is_empty() || ttl_ms.is_some() {
            self.changes.push((from, ttl_ms));
        }
        true
    }

    /// Forgets what held only for messages before `seq`, which have left.
    pub(crate) fn forget_before(&mut self, seq: QueueSeq) {
        let kept = self.changes.partition_point(|(from, _)| *from <= seq).saturating_sub(1);
        self.changes.drain(..kept);
    }

    /// What held for this message.
    fn at(&self, seq: QueueSeq) -> Option<u64> {
        let after = self.changes.partition_point(|(from, _)| *from <= seq);
        self.changes[..after].last().and_then(|(_, ttl_ms)| *ttl_ms)
    }

    /// Whether no message expires by it.
    pub(crate) fn is_endless(&self) -> bool {
        self.changes.iter().all(|(_, ttl_ms)| ttl_ms.is_none())
    }

    /// When the message expires, in milliseconds since 1970; `u64::MAX`: never.
    pub(crate) fn expiry_of<M: Message>(&self, seq: QueueSeq, message: &M) -> u64 {
        let ttl_ms = match (self.at(seq), message.ttl_ms()) {
            (Some(queues), Some(own)) => queues.min(own),
            (Some(ttl_ms), None) | (None, Some(ttl_ms)) => ttl_ms,
            (None, None) => return u64::MAX,
        };
        message.entered_at_ms().saturating_add(ttl_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_keeps_the_time_that_it_came_under() {
        let mut history = TtlHistory::default();
        assert!(history.is_endless());
        assert!(!history.change(QueueSeq(5), None));
        assert!(history.change(QueueSeq(5), Some(10)));
        assert!(history.change(QueueSeq(8), None));
        assert!(history.change(QueueSeq(8), Some(20)));
        assert!(!history.change(QueueSeq(9), Some(20)));
        assert_eq!(
            [4, 5, 7, 8, 100].map(|seq| history.at(QueueSeq(seq))),
            [None, Some(10), Some(10), Some(20), Some(20)]
        );
        history.forget_before(QueueSeq(7));
        assert_eq!(history.changes().len(), 2);
        history.forget_before(QueueSeq(8));
        assert_eq!((history.at(QueueSeq(8)), history.changes().len()), (Some(20), 1));
        assert_eq!(TtlHistory::of(vec![(QueueSeq(9), None), (QueueSeq(2), Some(1))]).at(QueueSeq(3)), Some(1));
    }
}
