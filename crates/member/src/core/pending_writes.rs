//! What is to last here before the engine is notified that it does: a ballot, and entries behind it.
//!
//! The engine numbers what it wants written. A number is acknowledged when the last ballot that was wanted before it lasts, all its entries
//! are on this disk, and so are those of the numbers before. What the journal says of positions counts only as far as what it has there is
//! what the log has: entries may be replaced while an old journal still syncs.

use std::collections::VecDeque;
use std::sync::Arc;

use consensus::{Ballot, Entry, Index, ReadyNumber};
use model::ids::JournalPosition;
use store::journal::SharedCommit;

use crate::wanted_ballots::{BallotNumber, WantedBallots};

/// Numbers in their order, and how far the disk is.
pub(super) struct PendingWrites {
    ballots: WantedBallots,
    writes: VecDeque<Write>,
    /// Everything before is on this disk.
    flushed: JournalPosition,
    /// What the journal says of positions from here on is of entries that the log no longer has.
    flush_limit: JournalPosition,
}

/// Entries that are to be durable before a number is acknowledged, and a ballot before them.
struct Write {
    number: ReadyNumber,
    ballot: BallotNumber,
    entries: VecDeque<PendingEntry>,
}

/// An entry that is to be durable.
pub(super) struct PendingEntry {
    pub(super) entry: Entry,
    pub(super) commit: Arc<SharedCommit>,
}

impl PendingWrites {
    /// Of a log that is on disk up to its end.
    pub(super) fn new(end: JournalPosition) -> PendingWrites {
        PendingWrites {
            ballots: WantedBallots::default(),
            writes: VecDeque::new(),
            flushed: end,
            flush_limit: JournalPosition::MAX,
        }
    }

    pub(super) fn want_ballot(&mut self, ballot: Ballot) {
        self.ballots.want(ballot);
    }

    /// The ballot to write now, if one has to be.
    pub(super) fn next_ballot(&self) -> Option<(BallotNumber, Ballot)> {
        self.ballots.next()
    }

    /// That ballot lasts.
    pub(super) fn ballot_written(&mut self, number: BallotNumber) {
        self.ballots.note_written(number);
    }

    /// The engine wants these written, behind the ballots that it has wanted.
    pub(super) fn push(&mut self, number: ReadyNumber, entries: VecDeque<PendingEntry>) {
        self.writes.push_back(Write { number, ballot: self.ballots.number(), entries });
    }

    /// What is not durable, and behind the end of a journal.
    pub(super) fn lacking(&self, end: JournalPosition) -> impl Iterator<Item = &PendingEntry> {
        let entries = self.writes.iter().flat_map(|write| &write.entries);
        entries.filter(move |pending| pending.commit.first >= end)
    }

    /// The log has other entries from this one on, and ends there before they come.
    pub(super) fn truncate(&mut self, index: Index, end: JournalPosition) {
        for write in &mut self.writes {
            write.entries.retain(|pending| pending.entry.id.index < index);
        }
        self.flushed = self.flushed.min(end);
        self.flush_limit = self.flush_limit.min(end);
    }

    /// The log begins anew at a position: what was to be written before no longer matters.
    pub(super) fn begin_at(&mut self, position: JournalPosition) {
        self.writes.clear();
        (self.flushed, self.flush_limit) = (position, position);
    }

    /// A journal was opened that has what the log has, up to its end: what it says counts.
    pub(super) fn reopen(&mut self, end: JournalPosition) {
        (self.flushed, self.flush_limit) = (end, JournalPosition::MAX);
    }

    /// The journal says that everything before is on this disk.
    pub(super) fn flushed(&mut self, position: JournalPosition) {
        self.flushed = self.flushed.max(position.min(self.flush_limit));
    }

    /// Takes what is durable by now; says up to which number.
    pub(super) fn take_durable(&mut self) -> Option<ReadyNumber> {
        let mut done = None;
        while let Some(write) = self.writes.front_mut().filter(|write| self.ballots.has_written(write.ballot)) {
            let flushed = self.flushed;
            while write.entries.pop_front_if(|pending| pending.commit.end() <= flushed).is_some() {}
            if !write.entries.is_empty() {
                break;
            }
            done = self.writes.pop_front().map(|write| write.number);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use consensus::{Kind, LogId, Term};
    use store::journal::CommitKind;

    use super::super::tests::numbers;
    use super::*;

    /// Three writes of one entry each, which end at 10, 20 and 30; a ballot before the first.
    fn writes() -> (PendingWrites, Vec<ReadyNumber>) {
        let numbers = numbers(3);
        let mut writes = PendingWrites::new(JournalPosition(0));
        writes.want_ballot(Ballot { term: Term(2), vote: None });
        for (number, index) in numbers.iter().zip(1..) {
            let first = JournalPosition(10 * (index - 1));
            let commit = Arc::new(SharedCommit::of_payload(CommitKind::Records, first, 10, vec![0; 10]));
            let entry = Entry { id: LogId::new(2, index), kind: Kind::Records, len: 10 };
            writes.push(*number, VecDeque::from([PendingEntry { entry, commit }]));
        }
        (writes, numbers)
    }

    fn write_ballot(writes: &mut PendingWrites) {
        let (number, _) = writes.next_ballot().expect("one is wanted");
        writes.ballot_written(number);
        assert!(writes.next_ballot().is_none());
    }

    #[test]
    fn numbers_become_durable_in_their_order_behind_their_ballot() {
        let (mut writes, numbers) = writes();
        writes.flushed(JournalPosition(20));
        assert_eq!(writes.take_durable(), None, "the ballot does not last yet");
        write_ballot(&mut writes);
        assert_eq!(writes.take_durable(), Some(numbers[1]));
        assert_eq!(writes.take_durable(), None);
        writes.flushed(JournalPosition(29));
        assert_eq!(writes.take_durable(), None, "a part of an entry is none");
        writes.flushed(JournalPosition(30));
        assert_eq!(writes.take_durable(), Some(numbers[2]));
    }

    #[test]
    fn what_an_old_journal_says_counts_up_to_what_was_replaced() {
        let (mut writes, numbers) = writes();
        write_ballot(&mut writes);
        writes.truncate(Index(2), JournalPosition(10));
        writes.flushed(JournalPosition(30));
        // Of the other two nothing is left to be written.
        assert_eq!(writes.take_durable(), Some(numbers[2]));
        let (_, next) = self::writes();
        let commit = Arc::new(SharedCommit::of_payload(CommitKind::Records, JournalPosition(10), 5, vec![0; 5]));
        let entry = Entry { id: LogId::new(3, 2), kind: Kind::Records, len: 5 };
        writes.push(next[0], VecDeque::from([PendingEntry { entry, commit }]));
        writes.flushed(JournalPosition(30));
        assert_eq!(writes.take_durable(), None, "that is of the entry that was replaced");
        assert_eq!(writes.lacking(JournalPosition(10)).count(), 1);
        writes.reopen(JournalPosition(15));
        assert_eq!(writes.take_durable(), Some(next[0]));
    }

    #[test]
    fn a_log_that_begins_anew_waits_for_nothing_of_before() {
        let (mut writes, _) = writes();
        writes.begin_at(JournalPosition(500));
        assert_eq!(writes.lacking(JournalPosition(0)).count(), 0);
        assert_eq!(writes.take_durable(), None);
    }
}
