//! Numbers that say what they count.

use std::fmt;
use std::num::NonZeroU64;

/// A member of a group: drawn anew for each empty directory, never 0, and never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(NonZeroU64);

impl MemberId {
    /// A member by its number; none has the number 0.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(MemberId)
    }

    /// Its number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

/// A term: at most one member leads in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Term(pub u64);

/// The number of an entry in its group's log, from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Index(pub u64);

impl Index {
    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        Index(self.0 + 1)
    }
}

/// Identifies an entry in its group: two with the same id have the same contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LogId {
    /// In which term it was proposed.
    pub term: Term,
    /// Where it stands.
    pub index: Index,
}

impl LogId {
    /// Of these numbers.
    #[must_use]
    pub fn new(term: u64, index: u64) -> Self {
        LogId { term: Term(term), index: Index(index) }
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}@{}", self.index.0, self.term.0)
    }
}

/// The number of a group within a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GroupId(pub u32);
