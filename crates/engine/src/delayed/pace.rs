//! The most messages that an exchange releases in a second.

/// How much unused time a burst may make up for at once.
const BURST_US: u64 = 50_000;
const SECOND_US: u64 = 1_000_000;

/// When the next message may be released, for an exchange with a release rate. Each takes its share of a second.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// In microseconds since 1970.
    next_at_us: u64,
}

impl Pace {
    /// How many messages may be released now, of so many.
    pub(super) fn allowed(&mut self, rate_max_per_s: Option<u64>, count_max: usize, now_ms: u64) -> usize {
        let Some(rate) = rate_max_per_s else { return count_max };
        let now_us = now_ms.saturating_mul(1000);
        // Should the clock be set back, it is not waited for until it is there again.
        let latest = now_us.saturating_add(SECOND_US.max(cost_us(rate)));
        // Nothing is saved up for less than a message.
        let saved_us = if cost_us(rate) <= BURST_US { BURST_US } else { 0 };
        self.next_at_us = self.next_at_us.clamp(now_us.saturating_sub(saved_us), latest);
        if self.next_at_us > now_us {
            return 0;
        }
        let count = 1 + u128::from(now_us - self.next_at_us) * u128::from(rate) / u128::from(SECOND_US);
        usize::try_from(count).unwrap_or(usize::MAX).min(count_max)
    }

    /// So many have been released.
    pub(super) fn note_released(&mut self, rate_max_per_s: Option<u64>, count: usize) {
        let Some(rate) = rate_max_per_s.filter(|rate| *rate > 0) else { return };
        let cost_us = (count as u128 * u128::from(SECOND_US)).div_ceil(u128::from(rate));
        self.next_at_us = self.next_at_us.saturating_add(u64::try_from(cost_us).unwrap_or(u64::MAX));
    }

    /// From when on more may be released, in milliseconds since 1970.
    pub(super) fn next_at_ms(&self, rate_max_per_s: Option<u64>) -> u64 {
        if rate_max_per_s.is_some() { self.next_at_us.div_ceil(1000) } else { 0 }
    }
}

fn cost_us(rate: u64) -> u64 {
    SECOND_US.div_ceil(rate.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is released in each of these seconds, of more than there ever is room for.
    fn released(rate: u64, count_max: usize, seconds: u64) -> Vec<usize> {
        let mut pace = Pace::default();
        let mut released = Vec::new();
        for second in 0..seconds {
            let mut count = 0;
            for millisecond in 0..1000 {
                let allowed = pace.allowed(Some(rate), count_max, 1_720_000_000_000 + second * 1000 + millisecond);
                pace.note_released(Some(rate), allowed);
                count += allowed;
            }
            released.push(count);
        }
        released
    }

    #[test]
    fn no_second_has_more_than_it_may() {
        assert_eq!(released(1, 256, 3), [1, 1, 1]);
        assert_eq!(released(100, 256, 3), [105, 100, 100], "a little saved-up time comes first");
        assert_eq!(released(20_000, 256, 3)[1..], [20_000, 20_000]);
    }

    #[test]
    fn without_a_rate_all_may_go() {
        let mut pace = Pace::default();
        assert_eq!(pace.allowed(None, 256, 5), 256);
        pace.note_released(None, 256);
        assert_eq!((pace.allowed(None, 256, 5), pace.next_at_ms(None)), (256, 0));
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nothing() {
        let mut pace = Pace::default();
        assert_eq!(pace.allowed(Some(1), 5, 1_000_000_000), 1);
        pace.note_released(Some(1), 1);
        assert_eq!(pace.allowed(Some(1), 5, 500_000_000), 0);
        assert_eq!(pace.next_at_ms(Some(1)), 500_001_000);
        assert_eq!(pace.allowed(Some(1), 5, 500_001_000), 1);
    }
}
