//! The threads that outlive a broker: what they keep for it is given back.
//!
//! A thread keeps the chunk that it writes messages to, a mebibyte for each kind of content, until it writes for another broker. A node
//! that stops leading may not do so for weeks. Only the thread itself can let go of it, and a runtime does not say which thread runs
//! what: so there is a task for each of them, and none of these continues before all have met.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// How long they wait for each other. A thread that is busy for longer keeps what it has.
const MEETING_TIME: Duration = Duration::from_millis(50);

/// Has each thread of this runtime and of `other`, which has one, give back what it keeps for brokers that have stopped.
pub(super) async fn release_memory(other: &Handle) {
    let count = Handle::current().metrics().num_workers();
    let meeting = Arc::new(Meeting::of(count, MEETING_TIME));
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let meeting = meeting.clone();
        tasks.spawn(async move {
            broker::release_thread_memory();
            meeting.wait();
        });
    }
    tasks.spawn_on(async { broker::release_thread_memory() }, other);
    tasks.join_all().await;
}

struct Meeting {
    count: usize,
    time: Duration,
    arrived: Mutex<usize>,
    all_here: Condvar,
}

impl Meeting {
    fn of(count: usize, time: Duration) -> Self {
        Self { count, time, arrived: Mutex::new(0), all_here: Condvar::new() }
    }

    /// Blocks the thread until all are here, but not for ever.
    fn wait(&self) {
        let mut arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        *arrived += 1;
        self.all_here.notify_all();
        // Whether it was in time changes nothing.
        drop(self.all_here.wait_timeout_while(arrived, self.time, |arrived| *arrived < self.count));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 5)]
    async fn tasks_that_meet_are_on_threads_of_their_own() {
        let meeting = Arc::new(Meeting::of(5, Duration::from_secs(20)));
        let mut tasks = JoinSet::new();
        for _ in 0..5 {
            let meeting = meeting.clone();
            tasks.spawn(async move {
                meeting.wait();
                std::thread::current().id()
            });
        }
        let threads: HashSet<_> = tasks.join_all().await.into_iter().collect();
        assert_eq!(threads.len(), 5);
    }
}
