//! Histograms of latencies.
//!
//! HdrHistogram's, with three significant digits: whatever the value, it is off by at most a thousandth. From a nanosecond
//! to an hour; what took longer counts as an hour, for a latency of more than that says no more than "far too long".

use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest latency that is distinguished from longer ones: an hour.
pub const LATENCY_MAX_NS: u64 = 3_600_000_000_000;
/// Digits of a value that are exact.
const SIGNIFICANT_DIGITS: u8 = 3;

/// An empty histogram.
#[must_use]
pub fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX_NS, SIGNIFICANT_DIGITS).expect("the bounds are constant and in order")
}

/// Counts one latency.
pub fn record(histogram: &mut Histogram<u64>, latency: Duration) {
    let ns = u64::try_from(latency.as_nanos()).unwrap_or(LATENCY_MAX_NS);
    histogram.saturating_record(ns.min(LATENCY_MAX_NS));
}

/// The latency that a share of what was recorded does not exceed. The buckets are as wide as a thousandth of their value, and a
/// quantile is the upper end of its bucket: never more than an hour, though, for nothing longer was recorded.
#[must_use]
pub fn value_at(histogram: &Histogram<u64>, quantile: f64) -> u64 {
    histogram.value_at_quantile(quantile).min(LATENCY_MAX_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_thousandth() {
        let mut histogram = empty();
        (1..=10_000).for_each(|i| record(&mut histogram, Duration::from_nanos(i * 12_345)));
        for (quantile, expected) in
            [(0.0, 12_345), (0.5, 5_000 * 12_345), (0.99, 9_900 * 12_345), (1.0, 10_000 * 12_345)]
        {
            let value = value_at(&histogram, quantile);
            assert!(value.abs_diff(expected) <= expected / 1_000 + 1, "{value} is not {expected}");
        }
    }

    #[test]
    fn more_than_an_hour_counts_as_an_hour() {
        let mut histogram = empty();
        record(&mut histogram, Duration::from_secs(7_200));
        record(&mut histogram, Duration::MAX);
        assert_eq!(value_at(&histogram, 0.5), LATENCY_MAX_NS);
        assert_eq!(value_at(&histogram, 1.0), LATENCY_MAX_NS);
    }
}
