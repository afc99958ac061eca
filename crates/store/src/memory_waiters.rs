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
}

impl MemoryWaiters {
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
