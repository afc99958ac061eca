//! What raft-rs reads: our log, and what was promised when it was opened.

use std::cell::Cell;

use raft::eraftpb::{Entry, HardState, Snapshot};
use raft::{GetEntriesContext, RaftState, Storage, StorageError};

use crate::ballot::Ballot;
use crate::ids::{Index, MemberId};
use crate::limits::ENTRY_LEN;
use crate::log::Log;
use crate::members::Base;
use crate::translate;

/// A log behind raft-rs' trait.
pub(crate) struct LogStorage {
    pub(crate) log: Log,
    /// What was found when it was opened.
    pub(crate) ballot: Ballot,
    /// Up to where all was known to be committed then: the checkpoint's entry.
    pub(crate) committed: Index,
    /// The last checkpoint: what a shipment is made of.
    pub(crate) checkpoint: Base,
    /// Whether a member is to be shipped to that belongs to the group only since after that checkpoint.
    pub(crate) is_checkpoint_too_old: Cell<bool>,
}

impl Storage for LogStorage {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let vote = self.ballot.vote.map_or(0, MemberId::get);
        let hard_state = HardState { term: self.ballot.term.0, vote, commit: self.committed.0 };
        Ok(RaftState { hard_state, conf_state: translate::conf_state(&self.log.base().members) })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        if low < self.log.first().0 {
            return Err(StorageError::Compacted.into());
        }
        let mut left = max_size.into().unwrap_or(u64::MAX);
        let mut entries = Vec::new();
        for index in low..high {
            let Some(entry) = self.log.entry(Index(index)) else { return Err(StorageError::Unavailable.into()) };
            let size = u64::from(entry.len) + ENTRY_LEN;
            if size > left && !entries.is_empty() {
                break;
            }
            left = left.saturating_sub(size);
            entries.push(translate::raft_entry(&entry));
        }
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        match self.log.term(Index(index)) {
            Some(term) => Ok(term.0),
            None if index < self.log.first().0 => Err(StorageError::Compacted.into()),
            None => Err(StorageError::Unavailable.into()),
        }
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.log.first().0)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.log.last().index.0)
    }

    /// What a member gets which is behind the log. It refuses one that does not name it as a member.
    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<Snapshot> {
        let is_member = MemberId::new(to).is_some_and(|to| self.checkpoint.members.has(to));
        if !is_member || self.checkpoint.id.index.0 < request_index {
            self.is_checkpoint_too_old.set(true);
            return Err(StorageError::SnapshotTemporarilyUnavailable.into());
        }
        Ok(translate::snapshot(&self.checkpoint))
    }
}
