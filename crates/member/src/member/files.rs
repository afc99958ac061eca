//! Checkpoints that were fetched come into force on a follower.

use std::sync::Arc;

use store::group::{Announcement, FileReader, Pull, PullError, Pulled, ReplicatedLog};

use super::{Member, MemberShared};
use crate::error::MemberError;

/// What became of a checkpoint that was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// It is in force, or never will be: a newer one is, or files of it no longer exist.
    Done,
    /// The journal is not durable or not committed up to where the checkpoint reaches: to be tried again.
    NotYet,
}

impl Member {
    /// The checkpoint that is in force, for others to fetch. `None`: there is none yet, or it is of the time before the group.
    #[must_use]
    pub fn announcement(&self) -> Option<Announcement> {
        self.shared.core.lock().announcement().cloned()
    }

    /// What reads files for others, on whichever thread.
    #[must_use]
    pub fn file_reader(&self) -> FileReader {
        self.shared.dir.file_reader()
    }

    /// As if all fetching members had been away for long.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn end_leases(&self) {
        self.shared.dir.end_leases();
    }

    /// Whether a follower would fetch a checkpoint: it is newer than the one in force.
    #[must_use]
    pub fn wants(&self, announcement: &Announcement) -> bool {
        let is_following = self.shared.core.lock().following().is_some();
        let in_force = self.shared.dir.checkpoint_position();
        is_following && in_force.is_some_and(|position| position < announcement.position)
    }

    /// Begins to fetch a checkpoint. What was fetched before and is not in force is given up.
    ///
    /// # Errors
    ///
    /// The disk said no, or what was fetched before is about to come into force.
    pub fn pull(&self, announcement: Announcement) -> Result<Pull, PullError> {
        let sweeps = self.shared.core.lock().begin_pull().ok_or(PullError::Busy)?;
        self.shared.dir.pull(announcement, sweeps)
    }

    /// What was fetched is for the engine to begin with, when the leader's message asks for that.
    pub fn offer(&self, pulled: Arc<Pulled>) {
        self.shared.core.lock().offer(pulled);
    }

    /// Puts a checkpoint in force whose records this member has, and retires the journal below it.
    ///
    /// # Errors
    ///
    /// The disk said no.
    pub fn install(&self, pulled: &Pulled) -> Result<Installed, MemberError> {
        self.shared.install(pulled)
    }
}

impl MemberShared {
    fn install(&self, pulled: &Pulled) -> Result<Installed, MemberError> {
        // No store is opened meanwhile: that removes what is not in force yet.
        let _alone = self.transition.lock();
        let Some(in_force) = self.dir.checkpoint_position() else { return Ok(Installed::Done) };
        if in_force >= pulled.position() {
            return Ok(Installed::Done);
        }
        let journal = {
            let core = self.core.lock();
            if !core.is_there(pulled) {
                return Ok(Installed::Done);
            }
            // Not if it is another leader's, of entries that this member does not have: its engine will hear of that.
            match core.following().filter(|_| core.has_applied(pulled.base().id)) {
                Some(journal) => journal.clone(),
                None => return Ok(Installed::NotYet),
            }
        };
        if journal.synced() < pulled.announcement().reached {
            return Ok(Installed::NotYet);
        }
        let announcement = self.dir.install(pulled, || self.note_sweep())?;
        journal.retire(pulled.position());
        self.checkpointed(announcement);
        Ok(Installed::Done)
    }

    /// Files that nothing names are about to be removed.
    pub(super) fn note_sweep(&self) {
        self.core.lock().note_sweep();
    }
}
