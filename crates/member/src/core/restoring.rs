//! Checkpoints that come into force: one that this member has made or completed, or one that was fetched in place of all it has.

use std::sync::Arc;

use consensus::{Base, Engine, Index, LogId, Role};
use store::group::{Announcement, Pulled};

use super::Core;

impl Core {
    /// The checkpoint that is in force, for others to fetch.
    pub(crate) fn announcement(&self) -> Option<&Announcement> {
        self.files.in_force()
    }

    /// A start has found this checkpoint in force, or none of the group's.
    pub(crate) fn set_announcement(&mut self, announcement: Option<Announcement>) {
        self.files.set_in_force(announcement);
        if self.engine.status().role == Role::Leader {
            self.files.note_elected(self.ends.end());
        }
    }

    /// A checkpoint is in force: the log begins behind it.
    pub(crate) fn checkpointed(&mut self, announcement: Announcement) {
        let index = announcement.base.id.index;
        self.engine.checkpointed(index);
        self.engine.compact(index);
        self.leader_work.checkpointed();
        self.files.set_in_force(Some(announcement));
        self.pump();
    }

    /// What a manifest says beside the position of that entry, if it has been applied here and is still in the log.
    pub(crate) fn base_at(&self, index: Index) -> Option<Base> {
        self.engine.base_at(index)
    }

    /// Whether that entry is in the log, and has been applied.
    pub(crate) fn has_applied(&self, id: LogId) -> bool {
        self.engine.log().term(id.index) == Some(id.term) && self.engine.base_at(id.index).is_some()
    }

    /// Files are about to be fetched: see [`CheckpointFiles::begin_pull`].
    pub(crate) fn begin_pull(&mut self) -> Option<u64> {
        self.files.begin_pull()
    }

    /// Files have been fetched, for the engine to begin with when the leader's message asks for that.
    pub(crate) fn offer(&mut self, files: Arc<Pulled>) {
        self.files.offer(files);
    }

    /// Whether what was fetched is still here.
    pub(crate) fn is_there(&self, files: &Pulled) -> bool {
        self.files.is_there(files)
    }

    /// Files that nothing names are about to be removed.
    pub(crate) fn note_sweep(&mut self) {
        self.files.note_sweep();
    }

    /// The files that are to come into force in place of all that is here.
    pub(crate) fn restoring(&self) -> Option<&Arc<Pulled>> {
        self.files.restoring()
    }

    /// They are in force.
    pub(crate) fn restored(&mut self) {
        if let Some((number, index)) = self.files.restored() {
            self.engine.persisted(number);
            self.engine.checkpointed(index);
        }
    }
}
