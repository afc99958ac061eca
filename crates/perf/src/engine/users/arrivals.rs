//! Who arrives when. A user takes no memory before that.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};

use super::super::clock::now_ns;
use super::super::incident::{Incident, Role, tell};
use super::super::pacer::Timer;
use super::super::worker::Local;
use super::user::User;
use super::{Crowd, Station};
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

/// The users of a group that belong to one thread: every `step`-th.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    pub(crate) crowd: Arc<Crowd>,
    pub(crate) first: u32,
    pub(crate) step: u32,
}

impl Arrivals {
    /// Lets users arrive until publishers are to stop, and waits for all of them.
    pub(crate) async fn run(self, local: Local) {
        tell(&self.crowd.incidents, Incident::Ready);
        let Some(start) = local.control.clone().started().await else { return };
        let mut stopping = pin!(local.control.clone().draining());
        let mut timer = Timer::new(&local.pacer);
        let crowd = Arc::clone(&self.crowd);
        let station = Rc::new(Station { crowd: self.crowd, local, start, scratch: RefCell::default() });
        let mut users = JoinSet::new();
        let mut numbers = (self.first..crowd.count).step_by(self.step.max(1) as usize).peekable();
        while numbers.peek().is_some() || !users.is_empty() {
            let next = numbers.peek().copied();
            let arrives_at = next.map_or(u64::MAX, |number| start.saturating_add(crowd.timetable.at(number)));
            tokio::select! {
                biased;
                () = &mut stopping => break,
                Some(ended) = users.join_next() => pass_on(ended),
                () = timer.until(arrives_at), if next.is_some() => {
                    let now = now_ns();
                    while let Some(number) =
                        numbers.next_if(|number| start.saturating_add(crowd.timetable.at(*number)) <= now)
                    {
                        users.spawn_local(User::new(Rc::clone(&station), number).run());
                    }
                }
            }
        }
        // They have heard it themselves, and are saying goodbye.
        while let Some(ended) = users.join_next().await {
            pass_on(ended);
        }
        tell(&crowd.incidents, Incident::Done(Role::Other));
    }
}

/// A user that panicked is a mistake of this program, and ends it as it would have without a task around it.
fn pass_on(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
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
