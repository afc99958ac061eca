//! The store's background work, one step at a time: for tests that decide the order of everything.

use std::ops::ControlFlow;
use std::path::PathBuf;

use model::ids::{JournalPosition, SegmentId};

use crate::load::Loader;
use crate::reclaim::{Policy, ReclaimReport};
use crate::retire::{Goal, RetireReport};
use crate::shared::SteppedJournal;
use crate::{Options, QueueOwner, ScrubReport, Store, WorkError};

impl Options {
    /// Small files, so that a few hundred messages see every kind of work. `salt` is the journal's, else drawn at random.
    #[must_use]
    pub fn small(dir: PathBuf, salt: u64) -> Self {
        let mut options = Options::new(dir);
        options.journal.file_len = 32 << 10;
        options.journal.unretired_len_max = 128 << 10;
        options.journal.commit_len_max = 8 << 10;
        options.journal.salt = salt;
        options.segment_len = 16 << 10;
        options.message_len_max = 80_000;
        options.is_reserve_kept = false;
        options.chunk_len_max = 8 << 20;
        options.reclaim = Policy { garbage_len_min: 4 << 10, fanout: 2, copy_len_max: 48 << 10, copy_count_max: 1000 };
        options
    }
}

impl Store {
    /// Writes and syncs what the journal has gathered, as much as one step does.
    pub fn step_journal(&self) -> Result<(), WorkError> {
        self.step_writer()?;
        self.step_syncer();
        Ok(())
    }

    /// Writes what the journal has gathered; a group's leader leaves it to [`Store::step_syncer`] to sync it.
    pub fn step_writer(&self) -> Result<(), WorkError> {
        if let Some(SteppedJournal { writer, preallocator, .. }) = &mut *self.shared.stepped.lock() {
            writer.commit_once()?;
            preallocator.prepare_once();
        }
        Ok(())
    }

    /// Syncs what a group's leader has written. The writer learns of it when it steps next.
    pub fn step_syncer(&self) {
        if let Some(SteppedJournal { syncer: Some(syncer), .. }) = &*self.shared.stepped.lock() {
            syncer.sync_once();
        }
    }

    /// Writes down how far the journal is synced.
    pub(crate) fn record_synced(&self) {
        self.shared.journal.record_synced();
    }

    /// Waits until all that was appended is synced, and as long after that as it takes for nothing to be left to do about it.
    pub fn settle_down(&self) -> Result<(), WorkError> {
        self.shared.wait_synced(self.appended())?;
        self.shared.journal.record_synced();
        Ok(())
    }

    /// Retires what should be retired now, if anything.
    pub fn retire_once(&self, owner: &dyn QueueOwner) -> Result<Option<RetireReport>, WorkError> {
        self.shared.retire_once(owner)
    }

    /// Retires the journal up to `position`, which an append has returned, and moves what is in chunks below `chunk_end`.
    pub fn retire_to(
        &self,
        position: JournalPosition,
        chunk_end: u64,
        owner: &dyn QueueOwner,
    ) -> Result<RetireReport, WorkError> {
        self.shared.retire(Goal { position, entry: None, chunk_end }, owner)
    }

    /// Retires all that a member's group has committed.
    pub fn retire_committed(&self, owner: &dyn QueueOwner) -> Result<RetireReport, WorkError> {
        let lead = self.shared.lead.as_ref().expect("the store is a leader's");
        let (entry, position) = lead.log().committed();
        self.shared.retire(Goal { position, entry: Some(entry), chunk_end: 0 }, owner)
    }

    /// Does the next job of reclaiming, if there is one.
    pub fn reclaim_once(&self, owner: &dyn QueueOwner) -> Result<Option<ReclaimReport>, WorkError> {
        self.shared.reclaim_once(owner, &mut |_| ControlFlow::Continue(()))
    }

    /// Reads every segment there is.
    pub fn scrub_once(&self) -> ScrubReport {
        self.shared.scrub(SegmentId(0), &mut |_| ControlFlow::Continue(()))
    }

    /// Makes a checkpoint that retires nothing.
    pub fn checkpoint_once(&self) -> Result<(), WorkError> {
        self.shared.checkpoint(None)
    }

    /// How many files of the journal are full, and hold what is not retired.
    pub fn closed_file_count(&self) -> usize {
        self.shared.journal.closed_files().len()
    }

    /// Answers one load, if one was asked for.
    pub fn load_once(&self, owner: &dyn QueueOwner) -> bool {
        Loader::new(&self.shared).load_once(&self.shared, owner)
    }

    /// Makes the reserve on disk whole, if there is room; says whether it is.
    #[cfg(test)]
    pub(crate) fn refill_reserve(&self) -> bool {
        self.shared.refill_reserve()
    }
}
