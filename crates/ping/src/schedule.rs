//! When the next round is, and when there is none left.

use std::time::Duration;

/// How many rounds, how far apart, for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// Rounds at most; `None`: any number.
    pub(crate) count: Option<u64>,
    /// From the beginning of one round to that of the next.
    pub(crate) interval: Duration,
    /// After which no round begins; `None`: never.
    pub(crate) duration: Option<Duration>,
}

impl Schedule {
    /// When the next round begins, counted from the beginning of the first: `done` rounds are over, the last of which began at `began`, and
    /// it is `now`. A round that took longer than the interval is followed at once, and what was missed is not caught up on.
    pub(crate) fn next(&self, done: u64, began: Duration, now: Duration) -> Option<Duration> {
        if self.count.is_some_and(|count| done >= count) {
            return None;
        }
        let next = if done == 0 { now } else { now.max(began + self.interval) };
        self.duration.is_none_or(|duration| next < duration).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const EVERY_SECOND: Schedule = Schedule { count: None, interval: ms(1_000), duration: None };

    #[track_caller]
    fn check(schedule: Schedule, done: u64, began: u64, now: u64, expected: Option<u64>) {
        assert_eq!(schedule.next(done, ms(began), ms(now)), expected.map(ms), "{schedule:?}");
    }

    #[test]
    fn rounds_begin_an_interval_apart() {
        check(EVERY_SECOND, 0, 0, 0, Some(0));
        check(EVERY_SECOND, 1, 0, 5, Some(1_000));
        check(EVERY_SECOND, 2, 1_000, 1_999, Some(2_000));
    }

    #[test]
    fn round_that_took_too_long_is_followed_at_once() {
        check(EVERY_SECOND, 1, 0, 3_500, Some(3_500));
        check(EVERY_SECOND, 2, 3_500, 3_600, Some(4_500));
    }

    #[test]
    fn count_and_duration_end_it_whichever_is_first() {
        let both = Schedule { count: Some(3), duration: Some(ms(2_500)), ..EVERY_SECOND };
        check(both, 2, 1_000, 1_010, Some(2_000));
        check(both, 3, 2_000, 2_010, None);
        check(both, 2, 1_800, 1_810, None);
        let short = Schedule { duration: Some(ms(1_000)), ..EVERY_SECOND };
        check(short, 0, 0, 0, Some(0));
        check(short, 1, 0, 5, None);
    }
}
