//! Makes checkpoints and puts them in force.
//!
//! The order is what makes it safe: (1) everything that the checkpoint will name is on disk, names included; (2) it is written from state
//! that only moves forward; (3) the journal is synced up to where it was when (2) ended, so that no effect of a record is in the checkpoint
//! that a power cut could take from the journal; (4) the checkpoint is synced, read back and copied; (5) the manifest is switched; (6) only
//! now the journal below the position is recycled, and what no checkpoint names now is removed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use consensus::{Base, LogId};
use model::ids::JournalPosition;

use crate::checkpoint::CheckpointWriter;
use crate::checkpoint_copy;
use crate::checkpointer::{CheckpointSources, Checkpointer, Collection};
use crate::group::{Announcement, FileName, NamedFiles};
use crate::journal::{Failed, FailureCause, NOT_LEADING};
use crate::manifest::CheckpointFile;
use crate::reserve::Purpose;
use crate::shared::Shared;
use crate::trace_points::CHECKPOINT;
use crate::work_error::{WorkError, attempting};

impl Shared {
    /// Makes a checkpoint and puts it in force. Without a collection, the one of the last checkpoint with its position serves.
    pub(crate) fn checkpoint(&self, collection: Option<Collection>) -> Result<(), WorkError> {
        let _call = CHECKPOINT.enter(|_| {});
        let mut checkpointer = self.checkpointer.lock();
        let checkpointer = &mut *checkpointer;
        let (position, entry) = match collection {
            Some(collection) => checkpointer.take_collection(collection),
            None => (checkpointer.current().position, None),
        };
        let dropped = checkpointer.apply(self.checkpoint_delta.take());
        if !dropped.is_empty() {
            self.catalog.drop_queues(&dropped);
        }

        // (1) The segments' contents were synced when they were written.
        let segments_dir = self.dir.paths().segments();
        self.dir.disk().sync_dir(&segments_dir).map_err(attempting("syncing", &segments_dir))?;
        // (2)
        let number = checkpointer.begin();
        let path = self.dir.paths().checkpoint(number);
        let segments: Vec<_> = self.catalog.all().into_iter().filter(|segment| !segment.id.is_transient()).collect();
        let next_segment = self.segment_ids.next();
        let mut reached = JournalPosition::START;
        let CheckpointSources { definitions, queues, returned } = checkpointer.sources();
        let (len, crc) = self
            .create_reserved(Purpose::Checkpoint, &path, 0, &mut |file| {
                let writer = CheckpointWriter::write_all(
                    file,
                    position,
                    next_segment,
                    definitions,
                    queues,
                    returned,
                    segments.iter().map(|segment| segment.view()),
                )?;
                reached = self.journal.appended();
                // (3) and (4)
                writer.finish()
            })
            .map_err(attempting("writing", &path))?;
        let file = CheckpointFile { number, len, crc };
        self.copy_checkpoint(file)?;
        self.wait_synced(reached.max(position)).inspect_err(|_| {
            // Nothing names it yet.
            self.remove_checkpoint(number);
            checkpointer.give_up(number);
        })?;
        let base = self.base_of(entry, checkpointer)?;
        let checkpoints_dir = self.dir.paths().checkpoints();
        self.dir.disk().sync_dir(&checkpoints_dir).map_err(attempting("syncing", &checkpoints_dir))?;
        // What is retired below is found only through these files.
        self.check_place(checkpointer.manifest())?;
        // (5)
        let named = segments.iter().map(|segment| (segment.id, segment.file_len)).collect();
        let switched = checkpointer.switch(file, position, base, named);
        switched.map_err(attempting("switching", &self.dir.paths().manifest()))?;
        // (6)
        self.journal.retire(position);
        if let Some(lead) = &self.lead
            && let Some(announcement) = Announcement::of(checkpointer.current(), reached)
        {
            lead.set_in_force(NamedFiles::new(number, segments.iter().map(|segment| segment.id)));
            lead.log().checkpointed(announcement);
        }
        self.remove_unnamed(checkpointer, number);
        self.reserve.note_checkpoint_len(len);
        // At once: the next segment may take what room there is, and the next checkpoint is what frees more.
        if self.is_disk_full()
            && let Err(error) = self.reserve.refill_for(Purpose::Checkpoint)
        {
            tracing::warn!(%error, "refilling the disk reserve for a checkpoint failed");
        }
        tracing::debug!(number, len, position = position.0, segments = segments.len(), "checkpoint written");
        Ok(())
    }

    /// Removes what the checkpoint in force does not name, unless it is being copied, here or by others.
    fn remove_unnamed(&self, checkpointer: &mut Checkpointer, number: u64) {
        let kept = self.kept_for_others();
        let is_kept = |name| kept.iter().any(|files| files.has(name));
        checkpointer.remove_stale(
            number,
            |stale| is_kept(FileName::Checkpoint(stale)),
            |stale| self.remove_checkpoint(stale),
        );
        for id in checkpointer.take_doomed(|id| is_kept(FileName::Segment(id))) {
            self.remove_segment_file(id);
        }
    }

    /// What other members of the group fetch, if there is room to keep it.
    pub(crate) fn kept_for_others(&self) -> Vec<NamedFiles> {
        self.lead.as_ref().map(|lead| lead.kept_for_others(self.is_disk_full())).unwrap_or_default()
    }

    /// What the manifest of a member says beside the position: which entry ends there, if that is another than before.
    fn base_of(&self, entry: Option<LogId>, checkpointer: &Checkpointer) -> Result<Option<Arc<Base>>, WorkError> {
        let (Some(lead), Some(entry)) = (&self.lead, entry) else {
            return Ok(checkpointer.current().base.clone());
        };
        // It is committed and on this disk, since the journal is synced up to there: the engine is about to know.
        let base = lead.log().wait_for_base(entry.index).ok_or_else(|| self.not_leading())?;
        Ok(Some(Arc::new(base)))
    }

    /// Why a checkpoint cannot come into force.
    fn not_leading(&self) -> Failed {
        let (durable, cause) = (self.journal.durable(), FailureCause::LeadershipLost);
        Failed { durable, reason: NOT_LEADING.into(), cause }
    }

    fn remove_checkpoint(&self, number: u64) -> bool {
        let remove = |path: PathBuf| {
            let removed = self.dir.remove(&path);
            removed.inspect_err(|error| tracing::warn!(number, %error, "checkpoint was not removed")).is_ok()
        };
        let is_copy_removed = remove(self.dir.paths().checkpoint_copy(number));
        remove(self.dir.paths().checkpoint(number)) && is_copy_removed
    }

    /// Makes the checkpoint's copy, if there is room. An error: the checkpoint cannot be read back, and must not come into force.
    fn copy_checkpoint(&self, checkpoint: CheckpointFile) -> Result<(), WorkError> {
        // What others may need meanwhile is worth more: a segment that is retired, and one that is copied.
        let room_len = checkpoint.len + 2 * self.options.segment_len;
        let has_room =
            || self.dir.disk().free_space(&self.dir.paths().checkpoints()).is_ok_and(|free| free >= room_len);
        if self.is_disk_full() || !has_room() {
            tracing::warn!(number = checkpoint.number, "no space for a copy of the checkpoint");
            return Ok(());
        }
        let path = self.dir.paths().checkpoint(checkpoint.number);
        match checkpoint_copy::make(self.dir.disk(), self.dir.paths(), checkpoint) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(attempting("reading back", &path)(error)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the checkpoint could not be copied");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}
