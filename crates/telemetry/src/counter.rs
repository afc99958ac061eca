//! A number that only grows, and a number that rises and falls.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// How often something happened, or how many bytes passed, since the start. Never decreases.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// A counter at zero.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts `n` more.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// From zero again, for counters that people may set back.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// The count so far. May lag behind other threads by the time that a store takes to become visible.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How much there is of something now. Each owner takes back exactly what it added, so it ends at zero.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// A gauge at zero.
    pub const fn new() -> Self {
        Self(AtomicI64::new(0))
    }

    /// Adds `n`, which may be negative.
    #[inline]
    pub fn add(&self, n: i64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Replaces the value.
    #[inline]
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The value now.
    #[inline]
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_adds_up() {
        let counter = Counter::new();
        counter.add(2);
        counter.add(40);
        assert_eq!(counter.get(), 42);
    }

    #[test]
    fn gauge_goes_both_ways() {
        let gauge = Gauge::new();
        gauge.add(5);
        gauge.add(-7);
        assert_eq!(gauge.get(), -2);
        gauge.set(3);
        assert_eq!(gauge.get(), 3);
    }
}
