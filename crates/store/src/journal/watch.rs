//! Since when a member's disk operations are under way, for a thread that waits for none of them: so a disk that hangs is noticed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The watched operations: those that a member's promises wait for. At most one of each kind is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskOperation {
    /// The journal's writer writes, or syncs itself, or waits for a file to be made.
    Write = 0,
    /// A commit is synced beside the writer.
    Sync = 1,
    /// A ballot is written and synced.
    Ballot = 2,
}

/// Since when each is under way.
#[derive(Debug)]
pub struct DiskWatch {
    origin: Instant,
    /// Nanoseconds from the origin, and one; 0: nothing is under way.
    since: [AtomicU64; 3],
}

/// An operation that ends when this is dropped.
#[derive(Debug)]
pub struct Watched<'a>(&'a AtomicU64);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

impl DiskWatch {
    /// Nothing is under way. No operation begins before the origin.
    #[must_use]
    pub fn new(origin: Instant) -> DiskWatch {
        DiskWatch { origin, since: Default::default() }
    }

    /// An operation begins.
    pub fn begin(&self, operation: DiskOperation, now: Instant) -> Watched<'_> {
        let since = &self.since[operation as usize];
        since.store(self.nanos(now) + 1, Ordering::Release);
        Watched(since)
    }

    /// How long the longest one has been under way; zero if there is none.
    #[must_use]
    pub fn longest(&self, now: Instant) -> Duration {
        let now = self.nanos(now) + 1;
        let of = |since: &AtomicU64| match since.load(Ordering::Acquire) {
            0 => 0,
            since => now.saturating_sub(since),
        };
        Duration::from_nanos(self.since.iter().map(of).max().unwrap_or(0))
    }

    fn nanos(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.origin).as_nanos()).unwrap_or(u64::MAX - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_operation_under_way_is_told() {
        let origin = Instant::now();
        let at = |ms| origin + Duration::from_millis(ms);
        let watch = DiskWatch::new(origin);
        assert_eq!(watch.longest(at(5)), Duration::ZERO);
        let sync = watch.begin(DiskOperation::Sync, at(0));
        let write = watch.begin(DiskOperation::Write, at(10));
        assert_eq!(watch.longest(at(30)), Duration::from_millis(30));
        drop(sync);
        assert_eq!(watch.longest(at(30)), Duration::from_millis(20));
        // It looks at its clock, and then one begins that has looked at it later.
        assert_eq!(watch.longest(at(9)), Duration::ZERO);
        drop(write);
        assert_eq!(watch.longest(at(30)), Duration::ZERO);
    }
}
