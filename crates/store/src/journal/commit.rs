//! What gathers while the commit before it is on its way to the disk.

use std::collections::VecDeque;
use std::io::IoSlice;

use crc32c::{crc32c, crc32c_append};
use model::ids::JournalPosition;

use super::format::{CommitHeader, FileHeader, disk_len};
use super::options::Options;
use super::record::RecordBatch;
use crate::chunk::Content;
use crate::file::PAGE_LEN;

/// Memory for metas that a released commit keeps.
const KEPT_LEN_MAX: usize = 1 << 20;
/// Released commits kept for reuse: one gathers, one is written, one is spare.
const POOL_COUNT_MAX: usize = 3;

/// Record batches that are written together.
#[derive(Debug)]
pub(crate) struct Commit {
    first: JournalPosition,
    /// Headers and records of the batches.
    metas: Vec<u8>,
    /// Their contents, adjacent ones joined. Held until all is synced, to be written again if syncing fails.
    runs: Vec<Content>,
    contents_len: u64,
}

static ZEROS: [u8; PAGE_LEN] = [0; PAGE_LEN];

impl Commit {
    fn new(first: JournalPosition) -> Commit {
        Commit { first, metas: Vec::new(), runs: Vec::new(), contents_len: 0 }
    }

    pub(crate) fn end(&self) -> JournalPosition {
        JournalPosition(self.first.0 + self.len())
    }

    /// Bytes of records and contents.
    pub(crate) fn len(&self) -> u64 {
        self.metas.len() as u64 + self.contents_len
    }

    /// Bytes it takes in a file.
    pub(crate) fn disk_len(&self) -> u64 {
        disk_len(self.len())
    }

    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    fn append(&mut self, batch: &mut RecordBatch) {
        let start = self.end();
        self.contents_len += batch.contents_len();
        self.metas.extend_from_slice(batch.metas());
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
        let metas_crc = crc32c(&self.metas);
        CommitHeader {
            payload_crc: self.runs.iter().fold(metas_crc, |crc, run| crc32c_append(crc, run.bytes())),
            generation: file.generation,
            salt: file.salt,
            first: self.first,
            synced,
            metas_len: self.metas.len() as u64,
            contents_len: self.contents_len,
        }
    }

    /// What is written behind the commit's header: metas, contents, zeros up to the page's end.
    pub(crate) fn payload<'a>(&'a self, slices: &mut Vec<IoSlice<'a>>) {
        slices.push(IoSlice::new(&self.metas));
        slices.extend(self.runs.iter().map(|run| IoSlice::new(run.bytes())));
        slices.push(padding(self.len()));
    }
}

/// The zeros behind a commit with so many bytes of metas and contents.
pub(crate) fn padding(payload_len: u64) -> IoSlice<'static> {
    let len = disk_len(payload_len) - payload_len - super::format::COMMIT_HEADER_LEN as u64;
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
    /// Bytes of those that have not been taken.
    unwritten_len: u64,
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
            unwritten_len: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    pub(crate) fn held_len(&self) -> u64 {
        self.held_len
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
        let fits = self.commits.back().is_some_and(|last| last.len() + len <= self.commit_len_max);
        if !fits {
            let mut commit = self.pool.pop().unwrap_or_else(|| Commit::new(self.next));
            commit.first = self.next;
            self.commits.push_back(commit);
        }
        let commit = self.commits.back_mut().expect("one was pushed if there was none");
        commit.append(batch);
        self.next = JournalPosition(self.next.0 + len);
        assert_eq!(commit.end(), self.next, "a batch is as long as it says");
        self.held_len += len;
        self.unwritten_len += len;
        self.next
    }

    /// The next commit to write. It stays counted until it is released.
    pub(crate) fn take(&mut self) -> Option<Commit> {
        let commit = self.commits.pop_front()?;
        self.unwritten_len -= commit.len();
        Some(commit)
    }

    /// The commit is synced and emptied.
    pub(crate) fn release(&mut self, commit: Commit, len: u64) {
        self.held_len -= len;
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
        self.contents_len = 0;
        self.metas.clear();
        self.metas.shrink_to(KEPT_LEN_MAX);
        len
    }
}
