//! A count with one writer.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often something happened since the start, counted by one thread at a time: the holder of a queue's lock, or a connection's
/// task. Any thread may read it. Costs less than a [`crate::Counter`], because it has a single writer.
#[derive(Debug, Default)]
pub struct LocalCounter(AtomicU64);

impl LocalCounter {
    /// At zero.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts `n` more. What another thread counts at the same moment may be lost: there must be none.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Replaces the count by one that its only writer has kept elsewhere.
    #[inline]
    pub fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    /// The count so far.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
