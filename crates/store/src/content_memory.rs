//! How full the memory is that contents take, and which tasks wait for some of it.
//!
//! ```text
//!  0 ······ 3/4 ············ len_max ············ admitted_len_max
//!      fine  │  short: old chunks │  full: publishers wait, unless so much
//!            │  moved to segments │  was admitted at once
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use crate::chunk::{CHUNK_LEN, ChunkBudget};
use crate::memory_waiters::MemoryWaiters;

/// A load takes at most one of so many parts of the memory that is left.
const LOADS_THAT_FIT: u64 = 256;
/// A load may always read so much.
const LOAD_LEN_MIN: u64 = 1024;
/// Halvings of what is kept; more would change nothing.
const PRESSURE_MAX: u64 = 32;

/// Chunks, and how much of them there should be.
pub(crate) struct ContentMemory {
    budget: Arc<ChunkBudget>,
    len_max: u64,
    waiters: MemoryWaiters,
    /// Halvings of what is kept in memory, as long as that did not help.
    pressure: AtomicU64,
}

impl ContentMemory {
    /// What a start has brought into memory is admitted.
    pub(crate) fn new(budget: Arc<ChunkBudget>, len_max: u64) -> ContentMemory {
        let waiters = MemoryWaiters::inheriting(budget.movable_len(), len_max);
        ContentMemory { budget, len_max, waiters, pressure: AtomicU64::new(0) }
    }

    /// Where new chunks come from.
    pub(crate) fn budget(&self) -> &Arc<ChunkBudget> {
        &self.budget
    }

    /// Whether publishers must wait.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let len = self.budget.movable_len();
        len > self.len_max && len > self.waiters.admitted_len_max()
    }

    /// Whether there is enough for old chunks to be moved to segments.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.budget.movable_len() > self.len_max / 4 * 3
    }

    /// How much one load may read: less as memory gets short, so that what very many queues read ahead of their consumers
    /// does not fill it.
    pub(crate) fn load_len_max(&self) -> u64 {
        // More than is kept when memory is short: there it stays as long as messages come in faster than they leave.
        let left = (self.len_max / 8 * 7).saturating_sub(self.budget.movable_len());
        (left / LOADS_THAT_FIT).max(LOAD_LEN_MIN)
    }

    /// So much is about to come at once, until [`ContentMemory::end_coming`]: see [`MemoryWaiters::admit`].
    pub(crate) fn admit(&self, len: u64) {
        self.waiters.admit(len, self.budget.movable_len(), self.len_max);
    }

    pub(crate) fn end_coming(&self) {
        self.waiters.end_coming();
    }

    /// A publisher waits until it should look again.
    pub(crate) fn wait(&self, waker: Waker) {
        self.waiters.push(waker);
    }

    /// Whether publishers wait.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Wakes the waiters for memory, if there is some.
    pub(crate) fn wake(&self) {
        if self.budget.movable_len() <= self.len_max {
            self.waiters.end_admission();
        }
        if !self.is_full() {
            self.waiters.wake_all();
        }
    }

    /// What is in chunks with lower numbers is to be moved: less is kept the more often moving did not help.
    pub(crate) fn old_chunk_end(&self) -> u64 {
        let halvings = self.pressure.load(Ordering::Relaxed) + 1;
        let kept_count = (self.len_max / CHUNK_LEN as u64) >> halvings.min(63);
        self.budget.next_number().saturating_sub(kept_count)
    }

    /// Old chunks have been moved. Says how often in a row that has not helped.
    pub(crate) fn note_moved(&self) -> u64 {
        let next =
            if self.is_short() { self.pressure.load(Ordering::Relaxed).saturating_add(1).min(PRESSURE_MAX) } else { 0 };
        self.pressure.store(next, Ordering::Relaxed);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkWriter;

    /// A memory for four chunks, and so much in it.
    fn memory(chunk_count: usize) -> (ContentMemory, Vec<crate::Content>) {
        let memory = ContentMemory::new(ChunkBudget::sparing(4 * CHUNK_LEN as u64), 4 * CHUNK_LEN as u64);
        let mut writer = ChunkWriter::new(memory.budget().clone());
        let contents = (0..chunk_count).map(|_| writer.copy(&[&vec![0; CHUNK_LEN - 64]])).collect();
        (memory, contents)
    }

    #[test]
    fn less_is_kept_the_more_often_moving_did_not_help() {
        let (memory, contents) = memory(5);
        assert!(memory.is_short() && memory.is_full());
        let kept = |memory: &ContentMemory| memory.budget().next_number() - memory.old_chunk_end();
        let kept: Vec<_> = (1..=4).map(|time| (kept(&memory), memory.note_moved() == time)).collect();
        assert_eq!(kept, [(2, true), (1, true), (0, true), (0, true)]);
        drop(contents);
        assert_eq!((memory.is_short(), memory.note_moved()), (false, 0));
    }

    #[test]
    fn what_was_admitted_does_not_fill_memory() {
        let (memory, contents) = memory(3);
        assert!(!memory.is_full());
        memory.admit(3 * CHUNK_LEN as u64);
        let mut writer = ChunkWriter::new(memory.budget().clone());
        let more: Vec<_> = (0..3).map(|_| writer.copy(&[&vec![0; CHUNK_LEN - 64]])).collect();
        assert!(memory.is_short() && !memory.is_full());
        memory.end_coming();
        drop((contents, more, writer));
        memory.wake();
        assert_eq!(memory.waiters.admitted_len_max(), 0);
    }
}
