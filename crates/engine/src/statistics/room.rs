//! Room for histories of objects that a caller looks at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many there are.
#[derive(Debug, Default)]
pub(crate) struct Room {
    count: AtomicUsize,
    /// There was no room for one more since the last look.
    is_short: AtomicBool,
}

/// The place of one of them. Dropped, it is there for another.
#[derive(Debug)]
pub(crate) struct Seat(Arc<Room>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Room {
    /// Room for one more, unless there are so many already.
    pub(crate) fn take(self: &Arc<Self>, most: usize) -> Option<Seat> {
        let add = |count: usize| (count < most).then_some(count + 1);
        if self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            self.is_short.store(true, Ordering::Relaxed);
            return None;
        }
        Some(Seat(self.clone()))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether there was no room for one more since this was last asked.
    pub(crate) fn take_shortage(&self) -> bool {
        self.is_short.swap(false, Ordering::Relaxed)
    }
}
