//! Who waits for the journal to get somewhere.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use model::ids::JournalPosition;
use parking_lot::Mutex;

use crate::wake::Wake;

/// Everyone who waits for one mark of the journal, lowest position first.
#[derive(Default)]
pub(crate) struct Waiters {
    heap: Mutex<BinaryHeap<Waiter>>,
}

struct Waiter {
    position: JournalPosition,
    wake: Arc<dyn Wake>,
}

impl Waiters {
    /// Wakes once when the mark has reached `position`; at once if it has, which `reached` tells.
    pub(crate) fn add(&self, position: JournalPosition, wake: Arc<dyn Wake>, reached: impl Fn() -> bool) {
        let mut heap = self.heap.lock();
        // Asked under the lock: who moves the mark takes the lock afterwards, so either we see it or it sees us.
        if reached() {
            drop(heap);
            wake.wake();
            return;
        }
        heap.push(Waiter { position, wake });
    }

    /// Wakes all that wait for `position` or less.
    pub(crate) fn wake(&self, position: JournalPosition) {
        let mut due = Vec::new();
        let mut heap = self.heap.lock();
        while heap.peek().is_some_and(|waiter| waiter.position <= position) {
            due.extend(heap.pop());
        }
        drop(heap);
        for waiter in due {
            waiter.wake.wake();
        }
    }
}

impl Ord for Waiter {
    fn cmp(&self, other: &Self) -> Ordering {
        other.position.cmp(&self.position)
    }
}

impl PartialOrd for Waiter {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiter {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl Eq for Waiter {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(&self) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn those_that_wait_for_less_are_woken_once() {
        let (waiters, count) = (Waiters::default(), Arc::new(Count::default()));
        for position in [5, 1, 3, 3] {
            waiters.add(JournalPosition(position), count.clone(), || false);
        }
        for (position, woken) in [(0, 0), (3, 3), (3, 3), (4, 3), (9, 4)] {
            waiters.wake(JournalPosition(position));
            assert_eq!(count.0.load(SeqCst), woken, "at {position}");
        }
    }

    #[test]
    fn who_comes_late_is_woken_at_once() {
        let count = Arc::new(Count::default());
        Waiters::default().add(JournalPosition(1), count.clone(), || true);
        assert_eq!(count.0.load(SeqCst), 1);
    }
}
