//! Publishes of a lane that confirms that have not been confirmed.

use std::collections::VecDeque;

use engine::Positions;
use engine::position::Marks;

/// What has been published and not confirmed.
#[derive(Debug)]
pub(super) struct Confirms {
    /// The number of the next publish; the first is 1.
    next_seq: u64,
    /// Publishes that wait for the journal, with where they are durable. Both grow, in each journal.
    waiting: VecDeque<(u64, Positions)>,
    /// Publishes that need not wait, since the last [`Confirms::write`].
    ready: Vec<u64>,
    /// Publishes that a queue has refused, since then.
    refused: Vec<u64>,
}

/// What is said of publishes that are to be confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirm {
    /// The queues have it, and all before it that has not been confirmed if `is_multiple`.
    Accepted { seq: u64, is_multiple: bool },
    /// A queue has refused it.
    Refused { seq: u64 },
}

/// What has become of a publish by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfirmState {
    /// It is confirmed when the journal is durable up to there.
    Waiting(Positions),
    /// It has been confirmed, or is about to be.
    Done,
    /// A queue has refused it.
    Refused,
    /// Its lane has been closed.
    Closed,
}

impl Confirms {
    /// What has become of a publish that was numbered.
    pub(super) fn state(&self, seq: u64) -> ConfirmState {
        match self.waiting.binary_search_by_key(&seq, |&(seq, _)| seq) {
            Ok(at) => ConfirmState::Waiting(self.waiting[at].1),
            Err(_) if self.refused.contains(&seq) => ConfirmState::Refused,
            Err(_) => ConfirmState::Done,
        }
    }

    /// The number of the last publish; 0: there was none.
    pub(super) fn last_seq(&self) -> u64 {
        self.next_seq - 1
    }

    pub(super) fn new() -> Self {
        Self { next_seq: 1, waiting: VecDeque::new(), ready: Vec::new(), refused: Vec::new() }
    }

    /// Bytes that they take.
    pub(super) fn memory_len(&self) -> usize {
        self.waiting.capacity() * size_of::<(u64, Positions)>()
            + (self.ready.capacity() + self.refused.capacity()) * size_of::<u64>()
    }

    /// Numbers a publish.
    #[inline]
    pub(super) fn take_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }

    /// The publish is done, once the journal is durable up to `position`.
    #[inline]
    pub(super) fn complete(&mut self, seq: u64, position: Positions) {
        if position.is_empty() {
            self.ready.push(seq);
        } else {
            self.waiting.push_back((seq, position));
        }
    }

    /// A queue has refused the publish.
    pub(super) fn refuse(&mut self, seq: u64) {
        self.refused.push(seq);
    }

    /// The publishes that were refused since they were last asked for.
    pub(super) fn take_refused(&mut self) -> impl Iterator<Item = u64> + '_ {
        self.refused.drain(..)
    }

    /// How many publishes have not been confirmed.
    pub(super) fn unconfirmed_count(&self) -> usize {
        self.waiting.len() + self.ready.len() + self.refused.len()
    }

    /// Where the oldest waiting publish is durable.
    pub(super) fn waits_for(&self) -> Option<Positions> {
        self.waiting.front().map(|&(_, position)| position)
    }

    /// Confirms all that can be: calls `ack(seq, multiple)`. Says how many publishes that were.
    ///
    /// `multiple` confirms everything before it, so it is used only where nothing before it still waits.
    pub(super) fn write(&mut self, durable: Marks, mut ack: impl FnMut(u64, bool)) -> u64 {
        let mut last_durable = None;
        let mut count = 0;
        while let Some(&(seq, position)) = self.waiting.front()
            && durable.reach_all(position)
        {
            last_durable = Some(seq);
            count += 1;
            self.waiting.pop_front();
        }
        // A publish that no queue took was done before those of its batch.
        self.ready.sort_unstable();
        let first_waiting = self.waiting.front().map_or(u64::MAX, |&(seq, _)| seq);
        let split = self.ready.partition_point(|&seq| seq < first_waiting);
        let (before, after) = self.ready.split_at(split);
        let last = before.last().copied().max(last_durable);
        if let Some(last) = last {
            ack(last, count + before.len() > 1);
        }
        for &seq in after {
            ack(seq, false);
        }
        let confirmed = count + self.ready.len();
        self.ready.clear();
        confirmed as u64
    }
}

#[cfg(test)]
mod tests {
    use engine::position::{Position, StoreNumber};

    use super::*;

    fn at(at: u64) -> Position {
        Position::new(StoreNumber::ONLY, at)
    }

    #[track_caller]
    fn check_confirms(done: &[(u64, Option<u64>)], durable: u64, expected: &[(u64, bool)]) {
        let mut confirms = Confirms::new();
        for &(seq, position) in done {
            confirms.complete(seq, position.map(at).into());
        }
        let mut acks = Vec::new();
        confirms.write(Marks::new([durable]), |seq, multiple| acks.push((seq, multiple)));
        assert_eq!(acks, expected);
    }

    #[test]
    fn confirms_are_joined_unless_something_before_them_waits() {
        check_confirms(&[(1, None)], 0, &[(1, false)]);
        check_confirms(&[(1, None), (2, None)], 0, &[(2, true)]);
        check_confirms(&[(1, Some(10)), (2, None), (3, None)], 0, &[(2, false), (3, false)]);
        check_confirms(&[(1, Some(10)), (2, None), (3, Some(20)), (4, None)], 10, &[(2, true), (4, false)]);
        check_confirms(&[(1, Some(10)), (2, Some(10)), (3, Some(20))], 10, &[(2, true)]);
    }

    #[test]
    fn it_is_known_what_has_become_of_a_publish() {
        let mut confirms = Confirms::new();
        for (seq, position) in [(1, Some(10)), (2, None), (4, Some(20))] {
            confirms.complete(seq, position.map(at).into());
        }
        confirms.refuse(3);
        let states: Vec<_> = (1..=4).map(|seq| confirms.state(seq)).collect();
        let waits = |position| ConfirmState::Waiting(at(position).into());
        assert_eq!(states, [waits(10), ConfirmState::Done, ConfirmState::Refused, waits(20)]);
    }

    #[test]
    fn confirms_may_be_completed_out_of_order() {
        check_confirms(&[(2, None), (1, None), (3, None)], 0, &[(3, true)]);
        check_confirms(&[(2, None), (1, Some(10)), (3, None)], 0, &[(2, false), (3, false)]);
    }
}
