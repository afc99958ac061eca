//! Writes commits: one `pwritev`, one `fdatasync`, and what to do when either fails.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use consensus::LogId;
use model::ids::JournalPosition;

use super::commit::Commit;
use super::congestion::Cause;
use super::files::{AnchoredFile, ClosedFile, PreparedFile};
use super::format::{FILE_HEADER_LEN, FileHeader, Layout};
use super::options::{ConfirmAfter, Event, Failed, FailureCause};
use super::preallocator;
use super::shared::Shared;
use super::sync_progress::SyncOutcome;
use super::syncer::Syncer;
use super::watch::DiskOperation;
use crate::file::{File, write_all_at, write_all_vectored_at};
use crate::trace_points::{COMMIT, SYNC};

/// Why a journal fails whose owner does not lead its group.
pub const NOT_LEADING: &str = "this node is no longer the leader";

/// Time from one commit's start to the next one's, at least, where a member leads. What a commit costs others is the same whatever is in
/// it. One after a pause waits for nothing.
pub(crate) const COMMIT_INTERVAL: Duration = Duration::from_millis(1);

/// What [`Writer::commit_once`] found to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing waits to be written.
    Idle,
    /// A commit is written, and durable.
    Committed,
    /// The preallocator must prepare a file first.
    NeedsFile,
    /// The disk is full, and what is left of the last file is for what a checkpoint waits for.
    Held,
}

/// The one that writes. A thread calls [`Writer::commit_once`] in a loop; tests call it by hand.
pub struct Writer {
    shared: Arc<Shared>,
    current: Option<CurrentFile>,
    /// Taken from the gathering, but there was no file for it.
    next: Option<Commit>,
    /// Written to the current file and not synced.
    unsynced: VecDeque<Commit>,
    /// Up to here commits had been received when the first of them was written: one sync does for all of these.
    received_to: JournalPosition,
    /// When the first commit was written that no sync under way has; set with [`ConfirmAfter::Write`] only.
    unsynced_since: Option<Instant>,
    /// Time between the starts of two commits, at least.
    interval: Duration,
    /// When the last one was begun, if the next has to wait for that.
    begun: Option<Instant>,
    /// Another thread syncs beside this.
    has_syncer: bool,
    is_sync_under_way: bool,
}

/// The file being written.
pub(crate) struct CurrentFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn File>,
    pub(crate) header: FileHeader,
    /// Where the next commit is written. At [`FILE_HEADER_LEN`] the header has not been written either.
    pub(crate) offset: u64,
    /// The header is on disk.
    pub(crate) is_anchored: bool,
    /// The last entry of which all is on disk.
    pub(crate) last: Option<LogId>,
}

impl CurrentFile {
    /// As it is known to others from now on.
    pub(crate) fn anchored(&self) -> AnchoredFile {
        AnchoredFile { path: self.path.clone(), file: self.file.clone(), header: self.header }
    }

    fn close(self, end: JournalPosition, is_trusted: bool) -> ClosedFile {
        ClosedFile {
            path: self.path,
            file: self.file,
            len: self.header.file_len,
            used_len: self.offset,
            header: self.header,
            end,
            last: self.last,
            is_anchored: self.is_anchored,
            is_trusted,
        }
    }
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, current: Option<CurrentFile>) -> Writer {
        Writer {
            interval: if shared.replicator.is_leaders() { COMMIT_INTERVAL } else { Duration::ZERO },
            begun: None,
            shared,
            current,
            next: None,
            unsynced: VecDeque::new(),
            received_to: JournalPosition::START,
            unsynced_since: None,
            has_syncer: false,
            is_sync_under_way: false,
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// From now on syncs that no confirm waits for are left to this.
    pub(crate) fn split_syncer(&mut self) -> Syncer {
        self.has_syncer = true;
        Syncer::new(self.shared.clone())
    }

    /// Makes durable what has gathered, up to one commit's length.
    pub(crate) fn commit_once(&mut self) -> Result<Progress, Failed> {
        self.commit_at(Instant::now())
    }

    pub(crate) fn commit_at(&mut self, now: Instant) -> Result<Progress, Failed> {
        self.shared.check()?;
        self.look_at_sync(now)?;
        let Some(commit) = self.next.take().or_else(|| self.shared.work.take()) else {
            return Ok(Progress::Idle);
        };
        if self.is_held_back(&commit) {
            self.next = Some(commit);
            self.sync_soon()?;
            return Ok(Progress::Held);
        }
        if self.has_syncer && self.has_unsynced() && self.shared.replicator.must_wait() {
            self.sync()?;
        }
        if !self.has_room(&commit) && !self.open_next(&commit)? {
            self.next = Some(commit);
            return Ok(Progress::NeedsFile);
        }
        if !self.interval.is_zero() {
            self.begun = Some(now);
        }
        self.write(commit)?;
        if self.shared.options.confirm_after == ConfirmAfter::Write && self.has_unsynced() {
            self.unsynced_since.get_or_insert(now);
        }
        if self.is_sync_due(now) {
            self.sync_soon()?;
        }
        Ok(Progress::Committed)
    }

    /// How long the next commit has to wait, because the last one has just begun.
    pub(crate) fn paced_for(&self, now: Instant) -> Duration {
        let since = self.begun.map(|begun| now.saturating_duration_since(begun));
        since.map_or(Duration::ZERO, |since| self.interval.saturating_sub(since))
    }

    /// Acts on the outcome of the sync that was under way, if it has ended.
    pub(crate) fn look_at_sync(&mut self, now: Instant) -> Result<(), Failed> {
        let Some(outcome) = self.shared.syncing.take_done() else { return Ok(()) };
        self.act_on(outcome)?;
        // Publishers may be waiting for just this.
        if self.has_unsynced() && self.is_sync_due(now) { self.sync_soon() } else { Ok(()) }
    }

    /// Begins a sync of what is written, or does it at once if no other thread does.
    pub(crate) fn sync_soon(&mut self) -> Result<(), Failed> {
        if !self.has_syncer {
            return self.sync();
        }
        if self.is_sync_under_way {
            return Ok(()); // the next begins when it has ended
        }
        let (Some(current), Some(last)) = (&self.current, self.unsynced.back()) else { return Ok(()) };
        self.shared.syncing.ask(current.file.clone(), last.end());
        self.is_sync_under_way = true;
        self.unsynced_since = None;
        Ok(())
    }

    fn act_on(&mut self, outcome: SyncOutcome) -> Result<(), Failed> {
        self.is_sync_under_way = false;
        match outcome.result {
            Ok(()) => {
                self.finish_sync(outcome.end);
                Ok(())
            }
            Err(error) => self.rewrite("syncing", error),
        }
    }

    /// A commit has been taken and is not written.
    pub(crate) fn has_next(&self) -> bool {
        self.next.is_some()
    }

    pub(crate) fn is_sync_under_way(&self) -> bool {
        self.is_sync_under_way
    }

    /// Syncs what is written, if anything is not.
    pub(crate) fn sync_once(&mut self) -> Result<(), Failed> {
        self.shared.check()?;
        self.sync()
    }

    pub(crate) fn has_unsynced(&self) -> bool {
        !self.unsynced.is_empty()
    }

    /// How long the writer may wait for more before it syncs; `None`: for ever.
    pub(crate) fn sync_due_in(&self, now: Instant) -> Option<Duration> {
        let since = self.unsynced_since?;
        Some(self.shared.options.sync_delay.saturating_sub(now.saturating_duration_since(since)))
    }

    fn is_sync_due(&self, now: Instant) -> bool {
        let shared = &self.shared;
        let unsynced_len: u64 = self.unsynced.iter().map(|commit| commit.disk_len(shared.replicator.layout())).sum();
        let is_more_received = self.unsynced.back().is_some_and(|last| last.end() < self.received_to);
        (shared.options.confirm_after == ConfirmAfter::Sync && !is_more_received)
            || unsynced_len >= shared.options.unsynced_len_max()
            || self.sync_due_in(now).is_some_and(|delay| delay.is_zero())
            || shared.is_sync_wanted()
    }

    fn has_room(&self, commit: &Commit) -> bool {
        let layout = self.shared.replicator.layout();
        self.current.as_ref().is_some_and(|current| {
            // The tail that was written again at the start may have the other layout.
            current.header.layout == layout && current.header.file_len - current.offset >= commit.disk_len(layout)
        })
    }

    /// Whether this commit would be written to the last file that there is, though another could be used again after a checkpoint. A
    /// checkpoint waits until all that it knows of is synced: if no file had room for that, there would never be one again.
    fn is_held_back(&self, commit: &Commit) -> bool {
        let shared = &self.shared;
        if !shared.congestion.has(Cause::Reserve) || shared.shutdown.is_ending() {
            return false;
        }
        let len = commit.disk_len(shared.replicator.layout());
        let is_last = match &self.current {
            // Before its header is written no checkpoint lets go of the files before it.
            Some(current) if self.has_room(commit) => {
                current.offset > FILE_HEADER_LEN && shared.files.lock().count_prepared(len) == 0
            }
            _ => shared.files.lock().count_prepared(len) == 1,
        };
        is_last && shared.files.lock().has_retirable() && !shared.is_sync_wanted()
    }

    /// Leaves the current file, all of which must be synced, for the next. False: there is none yet.
    fn open_next(&mut self, commit: &Commit) -> Result<bool, Failed> {
        self.sync()?;
        if self.has_room(commit) {
            return Ok(true); // syncing failed and went on in a new file
        }
        let Some(prepared) = self.shared.take_prepared(commit.disk_len(self.shared.replicator.layout())) else {
            return Ok(false);
        };
        let synced = self.shared.positions.flushed();
        if let Some(full) = self.current.take() {
            self.shared.files.lock().close(full.close(synced, true));
            self.shared.tell(Event::FileClosed);
        }
        self.current = Some(self.begin(prepared, synced, synced));
        Ok(true)
    }

    fn begin(&self, prepared: PreparedFile, first: JournalPosition, synced: JournalPosition) -> CurrentFile {
        let header = file_header(&self.shared, self.shared.replicator.layout(), prepared.len, first, synced);
        CurrentFile {
            path: prepared.path,
            file: prepared.file,
            header,
            offset: FILE_HEADER_LEN,
            is_anchored: false,
            last: None,
        }
    }

    /// Has the commit numbered, if it is to have a number and has none yet.
    fn number(&mut self, commit: &mut Commit) -> Result<(), Failed> {
        let Some(replication) = self.shared.replicator.get() else { return Ok(()) };
        if commit.id().is_some() {
            if self.unsynced.is_empty() {
                self.received_to = self.shared.positions.appended();
            }
            return Ok(());
        }
        match replication.propose(Arc::new(commit.share())) {
            Some(id) => {
                commit.set_id(id);
                Ok(())
            }
            None => Err(self.shared.fail_because(FailureCause::LeadershipLost, NOT_LEADING)),
        }
    }

    /// Writes the commit, together with the file's header if it is the file's first.
    fn write(&mut self, mut commit: Commit) -> Result<(), Failed> {
        let _call = COMMIT.enter(|arguments| {
            arguments.number("bytes", commit.disk_len(self.shared.replicator.layout()));
        });
        self.number(&mut commit)?;
        let layout = self.shared.replicator.layout();
        let current = self.current.as_mut().expect("a file with room was opened");
        let header = commit.header(&current.header, self.shared.positions.flushed()).encode();
        let is_first = current.offset == FILE_HEADER_LEN;
        let page = is_first.then(|| current.header.encode());
        let mut slices = Vec::with_capacity(commit.run_count() + 4);
        slices.extend(page.as_ref().map(|page| IoSlice::new(page)));
        slices.push(IoSlice::new(&header));
        commit.payload(layout, &mut slices);
        let offset = if is_first { 0 } else { current.offset };
        let write = || write_all_vectored_at(current.file.as_ref(), &mut slices, offset);
        let result = self.shared.watched(DiskOperation::Write, write);
        let (len, end) = (commit.disk_len(layout), commit.end());
        current.offset += len;
        self.shared.grow_unretired(if is_first { len + FILE_HEADER_LEN } else { len });
        self.unsynced.push_back(commit);
        match result {
            Ok(()) => self.shared.positions.advance_written(end),
            Err(error) => self.rewrite("writing", error)?,
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Failed> {
        if std::mem::take(&mut self.is_sync_under_way)
            && let Some(outcome) = self.shared.syncing.end()
        {
            self.act_on(outcome)?;
        }
        let (Some(current), Some(last)) = (&self.current, self.unsynced.back()) else { return Ok(()) };
        let end = last.end();
        let _call = SYNC.enter(|_| {});
        match self.shared.sync(DiskOperation::Write, &*current.file) {
            Ok(()) => {
                self.unsynced_since = None;
                self.finish_sync(end);
            }
            Err(error) => return self.rewrite("syncing", error),
        }
        Ok(())
    }

    /// All up to `end` is on disk, in the current file and those before.
    fn finish_sync(&mut self, end: JournalPosition) {
        let current = self.current.as_mut().expect("something was synced");
        let synced_count = self.unsynced.iter().take_while(|commit| commit.end() <= end).count();
        current.last = self.unsynced.iter().take(synced_count).next_back().and_then(Commit::id).or(current.last);
        // First: a caller that sees that something is synced finds the file that has it.
        if !std::mem::replace(&mut current.is_anchored, true) {
            self.shared.anchor(current.anchored());
        }
        self.shared.advance_flushed(end);
        self.shared.release(self.unsynced.drain(..synced_count));
        if let Some(replication) = self.shared.replicator.get() {
            replication.flushed(end);
        }
    }

    /// The current file failed: nothing of it that was not synced is trusted again, whatever it says later. All that is not synced is
    /// written to another file, under the same positions. If that fails too, the journal has failed.
    fn rewrite(&mut self, attempt: &str, error: io::Error) -> Result<(), Failed> {
        // The outcome of a sync under way no longer matters: all of it is written again.
        if std::mem::take(&mut self.is_sync_under_way) {
            drop(self.shared.syncing.end());
        }
        let failed = self.current.take().expect("a current file failed");
        tracing::error!(path = %failed.path.display(), %error, attempt, "journal file failed, going on in another");
        let why = format!("{attempt} {} failed ({error})", failed.path.display());
        let synced = self.shared.positions.flushed();
        self.shared.files.lock().close(failed.close(synced, false));
        self.shared.tell(Event::FileClosed);
        match self.write_again(synced) {
            Ok(end) => {
                if self.shared.positions.written() < end {
                    self.shared.positions.advance_written(end);
                }
                self.unsynced_since = None;
                self.finish_sync(end);
                Ok(())
            }
            Err(error) => {
                Err(self.shared.fail(&format!("{why}, and so did writing it again to another file ({error})")))
            }
        }
    }

    /// Writes all unsynced commits into a new file and syncs them; then its header, and syncs that. As long as the
    /// header is not on disk, the file means nothing and the failed one still counts for what it may have.
    fn write_again(&mut self, synced: JournalPosition) -> io::Result<JournalPosition> {
        let shared = self.shared.clone();
        let _watched = shared.replicator.watch(DiskOperation::Write);
        let end = self.unsynced.back().expect("something was not synced").end();
        let layout = self.shared.replicator.layout();
        let payload_len = self.unsynced.iter().map(|commit| commit.disk_len(layout)).sum();
        let prepared = preallocator::take_or_create(&self.shared, payload_len)?;
        let mut current = self.begin(prepared, synced, end);
        for commit in &self.unsynced {
            let header = commit.header(&current.header, synced).encode();
            let mut slices = vec![IoSlice::new(&header)];
            commit.payload(layout, &mut slices);
            write_all_vectored_at(current.file.as_ref(), &mut slices, current.offset)?;
            current.offset += commit.disk_len(layout);
        }
        current.file.fdatasync()?;
        write_all_at(current.file.as_ref(), &current.header.encode(), 0)?;
        current.file.fdatasync()?;
        self.shared.grow_unretired(current.offset);
        self.current = Some(current);
        Ok(end)
    }
}

/// The header of a file's next use.
pub(crate) fn file_header(
    shared: &Shared,
    layout: Layout,
    file_len: u64,
    first: JournalPosition,
    synced: JournalPosition,
) -> FileHeader {
    let generation = shared.files.lock().take_generation();
    FileHeader { layout, generation, salt: mix(shared.options.salt ^ generation), first, synced, file_len }
}

/// SplitMix64's finish: each use of a file has a salt of its own.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
