//! Users begin when they arrive. A user takes no memory before that.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};

use super::super::clock::now_ns;
use super::super::incident::{Incident, Role, tell};
use super::super::pacer::Timer;
use super::super::worker::Local;
use super::crowd::{Crowd, Station};
use super::user::User;

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
