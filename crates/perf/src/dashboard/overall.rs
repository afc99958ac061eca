//! Percentiles since the start, put together from those of the intervals.
//!
//! Percentiles cannot be added, but what lies between two of them is known to be so many messages. They are spread there as a
//! straight line between the two would have them, on a percentile curve with logarithmic axes: long tails are about
//! straight there. The maximum is exact, the others are off by some percent; the summary has them exactly.

use std::ops::Range;

use hdrhistogram::Histogram;

use crate::histogram;
use crate::results::Percentiles;

/// Values that a stretch between two percentiles is spread over.
const STEPS_MAX: u64 = 16;

/// Latencies since the start.
#[derive(Clone, Debug)]
pub(super) struct Overall {
    histogram: Histogram<u64>,
}

impl Default for Overall {
    fn default() -> Self {
        Overall { histogram: histogram::empty() }
    }
}

impl Overall {
    /// Adds an interval's.
    pub(super) fn add(&mut self, interval: &Percentiles) {
        let Some(before_max) = interval.count.checked_sub(1) else { return };
        let bounds = [
            (0.5, interval.p50_ns),
            (0.75, interval.p75_ns),
            (0.9, interval.p90_ns),
            (0.95, interval.p95_ns),
            (0.99, interval.p99_ns),
            (0.999, interval.p999_ns),
            (0.9999, interval.p9999_ns),
            (1.0, interval.max_ns),
        ];
        let (mut low, mut counted) = (interval.min_ns, 0);
        for (share, high) in bounds {
            let rank = ((interval.count as f64 * share).round() as u64).clamp(counted, before_max);
            self.spread(interval.count, counted..rank, low..high);
            (low, counted) = (high, rank);
        }
        self.histogram.saturating_record(interval.max_ns.min(histogram::LATENCY_MAX_NS));
    }

    pub(super) fn percentiles(&self) -> Option<Percentiles> {
        Percentiles::of(&self.histogram)
    }

    /// The messages of these ranks, of all, between two latencies.
    fn spread(&mut self, all: u64, ranks: Range<u64>, ns: Range<u64>) {
        let count = ranks.end - ranks.start;
        let steps = count.min(STEPS_MAX);
        // What is left above a rank is what the curve's axis is about. Half a message, so that the last has a place.
        let left = |rank: u64| (all - rank) as f64 + 0.5;
        let (low, high) = (ns.start.max(1) as f64, ns.end.max(ns.start).max(1) as f64);
        let length = (left(ranks.start) / left(ranks.end)).ln();
        for step in 0..steps {
            let (first, end) = (count * step / steps, count * (step + 1) / steps);
            let middle = ranks.start + (first + end) / 2;
            let way = (left(ranks.start) / left(middle)).ln() / length;
            let value = low * (high / low).powf(way);
            self.histogram.saturating_record_n((value as u64).min(histogram::LATENCY_MAX_NS), end - first);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn nothing_measured_is_nothing() {
        let mut overall = Overall::default();
        overall.add(&Percentiles::default());
        assert_eq!(overall.percentiles(), None);
    }

    #[test]
    fn one_message_counts_once() {
        let mut overall = Overall::default();
        let mut one = histogram::empty();
        histogram::record(&mut one, Duration::from_micros(40));
        overall.add(&Percentiles::of(&one).unwrap());
        assert_eq!(overall.percentiles().unwrap().count, 1);
        assert_eq!(overall.percentiles().unwrap().max_ns / 100, 400);
    }

    #[test]
    fn put_together_is_close_to_counted_together() {
        let (mut exact, mut overall) = (histogram::empty(), Overall::default());
        for interval in 1..=20_u64 {
            let mut part = histogram::empty();
            for message in 1..=5_000_u64 {
                // Mostly short, with a tail; every fourth interval is slow.
                let slow = if interval % 4 == 0 { 7 } else { 1 };
                let us = slow * (100 + message / 10 + 400_000 / (5_001 - message));
                histogram::record(&mut part, Duration::from_micros(us));
            }
            exact.add(&part).unwrap();
            overall.add(&Percentiles::of(&part).unwrap());
        }
        let (exact, close) = (Percentiles::of(&exact).unwrap(), overall.percentiles().unwrap());
        assert_eq!((close.count, close.max_ns), (exact.count, exact.max_ns));
        for pick in [|all: &Percentiles| all.p50_ns, |all: &Percentiles| all.p90_ns, |all: &Percentiles| all.p99_ns] {
            let (exact, close) = (pick(&exact) as f64, pick(&close) as f64);
            assert!((close / exact - 1.0).abs() < 0.15, "{close} is not close to {exact}");
        }
    }
}
