//! What the store's threads and callers share, and how they wait for each other.
//!
//! Locks, in the order in which they may be taken: `backup` (backups and closing only), `checkpointer`, then any one of the others,
//! which are held for a moment and never over I/O. Callbacks into [`QueueOwner`](crate::QueueOwner) hold `checkpointer` at most, which
//! nothing that they may call takes.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::ids::{JournalPosition, SegmentId};
use parking_lot::Mutex;

use crate::catalog::Catalog;
use crate::checkpoint_delta::CheckpointDelta;
use crate::checkpointer::Checkpointer;
use crate::closing::Closing;
use crate::content_memory::ContentMemory;
use crate::damages::Damages;
use crate::file::File;
use crate::group::Lead;
use crate::handles::Handles;
use crate::journal::{Failed, FailureCause, FilePreallocator, Journal, Preallocation, Progress, Syncer, Writer};
use crate::loads::Loads;
use crate::manifest::ManifestFile;
use crate::options::Options;
use crate::reserve::{Purpose, Reserve, is_full};
use crate::rest::Rest;
use crate::segment_ids::SegmentIds;
use crate::signals::Signals;
use crate::store_dir::StoreDir;

/// How long is waited for a sync before it is looked whether the journal lacks a file.
const LENDING_DELAY: Duration = Duration::from_millis(100);

/// The state of a store.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) dir: StoreDir,
    pub(crate) journal: Journal,
    pub(crate) memory: ContentMemory,
    pub(crate) catalog: Catalog,
    pub(crate) handles: Handles,
    pub(crate) damages: Damages,
    pub(crate) checkpoint_delta: CheckpointDelta,
    pub(crate) reserve: Reserve,
    pub(crate) loads: Loads,
    pub(crate) rest: Rest,
    /// Also keeps checkpoints and the moving of messages between segments apart: see `reclaim`.
    pub(crate) checkpointer: Mutex<Checkpointer>,
    /// Held as long as a backup is made.
    pub(crate) backup: Mutex<()>,
    pub(crate) segment_ids: SegmentIds,
    /// Present if this is the store of a group's leader.
    pub(crate) lead: Option<Lead>,
    /// Something may have to be retired, or reclaimed.
    pub(crate) signals: Arc<Signals>,
    pub(crate) closing: Closing,
    /// Present if no threads drive the journal: tests do it step by step.
    pub(crate) stepped: Mutex<Option<SteppedJournal>>,
}

/// What writes a journal, step by step.
pub(crate) struct SteppedJournal {
    pub(crate) writer: Writer,
    pub(crate) preallocator: FilePreallocator,
    /// A leader's.
    pub(crate) syncer: Option<Syncer>,
}

impl Shared {
    /// Waits until the journal would survive a power cut up to `position`.
    pub(crate) fn wait_synced(&self, position: JournalPosition) -> Result<(), Failed> {
        let mut stepped = self.stepped.lock();
        let Some(SteppedJournal { writer, preallocator, syncer }) = &mut *stepped else {
            drop(stepped);
            while !self.journal.wait_synced_for(position, LENDING_DELAY)? {
                self.lend_to_journal();
            }
            return Ok(());
        };
        self.journal.want_sync(position);
        while self.journal.synced() < position {
            if self.lead.is_some() && self.journal.flushed() >= position {
                // A thread would wait here for other members; a test gets an error.
                let reason = "it is not committed yet".into();
                return Err(Failed { durable: self.journal.durable(), reason, cause: FailureCause::LeadershipLost });
            }
            let progress = writer.commit_once()?;
            let outcome = preallocator.prepare_once();
            if (progress, outcome) == (Progress::NeedsFile, Preallocation::Stalled) && !self.lend_to_journal() {
                // A thread would wait here for as long as the disk is full; a test gets an error.
                let reason = "no file can be prepared".into();
                return Err(Failed { durable: self.journal.durable(), reason, cause: FailureCause::Broken });
            }
            syncer.iter().for_each(Syncer::sync_once);
            writer.sync_once()?;
        }
        Ok(())
    }

    /// Looks whether the directory is still ours, and what the next start needs to begin with still in it. If not, the journal fails:
    /// nothing that is written from now on would be found.
    pub(crate) fn check_place(&self, manifest: &ManifestFile) -> Result<(), Failed> {
        let manifest_path = self.dir.paths().manifest();
        let found = [self.dir.is_ours(), (manifest.is_at(&manifest_path), &manifest_path)];
        for (is_there, path) in found {
            // An error proves nothing: what cannot be looked at now may be there.
            if is_there.is_ok_and(|is_there| !is_there) {
                let path = path.display();
                self.journal
                    .fail(&format!("{path} no longer exists: it was removed, moved or replaced while the broker ran"));
            }
        }
        self.journal.check_files()
    }

    /// As [`Reserve::create`]. Where that has no room, the journal gives what it can spare.
    pub(crate) fn create_reserved<T>(
        &self,
        purpose: Purpose,
        path: &Path,
        len: u64,
        fill: &mut dyn FnMut(Box<dyn File>) -> io::Result<T>,
    ) -> io::Result<T> {
        match self.reserve.create(purpose, path, len, fill) {
            Err(error) if is_full(&error) && self.journal.give_room(self.reserve.lacking_for(purpose, len)) => {
                self.reserve.create(purpose, path, len, fill)
            }
            created => created,
        }
    }

    /// Makes the reserve whole, as far as there is room; says whether it is.
    pub(crate) fn refill_reserve(&self) -> bool {
        self.reserve.refill(self.journal.prepared_count()).unwrap_or_else(|error| {
            tracing::warn!(%error, "refilling the disk reserve failed");
            false
        })
    }

    /// If the journal cannot be written for want of a file, makes one of what is reserved for a segment: it gets that back when a file
    /// is free again. Says whether it did.
    pub(crate) fn lend_to_journal(&self) -> bool {
        let Some((path, len, len_min)) = self.journal.missing_file() else { return false };
        let lend = || self.reserve.lend(&path, len, len_min);
        match lend().and_then(|lent| if lent.is_none() && self.journal.cut_closed() { lend() } else { Ok(lent) }) {
            Ok(Some((file, len))) => {
                self.journal.adopt(path, file, len);
                // At once: what was not needed of it is free for others.
                self.refill_reserve();
                true
            }
            Ok(None) => false,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the journal could not be lent a file");
                false
            }
        }
    }

    /// Removes a segment's file. Failing costs space until the next start, which removes what no checkpoint names.
    pub(crate) fn remove_segment_file(&self, id: SegmentId) {
        self.handles.forget(id);
        let path = self.dir.paths().segment(id);
        if let Err(error) = self.dir.remove(&path) {
            tracing::warn!(path = %path.display(), %error, "segment was not removed");
        }
    }
}
