//! A commit of a replicated journal as an entry of its group's log: where it stands, what it is, and its bytes on their way to others.

use std::io::IoSlice;

use consensus::LogId;
use model::ids::JournalPosition;
use thiserror::Error;

use crate::chunk::Content;

/// The metas of a commit that says nothing: it has a length all the same, so that positions rise with indexes.
pub const EMPTY_METAS: [u8; 8] = [0; 8];

/// What a commit of a replicated journal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitKind {
    /// Record batches, and the contents of what they publish.
    Records = 1,
    /// Nothing, a new leader's first: [`EMPTY_METAS`].
    Empty = 2,
    /// A change of members, as `MemberChange::encode` has it.
    Members = 3,
}

impl CommitKind {
    pub(crate) fn of(number: u32) -> Option<CommitKind> {
        [CommitKind::Records, CommitKind::Empty, CommitKind::Members].into_iter().find(|kind| *kind as u32 == number)
    }
}

/// A commit's place in the group's log, as its header has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryHead {
    /// Term and index.
    pub id: LogId,
    /// What it is.
    pub kind: CommitKind,
}

/// A commit's bytes, shared with its senders. Keeps chunks alive.
#[derive(Debug)]
pub struct SharedCommit {
    /// Where it begins.
    pub first: JournalPosition,
    /// What it is.
    pub kind: CommitKind,
    /// Metas; with contents behind them, if they did not come from chunks.
    pub(super) metas: Vec<u8>,
    pub(super) runs: Vec<Content>,
    pub(super) contents_len: u64,
}

impl SharedCommit {
    /// One whose bytes are in one piece: metas, then contents.
    #[must_use]
    pub fn of_payload(kind: CommitKind, first: JournalPosition, metas_len: u64, payload: Vec<u8>) -> SharedCommit {
        let contents_len = payload.len() as u64 - metas_len;
        SharedCommit { first, kind, metas: payload, runs: Vec::new(), contents_len }
    }

    /// Bytes of metas and contents.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> u64 {
        self.metas_len() + self.contents_len
    }

    /// Bytes of memory that it takes besides, without chunks.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        self.metas.capacity() + self.runs.capacity() * size_of::<Content>()
    }

    /// Bytes of metas.
    #[must_use]
    pub fn metas_len(&self) -> u64 {
        let len = self.metas.len() as u64;
        if self.runs.is_empty() { len - self.contents_len } else { len }
    }

    /// Where it ends.
    #[must_use]
    pub fn end(&self) -> JournalPosition {
        JournalPosition(self.first.0 + self.len())
    }

    /// Adds its bytes, metas before contents.
    pub fn slices<'a>(&'a self, slices: &mut Vec<IoSlice<'a>>) {
        slices.push(IoSlice::new(&self.metas));
        slices.extend(self.runs.iter().map(|run| IoSlice::new(run.bytes())));
    }

    /// Its bytes in one piece.
    #[must_use]
    pub fn to_payload(&self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.len() as usize);
        payload.extend_from_slice(&self.metas);
        self.runs.iter().for_each(|run| payload.extend_from_slice(run.bytes()));
        payload
    }
}

/// A commit that came from the leader, or was read back from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedCommit {
    /// Where it stands, and what it is.
    pub head: EntryHead,
    /// Where it begins.
    pub first: JournalPosition,
    /// How much of the payload is metas.
    pub metas_len: u64,
    /// Metas, then contents.
    pub payload: Vec<u8>,
}

impl ReceivedCommit {
    /// A new leader's first entry.
    #[must_use]
    pub fn empty(id: LogId, first: JournalPosition) -> ReceivedCommit {
        let head = EntryHead { id, kind: CommitKind::Empty };
        ReceivedCommit { head, first, metas_len: EMPTY_METAS.len() as u64, payload: EMPTY_METAS.to_vec() }
    }

    /// Where it ends.
    #[must_use]
    pub fn end(&self) -> JournalPosition {
        JournalPosition(self.first.0 + self.payload.len() as u64)
    }

    pub(crate) fn check(&self, appended: JournalPosition) -> Result<(), ReceiveError> {
        if self.first != appended {
            return Err(ReceiveError::OutOfOrder { first: self.first, appended });
        }
        let len = self.payload.len() as u64;
        let is_sound = match self.head.kind {
            CommitKind::Records => self.metas_len > 0 && self.metas_len <= len,
            CommitKind::Empty => self.metas_len == len && self.payload == EMPTY_METAS,
            CommitKind::Members => self.metas_len > 0 && self.metas_len == len,
        };
        if is_sound { Ok(()) } else { Err(ReceiveError::Malformed { id: self.head.id }) }
    }
}

/// Why a commit was not taken. The journal is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ReceiveError {
    /// It does not continue what there is.
    #[error("a commit begins at position {first}, and the journal ends at {appended}")]
    OutOfOrder {
        /// Where it begins.
        first: JournalPosition,
        /// Where it should.
        appended: JournalPosition,
    },
    /// Its lengths contradict its kind.
    #[error("entry {id} is not as long as it says")]
    Malformed {
        /// Which one.
        id: LogId,
    },
}

/// An entry that a journal was found to have, see [`Recovery::read_entries`](super::Recovery::read_entries).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEntry {
    /// Where it stands, and what it is.
    pub head: EntryHead,
    /// Where it begins.
    pub first: JournalPosition,
    /// Where it ends.
    pub end: JournalPosition,
    /// Its metas, if it changes members; else nothing.
    pub metas: Vec<u8>,
}
