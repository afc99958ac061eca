//! Latencies in nanoseconds, counted in buckets of at most 1/128 of their value.
//!
//! A bucket's number is the position of the highest bit, then the seven bits below it; values under 128 have a bucket
//! each.

use crate::json::Object;

const PRECISION_BITS: u32 = 7;
const BUCKETS: usize = ((64 - PRECISION_BITS) as usize + 1) << PRECISION_BITS;

/// Counts of values, to ask percentiles of.
pub(crate) struct Histogram {
    counts: Vec<u64>,
    count: u64,
    max: u64,
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], count: 0, max: 0 }
    }

    pub(crate) fn record(&mut self, value: u64) {
        self.counts[bucket_of(value)] += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    pub(crate) fn merge(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    #[cfg(test)]
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// How many there are, and what a report says of their times.
    pub(crate) fn percentiles(&self) -> Object {
        let ms = |ns: u64| ns as f64 / 1e6;
        Object::new()
            .field("count", self.count)
            .number("p50_ms", ms(self.percentile(50.0)))
            .number("p95_ms", ms(self.percentile(95.0)))
            .number("p99_ms", ms(self.percentile(99.0)))
            .number("max_ms", ms(self.max))
    }

    /// The smallest bucket's upper end that has this share of the values at or below it; 0 if there are none.
    pub(crate) fn percentile(&self, percent: f64) -> u64 {
        let wanted = ((self.count as f64 * percent / 100.0).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper_end(bucket).min(self.max);
            }
        }
        0
    }
}

fn bucket_of(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let Some(shift) = bits.checked_sub(PRECISION_BITS + 1) else { return value as usize };
    ((shift as usize) << PRECISION_BITS) + (value >> shift) as usize
}

fn upper_end(bucket: usize) -> u64 {
    let Some(shift) = (bucket >> PRECISION_BITS).checked_sub(1) else { return bucket as u64 };
    let first = ((bucket & ((1 << PRECISION_BITS) - 1)) | (1 << PRECISION_BITS)) as u64;
    (first << shift) + ((1u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_value_and_is_narrow() {
        for value in [0, 1, 127, 128, 129, 255, 256, 257, 1000, 65_535, 1 << 40, u64::MAX - 1, u64::MAX] {
            let end = upper_end(bucket_of(value));
            assert!(end >= value, "{value} lies above its bucket's end {end}");
            assert!(end - value <= value / 128, "{value}'s bucket ends too far away at {end}");
        }
    }

    #[test]
    fn buckets_rise_with_values() {
        let mut last = 0;
        for value in (0..100_000).chain((17..64).map(|bit| 1 << bit)) {
            let bucket = bucket_of(value);
            assert!(bucket >= last && bucket < BUCKETS, "{value}");
            last = bucket;
        }
    }

    #[test]
    fn percentiles_of_a_hundred() {
        let (mut low, mut high) = (Histogram::new(), Histogram::new());
        (1..=50).for_each(|value| low.record(value));
        (51..=100).for_each(|value| high.record(value));
        low.merge(&high);
        assert_eq!((low.percentile(50.0), low.percentile(99.0), low.percentile(100.0)), (50, 99, 100));
        assert_eq!((low.count(), low.max()), (100, 100));
        assert_eq!(Histogram::new().percentile(50.0), 0);
    }
}
