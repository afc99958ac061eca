//! What is done from time to time: what is due in queues and at exchanges, watermarks of queues that rest, the system's clock.

use std::sync::Arc;
use std::time::Duration;

use store::RecordBatch;

use crate::clock;
use crate::delayed::release::release_due;
use crate::engine::Engine;
use crate::queue_handle::QueueHandle;
use crate::timers::Timed;
use crate::trace_points::TIMERS;
use crate::watermark::Watermark;

/// What came of looking after what was due.
#[derive(Debug, Default)]
pub struct DueTimers {
    /// How many queues and sets were looked after.
    pub count: usize,
    /// Queues that have not been used for too long: it is the caller's to delete them.
    pub expired: Vec<Arc<QueueHandle>>,
}

impl Engine {
    /// Looks after every queue, every set of delayed messages, and all keys of exchanges that are due.
    pub fn run_due_timers(&self) -> DueTimers {
        let due = self.timers.take_due(self.clock.now_ms());
        let mut expired = Vec::new();
        for (due_ms, timed) in &due {
            match timed {
                Timed::Queue(queue) => {
                    if self.run_queue_timers(queue, *due_ms) {
                        expired.push(queue.clone());
                    }
                }
                Timed::Delays(set) => release_due(self, set, *due_ms),
                Timed::Keys(keys) => keys.look_after(self, *due_ms),
            }
        }
        DueTimers { count: due.len(), expired }
    }

    /// Does what is due in a queue. Says whether the queue itself has expired.
    fn run_queue_timers(&self, queue: &QueueHandle, due_ms: u64) -> bool {
        let _call = TIMERS.enter(|arguments| {
            arguments.text("queue", queue.name());
        });
        let looked = self.with_queue(queue, |entry, work| {
            if entry.timer_at_ms != due_ms {
                // An earlier entry has taken the place of this one; another for each of those would never be rid of.
                return false;
            }
            entry.timer_at_ms = 0;
            let now_ms = work.now_ms();
            if entry.queue.expires_at().is_some_and(|at_ms| at_ms <= now_ms) {
                return true;
            }
            work.time_out(entry, now_ms);
            work.retry_stuck(entry, now_ms);
            work.republish_held(entry, now_ms);
            work.forget_expired_keys(entry, now_ms);
            work.dispatch(entry);
            // Those that wait for what was to be dropped first.
            entry.load_waiters.drain(..).for_each(|waiter| waiter.wake_up());
            false
        });
        matches!(looked, Some((true, _)))
    }
}

impl Engine {
    /// A queue has come that was found with this watermark: if it is open, it is closed in time.
    pub fn track_watermark(&self, handle: &Arc<QueueHandle>, watermark: Watermark) {
        if watermark.is_open() {
            self.open_watermarks.lock().push(handle.clone());
        }
    }

    /// Writes down how far queues were delivered that have rested since the last time, or all of them at the end.
    ///
    /// A queue with an open watermark has all its messages marked redelivered after a crash, so it is closed as soon as
    /// its backlog rests.
    pub fn close_watermarks(&self, is_last: bool) {
        let opened = std::mem::take(&mut *self.open_watermarks.lock());
        for handle in opened {
            let is_closed = self.shards.with_queue(&handle, |entry| {
                let mark = entry.queue.last_delivered();
                let closes = is_last | (entry.watermark.is_at_rest(mark) && entry.queue.ready_count() > 0);
                if closes {
                    // Under the lock: nothing may be delivered between the mark and its record.
                    let mut records = RecordBatch::new();
                    records.watermark(handle.id(), Some(mark));
                    self.store.append(&mut records);
                    entry.watermark.close(mark);
                }
                closes
            });
            if is_closed == Some(false) {
                self.open_watermarks.lock().push(handle);
            }
        }
    }

    /// Looks whether the system's clock was set. If so, a restart is to know of it.
    pub fn watch_clock(&self) {
        if let Some(set) = self.clock.compare_with_system() {
            self.note_clock_set(set);
        }
    }

    /// The system's clock shows `wall` so long after the start.
    pub fn compare_clock(&self, passed: Duration, wall: Duration) {
        if let Some(set) = self.clock.compare(passed, wall) {
            self.note_clock_set(set);
        }
    }

    fn note_clock_set(&self, (set_by_ms, ahead_ms): (i64, i64)) {
        tracing::warn!(set_by_ms, ahead_ms, "the system's clock was set, and what waits goes on as before");
        self.put(clock::KEY, &ahead_ms.to_be_bytes());
    }
}
