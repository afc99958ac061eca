//! Which files the journal has, and what each is for.
//!
//! ```text
//!  prepared ──► current ──► closed ──► retired ──► prepared again, or removed
//!  zeros, or a     written    whole,     not needed,
//!  zeroed header              synced     header still says in use
//! ```
//!
//! Invariant, on which recovery relies: at any moment, for the position that the last checkpoint continues from, some
//! file whose header is on disk begins at or before it, and from the last such file on the journal is whole. Hence
//! files are retired only up to the last *anchored* one (header synced) that begins at or before the position.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consensus::{Index, LogId};
use model::ids::JournalPosition;

use super::format::{FILE_HEADER_LEN, FileHeader};
use super::options::{FileSpan, Options};
use crate::file::{File, PAGE_LEN};

/// How many files are kept ready: the next one and the reserve.
pub(crate) const PREPARED_COUNT: usize = 2;

/// A file that can be used at once.
pub(crate) struct PreparedFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn File>,
    pub(crate) len: u64,
}

impl PreparedFile {
    /// Whether a commit of this length has room in it.
    fn fits(&self, disk_len: u64) -> bool {
        self.len >= disk_len + FILE_HEADER_LEN
    }
}

/// A file that nothing more will be written to.
pub(crate) struct ClosedFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn File>,
    pub(crate) len: u64,
    pub(crate) used_len: u64,
    pub(crate) header: FileHeader,
    pub(crate) end: JournalPosition,
    /// The last entry before `end`.
    pub(crate) last: Option<LogId>,
    /// Its header is on disk.
    pub(crate) is_anchored: bool,
    /// No sync of it has failed.
    pub(crate) is_trusted: bool,
}

/// The file being written, once its header is on disk.
#[derive(Clone)]
pub(crate) struct AnchoredFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn File>,
    pub(crate) header: FileHeader,
}

/// A file that may have entries of a group's log.
pub(crate) struct EntryFile {
    pub(crate) file: Arc<dyn File>,
    pub(crate) header: FileHeader,
    pub(crate) len: u64,
    /// Where it ends; nothing as long as it is written.
    pub(crate) end: Option<JournalPosition>,
}

impl EntryFile {
    fn closed(file: &ClosedFile) -> EntryFile {
        EntryFile { file: file.file.clone(), header: file.header, len: file.len, end: Some(file.end) }
    }

    fn current(file: &AnchoredFile) -> EntryFile {
        EntryFile { file: file.file.clone(), header: file.header, len: file.header.file_len, end: None }
    }
}

/// What the preallocator should do next.
pub(crate) enum Job {
    /// Make a file of this length.
    Create(u64),
    /// Take the header off this one, or remove it.
    Recycle(ClosedFile),
}

/// The name of the journal file with a number.
pub(crate) fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.journal"))
}

/// All files but the one being written.
pub(crate) struct Files {
    dir: PathBuf,
    file_len: u64,
    prepared: Vec<PreparedFile>,
    closed: VecDeque<ClosedFile>,
    retired: VecDeque<ClosedFile>,
    current: Option<AnchoredFile>,
    /// The length of the file that was taken last: it is written, or is going to be.
    taken_len: u64,
    /// What was appended before here is needed no more.
    retired_to: JournalPosition,
    /// A backup reads what lies before here: retired files that have some of it are left as they are.
    snapshot_end: JournalPosition,
    /// The writer waits for a file in which a commit of this length fits; 0: it waits for none.
    wanted_len: u64,
    next_generation: u64,
    next_number: u64,
    /// The last job failed.
    is_stalled: bool,
    is_stopping: bool,
}

impl Files {
    pub(crate) fn new(dir: &Path, options: &Options, next_generation: u64, next_number: u64) -> Files {
        Files {
            dir: dir.to_owned(),
            file_len: options.file_len,
            prepared: Vec::new(),
            closed: VecDeque::new(),
            retired: VecDeque::new(),
            current: None,
            taken_len: 0,
            retired_to: JournalPosition::START,
            snapshot_end: JournalPosition::START,
            wanted_len: 0,
            next_generation,
            next_number,
            is_stalled: false,
            is_stopping: false,
        }
    }

    /// The last job succeeded, or failed: as on a full disk.
    pub(crate) fn set_stalled(&mut self, is_stalled: bool) {
        self.is_stalled = is_stalled;
    }

    pub(crate) fn is_stalled(&self) -> bool {
        self.is_stalled
    }

    /// No more jobs are done.
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// The number of the next use of any file.
    pub(crate) fn take_generation(&mut self) -> u64 {
        self.next_generation += 1;
        self.next_generation - 1
    }

    /// The name of the next file to be created.
    pub(crate) fn take_path(&mut self) -> PathBuf {
        self.next_number += 1;
        path_of(&self.dir, self.next_number - 1)
    }

    /// The length of a file in which a commit of this length fits. If that is not the usual length, there is some room behind the commit:
    /// on a full disk it may be the last file for a while.
    pub(crate) fn len_for(&self, disk_len: u64) -> u64 {
        let len = disk_len + FILE_HEADER_LEN;
        if len <= self.file_len { self.file_len } else { len + (self.file_len / 4).next_multiple_of(PAGE_LEN as u64) }
    }

    /// How many files are ready in which a commit of this length fits.
    pub(crate) fn count_prepared(&self, disk_len: u64) -> usize {
        self.prepared.iter().filter(|file| file.fits(disk_len)).count()
    }

    /// Whether a checkpoint could let go of a file.
    pub(crate) fn has_retirable(&self) -> bool {
        self.closed.iter().any(|file| file.end > self.retired_to)
    }

    /// The length of the file that the writer waits for in vain, and the shortest in which what it has to write fits.
    pub(crate) fn missing_len(&self) -> Option<(u64, u64)> {
        self.is_wanting().then(|| (self.len_for(self.wanted_len), self.wanted_len + FILE_HEADER_LEN))
    }

    /// Whether the writer waits for a file.
    fn is_wanting(&self) -> bool {
        self.wanted_len > 0 && !self.has_wanted()
    }

    /// The longest file that has, or may come to have, messages.
    pub(crate) fn longest(&self) -> u64 {
        let closed = self.closed.iter().map(|file| file.used_len);
        let prepared = self.prepared.iter().map(|file| file.len);
        let current = self.current.as_ref().map_or(self.file_len, |current| current.header.file_len);
        closed.chain(prepared).max().unwrap_or(0).max(current)
    }

    /// The length of the longest file in use that was made for one commit; 0: there is none.
    pub(crate) fn longest_of_its_own(&self) -> u64 {
        let closed = self.closed.iter().map(|file| file.len);
        // One that the writer has taken is current when its header is on disk; one that a start has made for its tail was never taken.
        let current = self.current.as_ref().map(|current| current.header.file_len);
        closed.chain(current).chain([self.taken_len]).filter(|len| *len > self.file_len).max().unwrap_or(0)
    }

    /// All of the last file was synced up to here, its header included.
    pub(crate) fn prove_last(&mut self, end: JournalPosition, entry: Option<LogId>) {
        if let Some(last) = self.closed.back_mut() {
            (last.end, last.is_anchored) = (end, true);
            last.last = entry.or(last.last);
        }
    }

    /// A file in which a commit of this length fits.
    pub(crate) fn take_prepared(&mut self, disk_len: u64) -> Option<PreparedFile> {
        let found = self.prepared.iter().position(|file| file.fits(disk_len))?;
        self.wanted_len = 0;
        let taken = self.prepared.remove(found);
        self.taken_len = taken.len;
        Some(taken)
    }

    /// The writer waits for a file in which a commit of this length fits: the preallocator is to make one.
    pub(crate) fn want(&mut self, disk_len: u64) {
        self.wanted_len = disk_len;
    }

    /// The writer waits for no file: it continues in a file of its own.
    pub(crate) fn want_none(&mut self) {
        self.wanted_len = 0;
    }

    pub(crate) fn add_prepared(&mut self, file: PreparedFile) {
        self.prepared.push(file);
    }

    /// Whether there are files of the usual length beyond those that are kept ready.
    pub(crate) fn has_surplus(&self) -> bool {
        self.prepared.iter().filter(|file| file.len == self.file_len).count() > PREPARED_COUNT
    }

    /// Files of the usual length beyond those that are kept ready. They must be removed, or come back by [`Files::add_prepared`].
    pub(crate) fn take_surplus(&mut self) -> Vec<PreparedFile> {
        let file_len = self.file_len;
        let mut kept_count = 0;
        let is_surplus = |file: &mut PreparedFile| {
            kept_count += usize::from(file.len == file_len);
            file.len == file_len && kept_count > PREPARED_COUNT
        };
        self.prepared.extract_if(.., is_surplus).collect()
    }

    /// Files that together have at least this length, none of which the writer can use before it has the one it waits for. Empty if
    /// they would not do. They must be removed, or come back by [`Files::add_prepared`].
    pub(crate) fn take_useless(&mut self, len: u64) -> Vec<PreparedFile> {
        let wanted_len = self.wanted_len;
        let mut left_len = len;
        let mut is_enough = |file: &PreparedFile| {
            let is_taken = left_len > 0 && !file.fits(wanted_len);
            left_len = left_len.saturating_sub(if is_taken { file.len } else { 0 });
            is_taken
        };
        let is_taken: Vec<bool> = self.prepared.iter().map(&mut is_enough).collect();
        if left_len > 0 {
            return Vec::new();
        }
        let mut is_taken = is_taken.into_iter();
        self.prepared.extract_if(.., |_| is_taken.next().unwrap_or(false)).collect()
    }

    /// Files that together have so much room: those to be removed, and one to be shortened by what these lack, which then still has
    /// `kept_len`. One that the writer can use stays ready. `None`: they would not do. They must be removed, or come back by
    /// [`Files::add_prepared`].
    pub(crate) fn take_room(&mut self, len: u64, kept_len: u64) -> Option<(Vec<PreparedFile>, Option<PreparedFile>)> {
        // While the writer waits for a file, none of these is of any use to it.
        let is_wanting = self.is_wanting();
        let mut ready = std::mem::take(&mut self.prepared);
        ready.sort_by_key(|file| file.len);
        let longest = if is_wanting { None } else { ready.pop() };
        let others_len: u64 = ready.iter().map(|file| file.len).sum();
        let spare_len = longest.as_ref().map_or(0, |file| file.len.saturating_sub(kept_len));
        let is_enough = others_len + spare_len >= len;
        let mut left_len = if is_enough { len } else { 0 };
        let is_removed = |file: &mut PreparedFile| {
            let is_removed = left_len > 0;
            left_len = left_len.saturating_sub(file.len);
            is_removed
        };
        let removed = ready.extract_if(.., is_removed).collect();
        self.prepared = ready;
        let (shortened, kept) = if left_len > 0 { (longest, None) } else { (None, longest) };
        self.prepared.extend(kept);
        is_enough.then_some((removed, shortened))
    }

    /// Files to which nothing more is written, with the length of what was: what is behind that is to be cut off. They count as so long
    /// from now on, and are not used again.
    pub(crate) fn shorten_closed(&mut self) -> Vec<(Arc<dyn File>, u64)> {
        let snapshot_end = self.snapshot_end;
        // One of which nothing was read, its header not either, is left as it is.
        let is_too_long = |file: &&mut ClosedFile| {
            let is_known = file.is_anchored && file.used_len >= FILE_HEADER_LEN;
            is_known && file.header.first >= snapshot_end && file.used_len < file.len
        };
        let shorten = |file: &mut ClosedFile| {
            file.len = file.used_len;
            (file.file.clone(), file.len)
        };
        self.closed.iter_mut().filter(is_too_long).map(shorten).collect()
    }

    pub(crate) fn has_prepared(&self) -> bool {
        !self.prepared.is_empty()
    }

    pub(crate) fn has_enough_prepared(&self) -> bool {
        self.wanted_len == 0 && !self.lacks_prepared()
    }

    /// Whether fewer files are ready than should be. Those that a full disk has shortened do not count.
    fn lacks_prepared(&self) -> bool {
        self.prepared.iter().filter(|file| file.len >= self.file_len).count() < PREPARED_COUNT
    }

    /// Whether the writer could go on.
    pub(crate) fn has_wanted(&self) -> bool {
        self.prepared.iter().any(|file| file.fits(self.wanted_len))
    }

    pub(crate) fn close(&mut self, file: ClosedFile) {
        self.current = None;
        self.closed.push_back(file);
    }

    /// The file being written has its header on disk. Returns the bytes that could be retired now.
    pub(crate) fn anchor(&mut self, file: AnchoredFile) -> u64 {
        self.current = Some(file);
        self.retire(self.retired_to)
    }

    /// Retires all files that hold nothing from `position` on. Returns how many bytes of them were in use.
    pub(crate) fn retire(&mut self, position: JournalPosition) -> u64 {
        self.retired_to = self.retired_to.max(position);
        let to = self.retired_to;
        let kept = if self.current.as_ref().is_some_and(|current| current.header.first <= to) {
            self.closed.len()
        } else {
            self.closed.iter().rposition(|file| file.is_anchored && file.header.first <= to).unwrap_or(0)
        };
        self.is_stalled &= kept == 0;
        let retired_len = self.closed.iter().take(kept).map(|file| file.used_len).sum();
        self.retired.extend(self.closed.drain(..kept));
        retired_len
    }

    /// Retires files all of which was written again to a later one: otherwise each start would take a file, and on a full disk soon
    /// the last one. Returns how many bytes of them were in use.
    pub(crate) fn retire_rewritten(&mut self) -> u64 {
        let mut anchored_first = self.current.as_ref().map(|current| current.header.first);
        let mut retired_len = 0;
        for at in (0..self.closed.len()).rev() {
            let file = &self.closed[at];
            let is_rewritten = file.header.first == file.end && anchored_first == Some(file.header.first);
            if file.is_anchored {
                anchored_first = Some(file.header.first);
            }
            if is_rewritten && let Some(file) = self.closed.remove(at) {
                retired_len += file.used_len;
                self.retired.push_back(file);
            }
        }
        retired_len
    }

    /// What to do next. A recycled file must come back by [`Files::add_prepared`] or [`Files::put_back`] or be removed.
    pub(crate) fn take_job(&mut self) -> Option<Job> {
        let free = self.retired.iter().position(|file| !self.is_in_snapshot(file));
        if let Some(file) = free.and_then(|free| self.retired.remove(free)) {
            return Some(Job::Recycle(file));
        }
        if self.is_wanting() {
            return Some(Job::Create(self.len_for(self.wanted_len)));
        }
        self.lacks_prepared().then_some(Job::Create(self.file_len))
    }

    pub(crate) fn has_job(&self) -> bool {
        let has_free = self.retired.iter().any(|file| !self.is_in_snapshot(file));
        has_free || self.lacks_prepared() || self.is_wanting()
    }

    fn is_in_snapshot(&self, file: &ClosedFile) -> bool {
        file.header.first < self.snapshot_end
    }

    /// Leaves files with anything before `to` as they are, retired or not; the journal's start lets go of all.
    pub(crate) fn set_snapshot_end(&mut self, to: JournalPosition) {
        self.snapshot_end = to;
    }

    /// The files that hold what is needed, oldest first; the one being written last.
    pub(crate) fn in_use(&self) -> (&VecDeque<ClosedFile>, Option<&AnchoredFile>) {
        (&self.closed, self.current.as_ref())
    }

    /// The file that has an entry if any does: what is before is in none.
    pub(crate) fn with_entry(&self, index: Index) -> Option<EntryFile> {
        let closed = self.closed.iter().find(|file| file.last.is_some_and(|last| last.index >= index));
        closed.map(EntryFile::closed).or_else(|| self.current.as_ref().map(EntryFile::current))
    }

    /// The file whose use has that number, as long as it is needed.
    pub(crate) fn of_generation(&self, generation: u64) -> Option<EntryFile> {
        let closed = self.closed.iter().find(|file| file.header.generation == generation).map(EntryFile::closed);
        let current = self.current.as_ref().filter(|current| current.header.generation == generation);
        closed.or_else(|| current.map(EntryFile::current))
    }

    /// The file could not be recycled; to be tried again.
    pub(crate) fn put_back(&mut self, file: ClosedFile) {
        self.retired.push_front(file);
    }

    /// Whether the file, once its header is off, is as good as a new one.
    pub(crate) fn is_recyclable(&self, file: &ClosedFile) -> bool {
        file.is_trusted && file.len == self.file_len
    }

    pub(crate) fn spans(&self) -> Vec<FileSpan> {
        let span = |file: &ClosedFile| FileSpan {
            first: file.header.first,
            end: file.end,
            used_len: file.used_len,
            last: file.last,
        };
        self.closed.iter().map(span).collect()
    }
}
