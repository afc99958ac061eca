//! What time it is in the cluster: the time of the running broker, by which waiting messages fall due, as far as this node has heard. A
//! node that takes over continues it, whatever its own clock shows.
//!
//! What was heard is kept against a clock that only counts on, so it makes no difference whether the system's is set meanwhile. An answer
//! is dated as late as it came, so the time of a new leader is never ahead of the one before, and behind it by less than the answer took.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// For how many milliseconds what was heard is trusted to be exact to one: clocks that only count on drift apart by less.
const DRIFT: u64 = 1000;

/// A difference that is not worth a file.
const KEPT_MS: u64 = 1000;

/// See the module.
#[derive(Debug)]
pub(super) struct GroupTime {
    started_at: Instant,
    estimate: Mutex<Estimate>,
}

#[derive(Debug, Default)]
struct Estimate {
    heard: Option<LeaderTime>,
    /// How far it was ahead of this machine's clock, by the file.
    kept_ms: Option<i64>,
}

/// A time that a leader has reported, against milliseconds since this process's start.
#[derive(Debug, Clone, Copy)]
struct LeaderTime {
    /// The broker's time at this process's start.
    origin_ms: i64,
    /// How late it may be.
    error_ms: u64,
    at_ms: u64,
}

impl Estimate {
    /// It was asked and answered at these moments that it is `broker_ms`.
    fn add_answer(&mut self, broker_ms: u64, asked_ms: u64, answered_ms: u64) {
        let error_ms = answered_ms.saturating_sub(asked_ms);
        let is_better =
            |heard: &LeaderTime| error_ms <= heard.error_ms + answered_ms.saturating_sub(heard.at_ms) / DRIFT;
        if self.heard.as_ref().is_none_or(is_better) {
            let origin_ms = signed(broker_ms).saturating_sub(signed(answered_ms));
            self.heard = Some(LeaderTime { origin_ms, error_ms, at_ms: answered_ms });
        }
    }

    /// How far it is ahead of a clock on the wall, at a moment.
    fn ahead_ms(&self, now_ms: u64, wall_ms: u64) -> Option<i64> {
        match self.heard {
            Some(heard) => Some(heard.origin_ms.saturating_add(signed(now_ms)).saturating_sub(signed(wall_ms))),
            None => self.kept_ms,
        }
    }

    /// The same, if it is to be kept.
    fn take_change(&mut self, now_ms: u64, wall_ms: u64) -> Option<i64> {
        self.heard?;
        let ahead_ms = self.ahead_ms(now_ms, wall_ms)?;
        if self.kept_ms.is_some_and(|kept_ms| kept_ms.abs_diff(ahead_ms) < KEPT_MS) {
            return None;
        }
        self.kept_ms = Some(ahead_ms);
        Some(ahead_ms)
    }
}

/// Milliseconds since 1970, by this machine's clock.
pub(super) fn clock_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

impl GroupTime {
    /// Nothing was heard yet; what was kept counts until then.
    pub(super) fn new(kept_ms: Option<i64>) -> Self {
        GroupTime { started_at: Instant::now(), estimate: Mutex::new(Estimate { heard: None, kept_ms }) }
    }

    /// The broker's time is this, by the broker on this node.
    pub(super) fn set(&self, broker_ms: u64) {
        let now = Instant::now();
        self.add_answer(broker_ms, now, now);
    }

    /// The leader was asked and has answered.
    pub(super) fn add_answer(&self, broker_ms: u64, asked_at: Instant, answered_at: Instant) {
        self.estimate.lock().add_answer(broker_ms, self.counted_ms(asked_at), self.counted_ms(answered_at));
    }

    /// How far it is ahead of this machine's clock, which shows `wall_ms`, if that is estimate.
    pub(super) fn ahead_ms(&self, wall_ms: u64) -> Option<i64> {
        self.estimate.lock().ahead_ms(self.counted_ms(Instant::now()), wall_ms)
    }

    /// The same, where it is another one than was kept; from now on that is.
    pub(super) fn take_change(&self, wall_ms: u64) -> Option<i64> {
        self.estimate.lock().take_change(self.counted_ms(Instant::now()), wall_ms)
    }

    /// Nothing is known: the node's data has been deleted.
    pub(super) fn forget(&self) {
        *self.estimate.lock() = Estimate::default();
    }

    fn counted_ms(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.started_at).as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;
    const START: u64 = 1_720_000_000_000;

    #[test]
    fn a_new_leader_goes_on_with_the_time_that_it_heard() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.ahead_ms(0, START), None);
        // Its own clock is five minutes ahead of the leader's.
        estimate.add_answer(START, 10_000, 10_002);
        let wall = START + 5 * MINUTE;
        assert_eq!(estimate.ahead_ms(10_002, wall), Some(-5 * MINUTE as i64));
        assert_eq!(estimate.ahead_ms(40_002, wall + 30_000), Some(-5 * MINUTE as i64), "time passes on both");
        assert_eq!(estimate.ahead_ms(40_002, START + 30_000), Some(0), "its clock was set right meanwhile");
    }

    #[test]
    fn an_answer_that_took_long_counts_for_nothing() {
        let mut estimate = Estimate::default();
        estimate.add_answer(START, 0, 2);
        // This process stood for half a minute while the answer was there.
        estimate.add_answer(START + 1000, 1000, 31_000);
        assert_eq!(estimate.ahead_ms(31_000, START + 30_998), Some(0));
        // After a while one is taken that took a little longer: clocks drift apart.
        estimate.add_answer(START + 60_000, 60_000, 60_010);
        assert_eq!(estimate.ahead_ms(60_010, START + 60_000), Some(0));
    }

    #[test]
    fn what_is_kept_counts_until_something_is_heard() {
        let mut estimate = Estimate { heard: None, kept_ms: Some(7000) };
        assert_eq!(estimate.ahead_ms(5, START), Some(7000));
        assert_eq!(estimate.take_change(5, START), None, "nothing was heard");
        estimate.add_answer(START + 7500, 5, 5);
        assert_eq!(estimate.take_change(5, START), None, "it is what was kept, as far as matters");
        estimate.add_answer(START + 9000, 6, 6);
        assert_eq!((estimate.take_change(6, START), estimate.take_change(6, START)), (Some(9000), None));
        assert_eq!(Estimate::default().kept_ms, None);
    }
}
