//! What readers have to do: loads that queues asked for, and answers that are due later.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use model::ids::QueueId;
use parking_lot::{Condvar, Mutex};
use queue::Load;

use crate::queue_owner::LoadAnswer;

/// Loads that have been asked for, and answers that have to wait. Each queue has one of them, and those that it gave up.
#[derive(Default)]
pub(crate) struct Loads {
    waiting: Mutex<LoadsState>,
    arrived: Condvar,
}

#[derive(Default)]
struct LoadsState {
    loads: VecDeque<(QueueId, Load)>,
    /// In the order in which they are due: all wait equally long. So readers go on with what can be read.
    answers: VecDeque<(Instant, QueueId, LoadAnswer)>,
    is_closed: bool,
}

/// What a reader does next.
pub(crate) enum Task {
    Load(QueueId, Load),
    Answer(QueueId, LoadAnswer),
}

impl Loads {
    pub(crate) fn push(&self, queue: QueueId, load: Load) {
        self.waiting.lock().loads.push_back((queue, load));
        self.arrived.notify_one();
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.lock().loads.len()
    }

    pub(crate) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.arrived.notify_all();
    }

    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn try_pop(&self) -> Option<(QueueId, Load)> {
        self.waiting.lock().loads.pop_front()
    }

    /// Has a queue answered later.
    pub(crate) fn answer_at(&self, at: Instant, queue: QueueId, loaded: LoadAnswer) {
        self.waiting.lock().answers.push_back((at, queue, loaded));
        self.arrived.notify_one(); // the reader that waits must learn until when
    }

    /// Waits for something to do. `None`: closed.
    pub(crate) fn pop(&self) -> Option<Task> {
        let mut waiting = self.waiting.lock();
        while !waiting.is_closed {
            let due = waiting.answers.front().map(|(at, ..)| at.saturating_duration_since(Instant::now()));
            if due == Some(Duration::ZERO) {
                let (_, queue, loaded) = waiting.answers.pop_front()?;
                return Some(Task::Answer(queue, loaded));
            }
            if let Some((queue, load)) = waiting.loads.pop_front() {
                return Some(Task::Load(queue, load));
            }
            match due {
                Some(due) => drop(self.arrived.wait_for(&mut waiting, due)),
                None => self.arrived.wait(&mut waiting),
            }
        }
        None
    }
}
