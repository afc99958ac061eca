//! The last commits of the log, in memory, for members that are sent them; and where each entry ends that is not committed yet.

use std::collections::VecDeque;
use std::sync::Arc;

use consensus::{Index, LogId};
use model::ids::JournalPosition;
use store::journal::SharedCommit;

/// Commits by index, without gaps. A member that is behind them is sent what files have.
#[derive(Default)]
pub(crate) struct Tail {
    commits: VecDeque<(LogId, Arc<SharedCommit>)>,
    len: u64,
}

impl Tail {
    /// A commit was appended to the log; it takes the place of what the tail has from its index on.
    pub(crate) fn push(&mut self, id: LogId, commit: Arc<SharedCommit>) {
        self.truncate(id.index);
        if self.commits.back().is_some_and(|(last, _)| last.index.next() != id.index) {
            self.clear();
        }
        self.len += commit.len();
        self.commits.push_back((id, commit));
    }

    /// Forgets what has this index or a higher one.
    pub(crate) fn truncate(&mut self, from: Index) {
        while let Some((_, commit)) = self.commits.pop_back_if(|(id, _)| id.index >= from) {
            self.len -= commit.len();
        }
    }

    /// Forgets what has this index or a lower one, and the oldest while there is more than `len_max`.
    pub(crate) fn release(&mut self, to: Index, len_max: u64) {
        while self.commits.front().is_some_and(|(id, _)| id.index <= to || self.len > len_max) {
            self.len -= self.commits.pop_front().map_or(0, |(_, commit)| commit.len());
        }
    }

    pub(crate) fn clear(&mut self) {
        (self.commits, self.len) = (VecDeque::new(), 0);
    }

    /// Bytes of all.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The memory that they take, without chunks.
    pub(crate) fn memory_len(&self) -> usize {
        let commits = self.commits.iter().map(|(_, commit)| size_of_val(&**commit) + commit.memory_len());
        self.commits.capacity() * size_of::<(LogId, Arc<SharedCommit>)>() + commits.sum::<usize>()
    }

    /// The commit of an entry, if it is here.
    pub(crate) fn get(&self, id: LogId) -> Option<Arc<SharedCommit>> {
        let first = self.commits.front()?.0.index;
        let place = id.index.0.checked_sub(first.0)?;
        let (found, commit) = self.commits.get(usize::try_from(place).ok()?)?;
        (*found == id).then(|| commit.clone())
    }
}

/// Where entries end, as journal positions: of the last that is known to be committed, and of all behind it.
pub(crate) struct Ends {
    committed: (Index, JournalPosition),
    later: VecDeque<JournalPosition>,
}

impl Ends {
    /// A log that has nothing behind a committed entry.
    pub(crate) fn new(committed: Index, end: JournalPosition) -> Ends {
        Ends { committed: (committed, end), later: VecDeque::new() }
    }

    /// The last entry's index.
    pub(crate) fn last(&self) -> Index {
        Index(self.committed.0.0 + self.later.len() as u64)
    }

    /// Where the last entry ends.
    pub(crate) fn end(&self) -> JournalPosition {
        self.later.back().copied().unwrap_or(self.committed.1)
    }

    /// The last entry that is known to be committed, and its end.
    pub(crate) fn committed(&self) -> (Index, JournalPosition) {
        self.committed
    }

    /// Where an entry ends; `None`: it is not there, or lies before the last that is committed.
    pub(crate) fn of(&self, index: Index) -> Option<JournalPosition> {
        match index.0.checked_sub(self.committed.0.0)? {
            0 => Some(self.committed.1),
            place => self.later.get(usize::try_from(place).ok()? - 1).copied(),
        }
    }

    /// The next entry ends there.
    pub(crate) fn push(&mut self, end: JournalPosition) {
        assert!(end > self.end(), "each entry has a length: {end} behind {}", self.end());
        self.later.push_back(end);
    }

    /// Forgets entries from this index on, none of which is committed.
    pub(crate) fn truncate(&mut self, from: Index) {
        let kept = from.0.checked_sub(self.committed.0.0 + 1).expect("what is committed is not replaced");
        self.later.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
    }

    /// All up to this index is committed; what is not here yet is left out. Says whether that is new.
    pub(crate) fn commit(&mut self, index: Index) -> bool {
        let before = self.committed.0;
        while self.committed.0 < index
            && let Some(end) = self.later.pop_front()
        {
            self.committed = (self.committed.0.next(), end);
        }
        self.committed.0 > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_known_from_the_last_committed_entry_on() {
        let mut ends = Ends::new(Index(10), JournalPosition(100));
        for end in [110, 125, 130] {
            ends.push(JournalPosition(end));
        }
        let of = |ends: &Ends, index| ends.of(Index(index)).map(|end| end.0);
        assert_eq!([9, 10, 12, 13, 14].map(|index| of(&ends, index)), [None, Some(100), Some(125), Some(130), None]);
        assert!(ends.commit(Index(11)));
        assert!(!ends.commit(Index(11)));
        assert_eq!(ends.committed(), (Index(11), JournalPosition(110)));
        ends.truncate(Index(13));
        assert_eq!((ends.last(), ends.end()), (Index(12), JournalPosition(125)));
        // What is committed elsewhere may not have arrived.
        assert!(ends.commit(Index(20)));
        assert_eq!(ends.committed(), (Index(12), JournalPosition(125)));
    }
}
