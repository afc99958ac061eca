//! The answer to one call of a peer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::queue::LaneQueue;
use crate::wire::CallFrame;

/// Answers one call, from any thread. Dropped, it says that there is no answer.
#[derive(Debug)]
pub struct CallAnswer {
    number: u64,
    queue: Arc<LaneQueue>,
    unanswered: Arc<AtomicUsize>,
    is_given: bool,
}

impl CallAnswer {
    /// Of the call of this number, by this queue. `unanswered` counts those that have no answer yet, this one included.
    pub(super) fn new(number: u64, queue: Arc<LaneQueue>, unanswered: Arc<AtomicUsize>) -> Self {
        CallAnswer { number, queue, unanswered, is_given: false }
    }

    /// Answers. Whether the connection still is there is not known.
    ///
    /// # Panics
    ///
    /// The answer is longer than [`CALL_LEN_MAX`](crate::wire::CALL_LEN_MAX).
    pub fn give(mut self, payload: &[u8]) {
        self.is_given = true;
        self.send(&CallFrame::Answer { number: self.number, payload });
    }

    fn send(&self, frame: &CallFrame<'_>) {
        // First: the push wakes the connection, which may ask at once whether there may be more.
        self.unanswered.fetch_sub(1, Ordering::AcqRel);
        let _ = self.queue.push(frame.encode());
    }
}

impl Drop for CallAnswer {
    fn drop(&mut self) {
        if !self.is_given {
            self.send(&CallFrame::NoAnswer { number: self.number });
        }
    }
}
