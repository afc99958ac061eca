//! How much of the processors' time each connection and each queue takes, while a viewer looks.
//!
//! Looking at a clock costs, so that nothing is counted but while a [`Viewer`] is there: then each turn of a connection is timed, and each
//! batch, whose time its queues share by how much of it was for each. All that it costs else is one load for each of them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use telemetry::Counter;

static VIEWER_COUNT: AtomicU32 = AtomicU32::new(0);

/// Whether there is a viewer.
#[inline(always)]
#[must_use]
pub fn is_counted() -> bool {
    viewer_count() != 0
}

/// How many viewers there are.
#[inline(always)]
pub(crate) fn viewer_count() -> u32 {
    VIEWER_COUNT.load(Ordering::Relaxed)
}

/// A viewer: while there is one, efforts are counted.
#[derive(Debug)]
pub struct Viewer(());

impl Viewer {
    /// Begins to count, if no other has.
    #[must_use]
    pub fn new() -> Self {
        VIEWER_COUNT.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Default for Viewer {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        VIEWER_COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a connection or a queue has taken, while that was counted.
#[derive(Debug, Default)]
pub struct Effort {
    busy_ns: Counter,
    waiting_ns: Counter,
}

impl Effort {
    /// It was at work for so long.
    pub fn work(&self, time: Duration) {
        self.busy_ns.add(nanos(time));
    }

    /// It had to wait for so long: a connection because it was held back, a queue for its lock.
    pub fn wait(&self, time: Duration) {
        self.waiting_ns.add(nanos(time));
    }

    /// How long it was at work, and how long it had to wait, in nanoseconds.
    #[must_use]
    pub fn nanos(&self) -> (u64, u64) {
        (self.busy_ns.get(), self.waiting_ns.get())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_counted_as_long_as_one_looks() {
        let (one, other) = (Viewer::new(), Viewer::new());
        drop(one);
        assert!(is_counted());
        drop(other);
    }
}
