//! An entry as the engine knows it: where it stands, what it is and how long, never what it says.

use crate::ids::LogId;
use crate::members::MemberChange;

/// What a leader asks to be replicated: records of so many bytes. They stay with the caller, which finds them by the [`LogId`] it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposal {
    /// Bytes of its contents.
    pub len: u32,
}

/// What an entry holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: a new leader's first.
    Empty,
    /// Contents, which are in the journal's commit.
    Records,
    /// A change of members. It is all there is, and a journal writes it as `MemberChange::encode` has it.
    Members(MemberChange),
}

/// An entry without its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it stands, and since when.
    pub id: LogId,
    /// What it holds.
    pub kind: Kind,
    /// Bytes of its contents; 0 unless they are records.
    pub len: u32,
}
