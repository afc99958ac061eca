//! How a queue's length went while it was looked at, and whether it grows: a hot queue, and one that is filled in batches, go up and down.

/// How many messages a queue had, look by look, evenly apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lengths(pub(super) Vec<u64>);

/// A queue grows by at least so many messages a second.
const GROWTH_MIN_PER_S: f64 = 1.0;
/// What stays of what is published, where consumers do not keep up.
const STAYS_MIN: f64 = 0.02;
/// Growth that is no chance, where less than that stays, if the queue grows at each look.
const CLEAR_GROWTH_MIN: u64 = 100;
/// How much of all steps go up in a queue that grows though it has consumers.
const UP_MIN: f64 = 0.6;
/// How far a step may go down in one that grows.
const DOWN_MAX: f64 = 0.1;

impl Lengths {
    pub(super) fn first(&self) -> u64 {
        self.0.first().copied().unwrap_or(0)
    }

    pub(super) fn last(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    /// Messages a second by which the queue grows, if it does. A queue that is `consumed` grows when it rises most of the time and never
    /// falls, and when more than a little of what is published stays: else batches and chance would be growth.
    pub(super) fn growth_per_s(&self, seconds: f64, published_per_s: f64, is_consumed: bool) -> Option<f64> {
        let net = self.last().checked_sub(self.first())?;
        let per_s = net as f64 / seconds.max(0.001);
        if per_s < GROWTH_MIN_PER_S {
            return None;
        }
        let steps = self.0.windows(2).map(|pair| pair[1] as f64 - pair[0] as f64);
        let (mut count, mut up_count) = (0.0, 0.0);
        for step in steps {
            if step < -(net as f64) * DOWN_MAX {
                return None;
            }
            count += 1.0;
            up_count += f64::from(u8::from(step > 0.0));
        }
        if !is_consumed {
            return Some(per_s);
        }
        let stays = per_s >= published_per_s * STAYS_MIN;
        let is_clear = net >= CLEAR_GROWTH_MIN && up_count == count;
        (up_count >= count * UP_MIN && (stays || is_clear)).then_some(per_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(lengths: &[u64], published_per_s: f64, is_consumed: bool) -> Option<f64> {
        Lengths(lengths.to_vec()).growth_per_s(5.0, published_per_s, is_consumed)
    }

    #[test]
    fn a_queue_grows_that_goes_up_and_does_not_come_down() {
        assert_eq!(growth(&[0, 1_000, 2_000, 3_000, 4_000, 5_000], 1_200.0, true), Some(1_000.0));
        assert_eq!(growth(&[0, 0, 0, 0, 0, 500], 100.0, false), Some(100.0), "in one batch, and no consumer takes it");
        assert_eq!(growth(&[5, 4, 3], 1.0, false), None);
        assert_eq!(growth(&[], 1.0, false), None);
        assert_eq!(growth(&[3, 5], 0.4, false), None, "too slow to tell");
    }

    #[test]
    fn what_lies_in_a_hot_queue_by_chance_is_no_growth() {
        assert_eq!(growth(&[40, 71, 12, 90, 60, 85], 20_000.0, true), None);
        assert_eq!(growth(&[10, 20, 30, 40, 50, 71], 20_000.0, true), None, "less than stays by chance");
        assert_eq!(growth(&[2, 3, 1, 4, 2, 9], 100.0, true), None);
        assert_eq!(
            growth(&[100, 300, 500, 700, 900, 1_100], 20_000.0, true),
            Some(200.0),
            "one in a hundred stays, always"
        );
    }

    #[test]
    fn batches_are_no_growth() {
        assert_eq!(growth(&[0, 0, 500, 400, 300, 200], 100.0, true), None, "it is being taken");
        assert_eq!(growth(&[0, 0, 0, 0, 0, 75], 50.0, true), None, "it has just come");
        assert_eq!(growth(&[50, 0, 50, 0, 50, 75], 50.0, true), None);
    }
}
