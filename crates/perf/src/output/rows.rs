//! Samples to rows. PerfTest writes no row for an interval in which nothing happened; the next one covers it too.

use super::columns::Unit;
use crate::results::{Counts, Percentiles, Sample, per_second};

/// What a line says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Row {
    /// Since the start.
    pub(super) time_s: f64,
    /// Messages a second.
    pub(super) published: f64,
    pub(super) returned: f64,
    pub(super) confirmed: f64,
    pub(super) nacked: f64,
    pub(super) consumed: f64,
    pub(super) consumer_latency: Option<Percentiles>,
    pub(super) confirm_latency: Option<Percentiles>,
}

/// Turns samples into rows.
#[derive(Debug, Default)]
pub(super) struct Rows {
    quiet_s: f64,
}

impl Rows {
    pub(super) fn next(&mut self, sample: &Sample) -> Option<Row> {
        let counts = &sample.counts;
        let duration_s = self.quiet_s + sample.duration_s;
        if is_quiet(counts) && sample.probes.is_empty() {
            self.quiet_s = duration_s;
            return None;
        }
        self.quiet_s = 0.0;
        let per_s = |count: u64| per_second(count as f64, duration_s);
        Some(Row {
            time_s: sample.end_s,
            published: per_s(counts.published),
            returned: per_s(counts.returned),
            confirmed: per_s(counts.confirmed),
            nacked: per_s(counts.nacked),
            consumed: per_s(counts.consumed),
            consumer_latency: sample.consumer_latency,
            confirm_latency: sample.confirm_latency,
        })
    }
}

fn is_quiet(counts: &Counts) -> bool {
    counts.published + counts.returned + counts.confirmed + counts.nacked + counts.consumed == 0
}

/// The five numbers that PerfTest shows: min, median, 75th, 95th, 99th. Without messages they are 0.
pub(super) fn five(percentiles: Option<&Percentiles>, unit: Unit) -> [u64; 5] {
    let percentiles = percentiles.copied().unwrap_or_default();
    let Percentiles { min_ns, p50_ns, p75_ns, p95_ns, p99_ns, .. } = percentiles;
    [min_ns, p50_ns, p75_ns, p95_ns, p99_ns].map(|nanos| unit.of(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing;

    #[test]
    fn a_quiet_interval_has_no_row_and_counts_for_the_next() {
        let mut rows = Rows::default();
        assert!(rows.next(&testing::sample(1.0, 1.0, 0)).is_none());
        let row = rows.next(&testing::sample(2.0, 1.0, 60)).unwrap();
        assert_eq!((row.time_s, row.published), (2.0, 30.0));
        assert_eq!(rows.next(&testing::sample(3.0, 1.0, 60)).unwrap().published, 60.0);
    }
}
