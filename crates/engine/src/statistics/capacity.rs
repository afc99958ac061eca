//! How much of the time a queue's consumers could have taken whatever came: RabbitMQ's consumer capacity.

use std::sync::atomic::{AtomicU64, Ordering};

/// What was so long ago counts half of what is now, as in RabbitMQ.
const HALF_LIFE_MS: f64 = 1000.0;
const SHARE_BITS: u32 = 17;
const SHARE_MAX: u64 = (1 << SHARE_BITS) - 1;

/// The share of time in which no message waited for consumers to have room, the present counting most.
///
/// One word, so that readers need no lock: when it changed last (milliseconds since 1970), the share before, and whether there is room
/// since. Written under the lock of the queue.
#[derive(Debug)]
pub struct Capacity(AtomicU64);

impl Default for Capacity {
    /// There was room always.
    fn default() -> Self {
        Capacity(AtomicU64::new(pack(0, 1.0, true)))
    }
}

impl Capacity {
    /// Notes whether there is room. The clock is looked at only if that has changed.
    #[inline]
    pub fn note(&self, has_room: bool, now_ms: impl FnOnce() -> u64) {
        if (self.0.load(Ordering::Relaxed) & 1 == 1) != has_room {
            let now_ms = now_ms();
            self.0.store(pack(now_ms, self.share(now_ms), has_room), Ordering::Relaxed);
        }
    }

    /// The share, from 0 to 1.
    pub fn share(&self, now_ms: u64) -> f64 {
        let state = self.0.load(Ordering::Relaxed);
        let before = (state >> 1 & SHARE_MAX) as f64 / SHARE_MAX as f64;
        let since = if state & 1 == 1 { 1.0 } else { 0.0 };
        let passed_ms = now_ms.saturating_sub(state >> (SHARE_BITS + 1));
        let weight = (-(passed_ms as f64) / HALF_LIFE_MS).exp2();
        before * weight + since * (1.0 - weight)
    }
}

fn pack(at_ms: u64, share: f64, has_room: bool) -> u64 {
    at_ms << (SHARE_BITS + 1) | ((share * SHARE_MAX as f64).round() as u64).min(SHARE_MAX) << 1 | u64::from(has_room)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_MS: u64 = 1_720_000_000_000;

    #[track_caller]
    fn check(capacity: &Capacity, after_ms: u64, expected: f64) {
        let share = capacity.share(START_MS + after_ms);
        assert!((share - expected).abs() < 1e-4, "{share} instead of {expected}");
    }

    #[test]
    fn a_second_counts_as_much_as_all_before() {
        let capacity = Capacity::default();
        check(&capacity, 0, 1.0);
        capacity.note(false, || START_MS);
        check(&capacity, 1000, 0.5);
        check(&capacity, 2000, 0.25);
        capacity.note(false, || panic!("nothing has changed"));
        capacity.note(true, || START_MS + 2000);
        check(&capacity, 2000, 0.25);
        check(&capacity, 3000, 0.625);
        check(&capacity, 60_000, 1.0);
    }

    #[test]
    fn many_changes_add_up() {
        let capacity = Capacity::default();
        // Of four milliseconds there is room in three.
        for at_ms in 0..20_000 {
            capacity.note(at_ms % 4 != 0, || START_MS + at_ms);
        }
        let share = capacity.share(START_MS + 20_000);
        assert!((share - 0.75).abs() < 0.01, "{share}");
    }

    #[test]
    fn a_clock_that_is_set_back_changes_nothing() {
        let capacity = Capacity::default();
        capacity.note(false, || START_MS);
        check(&capacity, 1000, 0.5);
        assert!(capacity.share(START_MS - 5) > 0.999);
    }
}
