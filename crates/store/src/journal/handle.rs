//! What the rest of the broker sees of the journal.

use std::path::PathBuf;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use model::ids::JournalPosition;

use super::congestion::Cause;
use super::entry::{ReceiveError, ReceivedCommit};
use super::files::PreparedFile;
use super::options::{Failed, FailureCause, FileSpan};
use super::positions::Positions;
use super::record::RecordBatch;
use super::room::{cut_closed, give_room, remove_prepared};
use super::shared::Shared;
use super::snapshot_guard::SnapshotGuard;
use super::sync_times::SyncCounts;
use crate::file::{File, PAGE_LEN};
use crate::wake::{DurableWaiter, Waiting, WakeRelay};

/// The journal; a cheap handle, clones are the same journal.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

impl Journal {
    pub(crate) fn new(shared: Arc<Shared>) -> Journal {
        Journal { shared }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Takes what is in the batch, keeps the batch's memory to it, and returns where its last record ends: it is durable
    /// when [`Journal::durable`] has got there. Copies no contents and waits for nothing but one short lock.
    pub fn append(&self, batch: &mut RecordBatch) -> JournalPosition {
        self.shared.append(batch)
    }

    /// Takes a commit that the group's leader has numbered, and writes it at once; returns where it ends. It has to begin where the
    /// journal ends. What follows on one another is synced together. Of a replicated journal only.
    pub fn receive(&self, commit: ReceivedCommit) -> Result<JournalPosition, ReceiveError> {
        self.shared.receive(commit)
    }

    /// Takes a change of members, as `MemberChange::encode` has it: a commit of its own, written at once. Returns where it ends. Of a
    /// replicated journal only.
    pub fn append_members(&self, change: &[u8]) -> JournalPosition {
        assert!(!change.is_empty(), "a commit has a length");
        self.shared.append_members(change)
    }

    /// All before `position` is on the disks of a majority of the group, whether it is on this one or not. What is behind that, or is
    /// said late, changes nothing.
    pub fn set_committed(&self, position: JournalPosition) {
        self.shared.positions.advance_committed(position);
    }

    /// The end of all that was appended.
    #[must_use]
    pub fn appended(&self) -> JournalPosition {
        self.shared.positions.appended()
    }

    /// The end of all that was handed to the operating system.
    #[must_use]
    pub fn written(&self) -> JournalPosition {
        self.shared.positions.written()
    }

    /// The end of all that is on this disk. In a group that may not be committed: see [`Journal::synced`].
    #[must_use]
    pub fn flushed(&self) -> JournalPosition {
        self.shared.positions.flushed()
    }

    /// The end of all that confirms may leave for.
    #[must_use]
    pub fn durable(&self) -> JournalPosition {
        self.shared.positions.durable()
    }

    /// Since when confirms may leave for all before `position`; none if that is not so, or only just now.
    #[must_use]
    pub fn durable_since(&self, position: JournalPosition) -> Option<Instant> {
        self.shared.positions.durable_since(position)
    }

    /// In a group, since when all before `position` is on this disk; none if that is not so, or only just now.
    #[must_use]
    pub fn flushed_since(&self, position: JournalPosition) -> Option<Instant> {
        self.shared.positions.flushed_since(position)
    }

    /// The end of all that survives a power cut, and in a group is committed. Checkpoints rely on this, whatever confirms rely on.
    #[must_use]
    pub fn synced(&self) -> JournalPosition {
        self.shared.positions.synced()
    }

    /// How often it was synced since it was opened, and how long that took.
    #[must_use]
    pub fn sync_counts(&self) -> SyncCounts {
        self.shared.sync_counts()
    }

    /// Removes files that are ready beyond those that must be.
    pub(crate) fn remove_surplus(&self) {
        let surplus = self.shared.files.lock().take_surplus();
        if !surplus.is_empty() {
            remove_prepared(&self.shared, surplus, "more are ready than are needed");
        }
    }

    /// Whether more files are ready than must be.
    pub(crate) fn has_surplus(&self) -> bool {
        self.shared.files.lock().has_surplus()
    }

    /// Gives up of what is ready what can be spared, if that makes room for so much; says whether it does.
    pub(crate) fn give_room(&self, len: u64) -> bool {
        give_room(&self.shared, len)
    }

    /// Gives up what files have behind all that will ever be in them; says whether there was something.
    pub(crate) fn cut_closed(&self) -> bool {
        cut_closed(&self.shared)
    }

    /// Wakes a task once when all before `position` is durable or never will be; at once if so.
    pub fn when_durable(&self, position: JournalPosition, task: Arc<dyn DurableWaiter>) {
        self.add_durable_waiter(position, Waiting::Task(task));
    }

    fn add_durable_waiter(&self, position: JournalPosition, waiting: Waiting) {
        self.shared.positions.when_durable(position, waiting, || self.is_failed());
        self.shared.hasten(position);
    }

    /// Wakes this thread once when all before `position` is synced or never will be; at once if so. Hastens the sync.
    fn when_synced(&self, position: JournalPosition) {
        self.shared.positions.when_synced(position, Waiting::this_thread(), || self.is_failed());
        self.shared.work.want_sync(position);
    }

    /// As [`Journal::wait_synced`], for a while at most; says whether it is synced.
    pub(crate) fn wait_synced_for(&self, position: JournalPosition, time: Duration) -> Result<bool, Failed> {
        self.when_synced(position);
        let end = Instant::now() + time;
        while self.synced() < position {
            self.shared.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::park_timeout(left);
        }
        Ok(true)
    }

    /// Has all before `position` synced, whatever is held back.
    pub(crate) fn want_sync(&self, position: JournalPosition) {
        self.shared.work.want_sync(position);
    }

    /// Where the file would lie that the writer waits for while none can be made, how long it should be, and how long at least.
    pub(crate) fn missing_file(&self) -> Option<(PathBuf, u64, u64)> {
        let mut files = self.shared.files.lock();
        let (len, len_min) = files.missing_len().filter(|_| files.is_stalled())?;
        Some((files.take_path(), len, len_min))
    }

    /// How many files are ready.
    pub(crate) fn prepared_count(&self) -> usize {
        self.shared.files.lock().count_prepared(0)
    }

    /// A file of zeros that was made elsewhere, on disk under this name, is ready.
    pub(crate) fn adopt(&self, path: PathBuf, file: Box<dyn File>, len: u64) {
        self.shared.add_prepared(PreparedFile { path, file: file.into(), len });
        self.shared.files.wake_writer();
    }

    /// The length of the longest file there is, or comes to be for a message of this length: so much at most has to be moved out of one.
    pub(crate) fn longest_file(&self, message_len: u64) -> u64 {
        let files = self.shared.files.lock();
        // Besides, there are the queues that the message is sent to.
        files.longest().max(files.len_for(self.shared.replicator.layout().disk_len(message_len) + PAGE_LEN as u64))
    }

    /// Blocks this thread until all before `position` is durable.
    pub fn wait_durable(&self, position: JournalPosition) -> Result<(), Failed> {
        self.add_durable_waiter(position, Waiting::this_thread());
        self.park_until(position, Positions::durable)
    }

    /// Blocks this thread until all before `position` is synced.
    #[cfg(test)]
    pub(crate) fn wait_synced(&self, position: JournalPosition) -> Result<(), Failed> {
        self.when_synced(position);
        self.park_until(position, Positions::synced)
    }

    fn park_until(&self, position: JournalPosition, mark: fn(&Positions) -> JournalPosition) -> Result<(), Failed> {
        while mark(&self.shared.positions) < position {
            self.shared.check()?;
            std::thread::park();
        }
        Ok(())
    }

    /// Whether publishers must wait: too much is not synced or not retired, the disk is full, or the journal failed.
    #[must_use]
    #[inline]
    pub fn is_congested(&self) -> bool {
        self.shared.congestion.is_any()
    }

    /// Wakes once when publishers may go on; at once if they may.
    pub fn when_uncongested(&self, waker: Waker) {
        self.shared.congestion.when_none(Waiting::Task(Arc::new(waker)));
    }

    /// Where tasks are woken.
    pub(crate) fn relay(&self) -> &WakeRelay {
        self.shared.relay()
    }

    /// Whether only the reserve is left for what must still be written: the disk alarm.
    #[must_use]
    pub fn is_reserve_in_use(&self) -> bool {
        self.shared.congestion.has(Cause::Reserve)
    }

    /// Whether nothing will ever be durable again.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.shared.failure().is_some()
    }

    /// Why nothing will ever be durable again.
    #[must_use]
    pub fn failure(&self) -> Option<Failed> {
        self.shared.failure().cloned()
    }

    /// From now on what cannot be written because the disk is full makes the journal fail, instead of waiting for room.
    pub(crate) fn set_closing(&self) {
        self.shared.shutdown.close();
        self.shared.files.wake_writer();
    }

    /// Nothing more will become durable, for this reason.
    pub fn fail(&self, reason: &str) {
        self.shared.fail(reason);
    }

    /// Nothing more will become durable, because another node leads.
    pub fn lose_leadership(&self, reason: &str) {
        self.shared.fail_because(FailureCause::LeadershipLost, reason);
    }

    /// Writes down how far it is synced, where the next start looks whether all of that is there.
    pub(crate) fn record_synced(&self) {
        self.shared.record_synced(false);
    }

    /// Fails if files that hold what is synced have been removed.
    pub(crate) fn check_files(&self) -> Result<(), Failed> {
        self.shared.check_files();
        self.shared.check()
    }

    /// Bytes of journal files that are in use.
    #[must_use]
    pub fn unretired_len(&self) -> u64 {
        self.shared.files.unretired_len()
    }

    /// Memory of what is on its way to the disk, without chunks.
    pub(crate) fn memory_len(&self) -> u64 {
        self.shared.work.memory_len() as u64
    }

    /// The files in use but for the one being written, oldest first.
    #[must_use]
    pub(crate) fn closed_files(&self) -> Vec<FileSpan> {
        self.shared.files.lock().spans()
    }

    /// Keeps what is synced by now from being written over. Only one snapshot at a time, and never while something is retired.
    pub(crate) fn snapshot(&self) -> SnapshotGuard {
        SnapshotGuard::new(self.shared.clone())
    }

    /// Records that end at or before `position` are no longer needed: a checkpoint has them, and the manifest that names it is synced.
    /// Files that hold nothing else are used again.
    pub fn retire(&self, position: JournalPosition) {
        assert!(position <= self.synced(), "retired up to {position}, synced up to {}", self.synced());
        self.shared.retire(position);
    }
}
