//! An entry as the journal has it.

use consensus::{Kind, LogId};
use model::ids::JournalPosition;

/// An entry as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundEntry {
    pub(crate) id: LogId,
    pub(crate) first: JournalPosition,
    pub(crate) end: JournalPosition,
    /// `None`: it cannot be read.
    pub(crate) kind: Option<Kind>,
}
