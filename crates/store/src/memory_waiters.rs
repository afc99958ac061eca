//! Publishers that wait for memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use parking_lot::Mutex;

/// Publishers that wait for memory, and how much of it is left to the newest chunks.
#[derive(Default)]
pub(crate) struct MemoryWaiters {
    waiting: Mutex<Vec<Waker>>,
    /// How much may be in memory until what comes into it at once is moved: clients need not wait for that. Such is what a start has read
    /// of the journal, and what is in a long transaction. Zero afterwards.
    admitted_len_max: AtomicU64,
    /// How many of what is admitted are still coming: until they are there, little in memory says nothing.
    coming_count: AtomicU64,
}

impl MemoryWaiters {
    /// A start has brought so much into memory, where so much should be at most.
    pub(crate) fn inheriting(len: u64, len_max: u64) -> Self {
        let bound = if len > len_max { len + len_max / 4 } else { 0 };
        MemoryWaiters { admitted_len_max: AtomicU64::new(bound), ..Self::default() }
    }

    /// So much comes into memory at once, until [`MemoryWaiters::end_coming`], where there is `len` now and should be `len_max` at most. No
    /// more of the kind is admitted before that has been moved.
    pub(crate) fn admit(&self, new_len: u64, len: u64, len_max: u64) {
        self.coming_count.fetch_add(1, Ordering::Relaxed);
        if len <= len_max && len + new_len > len_max {
            self.admitted_len_max.fetch_max(len + new_len + len_max / 4, Ordering::Relaxed);
        }
    }

    /// Something that was admitted is all there.
    pub(crate) fn end_coming(&self) {
        self.coming_count.fetch_sub(1, Ordering::Relaxed);
    }

    /// How much more than it should have may be in memory.
    #[inline]
    pub(crate) fn admitted_len_max(&self) -> u64 {
        self.admitted_len_max.load(Ordering::Relaxed)
    }

    /// There is no more in memory than should be: what was admitted has been moved, unless it is still coming.
    pub(crate) fn end_admission(&self) {
        if self.coming_count.load(Ordering::Relaxed) == 0 {
            self.admitted_len_max.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn push(&self, waker: Waker) {
        self.waiting.lock().push(waker);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    pub(crate) fn wake_all(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_admitted(new_len: u64, len: u64, expected: u64) {
        let waiters = MemoryWaiters::default();
        waiters.admit(new_len, len, 100);
        assert_eq!(waiters.admitted_len_max(), expected);
    }

    #[test]
    fn what_comes_at_once_is_admitted_unless_memory_is_full_already() {
        check_admitted(10, 80, 0);
        check_admitted(30, 80, 135);
        check_admitted(3000, 0, 3025);
        check_admitted(30, 101, 0);
    }

    /// While a long transaction is being put into queues, what came first of it is moved already.
    #[test]
    fn what_is_still_coming_stays_admitted() {
        let waiters = MemoryWaiters::default();
        waiters.admit(3000, 0, 100);
        waiters.end_admission();
        assert_eq!(waiters.admitted_len_max(), 3025);
        waiters.end_coming();
        waiters.end_admission();
        assert_eq!(waiters.admitted_len_max(), 0);
    }
}
