//! Publishers that wait for memory.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use crate::wake::Wake;

/// Publishers that wait for memory, and how much of it is left to the newest chunks.
#[derive(Default)]
pub(crate) struct MemoryWaiters {
    waiting: Mutex<Vec<Arc<dyn Wake>>>,
    /// Halvings of what is kept in memory, as long as that did not help.
    pub(crate) pressure: AtomicU64,
}

impl MemoryWaiters {
    pub(crate) fn push(&self, wake: Arc<dyn Wake>) {
        self.waiting.lock().push(wake);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    pub(crate) fn wake_all(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        waiting.into_iter().for_each(|wake| wake.wake());
    }
}
