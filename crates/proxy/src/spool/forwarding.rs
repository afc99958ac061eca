//! What of a queue is under way to an upstream, by the tags of the channel that carries it.
//!
//! An upstream that closes a channel says why, and not for which publish. So after a failure what was in doubt is sent one by one: the
//! publish that fails then is to blame.

use amqp_client::Unconfirmed;
use model::ids::QueueSeq;

use crate::limits::{SPOOL_WINDOW_COUNT, SPOOL_WINDOW_LEN};

/// What a channel's failure comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The publish that it failed for, where that is known.
    pub(crate) culprit: Option<QueueSeq>,
    /// What is to be sent again.
    pub(crate) again: Vec<QueueSeq>,
}

#[derive(Debug, Default)]
pub(crate) struct Window {
    unconfirmed: Unconfirmed<(QueueSeq, usize)>,
    len: usize,
    /// So many more go one by one.
    careful_count: usize,
}

impl Window {
    /// A window in which as much as may be under way at once is sent one by one first.
    pub(crate) fn careful() -> Self {
        Window { careful_count: SPOOL_WINDOW_COUNT, ..Self::default() }
    }

    /// Whether one more may be sent.
    pub(crate) fn has_room(&self) -> bool {
        match self.careful_count {
            0 => self.unconfirmed.len() < SPOOL_WINDOW_COUNT && self.len < SPOOL_WINDOW_LEN,
            _ => self.unconfirmed.is_empty(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.unconfirmed.is_empty()
    }

    /// This was sent, of so many bytes.
    pub(crate) fn sent(&mut self, seq: QueueSeq, len: usize) {
        self.unconfirmed.push((seq, len));
        self.len += len;
    }

    /// The upstream has confirmed, or refused, up to a tag or just that. Gives what that is.
    pub(crate) fn settled(&mut self, tag: u64, is_multiple: bool) -> Vec<QueueSeq> {
        let mut seqs = Vec::new();
        self.unconfirmed.settle(tag, is_multiple, |(seq, len)| {
            self.len -= len;
            seqs.push(seq);
        });
        self.careful_count = self.careful_count.saturating_sub(seqs.len());
        seqs
    }

    /// The channel, or the whole connection, was closed for what was sent over it. The next one begins with the tag 1.
    pub(crate) fn failed(&mut self) -> Failure {
        let rest = std::mem::take(&mut self.unconfirmed).into_rest();
        let mut again: Vec<QueueSeq> = rest.map(|(seq, _)| seq).collect();
        self.len = 0;
        let culprit = if again.len() == 1 { again.pop() } else { None };
        // Publishes that were sent one by one before still are, less the one to blame.
        let left = self.careful_count.saturating_sub(usize::from(culprit.is_some()));
        self.careful_count = left.max(again.len());
        Failure { culprit, again }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, VecDeque};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the upstream dislikes, in whatever portions it confirms: it gets the rest in order, and each one that it dislikes
        /// is found, and nothing else is dropped.
        #[test]
        fn what_is_to_blame_is_found(
            count in 0u64..60,
            bad in prop::collection::btree_set(0u64..60, 0..8),
            portions in prop::collection::vec((1usize..30, 1usize..30), 1..50),
        ) {
            let mut spool_queue: VecDeque<QueueSeq> = (0..count).map(QueueSeq).collect();
            let (mut window, mut channel, mut tag) = (Window::default(), VecDeque::new(), 0);
            let (mut arrived, mut dropped) = (Vec::new(), BTreeSet::new());
            let mut portions = portions.into_iter().cycle();
            while !(spool_queue.is_empty() && window.is_empty()) {
                let (sent_max, handled_max) = portions.next().unwrap();
                for _ in 0..sent_max {
                    if !window.has_room() {
                        break;
                    }
                    let Some(seq) = spool_queue.pop_front() else { break };
                    window.sent(seq, 100);
                    channel.push_back(seq);
                }
                for _ in 0..handled_max {
                    let Some(seq) = channel.pop_front() else { break };
                    if bad.contains(&seq.0) {
                        let failure = window.failed();
                        dropped.extend(failure.culprit);
                        failure.again.into_iter().rev().for_each(|seq| spool_queue.push_front(seq));
                        (tag, channel) = (0, VecDeque::new());
                        break;
                    }
                    arrived.push(seq);
                    tag += 1;
                    prop_assert_eq!(window.settled(tag, false), [seq]);
                }
            }
            let good: Vec<QueueSeq> = (0..count).filter(|seq| !bad.contains(seq)).map(QueueSeq).collect();
            prop_assert_eq!(arrived, good);
            prop_assert_eq!(dropped, bad.into_iter().filter(|seq| *seq < count).map(QueueSeq).collect::<BTreeSet<_>>());
        }
    }

    #[test]
    fn one_by_one_ends_with_what_was_in_doubt() {
        let mut window = Window::default();
        for seq in 0..3 {
            window.sent(QueueSeq(seq), 10);
        }
        assert_eq!(window.failed(), Failure { culprit: None, again: [0, 1, 2].map(QueueSeq).to_vec() });
        for seq in 0..3 {
            assert!(window.has_room());
            window.sent(QueueSeq(seq), 10);
            assert!(!window.has_room());
            assert_eq!(window.settled(seq + 1, true), [QueueSeq(seq)]);
        }
        window.sent(QueueSeq(3), 10);
        assert!(window.has_room());
    }

    #[test]
    fn what_is_under_way_is_bounded() {
        let mut window = Window::default();
        window.sent(QueueSeq(0), SPOOL_WINDOW_LEN);
        assert!(!window.has_room());
        window.settled(1, false);
        for seq in 0..SPOOL_WINDOW_COUNT as u64 {
            assert!(window.has_room());
            window.sent(QueueSeq(seq), 1);
        }
        assert!(!window.has_room());
    }
}
