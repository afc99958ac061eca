//! What time it is: a time that cannot be set, for all that waits, and the system's, for what is shown.
//!
//! Times of queues (when messages came and expire, when delayed ones are due, when keys are forgotten) are milliseconds since 1970 by the
//! *broker's time*: the system's as it was at the start, and what has passed since then. So it makes no difference to what waits whether
//! the system's clock is set. How far the broker's time is ahead of the system's, once that clock was set, is kept among the definitions,
//! and a restart continues from there: what is on the disk is in the broker's time, too, and has to wait for what it had left.
//!
//! ```text
//!  key    | 255 u8 | "clock" |
//!  value  | milliseconds ahead of the system's clock: i64, big-endian |
//! ```
//!
//! Deliberately absent: what happens to the system's clock while no broker runs. That cannot be distinguished from time that passes.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The key, among the definitions, under which it is kept how far the broker's time is ahead. Sorts after all definitions.
pub const KEY: &[u8] = b"\xffclock";

/// The system's clock was set if it differs by so much from what it would be otherwise. Less is not worth a record.
const SET_MS: u64 = 1000;

/// Milliseconds since 1970 by the system's clock, for what is shown.
pub fn wall_ms() -> u64 {
    since_1970().as_millis() as u64
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The clock that all that waits uses; in tests one that stands still once it is set.
#[derive(Debug)]
pub struct Clock {
    started_at: Instant,
    timeline: Timeline,
    set_to: std::sync::atomic::AtomicU64,
}

/// The broker's time beside the system's. Both are since 1970.
#[derive(Debug)]
struct Timeline {
    /// The broker's time at the start.
    origin: Duration,
    /// How far it is ahead of the system's, in milliseconds.
    ahead_ms: AtomicI64,
}

impl Timeline {
    /// From `wall` on, by the system's clock, before which the broker's time was ahead by so much.
    fn begin(wall: Duration, ahead_ms: i64) -> Self {
        let ahead = Duration::from_millis(ahead_ms.unsigned_abs());
        let origin = if ahead_ms < 0 { wall.saturating_sub(ahead) } else { wall.saturating_add(ahead) };
        Self { origin, ahead_ms: AtomicI64::new(ahead_ms) }
    }

    /// The broker's time so long after the start.
    #[inline]
    fn at(&self, passed: Duration) -> Duration {
        self.origin.saturating_add(passed)
    }

    /// Compares it with the system's. By how many milliseconds that has been set forward, or back if it is less than nothing; `None`: not
    /// worth mentioning.
    fn compare(&self, passed: Duration, wall: Duration) -> Option<i64> {
        let ahead_ms = millis(self.at(passed)).saturating_sub(millis(wall));
        let set_by_ms = self.ahead_ms.load(Ordering::Relaxed).saturating_sub(ahead_ms);
        if set_by_ms.unsigned_abs() < SET_MS {
            return None;
        }
        self.ahead_ms.store(ahead_ms, Ordering::Relaxed);
        Some(set_by_ms)
    }
}

fn millis(since: Duration) -> i64 {
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Clock {
    /// Begins at the system's time, or where it was `stored` that the broker's is ahead of it.
    pub fn start(stored: Option<&[u8]>) -> Self {
        let ahead_ms = stored.and_then(|value| value.try_into().ok()).map_or(0, i64::from_be_bytes);
        if ahead_ms.unsigned_abs() >= SET_MS {
            tracing::info!(
                ahead_ms,
                "what waits goes by the time that it went by before, and not by the system's clock"
            );
        }
        Self {
            started_at: Instant::now(),
            timeline: Timeline::begin(since_1970(), ahead_ms),
            set_to: std::sync::atomic::AtomicU64::new(0),
        }
    }

    /// Milliseconds since 1970 by the broker's time.
    #[inline]
    pub fn now_ms(&self) -> u64 {
        if let Some(now_ms) = self.set_to() {
            return now_ms;
        }
        self.timeline.at(self.started_at.elapsed()).as_millis() as u64
    }

    /// The same as of a moment that has been looked up already: not before the broker's start.
    #[inline]
    pub fn ms_at(&self, at: Instant) -> u64 {
        if let Some(now_ms) = self.set_to() {
            return now_ms;
        }
        self.timeline.at(at.saturating_duration_since(self.started_at)).as_millis() as u64
    }

    /// Looks whether the system's clock was set since the last look. Then: by how many milliseconds forward, or back if it is less than
    /// nothing, and how far the broker's time is ahead of it now.
    pub(crate) fn compare_with_system(&self) -> Option<(i64, i64)> {
        self.compare(self.started_at.elapsed(), since_1970())
    }

    /// The same, as if the system's clock showed `wall` so long after the start.
    pub(crate) fn compare(&self, passed: Duration, wall: Duration) -> Option<(i64, i64)> {
        let set_by_ms = self.timeline.compare(passed, wall)?;
        Some((set_by_ms, self.timeline.ahead_ms.load(Ordering::Relaxed)))
    }

    /// When a delay that begins now is over, in milliseconds since 1970: not a part of a millisecond too early.
    pub fn due_ms(&self, delay_ms: u64) -> u64 {
        if let Some(now_ms) = self.set_to() {
            return now_ms.saturating_add(delay_ms);
        }
        let now = self.timeline.at(self.started_at.elapsed());
        let now_ms = now.as_millis() as u64 + u64::from(!now.subsec_nanos().is_multiple_of(1_000_000));
        now_ms.saturating_add(delay_ms)
    }

    /// What the system's clock shows, or would, at this time of the broker's.
    pub fn shown_ms(&self, at_ms: u64) -> u64 {
        at_ms.saturating_add_signed(self.timeline.ahead_ms.load(Ordering::Relaxed).saturating_neg())
    }

    /// The broker's time when the system's clock shows this.
    pub fn meant_ms(&self, shown_ms: u64) -> u64 {
        shown_ms.saturating_add_signed(self.timeline.ahead_ms.load(Ordering::Relaxed))
    }

    /// Where the clock stands still, if it does.
    pub fn set_to(&self) -> Option<u64> {
        Some(self.set_to.load(Ordering::SeqCst)).filter(|now_ms| *now_ms > 0)
    }

    /// Stops the clock at this time.
    pub fn set(&self, now_ms: u64) {
        self.set_to.store(now_ms, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1_720_000_000);
    const HOUR: Duration = Duration::from_secs(3600);
    const HOUR_MS: i64 = 3_600_000;

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn time_goes_on_whatever_the_system_says() {
        let timeline = Timeline::begin(START, 0);
        assert_eq!(timeline.at(secs(7)), START + secs(7));
        assert_eq!(timeline.compare(secs(7), START + secs(7)), None);
        assert_eq!(timeline.compare(secs(8), START + secs(8) - HOUR), Some(-HOUR_MS));
        assert_eq!(timeline.at(secs(9)), START + secs(9));
        assert_eq!(timeline.compare(secs(9), START + secs(9) - HOUR), None, "it is reported once");
        assert_eq!(timeline.compare(secs(10), START + secs(10)), Some(HOUR_MS), "and set right again");
        assert_eq!(timeline.ahead_ms.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn small_differences_are_told_when_they_have_become_large() {
        let timeline = Timeline::begin(START, 0);
        let reported: Vec<_> = (1..=30)
            .filter_map(|step| timeline.compare(secs(step), START + secs(step) + Duration::from_millis(100 * step)))
            .collect();
        assert_eq!(reported, [1000, 1000, 1000]);
    }

    #[test]
    fn a_restart_goes_on_where_time_was() {
        for set_back in [true, false] {
            let timeline = Timeline::begin(START, 0);
            let wall = |passed: Duration| if set_back { START + passed - HOUR } else { START + passed + HOUR };
            timeline.compare(secs(60), wall(secs(60)));
            let ahead_ms = timeline.ahead_ms.load(Ordering::Relaxed);
            let again = Timeline::begin(wall(secs(100)), ahead_ms);
            assert_eq!(again.at(secs(0)), timeline.at(secs(100)));
            assert_eq!(again.compare(secs(20), wall(secs(120))), None);
        }
    }

    #[test]
    fn a_clock_before_1970_is_no_trouble() {
        let timeline = Timeline::begin(secs(5), HOUR_MS.saturating_neg());
        assert_eq!(timeline.at(secs(1)), secs(1));
        assert_eq!(Timeline::begin(secs(5), i64::MIN).at(secs(1)), secs(1));
        Timeline::begin(Duration::MAX, i64::MAX).compare(Duration::MAX, secs(0));
    }

    #[test]
    fn what_is_shown_is_what_the_system_shows() {
        let clock = Clock::start(Some(&HOUR_MS.to_be_bytes()));
        let (now_ms, wall_ms) = (clock.now_ms(), wall_ms());
        assert!(now_ms.abs_diff(wall_ms + HOUR_MS as u64) < 10_000);
        assert!(clock.shown_ms(now_ms).abs_diff(wall_ms) < 10_000);
        assert_eq!(clock.meant_ms(clock.shown_ms(now_ms)), now_ms);
        assert!(clock.due_ms(5) >= now_ms + 5);
        assert!(Clock::start(Some(b"damaged")).now_ms().abs_diff(wall_ms) < 10_000);
    }
}
