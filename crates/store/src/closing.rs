//! The end of a store: seen by its threads, and what they sleep by.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Whether the store is being closed; once it is, it stays so.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    has_begun: AtomicBool,
    lock: Mutex<()>,
    begun: Condvar,
}

impl Closing {
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Acquire)
    }

    /// From now on the threads end.
    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Ordering::Release);
        let _lock = self.lock.lock();
        self.begun.notify_all();
    }

    /// Waits a while, or until the store is being closed.
    pub(crate) fn sleep(&self, time: Duration) {
        let mut lock = self.lock.lock();
        if !self.has_begun() {
            let _ = self.begun.wait_for(&mut lock, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_sleeps_once_the_store_is_being_closed() {
        let closing = Closing::default();
        closing.sleep(Duration::from_millis(1));
        assert!(!closing.has_begun());
        std::thread::scope(|scope| {
            scope.spawn(|| closing.sleep(Duration::from_secs(3600)));
            closing.begin();
        });
        assert!(closing.has_begun());
        closing.sleep(Duration::from_secs(3600));
    }
}
