//! What many rounds come to: for each stage the least, the middle, the worst and the jitter. As much memory for a day as for a minute.

use std::time::Duration;

use figures::latencies;
use hdrhistogram::Histogram;

use crate::stage::{STAGE_COUNT, Stage, Times};

/// All rounds so far.
#[derive(Debug)]
pub(crate) struct Statistics {
    stages: [StageRecord; STAGE_COUNT],
    completed: u64,
    lost: u64,
    resent: u64,
}

/// What a stage came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StageSummary {
    pub(crate) min: Duration,
    pub(crate) p50: Duration,
    pub(crate) p90: Duration,
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
    pub(crate) mean: Duration,
    /// The mean of the differences between one round and the next, whichever of both took longer; RFC 3550's idea. `None` for one round.
    pub(crate) jitter: Option<Duration>,
}

#[derive(Debug)]
struct StageRecord {
    histogram: Histogram<u64>,
    /// Exact, where the histogram is to a thousandth.
    min: Duration,
    max: Duration,
    sum: Duration,
    count: u64,
    /// Of the round before, unless that was lost.
    last: Option<Duration>,
    difference_sum: Duration,
    difference_count: u64,
}

impl Statistics {
    pub(crate) fn new() -> Self {
        Statistics { stages: std::array::from_fn(|_| StageRecord::new()), completed: 0, lost: 0, resent: 0 }
    }

    /// Counts a round in which everything was answered.
    pub(crate) fn complete(&mut self, times: &Times) {
        self.completed += 1;
        self.resent += u64::from(times.resent);
        for stage in Stage::ALL {
            self.stages[stage as usize].take(times.get(stage));
        }
    }

    /// Counts a round in which something was not. What it measured before that says nothing: it is left out.
    pub(crate) fn lose(&mut self) {
        self.lost += 1;
        self.stages.iter_mut().for_each(|stage| stage.last = None);
    }

    pub(crate) fn completed(&self) -> u64 {
        self.completed
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Segments that were sent again in rounds that were completed.
    pub(crate) fn resent(&self) -> u64 {
        self.resent
    }

    /// What a stage came to; `None` if it was never measured.
    pub(crate) fn of(&self, stage: Stage) -> Option<StageSummary> {
        self.stages[stage as usize].summary()
    }
}

impl StageRecord {
    fn new() -> Self {
        StageRecord {
            histogram: latencies::empty(),
            min: Duration::MAX,
            max: Duration::ZERO,
            sum: Duration::ZERO,
            count: 0,
            last: None,
            difference_sum: Duration::ZERO,
            difference_count: 0,
        }
    }

    fn take(&mut self, time: Option<Duration>) {
        let before = std::mem::replace(&mut self.last, time);
        let Some(time) = time else { return };
        latencies::record(&mut self.histogram, time);
        self.min = self.min.min(time);
        self.max = self.max.max(time);
        self.sum += time;
        self.count += 1;
        if let Some(before) = before {
            self.difference_sum += time.abs_diff(before);
            self.difference_count += 1;
        }
    }

    fn summary(&self) -> Option<StageSummary> {
        if self.count == 0 {
            return None;
        }
        // A bucket's upper end may lie beyond the longest time, and its only time above the end.
        let at = |quantile| {
            let ns = latencies::value_at(&self.histogram, quantile);
            Duration::from_nanos(ns).clamp(self.min, self.max)
        };
        Some(StageSummary {
            min: self.min,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: self.max,
            mean: mean(self.sum, self.count)?,
            jitter: mean(self.difference_sum, self.difference_count),
        })
    }
}

/// `None` of nothing.
fn mean(sum: Duration, count: u64) -> Option<Duration> {
    let ns = sum.as_nanos().checked_div(count.into())?;
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{resent, times_us};

    /// Rounds in which the confirm took so many microseconds; `None` was lost.
    fn confirms(rounds: &[Option<u64>]) -> Statistics {
        let mut statistics = Statistics::new();
        for round in rounds {
            match round {
                Some(us) => statistics.complete(&times_us(&[(Stage::Confirm, *us)])),
                None => statistics.lose(),
            }
        }
        statistics
    }

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[track_caller]
    fn check_jitter(rounds: &[Option<u64>], expected_us: Option<u64>) {
        assert_eq!(confirms(rounds).of(Stage::Confirm).unwrap().jitter, expected_us.map(us), "{rounds:?}");
    }

    #[test]
    fn least_worst_and_mean_are_exact() {
        let summary = confirms(&[Some(1_234), Some(5_678), Some(9_999)]).of(Stage::Confirm).unwrap();
        assert_eq!((summary.min, summary.max), (us(1_234), us(9_999)));
        assert_eq!(summary.mean, us(1_234 + 5_678 + 9_999) / 3);
    }

    #[test]
    fn percentiles_are_right_to_a_thousandth() {
        let rounds: Vec<Option<u64>> = (1..=1_000).rev().map(|i| Some(i * 10)).collect();
        let summary = confirms(&rounds).of(Stage::Confirm).unwrap();
        for (measured, expected) in [(summary.p50, us(5_000)), (summary.p90, us(9_000)), (summary.p99, us(9_900))] {
            assert!(measured.abs_diff(expected) <= expected / 1_000, "{measured:?} is not {expected:?}");
        }
    }

    #[test]
    fn percentiles_of_one_round_are_that_round() {
        let summary = confirms(&[Some(1_234_567)]).of(Stage::Confirm).unwrap();
        let all = [summary.min, summary.p50, summary.p90, summary.p99, summary.max, summary.mean];
        assert_eq!(all, [us(1_234_567); 6]);
    }

    #[test]
    fn jitter_is_the_mean_difference_of_successive_rounds() {
        check_jitter(&[Some(10)], None);
        check_jitter(&[Some(10), Some(10), Some(10)], Some(0));
        check_jitter(&[Some(10), Some(30), Some(10)], Some(20));
        check_jitter(&[Some(10), Some(20), Some(40), Some(70)], Some(20));
    }

    #[test]
    fn rounds_around_a_lost_one_are_not_successive() {
        check_jitter(&[Some(10), None, Some(1_000)], None);
        check_jitter(&[Some(10), Some(12), None, Some(1_000), Some(1_004)], Some(3));
    }

    #[test]
    fn lost_rounds_are_counted_and_nothing_else() {
        let statistics = confirms(&[None, Some(5), None]);
        assert_eq!((statistics.completed(), statistics.lost()), (1, 2));
        assert_eq!(statistics.of(Stage::Confirm).unwrap().max, us(5));
        assert_eq!(confirms(&[None]).of(Stage::Confirm), None);
    }

    #[test]
    fn segments_that_were_sent_again_add_up() {
        let mut statistics = Statistics::new();
        (0..3).for_each(|count| statistics.complete(&resent(count)));
        assert_eq!(statistics.resent(), 3);
    }

    #[test]
    fn what_was_not_measured_has_no_summary() {
        let statistics = confirms(&[Some(5)]);
        assert_eq!(statistics.of(Stage::Tls), None);
    }
}
