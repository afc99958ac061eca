//! Histograms with bounds that people read: a hundred bytes, five minutes.

use crate::{Counter, LocalCounter};

/// The bounds of a histogram's buckets, each upper bound belonging to its bucket. What is beyond the last one has a bucket of its own.
///
/// A value's bucket is found without a search: its length in bits leads to the only bound that values of this length may be on either side
/// of. So no two bounds have the same length.
#[derive(Debug)]
pub struct Scale {
    bounds: &'static [u64],
    /// By the length of a value in bits: the bound among values of that length, and the bucket of those up to it.
    steps: [(u64, u8); 65],
}

impl Scale {
    /// A scale. Bounds grow, and each has more bits than the one before.
    #[must_use]
    pub const fn new(bounds: &'static [u64]) -> Self {
        let mut steps = [(u64::MAX, 0); 65];
        let mut index = 0;
        let mut at_len = 0;
        while at_len <= 64 {
            if index < bounds.len() && len_of(bounds[index]) == at_len {
                steps[at_len] = (bounds[index], index as u8);
                index += 1;
                assert!(index == bounds.len() || len_of(bounds[index]) > at_len, "no two bounds have the same length");
            } else {
                steps[at_len] = (u64::MAX, index as u8);
            }
            at_len += 1;
        }
        assert!(index == bounds.len(), "bounds grow");
        Self { bounds, steps }
    }

    /// The bucket of a value: 0 up to the first bound, and one more than the last bound's for what is beyond it.
    #[inline(always)]
    #[must_use]
    pub fn bucket_of(&self, value: u64) -> usize {
        let (bound, bucket) = self.steps[len_of(value)];
        usize::from(bucket) + usize::from(value > bound)
    }

    /// The bounds.
    #[must_use]
    pub const fn bounds(&self) -> &'static [u64] {
        self.bounds
    }
}

/// Bits of a value.
#[inline(always)]
const fn len_of(value: u64) -> usize {
    (64 - value.leading_zeros()) as usize
}

/// How many values fell into each of `N` buckets, counted by one thread at a time.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    counts: [LocalCounter; N],
    sum: LocalCounter,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self { counts: [const { LocalCounter::new() }; N], sum: LocalCounter::new() }
    }
}

impl<const N: usize> Histogram<N> {
    /// Counts `count` values of one bucket, which together are `sum`.
    #[inline]
    pub fn add(&self, bucket: usize, count: u64, sum: u64) {
        self.counts[bucket].add(count);
        self.sum.add(sum);
    }

    /// What has been counted.
    #[must_use]
    pub fn counts(&self) -> Buckets<N> {
        Buckets { counts: std::array::from_fn(|bucket| self.counts[bucket].get()), sum: self.sum.get() }
    }
}

/// A histogram that many threads add to, each what it has gathered.
#[derive(Debug)]
pub struct SharedHistogram<const N: usize> {
    counts: [Counter; N],
    sum: Counter,
}

impl<const N: usize> Default for SharedHistogram<N> {
    fn default() -> Self {
        Self { counts: [const { Counter::new() }; N], sum: Counter::new() }
    }
}

impl<const N: usize> SharedHistogram<N> {
    /// Adds `count` values of one bucket, which together are `sum`.
    #[inline]
    pub fn add_at(&self, bucket: usize, count: u64, sum: u64) {
        self.counts[bucket].add(count);
        self.sum.add(sum);
    }

    /// Adds what has been gathered.
    pub fn add(&self, gathered: &Buckets<N>) {
        for (counter, &count) in self.counts.iter().zip(&gathered.counts) {
            if count > 0 {
                counter.add(count);
            }
        }
        self.sum.add(gathered.sum);
    }

    /// What has been counted.
    #[must_use]
    pub fn counts(&self) -> Buckets<N> {
        Buckets { counts: std::array::from_fn(|bucket| self.counts[bucket].get()), sum: self.sum.get() }
    }
}

/// What a histogram has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets<const N: usize> {
    /// By bucket; not added up.
    pub counts: [u64; N],
    /// Of all values.
    pub sum: u64,
}

impl<const N: usize> Default for Buckets<N> {
    fn default() -> Self {
        Self { counts: [0; N], sum: 0 }
    }
}

impl<const N: usize> Buckets<N> {
    /// Counts `count` values of one bucket, which together are `sum`.
    #[inline]
    pub fn add_at(&mut self, bucket: usize, count: u64, sum: u64) {
        self.counts[bucket] += count;
        self.sum += sum;
    }

    /// How many values there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
        self.sum += other.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SIZES: Scale = Scale::new(&[100, 1000, 10_000]);

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        for (value, bucket) in
            [(0, 0), (1, 0), (63, 0), (64, 0), (99, 0), (100, 0), (101, 1), (128, 1), (1000, 1), (1001, 2), (10_000, 2)]
        {
            assert_eq!(SIZES.bucket_of(value), bucket, "{value}");
        }
        assert_eq!(SIZES.bucket_of(10_001), 3);
        assert_eq!(SIZES.bucket_of(u64::MAX), 3);
    }

    #[test]
    fn every_value_is_where_a_search_would_put_it() {
        static TIMES: Scale = Scale::new(&[1, 5, 25, 100, 500, 1000, 5000, 30_000, u64::MAX]);
        for scale in [&SIZES, &TIMES] {
            let near = |shift: u32| (-2..=2_i64).map(move |by| (1_u64 << shift).wrapping_add_signed(by));
            let of_bounds = scale.bounds().iter().flat_map(|bound| [bound - 1, *bound, bound.wrapping_add(1)]);
            for value in (0..63).flat_map(near).chain(of_bounds) {
                let searched = scale.bounds().iter().take_while(|bound| **bound < value).count();
                assert_eq!(scale.bucket_of(value), searched, "{value}");
            }
        }
    }

    #[test]
    fn what_is_gathered_adds_up() {
        let (shared, own) = (SharedHistogram::<4>::default(), Histogram::<4>::default());
        let mut gathered = Buckets::default();
        for value in [5, 500, 500, 50_000] {
            gathered.add_at(SIZES.bucket_of(value), 1, value);
            own.add(SIZES.bucket_of(value), 1, value);
        }
        shared.add(&gathered);
        shared.add(&gathered);
        assert_eq!(own.counts(), gathered);
        assert_eq!(shared.counts(), Buckets { counts: [2, 4, 0, 2], sum: 2 * 51_005 });
        assert_eq!(gathered.count(), 4);
    }
}
