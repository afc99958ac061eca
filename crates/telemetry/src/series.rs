//! What an object's numbers were: just now, for rates, and earlier, for curves.

use std::collections::VecDeque;

/// For how long samples are kept, and how far apart, both in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// How long.
    pub age_ms: u64,
    /// How far apart.
    pub interval_ms: u64,
}

/// Numbers at a moment, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample<const N: usize> {
    /// When.
    pub at_ms: u64,
    /// What they were.
    pub numbers: [u64; N],
}

/// The last two samples: what is known of an object that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentSamples<const N: usize> {
    before: Sample<N>,
    last: Sample<N>,
}

impl<const N: usize> RecentSamples<N> {
    /// Begins with one sample: there is no rate yet.
    #[must_use]
    pub const fn new(first: Sample<N>) -> Self {
        Self { before: first, last: first }
    }

    /// Takes a sample. Says whether anything has changed since the one before.
    pub fn push(&mut self, sample: Sample<N>) -> bool {
        (self.before, self.last) = (self.last, sample);
        self.before.numbers != sample.numbers
    }

    /// There was no sample since the last one, because nothing has changed: at `at_ms` the numbers still were what they were then.
    pub const fn rest_until(&mut self, at_ms: u64) {
        self.last.at_ms = at_ms;
    }

    /// The last sample.
    #[must_use]
    pub const fn last(&self) -> &Sample<N> {
        &self.last
    }

    /// The one before the last.
    #[must_use]
    pub const fn before(&self) -> &Sample<N> {
        &self.before
    }

    /// How much each number grew between the two samples, a second: negative for one that fell.
    #[must_use]
    pub fn rates(&self) -> [f64; N] {
        let seconds = self.last.at_ms.saturating_sub(self.before.at_ms) as f64 / 1000.0;
        std::array::from_fn(|index| {
            let change = self.last.numbers[index].wrapping_sub(self.before.numbers[index]).cast_signed();
            if seconds > 0.0 { change as f64 / seconds } else { 0.0 }
        })
    }
}

/// A history: for each retention its samples, oldest first. What does not change takes no room.
#[derive(Debug)]
pub struct Series<const N: usize> {
    /// Shortest age first.
    rings: Box<[Ring<N>]>,
}

#[derive(Debug)]
struct Ring<const N: usize> {
    retention: Retention,
    /// Each differs from the one before. One is older than the age, if there is any: what held at its end.
    samples: VecDeque<Sample<N>>,
}

impl<const N: usize> Series<N> {
    /// An empty one.
    #[must_use]
    pub fn new(retentions: &[Retention]) -> Self {
        let mut retentions = retentions.to_vec();
        retentions.sort_by_key(|retention| (retention.age_ms, retention.interval_ms));
        let ring = |retention| Ring { retention, samples: VecDeque::new() };
        Self { rings: retentions.into_iter().map(ring).collect() }
    }

    /// Bytes that it takes, with itself.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        let of_ring = |ring: &Ring<N>| size_of::<Ring<N>>() + ring.samples.capacity() * size_of::<Sample<N>>();
        size_of::<Self>() + self.rings.iter().map(of_ring).sum::<usize>()
    }

    /// Takes a sample.
    pub fn push(&mut self, sample: &Sample<N>) {
        self.rings.iter_mut().for_each(|ring| ring.push(sample));
    }

    /// What the numbers were at `now_ms` and every `step_ms` before it, for `age_ms`, newest first; only as far back as is known.
    /// Taken from the finest samples that reach back so far.
    #[must_use]
    pub fn samples(&self, now_ms: u64, age_ms: u64, step_ms: u64) -> Vec<Sample<N>> {
        let reaches = |ring: &&Ring<N>| ring.retention.age_ms >= age_ms;
        let Some(ring) = self.rings.iter().find(reaches).or_else(|| self.rings.last()) else { return Vec::new() };
        let step_ms = step_ms.max(1);
        let last_ms = now_ms - now_ms % step_ms;
        let moments = (0..=age_ms / step_ms).map_while(|index| last_ms.checked_sub(index * step_ms));
        moments.map_while(|at_ms| ring.at(at_ms)).collect()
    }
}

impl<const N: usize> Ring<N> {
    fn push(&mut self, sample: &Sample<N>) {
        let Retention { age_ms, interval_ms } = self.retention;
        // An interval ends with a moment that may be asked for: of what is taken in it, the last is what held then.
        let slot = |at_ms: u64| at_ms.div_ceil(interval_ms.max(1));
        match self.samples.back_mut() {
            Some(last) if last.numbers == sample.numbers => {}
            Some(last) if slot(last.at_ms) == slot(sample.at_ms) => *last = *sample,
            _ => self.samples.push_back(*sample),
        }
        let end_ms = sample.at_ms.saturating_sub(age_ms);
        while self.samples.get(1).is_some_and(|second| second.at_ms <= end_ms) {
            self.samples.pop_front();
        }
    }

    /// What held at a moment: what was seen last until then.
    fn at(&self, at_ms: u64) -> Option<Sample<N>> {
        let count = self.samples.partition_point(|sample| sample.at_ms <= at_ms);
        let numbers = self.samples.get(count.checked_sub(1)?)?.numbers;
        Some(Sample { at_ms, numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, number: u64) -> Sample<1> {
        Sample { at_ms, numbers: [number] }
    }

    #[test]
    fn the_rate_is_the_difference_of_the_last_two_samples() {
        let mut pace = RecentSamples::new(sample(1000, 10));
        assert_eq!(pace.rates(), [0.0]);
        assert!(pace.push(sample(6000, 60)));
        assert_eq!(pace.rates(), [10.0]);
        assert!(pace.push(sample(8000, 50)));
        assert_eq!(pace.rates(), [-5.0]);
        assert!(!pace.push(sample(13_000, 50)));
        assert_eq!(pace.rates(), [0.0]);
    }

    #[test]
    fn the_rate_after_a_rest_is_not_that_of_the_whole_rest() {
        let mut pace = RecentSamples::new(sample(1000, 10));
        pace.push(sample(6000, 60));
        pace.rest_until(3_601_000);
        assert!(pace.push(sample(3_606_000, 110)));
        assert_eq!(pace.rates(), [10.0]);
    }

    const MINUTE: Retention = Retention { age_ms: 60_000, interval_ms: 5000 };
    const HOUR: Retention = Retention { age_ms: 3_600_000, interval_ms: 60_000 };

    #[track_caller]
    fn check(series: &Series<1>, now_ms: u64, age_ms: u64, step_ms: u64, expected: &[(u64, u64)]) {
        let samples = series.samples(now_ms, age_ms, step_ms);
        assert_eq!(samples.iter().map(|sample| (sample.at_ms, sample.numbers[0])).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_held_is_told_for_every_step() {
        let mut series = Series::new(&[HOUR, MINUTE]);
        for (index, number) in [1, 2, 2, 2, 5].into_iter().enumerate() {
            series.push(&sample(1_000_000 + 5000 * index as u64, number));
        }
        check(&series, 1_021_000, 10_000, 5000, &[(1_020_000, 5), (1_015_000, 2), (1_010_000, 2)]);
        check(
            &series,
            1_021_000,
            30_000,
            5000,
            &[(1_020_000, 5), (1_015_000, 2), (1_010_000, 2), (1_005_000, 2), (1_000_000, 1)],
        );
        check(&series, 1_030_000, 10_000, 10_000, &[(1_030_000, 5), (1_020_000, 5)]);
    }

    // Samples are of the whole interval that they were taken in, also of what was before them.
    #[test]
    fn a_moment_tells_what_was_seen_until_then() {
        let mut series = Series::new(&[MINUTE]);
        for (at_ms, number) in [(1_001_000, 1), (1_004_000, 2), (1_006_000, 3), (1_010_000, 4), (1_013_000, 5)] {
            series.push(&sample(at_ms, number));
        }
        let samples = [(1_015_000, 5), (1_010_000, 4), (1_005_000, 2)];
        check(&series, 1_015_000, 20_000, 5000, &samples);
        check(&series, 1_014_999, 20_000, 5000, &samples[1..]);
        check(&series, 1_019_000, 20_000, 10_000, &samples[1..2]);
        series.push(&sample(1_016_000, 6));
        check(&series, 1_019_000, 20_000, 5000, &samples);
    }

    #[test]
    fn what_rests_takes_no_room_and_stays_known() {
        let mut series = Series::new(&[MINUTE]);
        (0..1000).for_each(|tick| series.push(&sample(tick * 5000, 7)));
        assert_eq!(series.rings[0].samples.len(), 1);
        check(&series, 4_999_000, 10_000, 5000, &[(4_995_000, 7), (4_990_000, 7), (4_985_000, 7)]);
    }

    #[test]
    fn what_is_too_old_is_forgotten_but_for_what_held_then() {
        let mut series = Series::new(&[MINUTE, HOUR]);
        (0..1000).for_each(|tick| series.push(&sample(tick * 5000, tick)));
        assert!(series.rings[0].samples.len() <= 14);
        assert!(series.rings[1].samples.len() <= 62);
        assert_eq!(series.samples(4_995_000, 60_000, 5000).len(), 13);
        assert_eq!(series.samples(4_995_000, 3_600_000, 60_000).len(), 61);
    }

    #[test]
    fn a_longer_range_than_any_is_told_as_far_as_it_goes() {
        let mut series = Series::new(&[MINUTE]);
        (0..1000).for_each(|tick| series.push(&sample(tick * 5000, tick)));
        let samples = series.samples(4_995_000, 3_600_000, 5000);
        assert!((13..=15).contains(&samples.len()), "{}", samples.len());
        check(&Series::new(&[]), 5000, 5000, 5000, &[]);
    }
}
