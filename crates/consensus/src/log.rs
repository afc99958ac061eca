//! A member's log in memory: where each entry stands, what it is and how long; four bytes an entry. A journal that is opened rebuilds it.
//!
//! ```text
//!            base                                                           last
//!   ──────────┤ 101   102   103   104   105   106   107   108   109   110   111
//!   in files  │ lens, back to back
//!             │ runs of one term:  (101, 3)       (104, 4)          (109, 7)
//!             │ what is no records:               104 empty   106 members
//!             └ members as of the base, and as of each change applied since
//! ```

use std::collections::VecDeque;

use thiserror::Error;

use crate::entry::{Entry, Kind};
use crate::ids::{Index, LogId, Term};
use crate::limits::NUMBER_MAX;
use crate::members::{Base, Members};

/// The entries of one member after its base.
#[derive(Debug, Clone, Default)]
pub struct Log {
    base: Base,
    lens: VecDeque<u32>,
    /// Where each run of entries of one term begins.
    runs: VecDeque<LogId>,
    /// Entries that are no records.
    others: VecDeque<(Index, Kind)>,
    /// The members after each change that was applied since the base.
    applied: VecDeque<(Index, Members)>,
}

/// Why an entry cannot stand where it wants to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LogError {
    /// The journal lacks entries.
    #[error("entry {found} does not follow {last}")]
    Gap {
        /// The log's last entry.
        last: LogId,
        /// The entry.
        found: LogId,
    },
    /// The journal has what its files have already, or entries of two logs.
    #[error("entry {found} cannot replace what is before {first}")]
    Replaces {
        /// The first entry that it might replace.
        first: LogId,
        /// The entry.
        found: LogId,
    },
    /// The journal's header has a number that none writes.
    #[error("entry {0} has an impossible number")]
    Impossible(LogId),
}

impl Log {
    /// A log that begins after `base` and has nothing yet.
    #[must_use]
    pub fn new(base: Base) -> Self {
        Log { base, ..Log::default() }
    }

    /// Where it begins: what comes before is in files.
    #[must_use]
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The index of its first entry, if it has one.
    #[must_use]
    pub fn first(&self) -> Index {
        self.base.id.index.next()
    }

    /// Its last entry, or its base.
    #[must_use]
    pub fn last(&self) -> LogId {
        let index = Index(self.base.id.index.0 + self.lens.len() as u64);
        LogId { term: self.runs.back().map_or(self.base.id.term, |run| run.term), index }
    }

    /// The term of an entry, or of the base; nothing for what is not there.
    #[must_use]
    pub fn term(&self, index: Index) -> Option<Term> {
        if index == self.base.id.index {
            return Some(self.base.id.term);
        }
        if index < self.base.id.index || index > self.last().index {
            return None;
        }
        let run = self.runs.partition_point(|run| run.index <= index);
        Some(self.runs[run - 1].term)
    }

    /// An entry, if it is there.
    #[must_use]
    pub fn entry(&self, index: Index) -> Option<Entry> {
        let len = *self.lens.get(self.place(index)?)?;
        let kind = match self.others.binary_search_by_key(&index, |(index, _)| *index) {
            Ok(place) => self.others[place].1.clone(),
            Err(_) => Kind::Records,
        };
        Some(Entry { id: LogId { term: self.term(index)?, index }, kind, len })
    }

    /// Up to where all is committed by what the log itself says: a leader proposes a change of members only when it has applied the one
    /// before, so the last change but one is committed.
    #[must_use]
    pub fn committed_for_sure(&self) -> Index {
        let changes = self.others.iter().rev().filter(|(_, kind)| matches!(kind, Kind::Members(_)));
        changes.map(|(index, _)| *index).nth(1).unwrap_or(self.base.id.index)
    }

    /// The last change of members up to that entry.
    pub(crate) fn last_change(&self, upto: Index) -> Option<Index> {
        let upto = self.others.partition_point(|(index, _)| *index <= upto);
        let mut before = self.others.range(..upto).rev();
        before.find(|(_, kind)| matches!(kind, Kind::Members(_))).map(|(index, _)| *index)
    }

    /// Puts an entry behind the last, or in place of one with another term and all that follow that.
    ///
    /// # Errors
    ///
    /// It would leave a gap, or replace what cannot be replaced; the log is as it was.
    pub fn append(&mut self, entry: &Entry) -> Result<(), LogError> {
        let (found, last) = (entry.id, self.last());
        if found.index > last.index.next() {
            return Err(LogError::Gap { last, found });
        }
        if found.index.0 > NUMBER_MAX || found.term.0 > NUMBER_MAX || found.term.0 == 0 {
            return Err(LogError::Impossible(found));
        }
        // What has been applied is committed: no leader replaces it.
        let applied = self.applied.back().map_or(self.base.id.index, |(index, _)| *index);
        let before = Index(found.index.0.saturating_sub(1));
        match self.term(before) {
            Some(term) if before >= applied && term <= found.term => self.truncate(before),
            _ => return Err(LogError::Replaces { first: LogId { index: applied.next(), term: last.term }, found }),
        }
        if self.runs.back().is_none_or(|run| run.term != found.term) {
            self.runs.push_back(found);
        }
        self.lens.push_back(entry.len);
        if entry.kind != Kind::Records {
            self.others.push_back((found.index, entry.kind.clone()));
        }
        Ok(())
    }

    /// Forgets all entries after that one.
    fn truncate(&mut self, last: Index) {
        let count = (last.0 - self.base.id.index.0) as usize;
        self.lens.truncate(count);
        self.runs.truncate(self.runs.partition_point(|run| run.index <= last));
        self.others.truncate(self.others.partition_point(|(index, _)| *index <= last));
    }

    /// Begins anew at that base, with nothing after it.
    pub(crate) fn restore(&mut self, base: Base) {
        *self = Log::new(base);
    }

    /// The members as of an entry, if no change before it is still to be applied: what a manifest says beside a position.
    #[must_use]
    pub fn base_at(&self, index: Index) -> Option<Base> {
        let term = self.term(index)?;
        let place = self.applied.partition_point(|(since, _)| *since <= index);
        let members = if place == 0 { &self.base.members } else { &self.applied[place - 1].1 };
        Some(Base { id: LogId { term, index }, members: members.clone() })
    }

    /// Forgets entries up to that one, which is in files; not beyond the last one.
    pub(crate) fn compact(&mut self, to: Index) {
        let Some(base) = self.base_at(to) else { return };
        let count = (to.0 - self.base.id.index.0) as usize;
        self.lens.drain(..count);
        let runs_before = self.runs.partition_point(|run| run.index <= to);
        self.runs.drain(..runs_before.saturating_sub(1));
        if let Some(run) = self.runs.front_mut().filter(|run| run.index <= to) {
            run.index = to.next();
        }
        if self.lens.is_empty() {
            self.runs.clear();
        } else if self.runs.get(1).is_some_and(|run| run.index == to.next()) {
            self.runs.pop_front();
        }
        self.others.drain(..self.others.partition_point(|(index, _)| *index <= to));
        self.applied.drain(..self.applied.partition_point(|(index, _)| *index <= to));
        self.base = base;
    }

    /// The change at that entry has been applied, and led to these members.
    pub(crate) fn applied(&mut self, index: Index, members: Members) {
        self.applied.push_back((index, members));
    }

    fn place(&self, index: Index) -> Option<usize> {
        index.0.checked_sub(self.first().0).map(|place| place as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::MemberId;
    use crate::members::{MemberChange, MemberStep};

    fn base(term: u64, index: u64) -> Base {
        Base { id: LogId::new(term, index), members: Members::of_voters(MemberId::new(1)) }
    }

    fn entry(term: u64, index: u64) -> Entry {
        let id = LogId::new(term, index);
        match index % 5 {
            0 => Entry { id, kind: Kind::Empty, len: 0 },
            1 => {
                let step = MemberStep::Remove(MemberId::new(index).unwrap());
                Entry { id, kind: Kind::Members(MemberChange::of(step)), len: 0 }
            }
            _ => Entry { id, kind: Kind::Records, len: (index * 100) as u32 },
        }
    }

    #[test]
    fn entries_follow_on_one_another() {
        let mut log = Log::new(base(2, 7));
        assert_eq!(log.append(&entry(2, 9)), Err(LogError::Gap { last: LogId::new(2, 7), found: LogId::new(2, 9) }));
        assert!(matches!(log.append(&entry(2, 7)), Err(LogError::Replaces { .. })), "the base stays");
        assert!(matches!(log.append(&entry(1, 8)), Err(LogError::Replaces { .. })), "terms do not fall");
        assert!(matches!(log.append(&entry(u64::MAX, 8)), Err(LogError::Impossible(_))));
        log.append(&entry(2, 8)).unwrap();
        assert_eq!(log.last(), LogId::new(2, 8));
    }

    #[test]
    fn what_was_applied_is_not_replaced() {
        let mut log = Log::new(base(1, 1));
        (2..9).for_each(|index| log.append(&entry(1, index)).unwrap());
        log.applied(Index(6), Members::of_voters(MemberId::new(2)));
        assert!(log.append(&entry(2, 6)).is_err());
        log.append(&entry(2, 7)).unwrap();
        assert_eq!(log.last(), LogId::new(2, 7));
    }

    #[test]
    fn members_are_those_of_the_last_change_before() {
        let mut log = Log::new(base(1, 1));
        (2..9).for_each(|index| log.append(&entry(1, index)).unwrap());
        let later = Members::of_voters(MemberId::new(2));
        log.applied(Index(6), later.clone());
        assert_eq!(log.base_at(Index(5)), Some(Base { id: LogId::new(1, 5), ..base(1, 1) }));
        assert_eq!(log.base_at(Index(6)).unwrap().members, later);
        assert_eq!(log.base_at(Index(9)), None);
        log.compact(Index(7));
        assert_eq!((log.base().id, &log.base().members), (LogId::new(1, 7), &later));
        assert_eq!(log.base_at(Index(6)), None);
    }

    proptest! {
        /// Appends, replacements and compactions, against a vector of entries.
        #[test]
        fn a_log_is_a_vector_that_forgets_its_beginning(
            steps in prop::collection::vec((0_u8..10, 0_u64..12, 0_u64..3), 1..120),
        ) {
            let mut log = Log::new(base(1, 1));
            let mut model: Vec<Entry> = vec![];
            let mut first = 2;
            for (what, by, term_step) in steps {
                let last = first + model.len() as u64 - 1;
                let term_at = |index: u64, model: &[Entry]| {
                    if index < first { log.base().id.term.0 } else { model[(index - first) as usize].id.term.0 }
                };
                match what {
                    0 => {
                        let to = (first - 1 + by).min(last);
                        log.compact(Index(to));
                        model.drain(..(to + 1 - first) as usize);
                        first = to + 1;
                    }
                    1 => {
                        let index = last.saturating_sub(by).max(first);
                        let term = term_at(index - 1, &model) + term_step;
                        log.append(&entry(term, index)).unwrap();
                        model.truncate((index - first) as usize);
                        model.push(entry(term, index));
                    }
                    _ => {
                        let term = term_at(last, &model) + term_step / 2;
                        log.append(&entry(term, last + 1)).unwrap();
                        model.push(entry(term, last + 1));
                    }
                }
                prop_assert_eq!(log.first(), Index(first));
                prop_assert_eq!(log.last().index.0, first + model.len() as u64 - 1);
                for (at, expected) in (first..).zip(&model) {
                    prop_assert_eq!(&log.entry(Index(at)).unwrap(), expected);
                    prop_assert_eq!(log.term(Index(at)), Some(expected.id.term));
                }
                prop_assert_eq!(log.entry(Index(first - 1)), None);
                prop_assert_eq!(log.term(Index(first + model.len() as u64)), None);
                prop_assert!(log.runs.len() <= log.lens.len());
                prop_assert!(log.runs.iter().zip(log.runs.iter().skip(1)).all(|(a, b)| a.term < b.term));
            }
        }
    }
}
