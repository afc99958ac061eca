//! Publishers that wait for memory.

use std::sync::atomic::AtomicU64;
use std::task::Waker;

use parking_lot::Mutex;

/// Publishers that wait for memory, and how much of it is left to the newest chunks.
#[derive(Default)]
pub(crate) struct MemoryWaiters {
    waiting: Mutex<Vec<Waker>>,
    /// Halvings of what is kept in memory, as long as that did not help.
    pub(crate) pressure: AtomicU64,
    /// How much may be in memory until what a start has read of the journal is moved: it is there, and clients that have waited for
    /// the start need not wait for that too. Zero afterwards.
    pub(crate) inherited_len_max: AtomicU64,
}

impl MemoryWaiters {
    /// A start has brought so much into memory, where so much should be at most.
    pub(crate) fn inheriting(len: u64, len_max: u64) -> Self {
        let bound = if len > len_max { len + len_max / 4 } else { 0 };
        MemoryWaiters { inherited_len_max: AtomicU64::new(bound), ..Self::default() }
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
