//! When users arrive.

use crate::plan::Random;

/// When users arrive: evenly, the first of them somewhere in the first gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timetable {
    gap_ns: f64,
    /// Of a gap, so that groups with the same rate are not in step.
    first: f64,
}

impl Timetable {
    /// So many a second; all at once if that is no rate.
    pub(crate) fn new(rate: f64, seed: u64) -> Self {
        let gap_ns = if rate > 0.0 { 1e9 / rate } else { 0.0 };
        Timetable { gap_ns, first: Random::new(seed, 0x6172_7269).fraction() }
    }

    /// When user number `number` arrives, in nanoseconds after the start.
    pub(crate) fn at(&self, number: u32) -> u64 {
        ((f64::from(number) + self.first) * self.gap_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn users_arrive_evenly_and_the_same_for_the_same_seed(rate in 0.1..1e5_f64, seed: u64) {
            let timetable = Timetable::new(rate, seed);
            prop_assert_eq!(timetable, Timetable::new(rate, seed));
            let gap = 1e9 / rate;
            prop_assert!(timetable.at(0) as f64 <= gap);
            for number in [1, 2, 1_000, 49_999] {
                let since_last = timetable.at(number) - timetable.at(number - 1);
                prop_assert!((since_last as f64 - gap).abs() <= 2.0, "{since_last} after the one before, not {gap}");
            }
            let last = timetable.at(49_999) as f64;
            prop_assert!((last - 49_999.0 * gap).abs() <= gap, "{last}");
        }
    }

    #[test]
    fn groups_are_not_in_step() {
        assert_ne!(Timetable::new(1.0, 1).at(0), Timetable::new(1.0, 2).at(0));
    }
}
