//! Histograms of times, fine enough for percentiles.
//!
//! ```text
//!  microseconds   0 1 2 … 15 | 16 17 … 31 | 32 34 … 62 | 64 68 … | … up to 71 minutes
//!  each step         1       |     1      |     2      |    4    |      16 steps to each doubling
//! ```
//!
//! A percentile is read to within a thirty-second of its value. A histogram takes under 4 KiB, so there is one for each thing that an
//! operator asks about, not for each object.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Counter;

/// Steps to each doubling.
const STEP_COUNT: usize = 16;
const STEP_BITS: u32 = STEP_COUNT.trailing_zeros();
/// Doublings that are counted apart: up to 2^32 microseconds.
const OCTAVE_COUNT: usize = 28;
const BUCKET_COUNT: usize = STEP_COUNT * (OCTAVE_COUNT + 1);

/// How long things took, counted by many threads.
#[derive(Debug)]
pub struct Latencies {
    counts: Box<[Counter; BUCKET_COUNT]>,
    sum_ns: Counter,
    max_ns: AtomicU64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            counts: Box::new([const { Counter::new() }; BUCKET_COUNT]),
            sum_ns: Counter::new(),
            max_ns: AtomicU64::new(0),
        }
    }
}

/// What a histogram has counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyCounts {
    counts: Vec<u64>,
    sum_ns: u64,
    max_ns: u64,
}

impl Default for LatencyCounts {
    fn default() -> Self {
        Self { counts: vec![0; BUCKET_COUNT], sum_ns: 0, max_ns: 0 }
    }
}

/// The bucket of so many microseconds.
fn bucket_of(us: u64) -> usize {
    let octave = (64 - us.leading_zeros()).saturating_sub(STEP_BITS + 1);
    let step = (us >> octave) as usize;
    (octave as usize * STEP_COUNT + step).min(BUCKET_COUNT - 1)
}

/// Where a bucket begins, in microseconds; the last one has no end but this one's beginning.
fn start_of(bucket: usize) -> u64 {
    let octave = (bucket / STEP_COUNT).saturating_sub(1);
    ((bucket - octave * STEP_COUNT) as u64) << octave
}

impl Latencies {
    /// Counts a time that stands for `weight` of them.
    pub fn add(&self, ns: u64, weight: u64) {
        self.counts[bucket_of(ns / 1000)].add(weight);
        self.sum_ns.add(ns.saturating_mul(weight));
        self.max_ns.fetch_max(ns, Ordering::Relaxed);
    }

    /// Bytes that it takes.
    #[must_use]
    pub const fn memory_len() -> usize {
        size_of::<Self>() + size_of::<[Counter; BUCKET_COUNT]>()
    }

    /// What has been counted.
    #[must_use]
    pub fn counts(&self) -> LatencyCounts {
        LatencyCounts {
            counts: self.counts.iter().map(Counter::get).collect(),
            sum_ns: self.sum_ns.get(),
            max_ns: self.max_ns.load(Ordering::Relaxed),
        }
    }
}

impl LatencyCounts {
    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Of all of them, in nanoseconds.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The longest, in nanoseconds.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The mean, in nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> Option<u64> {
        self.sum_ns.checked_div(self.count())
    }

    /// The time that a share of all did not exceed, in nanoseconds; within its bucket by proportion, and never more than the longest.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let rank = (share * self.count() as f64).max(1.0);
        let mut before = 0.0;
        for (bucket, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = count as f64;
            if before + count >= rank {
                let (start, end) = (start_of(bucket), start_of(bucket + 1));
                let us = start as f64 + (end - start) as f64 * (rank - before) / count;
                return Some(((us * 1000.0) as u64).min(self.max_ns));
            }
            before += count;
        }
        None
    }

    /// How many took less than 2^`power` microseconds.
    #[must_use]
    pub fn count_below(&self, power: u32) -> u64 {
        self.counts[..bucket_of(1 << power)].iter().sum()
    }

    /// What has been counted since `before`, which is an earlier state of the same. The longest is known to within its bucket then.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let counts: Vec<_> =
            self.counts.iter().zip(&before.counts).map(|(now, then)| now.saturating_sub(*then)).collect();
        let last = counts.iter().rposition(|count| *count > 0);
        let max_ns = last.map_or(0, |bucket| (start_of(bucket + 1) * 1000).min(self.max_ns));
        Self { counts, sum_ns: self.sum_ns.saturating_sub(before.sum_ns), max_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_between_the_ends_of_its_bucket() {
        for us in (0..2000).chain((11..32).flat_map(|power| [(1_u64 << power) - 1, 1 << power, (1 << power) + 1])) {
            let bucket = bucket_of(us);
            assert!(start_of(bucket) <= us && us < start_of(bucket + 1), "{us} in {bucket}");
            assert!((start_of(bucket + 1) - start_of(bucket)) * 16 <= us.max(16), "{us} in {bucket} is precise enough");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKET_COUNT - 1);
    }

    #[test]
    fn percentiles_are_within_a_thirty_second() {
        let latencies = Latencies::default();
        (1..=1000).for_each(|ms| latencies.add(ms * 1_000_000, 3));
        let counts = latencies.counts();
        assert_eq!((counts.count(), counts.mean_ns(), counts.max_ns()), (3000, Some(500_500_000), 1_000_000_000));
        for (share, expected) in [(0.5, 500_000_000_u64), (0.99, 990_000_000), (1.0, 1_000_000_000)] {
            let found = counts.quantile_ns(share).unwrap();
            assert!(found.abs_diff(expected) <= expected / 32, "{found} is not {expected}");
        }
        assert_eq!((counts.count_below(0), counts.count_below(10), counts.count_below(20)), (0, 3, 3000));
    }

    #[test]
    fn what_came_since_is_told_by_itself() {
        let latencies = Latencies::default();
        assert_eq!(latencies.counts().quantile_ns(0.5), None);
        latencies.add(9_000_000, 1);
        let before = latencies.counts();
        latencies.add(1_000_000, 2);
        let since = latencies.counts().since(&before);
        assert_eq!((since.count(), since.sum_ns()), (2, 2_000_000));
        assert!(since.max_ns() < 1_100_000);
    }
}
