//! Waiters for the journal to reach a position.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use model::ids::JournalPosition;
use parking_lot::Mutex;

use crate::wake::{DurableWaiter, Waiting, WakeRelay};

/// All waiters for one mark of the journal, lowest position first.
#[derive(Default)]
pub(crate) struct Waiters {
    heap: Mutex<BinaryHeap<Waiter>>,
    /// Where tasks are woken.
    relay: Arc<WakeRelay>,
}

struct Waiter {
    position: JournalPosition,
    waiting: Waiting,
}

impl Waiters {
    pub(crate) fn new(relay: Arc<WakeRelay>) -> Waiters {
        Waiters { heap: Mutex::default(), relay }
    }

    /// Wakes once when the mark has reached `position`; at once if it has, which `reached` returns.
    pub(crate) fn add(&self, position: JournalPosition, waiting: Waiting, reached: impl Fn() -> bool) {
        let mut heap = self.heap.lock();
        // Asked under the lock: the thread that moves the mark takes the lock afterwards, so either we see the mark or it sees us.
        if reached() {
            drop(heap);
            waiting.wake();
            return;
        }
        heap.push(Waiter { position, waiting });
    }

    /// Wakes all that wait for `position` or less.
    pub(crate) fn wake(&self, position: JournalPosition) {
        let mut threads = Vec::new();
        let mut tasks: Vec<Arc<dyn DurableWaiter>> = Vec::new();
        let mut heap = self.heap.lock();
        while heap.peek().is_some_and(|waiter| waiter.position <= position)
            && let Some(waiter) = heap.pop()
        {
            match waiter.waiting {
                Waiting::Thread(thread) => threads.push(thread),
                Waiting::Task(task) => tasks.push(task),
            }
        }
        drop(heap);
        threads.into_iter().for_each(|thread| thread.unpark());
        // Finishing one task here is quicker than waking another thread. Each of several would hold up the next commit.
        if !matches!(&*tasks, [] | [_]) || tasks.first().is_some_and(|task| !task.finish_here()) {
            self.relay.wake(&mut tasks);
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

    #[derive(Debug, Default)]
    struct Count {
        woken: AtomicU32,
        asked: AtomicU32,
        finishes_here: bool,
    }

    impl DurableWaiter for Count {
        fn wake(&self) {
            self.woken.fetch_add(1, SeqCst);
        }

        fn finish_here(&self) -> bool {
            self.asked.fetch_add(1, SeqCst);
            self.finishes_here
        }
    }

    impl Count {
        #[track_caller]
        fn check(&self, woken: u32, asked: u32) {
            assert_eq!((self.woken.load(SeqCst), self.asked.load(SeqCst)), (woken, asked));
        }
    }

    fn task(count: &Arc<Count>) -> Waiting {
        Waiting::Task(count.clone())
    }

    #[test]
    fn those_that_wait_for_less_are_woken_once() {
        let (waiters, count) = (Waiters::default(), Arc::new(Count::default()));
        for position in [5, 1, 3, 3] {
            waiters.add(JournalPosition(position), task(&count), || false);
        }
        for (position, woken, asked) in [(0, 0, 0), (3, 3, 0), (3, 3, 0), (4, 3, 0), (9, 4, 1)] {
            waiters.wake(JournalPosition(position));
            count.check(woken, asked);
        }
    }

    #[test]
    fn who_comes_late_is_woken_at_once() {
        let count = Arc::new(Count::default());
        Waiters::default().add(JournalPosition(1), task(&count), || true);
        count.check(1, 0);
    }

    #[test]
    fn who_is_alone_and_finishes_here_is_not_woken() {
        let (waiters, count) = (Waiters::default(), Arc::new(Count { finishes_here: true, ..Count::default() }));
        waiters.add(JournalPosition(1), task(&count), || false);
        waiters.wake(JournalPosition(1));
        count.check(0, 1);
        for _ in 0..2 {
            waiters.add(JournalPosition(2), task(&count), || false);
        }
        waiters.wake(JournalPosition(2));
        count.check(2, 1);
    }
}
