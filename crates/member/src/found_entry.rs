//! An entry as the journal has it.

use consensus::{Kind, LogId, MemberChange};
use model::ids::JournalPosition;
use store::journal::{self, CommitKind};

/// An entry as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundEntry {
    pub(crate) id: LogId,
    pub(crate) first: JournalPosition,
    pub(crate) end: JournalPosition,
    /// `None`: it cannot be read.
    pub(crate) kind: Option<Kind>,
}

impl FoundEntry {
    pub(crate) fn of(found: &journal::FoundEntry) -> FoundEntry {
        let kind = match found.head.kind {
            CommitKind::Records => Some(Kind::Records),
            CommitKind::Empty => Some(Kind::Empty),
            CommitKind::Members => MemberChange::decode(&found.metas).ok().map(Kind::Members),
        };
        FoundEntry { id: found.head.id, first: found.first, end: found.end, kind }
    }
}
