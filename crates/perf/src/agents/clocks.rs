//! Whose clock is ahead, and how well that is known.
//!
//! Every ping gives a time before, the agent's time, and a time after. The agent's clock was read somewhere between: half
//! of the round trip is the most that taking the middle can be wrong. The quickest round trip says most; old ones are
//! forgotten, for clocks drift.

use std::collections::VecDeque;

/// So many pings are remembered.
const REMEMBERED: usize = 32;

/// What one ping has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// The coordinator's time less the agent's.
    pub(crate) ahead_ns: i64,
    /// How far that may be off, to either side.
    pub(crate) error_ns: u64,
}

impl Comparison {
    /// `sent` and `received` are by the coordinator's clock. `None` if that cannot be.
    pub(crate) fn new(sent: u64, agent: u64, received: u64) -> Option<Self> {
        let round_trip = received.checked_sub(sent)?;
        let middle = i128::from(sent) + i128::from(round_trip / 2);
        let ahead_ns = i64::try_from(middle - i128::from(agent)).ok()?;
        Some(Comparison { ahead_ns, error_ns: round_trip.div_ceil(2) })
    }
}

/// What the last pings have shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparisons(VecDeque<Comparison>);

impl Comparisons {
    /// Takes another. Returns the one to use, if that is another one now.
    pub(crate) fn add(&mut self, comparison: Comparison) -> Option<Comparison> {
        let before = self.best();
        self.0.push_back(comparison);
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
        self.best().filter(|best| Some(*best) != before)
    }

    /// The one that is known best.
    pub(crate) fn best(&self) -> Option<Comparison> {
        self.0.iter().copied().min_by_key(|comparison| comparison.error_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quickest_round_trip_is_gone_by_until_it_is_old() {
        let mut comparisons = Comparisons::default();
        let slow = Comparison::new(1_000, 500, 3_000).unwrap();
        let quick = Comparison::new(5_000, 4_000, 5_100).unwrap();
        assert_eq!(comparisons.add(slow), Some(slow));
        assert_eq!(comparisons.add(quick), Some(quick));
        for _ in 0..REMEMBERED - 1 {
            assert_eq!(comparisons.add(slow), None);
        }
        assert_eq!(comparisons.add(slow), Some(slow));
    }

    proptest! {
        #[test]
        fn truth_is_within_the_error(
            sent in 0u64..1 << 60, there in 0u64..1 << 30, back in 0u64..1 << 30, ahead in -(1i64 << 59)..1 << 59,
        ) {
            let read_at = sent + there;
            let Some(agent) = read_at.checked_add_signed(-ahead) else { return Ok(()) };
            let comparison = Comparison::new(sent, agent, read_at + back).unwrap();
            prop_assert!(comparison.ahead_ns.abs_diff(ahead) <= comparison.error_ns, "{comparison:?}");
        }
    }
}
