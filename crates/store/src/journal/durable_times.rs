//! When the journal became durable up to where, for the last few times: so that a commit's own time is not taken for that of a later look
//! at it.

use std::collections::VecDeque;
use std::time::Instant;

use model::ids::JournalPosition;
use parking_lot::Mutex;

/// How many times are remembered. A lookup of a forgotten one returns the earliest that is left.
const TIME_COUNT: usize = 64;

/// The last times.
#[derive(Debug, Default)]
pub(crate) struct DurableTimes(Mutex<VecDeque<(JournalPosition, Instant)>>);

impl DurableTimes {
    /// The journal is durable up to `position` from now on.
    pub(crate) fn note(&self, position: JournalPosition, now: Instant) {
        let mut times = self.0.lock();
        if times.len() == TIME_COUNT {
            times.pop_front();
        }
        times.push_back((position, now));
    }

    /// Since when it is durable up to `position`; `None` if that has not been noted yet.
    pub(crate) fn of(&self, position: JournalPosition) -> Option<Instant> {
        let times = self.0.lock();
        // The last ones are what is asked for. Two threads may note theirs in the other order, an instant apart.
        times.iter().rev().take_while(|(durable, _)| position <= *durable).last().map(|(_, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_position_is_durable_since_the_first_that_is_not_before_it() {
        let (times, start) = (DurableTimes::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        (1..=100).for_each(|ms| times.note(JournalPosition(10 * ms), at(ms)));
        for (position, expected) in [(991, Some(100)), (990, Some(99)), (371, Some(38)), (5, Some(37)), (1001, None)] {
            assert_eq!(times.of(JournalPosition(position)), expected.map(at), "{position}");
        }
    }
}
