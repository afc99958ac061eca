//! What a node keeps beside its store while it runs: its files, its memory of others' promises, and the seal of its directory.

use std::time::Instant;

use consensus::{MemberId, PeerStatus, Status};

use super::files::{FileError, NodeFiles};
use super::memory::Memory;
use super::seal::SealClock;

/// See the module.
pub(super) struct DurableState {
    files: NodeFiles,
    memory: Memory,
    seal: SealClock,
}

impl DurableState {
    pub(super) fn open(files: NodeFiles, now: Instant) -> Self {
        DurableState { memory: Memory::open(files.clone()), files, seal: SealClock::new(now) }
    }

    pub(super) fn files(&self) -> &NodeFiles {
        &self.files
    }

    /// The most that a member has ever reported to have.
    pub(super) fn promised(&self, member: MemberId) -> u64 {
        self.memory.of(member)
    }

    /// A member reports that it has all that is committed up to there, on its disk.
    pub(super) fn note_promise(&mut self, member: MemberId, entry: u64) {
        self.memory.note(member, entry);
    }

    /// Remembers what others have, and writes to the seal of this member's directory that it works.
    pub(super) fn remember(&mut self, status: &Status, peers: &[PeerStatus], now: Instant) {
        for peer in peers {
            // What is not committed may be taken back.
            self.memory.note(peer.member, peer.upto.min(status.committed).0);
        }
        self.memory.keep();
        let last = status.last.index.0;
        if self.seal.is_due(last, now) {
            self.files.touch_seal(last);
        }
    }

    /// These are no longer members.
    pub(super) fn forget_members(&mut self, members: &[MemberId]) {
        self.memory.forget(members);
    }

    /// The directory has been emptied: see [`NodeFiles::forget`].
    pub(super) fn forget_all(&mut self, keeps_consent: bool) -> Result<(), FileError> {
        self.files.forget(keeps_consent)?;
        self.memory.clear();
        Ok(())
    }

    /// Writes what is new, before the node ends.
    pub(super) fn end(&mut self) {
        self.memory.end();
    }
}
