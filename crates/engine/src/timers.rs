//! What has to be looked after at a time: queues (expiry, messages that wait, dead letters that found no place, keys), messages that are
//! delayed, and keys of exchanges.
//!
//! Each has one entry at most that counts, the earliest; others are passed over when their time comes. It is not taken back when there is
//! nothing left to do, for looking in vain costs less than keeping it exact. So a queue costs nothing while it has no times, and one look a
//! time otherwise.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::deduplication::ExchangeKeys;
use crate::delayed::DelaySet;
use crate::queue_handle::QueueHandle;

/// When queues are looked after.
#[derive(Debug, Default)]
pub struct Timers {
    entries: Mutex<Entries>,
    /// An entry earlier than all others has come, or it is over.
    has_changed: Condvar,
}

#[derive(Debug, Default)]
struct Entries {
    heap: BinaryHeap<Reverse<Entry>>,
    is_over: bool,
}

#[derive(Debug)]
struct Entry {
    due_ms: u64,
    timed: WeakTimed,
}

/// What is looked after.
#[derive(Debug, Clone)]
pub enum Timed {
    /// What is due in a queue.
    Queue(Arc<QueueHandle>),
    /// Messages that wait at an exchange.
    Delays(Arc<DelaySet>),
    /// Keys of an exchange that drops duplicates.
    Keys(Arc<ExchangeKeys>),
}

#[derive(Debug)]
enum WeakTimed {
    Queue(Weak<QueueHandle>),
    Delays(Weak<DelaySet>),
    Keys(Weak<ExchangeKeys>),
}

impl From<Arc<QueueHandle>> for Timed {
    fn from(queue: Arc<QueueHandle>) -> Self {
        Timed::Queue(queue)
    }
}

impl From<Arc<DelaySet>> for Timed {
    fn from(set: Arc<DelaySet>) -> Self {
        Timed::Delays(set)
    }
}

impl From<Arc<ExchangeKeys>> for Timed {
    fn from(keys: Arc<ExchangeKeys>) -> Self {
        Timed::Keys(keys)
    }
}

impl WeakTimed {
    fn of(timed: &Timed) -> Self {
        match timed {
            Timed::Queue(queue) => WeakTimed::Queue(Arc::downgrade(queue)),
            Timed::Delays(set) => WeakTimed::Delays(Arc::downgrade(set)),
            Timed::Keys(keys) => WeakTimed::Keys(Arc::downgrade(keys)),
        }
    }

    fn upgrade(&self) -> Option<Timed> {
        match self {
            WeakTimed::Queue(queue) => queue.upgrade().map(Timed::Queue),
            WeakTimed::Delays(set) => set.upgrade().map(Timed::Delays),
            WeakTimed::Keys(keys) => keys.upgrade().map(Timed::Keys),
        }
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.due_ms.cmp(&other.due_ms)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.due_ms == other.due_ms
    }
}

impl Eq for Entry {}

impl Timers {
    /// Adds what is to be looked after, each with when, in milliseconds since 1970.
    pub fn set(&self, timers: impl ExactSizeIterator<Item = (u64, Timed)>) {
        if timers.len() == 0 {
            return;
        }
        let mut entries = self.entries.lock();
        let first_before = entries.first_due_ms();
        entries.heap.extend(timers.map(|(due_ms, timed)| Reverse(Entry { due_ms, timed: WeakTimed::of(&timed) })));
        if entries.first_due_ms() != first_before {
            self.has_changed.notify_one();
        }
    }

    /// How many entries there are, including those that no longer count.
    pub fn entry_count(&self) -> usize {
        self.entries.lock().heap.len()
    }

    /// Takes what is to be looked after by now, each with when it was.
    pub(crate) fn take_due(&self, now_ms: u64) -> Vec<(u64, Timed)> {
        let mut entries = self.entries.lock();
        let mut due = Vec::new();
        while entries.first_due_ms().is_some_and(|due_ms| due_ms <= now_ms) && due.len() < DUE_COUNT_MAX {
            let Some(Reverse(Entry { due_ms, timed })) = entries.heap.pop() else { break };
            due.extend(timed.upgrade().map(|timed| (due_ms, timed)));
        }
        due
    }

    /// Waits until something is due. False when it is over.
    pub fn wait(&self, now_ms: impl Fn() -> u64) -> bool {
        let mut entries = self.entries.lock();
        while !entries.is_over {
            let Some(due_ms) = entries.first_due_ms() else {
                self.has_changed.wait(&mut entries);
                continue;
            };
            let Some(left_ms) = due_ms.checked_sub(now_ms()).filter(|left_ms| *left_ms > 0) else { return true };
            // Where time stands still while the machine sleeps, it is looked at again from time to time.
            let patience = Duration::from_millis(left_ms).min(TIMEOUT_MAX);
            self.has_changed.wait_until(&mut entries, Instant::now() + patience);
        }
        false
    }

    /// Ends every wait, for good.
    pub fn stop(&self) {
        self.entries.lock().is_over = true;
        self.has_changed.notify_all();
    }
}

impl Entries {
    fn first_due_ms(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(entry)| entry.due_ms)
    }
}

/// Queues and sets that are looked after before the clock is looked at again.
const DUE_COUNT_MAX: usize = 1024;
/// How long the clock is trusted to go on as it does.
const TIMEOUT_MAX: Duration = Duration::from_secs(1);
