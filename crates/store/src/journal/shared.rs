//! What the journal's threads and those who append share.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use model::ids::JournalPosition;
use parking_lot::{Condvar, Mutex};

use super::commit::{BatchQueue, Commit};
use super::durable_times::DurableTimes;
use super::entry::{ReceiveError, ReceivedCommit};
use super::files::{AnchoredFile, Files, PreparedFile};
use super::format::Layout;
use super::marks::{Advanced, Marks};
use super::options::{Event, Failed, FailureCause, OnEvent, Options};
use super::pending::PendingWork;
use super::replication::Replication;
use super::sync_times::{SyncCounts, SyncTimes};
use super::synced::{SyncedFile, SyncedRecord};
use super::syncer::SyncInProgress;
use super::waiters::Waiters;
use super::watch::{DiskOperation, Watched};
use crate::file::{Disk, File};
use crate::wake::WakeRelay;

/// Why publishers must wait; bits.
pub(crate) mod congestion {
    /// Too much is not yet synced.
    pub(crate) const PENDING: u8 = 1;
    /// Too much journal is in use.
    pub(crate) const UNRETIRED: u8 = 2;
    /// Only the reserve is left.
    pub(crate) const RESERVE: u8 = 4;
    /// Nothing will be durable any more.
    pub(crate) const FAILED: u8 = 8;
    /// No file is ready but the one being written. It holds what is gathered by now; more only when there is another.
    pub(crate) const FILES: u8 = 16;
}

/// Who is told what happens, and who numbers commits and says what is committed, unless the node is alone.
pub(crate) struct Owner {
    pub(crate) on_event: OnEvent,
    pub(crate) replication: Option<Arc<dyn Replication>>,
}

/// Everything the handles, the writer and the preallocator share. Of its locks none is taken under another.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    /// How what is written is laid out.
    pub(crate) layout: Layout,
    pub(crate) marks: Marks,
    /// When the last of them were reached.
    pub(crate) durable_times: DurableTimes,
    /// When it came to this disk, where that is not all.
    pub(crate) flushed_times: DurableTimes,
    /// Who numbers commits and says what is committed; nothing if the node is alone.
    pub(crate) replication: Option<Arc<dyn Replication>>,
    /// As [`PendingWork`] has it, to be seen without its lock.
    awaited: AtomicU64,
    pub(crate) pending: Mutex<PendingWork>,
    /// The writer waits here, with `pending`.
    pub(crate) work: Condvar,
    pub(crate) files: Mutex<Files>,
    /// The preallocator waits here, with `files`.
    pub(crate) filing: Condvar,
    /// The writer waits here for a file, with `files`.
    pub(crate) filed: Condvar,
    /// What is being synced beside the writer.
    pub(crate) syncing: SyncInProgress,
    sync_times: SyncTimes,
    /// How far it is synced, for the next start to know.
    pub(crate) synced_record: SyncedRecord,
    /// The writer ends when nothing is left to write.
    pub(crate) is_stopping: AtomicBool,
    /// Nothing waits for room on a full disk any more.
    pub(crate) is_closing: AtomicBool,
    unretired_len: AtomicU64,
    congestion: AtomicU8,
    pub(crate) durable_waiters: Waiters,
    pub(crate) synced_waiters: Waiters,
    pub(crate) congestion_waiters: Waiters,
    /// Where tasks among them are woken.
    pub(crate) relay: Arc<WakeRelay>,
    failure: OnceLock<Failed>,
    on_event: OnEvent,
}

impl Shared {
    pub(crate) fn new(
        options: Options,
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        marks: Marks,
        files: Files,
        synced_file: SyncedFile,
        owner: Owner,
    ) -> Shared {
        let Owner { on_event, replication } = owner;
        let end = marks.appended();
        let pending = PendingWork::new(BatchQueue::new(end, &options));
        let relay = Arc::<WakeRelay>::default();
        Shared {
            options,
            disk,
            dir,
            layout: if replication.is_some() { Layout::Replicated } else { Layout::Alone },
            marks,
            durable_times: DurableTimes::default(),
            flushed_times: DurableTimes::default(),
            replication,
            awaited: AtomicU64::new(end.0),
            pending: Mutex::new(pending),
            work: Condvar::new(),
            syncing: SyncInProgress::default(),
            sync_times: SyncTimes::default(),
            synced_record: SyncedRecord::new(synced_file),
            is_stopping: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            unretired_len: AtomicU64::new(files.spans().iter().map(|span| span.used_len).sum()),
            files: Mutex::new(files),
            filing: Condvar::new(),
            filed: Condvar::new(),
            congestion: AtomicU8::new(0),
            durable_waiters: Waiters::new(relay.clone()),
            synced_waiters: Waiters::new(relay.clone()),
            congestion_waiters: Waiters::new(relay.clone()),
            relay,
            failure: OnceLock::new(),
            on_event,
        }
    }

    pub(crate) fn append(&self, batch: &mut super::RecordBatch) -> JournalPosition {
        let mut pending = self.pending.lock();
        if batch.is_empty() {
            return self.marks.appended();
        }
        let can_wait = batch.can_wait();
        let end = pending.gathering.append(batch);
        self.marks.set_appended(end);
        if pending.gathering.gathered_len() > self.options.pending_len_max() {
            self.congest(congestion::PENDING);
        }
        let must_wake = if can_wait {
            pending.postpone(Instant::now)
        } else {
            self.awaited.store(end.0, Ordering::Relaxed);
            pending.hasten(end)
        };
        drop(pending);
        if must_wake {
            self.work.notify_one();
        }
        batch.clear();
        end
    }

    /// Takes a change of members, which is written at once; says where it ends.
    pub(crate) fn append_members(&self, change: &[u8]) -> JournalPosition {
        self.append_awaited(|pending| pending.gathering.append_members(change))
    }

    /// Takes a commit that another member has numbered, which is written at once; says where it ends.
    pub(crate) fn receive(&self, commit: ReceivedCommit) -> Result<JournalPosition, ReceiveError> {
        let mut refusal = None;
        let end = self.append_awaited(|pending| match commit.check(self.marks.appended()) {
            Ok(()) => pending.gathering.receive(commit),
            Err(error) => {
                refusal = Some(error);
                self.marks.appended()
            }
        });
        refusal.map_or(Ok(end), Err)
    }

    fn append_awaited(&self, append: impl FnOnce(&mut PendingWork) -> JournalPosition) -> JournalPosition {
        assert!(self.replication.is_some(), "only a replicated journal has such commits");
        let mut pending = self.pending.lock();
        let end = append(&mut pending);
        self.marks.set_appended(end);
        self.awaited.store(end.0, Ordering::Relaxed);
        if pending.gathering.gathered_len() > self.options.pending_len_max() {
            self.congest(congestion::PENDING);
        }
        let must_wake = pending.hasten(end);
        drop(pending);
        if must_wake {
            self.work.notify_one();
        }
        end
    }

    /// A caller waits for all before `position`: it is written at once, though nothing of it is of the kind that is.
    pub(crate) fn hasten(&self, position: JournalPosition) {
        // What is awaited only grows: most callers wait for what has been hastened when it was appended.
        if position.0 <= self.awaited.load(Ordering::Relaxed) {
            return;
        }
        let mut pending = self.pending.lock();
        let position = position.min(self.marks.appended());
        self.awaited.fetch_max(position.0, Ordering::Relaxed);
        let must_wake = pending.hasten(position);
        drop(pending);
        if must_wake {
            self.work.notify_one();
        }
    }

    /// Wakes the writer until all before `position` is synced, whatever confirms wait for.
    pub(crate) fn want_sync(&self, position: JournalPosition) {
        let mut pending = self.pending.lock();
        pending.sync_wanted = pending.sync_wanted.max(position);
        drop(pending);
        self.work.notify_one();
    }

    /// Whether more is to be synced than is, whatever confirms wait for.
    pub(crate) fn is_sync_wanted(&self) -> bool {
        self.pending.lock().sync_wanted > self.marks.flushed()
    }

    /// Whether what cannot be written will not be.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst) || self.is_closing.load(Ordering::SeqCst)
    }

    pub(crate) fn advance_written(&self, to: JournalPosition) {
        self.wake(self.marks.set_written(to));
    }

    pub(crate) fn advance_flushed(&self, to: JournalPosition) {
        if self.replication.is_some() {
            self.flushed_times.note(to, Instant::now());
        }
        self.wake(self.marks.set_flushed(to));
        self.synced_record.note();
    }

    /// All before `to` is on the disks of a majority.
    pub(crate) fn advance_committed(&self, to: JournalPosition) {
        self.wake(self.marks.set_committed(to));
    }

    fn wake(&self, advanced: Advanced) {
        if let Some(durable) = advanced.durable {
            self.durable_times.note(durable, Instant::now());
            self.durable_waiters.wake(durable);
        }
        if let Some(synced) = advanced.synced {
            self.synced_waiters.wake(synced);
        }
    }

    /// These commits are synced: their contents need be held no longer.
    pub(crate) fn release(&self, commits: impl Iterator<Item = Commit>) {
        // Contents go first, and chunks with them, outside the lock.
        let emptied: Vec<_> = commits.map(|mut commit| (commit.empty(), commit)).collect();
        let mut pending = self.pending.lock();
        for (len, commit) in emptied {
            pending.gathering.release(commit, len);
        }
        let is_low = pending.gathering.gathered_len() <= self.options.pending_len_max() / 2;
        drop(pending);
        if is_low && self.is_congested_by(congestion::PENDING) {
            self.relieve(congestion::PENDING);
        }
    }

    /// Writes down how far it is synced. Says whether that failed, and logs it unless it had failed before.
    pub(crate) fn record_synced(&self, has_failed: bool) -> bool {
        let result = self.synced_record.update(self);
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
        // An error tells nothing: what cannot be looked at now may be there.
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
        let _watched = self.watch(operation);
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

    pub(crate) fn watch(&self, operation: DiskOperation) -> Option<Watched<'_>> {
        let watch = self.replication.as_ref()?.watch()?;
        Some(watch.begin(operation, Instant::now()))
    }

    /// Whether commits are appended here, and others have them, too.
    pub(crate) fn is_leaders(&self) -> bool {
        self.replication.as_ref().is_some_and(|replication| replication.is_leaders())
    }

    /// Nothing that was appended before `position` is needed any more.
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

    pub(crate) fn unretired_len(&self) -> u64 {
        self.unretired_len.load(Ordering::Relaxed)
    }

    /// So much more of the files is in use.
    pub(crate) fn grow_unretired(&self, len: u64) {
        self.unretired_len.fetch_add(len, Ordering::SeqCst);
        self.judge_unretired();
    }

    /// So much of the files is no longer in use.
    pub(crate) fn shrink_unretired(&self, len: u64) {
        self.unretired_len.fetch_sub(len, Ordering::SeqCst);
        self.judge_unretired();
        self.filing.notify_one();
    }

    fn judge_unretired(&self) {
        let len_max = self.options.unretired_len_max;
        let len = || self.unretired_len.load(Ordering::SeqCst);
        // A commit that is longer than all may be is not waited for: only what comes after it takes the journal to another file, before
        // which this one cannot be retired.
        self.judge(congestion::UNRETIRED, || {
            len() > len_max && len() - self.files.lock().longest_of_its_own().min(len()) > len_max
        });
    }

    /// Congests or relieves, until what was done is right by what is seen afterwards: another thread may do the opposite.
    fn judge(&self, cause: u8, must_wait: impl Fn() -> bool) {
        loop {
            let is_congested = self.congestion.load(Ordering::SeqCst) & cause != 0;
            match (must_wait(), is_congested) {
                (true, false) => self.congest(cause),
                (false, true) => self.relieve(cause),
                _ => return,
            }
        }
    }

    /// A file in which a commit of this length fits; `None`: the preallocator has been told.
    pub(crate) fn take_prepared(&self, disk_len: u64) -> Option<PreparedFile> {
        let mut files = self.files.lock();
        let file = files.take_prepared(disk_len);
        if file.is_none() {
            files.want(disk_len);
        }
        drop(files);
        self.judge_files();
        self.filing.notify_one();
        file
    }

    /// As [`Shared::take_prepared`], for the writer that makes a file itself if there is none: it waits for no other.
    pub(crate) fn take_prepared_if_any(&self, disk_len: u64) -> Option<PreparedFile> {
        let mut files = self.files.lock();
        let file = files.take_prepared(disk_len);
        files.want_none();
        drop(files);
        self.judge_files();
        self.filing.notify_one();
        file
    }

    /// Whether the reserve is whole again and the owner does not know yet.
    pub(crate) fn is_reserve_refilled(&self, files: &Files) -> bool {
        files.has_enough_prepared() && self.is_congested_by(congestion::RESERVE)
    }

    /// Another file is ready.
    pub(crate) fn add_prepared(&self, file: PreparedFile) {
        self.files.lock().add_prepared(file);
        self.judge_files();
    }

    /// Publishers may fill what is ready, not more: on a full disk nothing would be left to write what they have been let
    /// append, and before that is written no file is retired.
    pub(crate) fn judge_files(&self) {
        self.judge(congestion::FILES, || !self.files.lock().has_prepared());
    }

    pub(crate) fn is_congested(&self) -> bool {
        self.congestion.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn is_congested_by(&self, cause: u8) -> bool {
        self.congestion.load(Ordering::Relaxed) & cause != 0
    }

    pub(crate) fn congest(&self, cause: u8) {
        let before = self.congestion.fetch_or(cause, Ordering::SeqCst);
        if cause == congestion::RESERVE && before & cause == 0 {
            self.tell(Event::ReserveEntered);
        }
    }

    pub(crate) fn relieve(&self, cause: u8) {
        let before = self.congestion.fetch_and(!cause, Ordering::SeqCst);
        if cause == congestion::RESERVE && before & cause != 0 {
            self.tell(Event::ReserveLeft);
        }
        if before == cause {
            self.congestion_waiters.wake(JournalPosition::MAX);
        }
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

    /// Nothing will be durable any more. All who wait are woken, to see it.
    pub(crate) fn fail(&self, reason: &str) -> Failed {
        self.fail_because(FailureCause::Broken, reason)
    }

    /// As [`Shared::fail`], for a reason that may be an ordinary one.
    pub(crate) fn fail_because(&self, cause: FailureCause, reason: &str) -> Failed {
        let failed = Failed { durable: self.marks.durable(), reason: reason.into(), cause };
        if self.failure.set(failed.clone()).is_ok() {
            let durable = failed.durable.0;
            match cause {
                FailureCause::Broken => tracing::error!(durable, reason, "journal failed"),
                FailureCause::LeadershipLost => tracing::info!(durable, reason, "leadership was lost"),
            }
            self.congest(congestion::FAILED);
            self.durable_waiters.wake(JournalPosition::MAX);
            self.synced_waiters.wake(JournalPosition::MAX);
            self.tell(Event::Failed);
        }
        failed
    }
}
