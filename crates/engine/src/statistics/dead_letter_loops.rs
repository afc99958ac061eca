//! Queues to which dead letters come back, where they died before, and how fast. It is found out with each look at what has changed.

use parking_lot::Mutex;

use crate::queue_handle::QueueHandle;

/// So many dead letters a second come back to a queue in a circle. Retries come back, too, after a pause.
const RATE_MIN_PER_S: f64 = 100.0;

/// A queue to which dead letters come back.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetterLoop {
    /// Its vhost.
    pub vhost: String,
    /// Its name.
    pub queue: String,
    /// How many a second come back.
    pub rate: f64,
}

/// Those that the last look found.
#[derive(Debug, Default)]
pub(crate) struct DeadLetterLoops(Mutex<Vec<DeadLetterLoop>>);

impl DeadLetterLoops {
    /// The fastest first.
    pub(crate) fn all(&self) -> Vec<DeadLetterLoop> {
        self.0.lock().clone()
    }

    /// Begins a look. `seconds`: since the one before.
    pub(crate) fn look(seconds: f64) -> LoopLook {
        LoopLook { seconds, found: Mutex::default() }
    }

    /// Takes what a look has found.
    pub(crate) fn end(&self, look: LoopLook) {
        let mut found = look.found.into_inner();
        found.sort_by(|left, right| right.rate.total_cmp(&left.rate));
        *self.0.lock() = found;
    }
}

/// A look at all queues that have changed.
pub(crate) struct LoopLook {
    seconds: f64,
    found: Mutex<Vec<DeadLetterLoop>>,
}

impl LoopLook {
    /// Looks at one of them.
    pub(crate) fn at(&self, queue: &QueueHandle) {
        let count = queue.counters.came_round_since_last_look();
        if count as f64 >= RATE_MIN_PER_S * self.seconds && self.seconds > 0.0 {
            let (vhost, queue) = (queue.definition.vhost.to_string(), queue.definition.name.to_string());
            self.found.lock().push(DeadLetterLoop { vhost, queue, rate: count as f64 / self.seconds });
        }
    }
}
