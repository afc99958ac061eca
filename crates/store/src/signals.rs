//! How the store's threads are woken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// What wakes the background threads; known to the journal before the rest exists.
#[derive(Default)]
pub(crate) struct Signals {
    pub(crate) retire: Signal,
    pub(crate) reclaim: Signal,
}

/// Wakes one thread; raising it again before that thread looks costs an atomic load.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    is_raised: AtomicBool,
    lock: Mutex<()>,
    raised: Condvar,
}

impl Signal {
    #[inline]
    pub(crate) fn raise(&self) {
        if !self.is_raised.load(Ordering::Relaxed) {
            self.raise_first();
        }
    }

    #[cold]
    fn raise_first(&self) {
        if !self.is_raised.swap(true, Ordering::AcqRel) {
            let _lock = self.lock.lock();
            self.raised.notify_one();
        }
    }

    #[cfg(test)]
    pub(crate) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    /// Waits until it is raised, or for `timeout`; lowers it.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        let mut lock = self.lock.lock();
        if !self.is_raised.load(Ordering::Acquire) {
            match timeout {
                Some(timeout) => drop(self.raised.wait_for(&mut lock, timeout)),
                None => self.raised.wait(&mut lock),
            }
        }
        self.is_raised.store(false, Ordering::Release);
    }
}
