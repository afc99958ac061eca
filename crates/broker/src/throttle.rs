//! How fast may be published in a vhost: a publisher that publishes more than its share of time allows waits for it to pass.
//!
//! A virtual clock runs ahead of the real one by what every message costs. As long as it is not ahead by more than a
//! tenth of a second no publisher waits, so that a limit does not turn an even stream into a stuttering one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::vhost::VhostLimits;
use parking_lot::Mutex;

use engine::batch::Batch;

/// How far ahead of time may be published.
const AHEAD_MAX: Duration = Duration::from_millis(100);
/// The longest that a connection waits at a time. What is left, the next one waits.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// A vhost's limits of rates.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    /// Whether there is any limit: most vhosts have none, and pay this one look.
    is_on: AtomicBool,
    clocks: Mutex<Clocks>,
}

#[derive(Debug, Default)]
struct Clocks {
    messages: Clock,
    bytes: Clock,
}

/// One limit.
#[derive(Debug, Default)]
struct Clock {
    rate_per_s: Option<u64>,
    /// Until when everything that was published would have been, at the limit's pace.
    paid_until: Option<Instant>,
}

impl Throttle {
    /// Takes over new limits.
    pub(crate) fn set(&self, limits: &VhostLimits) {
        let mut clocks = self.clocks.lock();
        clocks.messages.set(limits.publish_rate_max_per_s);
        clocks.bytes.set(limits.publish_bytes_max_per_s);
        let is_on = clocks.messages.rate_per_s.is_some() || clocks.bytes.rate_per_s.is_some();
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Counts what a batch publishes, and says how long its publisher is to wait before it publishes more.
    #[inline]
    pub(crate) fn charge_batch(&self, batch: &Batch, now: impl FnOnce() -> Instant) -> Duration {
        if !self.is_on() {
            return Duration::ZERO;
        }
        let byte_count = batch.publishes().iter().map(|publish| u64::from(publish.body_len)).sum();
        self.charge(batch.publishes().len() as u64, byte_count, now())
    }

    /// Counts what has been published, and says how long its publisher is to wait before it publishes more.
    pub(crate) fn charge(&self, message_count: u64, byte_count: u64, now: Instant) -> Duration {
        let mut clocks = self.clocks.lock();
        let wait = clocks.messages.charge(message_count, now).max(clocks.bytes.charge(byte_count, now));
        wait.min(WAIT_MAX)
    }
}

impl Clock {
    fn set(&mut self, rate_per_s: Option<u64>) {
        if self.rate_per_s != rate_per_s {
            // What was published at another pace is not owed at this one: a limit that was set too low ends with its debts.
            *self = Clock { rate_per_s, paid_until: None };
        }
    }

    fn charge(&mut self, count: u64, now: Instant) -> Duration {
        let Some(rate_per_s) = self.rate_per_s else { return Duration::ZERO };
        if rate_per_s == 0 {
            return WAIT_MAX;
        }
        let cost = Duration::from_secs_f64(count as f64 / rate_per_s as f64);
        // Time in which nothing was published is not saved up.
        let paid_until = self.paid_until.unwrap_or(now).max(now) + cost;
        self.paid_until = Some(paid_until);
        (paid_until - now).saturating_sub(AHEAD_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle(messages: Option<u64>, bytes: Option<u64>) -> Throttle {
        let throttle = Throttle::default();
        let limits =
            VhostLimits { publish_rate_max_per_s: messages, publish_bytes_max_per_s: bytes, ..VhostLimits::default() };
        throttle.set(&limits);
        throttle
    }

    #[test]
    fn without_limits_nobody_waits() {
        let throttle = throttle(None, None);
        assert!(!throttle.is_on());
        assert_eq!(throttle.charge(1_000_000, 1 << 30, Instant::now()), Duration::ZERO);
    }

    /// Publishes as fast as it may for ten seconds, and says how much that was.
    fn published(throttle: &Throttle, batch: u64, len: u64) -> u64 {
        let start = Instant::now();
        let (mut now, mut count) = (start, 0);
        while now < start + Duration::from_secs(10) {
            count += batch;
            // Reading and routing take time, too.
            now += throttle.charge(batch, batch * len, now) + Duration::from_micros(1);
        }
        count
    }

    #[test]
    fn over_time_the_rate_is_the_limit() {
        for batch in [1, 7, 100] {
            let count = published(&throttle(Some(1000), None), batch, 10);
            assert!((9_990..=10_210).contains(&count), "{count} in batches of {batch}");
            let count = published(&throttle(None, Some(10_000)), batch, 10);
            assert!((9_990..=10_210).contains(&count), "{count} in batches of {batch}, by bytes");
        }
    }

    #[test]
    fn the_stricter_limit_counts() {
        let count = published(&throttle(Some(1000), Some(1000)), 10, 10);
        assert!((990..=1030).contains(&count), "{count}");
    }

    #[test]
    fn a_short_burst_is_free() {
        let throttle = throttle(Some(1000), None);
        assert_eq!(throttle.charge(100, 0, Instant::now()), Duration::ZERO);
    }

    #[test]
    fn silence_is_not_saved_up() {
        let throttle = throttle(Some(1000), None);
        let now = Instant::now();
        throttle.charge(1, 0, now);
        let later = now + Duration::from_secs(3600);
        assert_eq!(throttle.charge(1100, 0, later), Duration::from_secs(1));
    }

    #[test]
    fn what_was_owed_at_one_rate_is_not_owed_at_another() {
        let throttle = throttle(Some(1), Some(1));
        let now = Instant::now();
        assert_eq!(throttle.charge(1000, 1000, now), WAIT_MAX);
        let mut limits = VhostLimits { publish_rate_max_per_s: Some(1), ..VhostLimits::default() };
        throttle.set(&limits);
        assert_eq!(throttle.charge(0, 0, now), WAIT_MAX, "this rate is what it was");
        limits.publish_rate_max_per_s = Some(1000);
        throttle.set(&limits);
        assert_eq!(throttle.charge(1, 0, now), Duration::ZERO);
    }

    #[test]
    fn a_limit_of_nothing_stops_everybody() {
        assert_eq!(throttle(Some(0), None).charge(1, 0, Instant::now()), WAIT_MAX);
    }
}
