//! What gathers while the commit before it is on its way to the disk.

use std::collections::VecDeque;
use std::io::IoSlice;

use consensus::LogId;
use crc32c::{crc32c, crc32c_append};
use model::ids::JournalPosition;

use super::entry::{CommitKind, EntryHead, ReceivedCommit, SharedCommit};
use super::format::{CommitHeader, FileHeader, Layout};
use super::options::Options;
use super::record::RecordBatch;
use crate::chunk::Content;
use crate::file::PAGE_LEN;

/// Memory for metas that a released commit keeps.
const KEPT_LEN_MAX: usize = 1 << 20;
/// Released commits kept for reuse: one gathers, one is written, one is spare.
const POOL_COUNT_MAX: usize = 3;

/// What is written together: record batches, a change of members, or what the leader wrote together.
#[derive(Debug)]
pub(crate) struct Commit {
    first: JournalPosition,
    /// Headers and records of the batches. A commit that came from the leader: all of it.
    bytes: Vec<u8>,
    metas_len: u64,
    /// Their contents, adjacent ones joined. Held until all is synced, to be written again if syncing fails.
    runs: Vec<Content>,
    contents_len: u64,
    kind: CommitKind,
    /// Its place in the group's log, once it has one.
    id: Option<LogId>,
    /// What it was counted as when it was taken to be written.
    taken_len: usize,
}

static ZEROS: [u8; PAGE_LEN] = [0; PAGE_LEN];

impl Commit {
    fn new() -> Commit {
        Commit {
            first: JournalPosition::START,
            bytes: Vec::new(),
            metas_len: 0,
            runs: Vec::new(),
            contents_len: 0,
            kind: CommitKind::Records,
            id: None,
            taken_len: 0,
        }
    }

    /// The memory that it takes, without chunks.
    fn memory_len(&self) -> usize {
        self.bytes.capacity() + self.runs.capacity() * size_of::<Content>()
    }

    pub(crate) fn end(&self) -> JournalPosition {
        JournalPosition(self.first.0 + self.len())
    }

    /// Bytes of records and contents.
    pub(crate) fn len(&self) -> u64 {
        self.metas_len + self.contents_len
    }

    /// Bytes it takes in a file.
    pub(crate) fn disk_len(&self, layout: Layout) -> u64 {
        layout.disk_len(self.len())
    }

    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Its place in the group's log, once it has one.
    pub(crate) fn id(&self) -> Option<LogId> {
        self.id
    }

    pub(crate) fn set_id(&mut self, id: LogId) {
        assert!(self.id.is_none(), "a commit gets its number once");
        self.id = Some(id);
    }

    /// Its bytes, for sending. Contents are not copied.
    pub(crate) fn share(&self) -> SharedCommit {
        SharedCommit {
            first: self.first,
            kind: self.kind,
            metas: self.bytes.clone(),
            runs: self.runs.clone(),
            contents_len: self.contents_len,
        }
    }

    /// Whether a record batch may be added.
    fn is_open(&self) -> bool {
        self.kind == CommitKind::Records && self.id.is_none()
    }

    fn append(&mut self, batch: &mut RecordBatch) {
        let start = self.end();
        self.contents_len += batch.contents_len();
        let metas = batch.metas();
        self.bytes.extend_from_slice(metas);
        self.metas_len += metas.len() as u64;
        for run in batch.take_runs() {
            run.chunk().use_at(start);
            let is_joined = self.runs.last_mut().is_some_and(|last| last.join(&run));
            if !is_joined {
                self.runs.push(run);
            }
        }
    }

    /// Its header in the given file.
    pub(crate) fn header(&self, file: &FileHeader, synced: JournalPosition) -> CommitHeader {
        let bytes_crc = crc32c(&self.bytes);
        let head = match file.layout {
            Layout::Alone => None,
            Layout::Replicated => {
                let id = self.id.expect("a commit of a replicated journal has its number before it is written");
                Some(EntryHead { id, kind: self.kind })
            }
        };
        CommitHeader {
            payload_crc: self.runs.iter().fold(bytes_crc, |crc, run| crc32c_append(crc, run.bytes())),
            generation: file.generation,
            salt: file.salt,
            first: self.first,
            synced,
            metas_len: self.metas_len,
            contents_len: self.contents_len,
            head,
        }
    }

    /// What is written behind the commit's header: metas, contents, zeros up to the page's end.
    pub(crate) fn payload<'a>(&'a self, layout: Layout, slices: &mut Vec<IoSlice<'a>>) {
        slices.push(IoSlice::new(&self.bytes));
        slices.extend(self.runs.iter().map(|run| IoSlice::new(run.bytes())));
        slices.push(padding(layout, self.len()));
    }
}

/// The zeros behind a commit with so many bytes of metas and contents.
pub(crate) fn padding(layout: Layout, payload_len: u64) -> IoSlice<'static> {
    let len = layout.disk_len(payload_len) - payload_len - layout.commit_header_len() as u64;
    IoSlice::new(&ZEROS[..len as usize])
}

/// Where record batches wait to be written, and commits that have been, to be reused.
#[derive(Debug)]
pub(crate) struct BatchQueue {
    commits: VecDeque<Commit>,
    pool: Vec<Commit>,
    /// Where the next record batch begins.
    next: JournalPosition,
    /// A commit grows up to this length.
    commit_len_max: u64,
    /// Batches from this length on are divided, if they may be.
    divided_len_min: u64,
    /// Bytes of all commits that are in memory.
    held_len: u64,
    /// Commits longer than this have a file of their own.
    file_len: u64,
    /// Bytes in memory of the one commit that has a file of its own; 0: there is none.
    own_file_len: u64,
    /// Bytes of those that have not been taken.
    unwritten_len: u64,
    /// Memory of those that have been taken and not been released.
    taken_len: usize,
}

impl BatchQueue {
    pub(crate) fn new(next: JournalPosition, options: &Options) -> BatchQueue {
        BatchQueue {
            commits: VecDeque::new(),
            pool: Vec::new(),
            next,
            commit_len_max: options.commit_len_max(),
            divided_len_min: options.divided_len_min(),
            held_len: 0,
            file_len: options.file_len,
            own_file_len: 0,
            unwritten_len: 0,
            taken_len: 0,
        }
    }

    /// Memory of all commits that gather, are being written, or are kept for reuse, without chunks.
    pub(crate) fn memory_len(&self) -> usize {
        self.taken_len + self.commits.iter().chain(&self.pool).map(Commit::memory_len).sum::<usize>()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn held_len(&self) -> u64 {
        self.held_len
    }

    /// Bytes in memory for which publishers have to wait, should they be many: all but those of one commit that has a file of its own. A
    /// publisher after a very long one is not to wait until that is written, and the rest of what gathers fits a file even so.
    pub(crate) fn gathered_len(&self) -> u64 {
        self.held_len - self.own_file_len
    }

    pub(crate) fn unwritten_len(&self) -> u64 {
        self.unwritten_len
    }

    /// Where the next commit begins, if there is one.
    pub(crate) fn first(&self) -> Option<JournalPosition> {
        self.commits.front().map(|commit| commit.first)
    }

    /// Takes what is in the batch; says where it ends.
    pub(crate) fn append(&mut self, batch: &mut RecordBatch) -> JournalPosition {
        if batch.len() >= self.divided_len_min && batch.is_divisible() {
            for mut part in batch.divide(self.commit_len_max) {
                self.append_whole(&mut part);
            }
            return self.next;
        }
        self.append_whole(batch)
    }

    fn append_whole(&mut self, batch: &mut RecordBatch) -> JournalPosition {
        let len = batch.len();
        let fits = |last: &Commit| last.is_open() && last.len() + len <= self.commit_len_max;
        if !self.commits.back().is_some_and(fits) {
            self.push();
        }
        let commit = self.commits.back_mut().expect("one was pushed if there was none");
        commit.append(batch);
        if len > self.file_len && self.own_file_len == 0 {
            self.own_file_len = len;
        }
        self.count(len)
    }

    /// Takes a change of members, which is a commit of its own; says where it ends.
    pub(crate) fn append_members(&mut self, change: &[u8]) -> JournalPosition {
        let len = change.len() as u64;
        let commit = self.push();
        commit.kind = CommitKind::Members;
        commit.bytes.extend_from_slice(change);
        commit.metas_len = len;
        self.count(len)
    }

    /// Takes a commit that was appended elsewhere; says where it ends.
    pub(crate) fn receive(&mut self, received: ReceivedCommit) -> JournalPosition {
        let len = received.payload.len() as u64;
        let commit = self.push();
        (commit.kind, commit.id) = (received.head.kind, Some(received.head.id));
        (commit.metas_len, commit.contents_len) = (received.metas_len, len - received.metas_len);
        commit.bytes = received.payload;
        self.count(len)
    }

    fn push(&mut self) -> &mut Commit {
        let mut commit = self.pool.pop().unwrap_or_else(Commit::new);
        commit.first = self.next;
        self.commits.push_back(commit);
        self.commits.back_mut().expect("one was pushed")
    }

    /// The last commit has become longer.
    fn count(&mut self, len: u64) -> JournalPosition {
        self.next = JournalPosition(self.next.0 + len);
        let end = self.commits.back().map(Commit::end);
        assert_eq!(end, Some(self.next), "what is appended is as long as it says");
        self.held_len += len;
        self.unwritten_len += len;
        self.next
    }

    /// The next commit to write. It stays counted until it is released.
    pub(crate) fn take(&mut self) -> Option<Commit> {
        let mut commit = self.commits.pop_front()?;
        self.unwritten_len -= commit.len();
        // Nothing more is added to it.
        commit.taken_len = commit.memory_len();
        self.taken_len += commit.taken_len;
        Some(commit)
    }

    /// The commit is synced and emptied.
    pub(crate) fn release(&mut self, commit: Commit, len: u64) {
        self.held_len -= len;
        if len == self.own_file_len {
            self.own_file_len = 0;
        }
        self.taken_len -= commit.taken_len;
        if self.pool.len() < POOL_COUNT_MAX {
            self.pool.push(commit);
        }
    }
}

impl Commit {
    /// Drops the contents, which may free chunks: not under a lock. Returns the length it had.
    pub(crate) fn empty(&mut self) -> u64 {
        let len = self.len();
        self.runs.clear();
        (self.metas_len, self.contents_len) = (0, 0);
        (self.kind, self.id) = (CommitKind::Records, None);
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_LEN_MAX);
        len
    }
}
