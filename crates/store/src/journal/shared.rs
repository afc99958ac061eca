//! What the journal's threads and its appenders share.

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use model::ids::JournalPosition;

use super::commit::{BatchQueue, Commit};
use super::congestion::{Cause, Congestion};
use super::entry::{ReceiveError, ReceivedCommit};
use super::file_pool::FilePool;
use super::files::{AnchoredFile, Files, PreparedFile};
use super::journal_dir::JournalDir;
use super::marks::Marks;
use super::options::{Event, Failed, FailureCause, OnEvent, Options};
use super::pending::PendingWork;
use super::positions::Positions;
use super::record::RecordBatch;
use super::replication::Replicator;
use super::shutdown::Shutdown;
use super::sync_progress::SyncInProgress;
use super::sync_times::{SyncCounts, SyncTimes};
use super::synced::{SyncedFile, SyncedRecord};
use super::watch::DiskOperation;
use super::work_queue::WorkQueue;
use crate::file::File;
use crate::wake::WakeRelay;

/// Everything the handles, the writer, the syncer and the preallocator share, in parts that know nothing of each other. Here is what takes
/// several of them. Of their locks none is taken under another.
pub(crate) struct Shared {
    pub(super) options: Options,
    pub(super) dir: JournalDir,
    pub(super) replicator: Replicator,
    pub(super) positions: Positions,
    pub(super) work: WorkQueue,
    pub(super) files: FilePool,
    /// What is being synced beside the writer.
    pub(super) syncing: SyncInProgress,
    /// How far it is synced, for the next start to know.
    pub(super) synced_record: SyncedRecord,
    pub(super) congestion: Congestion,
    pub(super) shutdown: Shutdown,
    /// Where tasks are woken that wait.
    relay: Arc<WakeRelay>,
    sync_times: SyncTimes,
    failure: OnceLock<Failed>,
    on_event: OnEvent,
}

impl Shared {
    pub(crate) fn new(
        options: Options,
        dir: JournalDir,
        marks: Marks,
        files: Files,
        synced_file: SyncedFile,
        replicator: Replicator,
        on_event: OnEvent,
    ) -> Shared {
        let relay = Arc::<WakeRelay>::default();
        let end = marks.appended();
        Shared {
            work: WorkQueue::new(PendingWork::new(BatchQueue::new(end, &options)), end),
            positions: Positions::new(marks, replicator.get().is_some(), &relay),
            files: FilePool::new(files),
            congestion: Congestion::new(&relay, on_event.clone()),
            syncing: SyncInProgress::default(),
            synced_record: SyncedRecord::new(synced_file),
            sync_times: SyncTimes::default(),
            shutdown: Shutdown::default(),
            failure: OnceLock::new(),
            options,
            dir,
            replicator,
            relay,
            on_event,
        }
    }

    pub(crate) fn append(&self, batch: &mut RecordBatch) -> JournalPosition {
        if batch.is_empty() {
            return self.positions.appended();
        }
        let end = self.work.append(batch, |end, gathered_len| self.note_appended(end, gathered_len));
        batch.clear();
        end
    }

    /// Takes a change of members, which is written at once; says where it ends.
    pub(crate) fn append_members(&self, change: &[u8]) -> JournalPosition {
        let appended = self.append_awaited(|pending| Ok::<_, Infallible>(pending.gathering.append_members(change)));
        let Ok(end) = appended;
        end
    }

    /// Takes a commit that another member has numbered, which is written at once; says where it ends.
    pub(crate) fn receive(&self, commit: ReceivedCommit) -> Result<JournalPosition, ReceiveError> {
        self.append_awaited(|pending| {
            commit.check(self.positions.appended())?;
            Ok(pending.gathering.receive(commit))
        })
    }

    fn append_awaited<E>(
        &self,
        append: impl FnOnce(&mut PendingWork) -> Result<JournalPosition, E>,
    ) -> Result<JournalPosition, E> {
        assert!(self.replicator.get().is_some(), "only a replicated journal has such commits");
        self.work.append_awaited(append, |end, gathered_len| self.note_appended(end, gathered_len))
    }

    /// Under the lock of the queue: else what congests could come behind what relieves.
    fn note_appended(&self, end: JournalPosition, gathered_len: u64) {
        self.positions.set_appended(end);
        if gathered_len > self.options.pending_len_max() {
            self.congestion.add(Cause::Pending);
        }
    }

    /// A caller waits for all before `position`: it is written at once, though nothing of it is of the kind that is.
    pub(crate) fn hasten(&self, position: JournalPosition) {
        self.work.hasten(position, || self.positions.appended());
    }

    /// Whether more is to be synced than is, whatever confirms wait for.
    pub(crate) fn is_sync_wanted(&self) -> bool {
        self.work.sync_wanted() > self.positions.flushed()
    }

    pub(crate) fn advance_flushed(&self, to: JournalPosition) {
        self.positions.advance_flushed(to);
        self.synced_record.note();
    }

    /// These commits are synced: their contents need be held no longer.
    pub(crate) fn release(&self, commits: impl Iterator<Item = Commit>) {
        let is_low = self.work.release(commits) <= self.options.pending_len_max() / 2;
        if is_low && self.congestion.has(Cause::Pending) {
            self.congestion.remove(Cause::Pending);
        }
    }

    /// Writes down how far it is synced. Says whether that failed, and logs it unless it had failed before.
    pub(crate) fn record_synced(&self, has_failed: bool) -> bool {
        let result = self.synced_record.update(&self.dir, &self.positions);
        if let Err(error) = result.as_ref()
            && !has_failed
        {
            tracing::warn!(%error, dir = %self.dir.display(), "how far the journal is synced could not be written down");
        }
        result.is_err()
    }

    /// Looks whether the files that hold what is synced are where the next start looks for them. If not, the journal fails: whatever
    /// else is written to them is lost.
    pub(crate) fn check_files(&self) {
        let names = || {
            let files = self.files.lock();
            let (closed, current) = files.in_use();
            let closed = closed.iter().map(|file| (file.path.clone(), file.file.clone()));
            let current = current.map(|file| (file.path.clone(), file.file.clone()));
            closed.chain(current).collect::<Vec<_>>()
        };
        // An error proves nothing: what cannot be looked at now may be there.
        let is_gone = |path: &PathBuf, file: &dyn File| file.is_at(path).is_ok_and(|is_there| !is_there);
        let Some((path, _)) = names().into_iter().find(|(path, file)| is_gone(path, &**file)) else { return };
        // It may have been retired and removed meanwhile.
        if names().iter().any(|(named, _)| *named == path) {
            let path = path.display();
            self.fail(&format!("{path} no longer exists: it was removed, moved or replaced while the broker ran"));
        }
    }

    /// Does something with the disk for which a member's promises wait.
    pub(crate) fn watched<T>(&self, operation: DiskOperation, act: impl FnOnce() -> T) -> T {
        let _watched = self.replicator.watch(operation);
        act()
    }

    /// Syncs a file of the journal, on which confirms wait.
    pub(crate) fn sync(&self, operation: DiskOperation, file: &dyn File) -> io::Result<()> {
        let began_at = Instant::now();
        let synced = self.watched(operation, || file.fdatasync());
        self.sync_times.note(began_at.elapsed());
        synced
    }

    /// How often that was done.
    pub(crate) fn sync_counts(&self) -> SyncCounts {
        self.sync_times.counts()
    }

    /// What was appended before `position` is no longer needed.
    pub(crate) fn retire(&self, position: JournalPosition) {
        let retired_len = self.files.lock().retire(position);
        self.shrink_unretired(retired_len);
    }

    /// The file being written has its header on disk.
    pub(crate) fn anchor(&self, file: AnchoredFile) {
        let retired_len = self.files.lock().anchor(file);
        self.shrink_unretired(retired_len);
    }

    /// Lets go of files of which all is in later ones, too.
    pub(crate) fn retire_rewritten(&self) {
        let retired_len = self.files.lock().retire_rewritten();
        self.shrink_unretired(retired_len);
    }

    /// So much more of the files is in use.
    pub(crate) fn grow_unretired(&self, len: u64) {
        self.files.grow_unretired(len);
        self.judge_unretired();
    }

    /// So much of the files is no longer in use.
    pub(super) fn shrink_unretired(&self, len: u64) {
        self.files.shrink_unretired(len);
        self.judge_unretired();
        self.files.wake_preallocator();
    }

    fn judge_unretired(&self) {
        let len_max = self.options.unretired_len_max;
        let len = || self.files.unretired_len();
        // A commit that is longer than all may be is not waited for: only what comes after it takes the journal to another file, before
        // which this one cannot be retired.
        self.congestion.judge(Cause::Unretired, || {
            len() > len_max && len() - self.files.lock().longest_of_its_own().min(len()) > len_max
        });
    }

    /// A file in which a commit of this length fits; `None`: the preallocator makes one.
    pub(crate) fn take_prepared(&self, disk_len: u64) -> Option<PreparedFile> {
        let file = self.files.take_prepared(disk_len);
        self.judge_files();
        self.files.wake_preallocator();
        file
    }

    /// As [`Shared::take_prepared`], for the writer that makes a file itself if there is none: it waits for no other.
    pub(crate) fn take_prepared_if_any(&self, disk_len: u64) -> Option<PreparedFile> {
        let file = self.files.take_prepared_if_any(disk_len);
        self.judge_files();
        self.files.wake_preallocator();
        file
    }

    /// Whether the reserve is whole again and the owner does not know yet.
    pub(crate) fn is_reserve_refilled(&self, files: &Files) -> bool {
        files.has_enough_prepared() && self.congestion.has(Cause::Reserve)
    }

    /// Another file is ready.
    pub(crate) fn add_prepared(&self, file: PreparedFile) {
        self.files.lock().add_prepared(file);
        self.judge_files();
    }

    /// Publishers may fill what is ready, not more: on a full disk nothing would be left to write what they have been let
    /// append, and before that is written no file is retired.
    pub(crate) fn judge_files(&self) {
        self.congestion.judge(Cause::Files, || !self.files.lock().has_prepared());
    }

    /// Where tasks are woken that wait.
    pub(crate) fn relay(&self) -> &WakeRelay {
        &self.relay
    }

    pub(crate) fn tell(&self, event: Event) {
        (self.on_event)(event);
    }

    pub(crate) fn failure(&self) -> Option<&Failed> {
        self.failure.get()
    }

    pub(crate) fn check(&self) -> Result<(), Failed> {
        self.failure().map_or(Ok(()), |failed| Err(failed.clone()))
    }

    /// Nothing more will become durable. All waiters are woken, to see it.
    pub(crate) fn fail(&self, reason: &str) -> Failed {
        self.fail_because(FailureCause::Broken, reason)
    }

    /// As [`Shared::fail`], for a reason that may be an ordinary one.
    pub(crate) fn fail_because(&self, cause: FailureCause, reason: &str) -> Failed {
        let failed = Failed { durable: self.positions.durable(), reason: reason.into(), cause };
        if self.failure.set(failed.clone()).is_ok() {
            let durable = failed.durable.0;
            match cause {
                FailureCause::Broken => tracing::error!(durable, reason, "journal failed"),
                FailureCause::LeadershipLost => tracing::info!(durable, reason, "leadership was lost"),
            }
            self.congestion.add(Cause::Failed);
            self.positions.wake_all();
            self.tell(Event::Failed);
        }
        failed
    }
}
