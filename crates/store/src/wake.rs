//! How a caller that waits for the store is woken.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::thread::Thread;

use parking_lot::Mutex;

/// A task that waits for the journal.
pub trait DurableWaiter: fmt::Debug + Send + Sync {
    /// Has it look again, on whatever thread it runs. Quick, and waits for nothing.
    fn wake(&self);

    /// Does what it has waited to do, on this thread of the journal, where that is a matter of microseconds. Says whether it has;
    /// else it is woken.
    fn finish_here(&self) -> bool {
        false
    }
}

impl DurableWaiter for Waker {
    fn wake(&self) {
        self.wake_by_ref();
    }
}

/// What waits.
pub(crate) enum Waiting {
    /// A thread that parks itself.
    Thread(Thread),
    /// A task.
    Task(Arc<dyn DurableWaiter>),
}

impl Waiting {
    pub(crate) fn this_thread() -> Waiting {
        Waiting::Thread(std::thread::current())
    }

    pub(crate) fn wake(&self) {
        match self {
            Waiting::Thread(thread) => thread.unpark(),
            Waiting::Task(task) => task.wake(),
        }
    }
}

/// Where tasks are woken whose turn has come.
///
/// A runtime that is notified of a task by a thread of the journal wakes one of its threads for it, and that one a second, to look for
/// more. So an owner with a runtime may take the tasks over, and be notified once when there are some: by a means that wakes only the
/// thread that waits for sockets anyway.
#[derive(Default)]
pub(crate) struct WakeRelay {
    state: Mutex<RelayState>,
}

#[derive(Default)]
struct RelayState {
    /// `None`: tasks are woken where their turn comes.
    notify: Option<Arc<dyn Fn() + Send + Sync>>,
    due: Vec<Arc<dyn DurableWaiter>>,
}

impl WakeRelay {
    /// From now on tasks wait for [`WakeRelay::wake_due`], which is to be called whenever `notify` has been.
    pub(crate) fn start(&self, notify: Arc<dyn Fn() + Send + Sync>) {
        self.state.lock().notify = Some(notify);
    }

    /// Nothing calls [`WakeRelay::wake_due`] from now on.
    pub(crate) fn stop(&self) {
        self.state.lock().notify = None;
        self.wake_due();
    }

    pub(crate) fn wake(&self, tasks: &mut Vec<Arc<dyn DurableWaiter>>) {
        let mut state = self.state.lock();
        let Some(notify) = &state.notify else {
            drop(state);
            tasks.drain(..).for_each(|task| task.wake());
            return;
        };
        // A call of `wake_due` that is on its way finds these, too.
        let notify = state.due.is_empty().then(|| notify.clone());
        state.due.append(tasks);
        drop(state);
        if let Some(notify) = notify {
            notify();
        }
    }

    /// Wakes those whose turn has come since this was called last.
    pub(crate) fn wake_due(&self) {
        let due = std::mem::take(&mut self.state.lock().due);
        due.into_iter().for_each(|task| task.wake());
    }
}

impl fmt::Debug for WakeRelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WakeRelay").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct Count(AtomicUsize);

    impl DurableWaiter for Count {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn wakers_wait_for_the_relay_as_long_as_there_is_one() {
        let (relay, woken, notified) =
            (WakeRelay::default(), Arc::new(Count::default()), Arc::new(AtomicUsize::new(0)));
        let wake = |count: usize| relay.wake(&mut vec![woken.clone() as Arc<dyn DurableWaiter>; count]);
        let check = |expected: (usize, usize)| {
            assert_eq!((notified.load(Ordering::SeqCst), woken.0.load(Ordering::SeqCst)), expected);
        };
        wake(1);
        check((0, 1));
        let counter = notified.clone();
        relay.start(Arc::new(move || _ = counter.fetch_add(1, Ordering::SeqCst)));
        wake(2);
        wake(1);
        check((1, 1));
        relay.wake_due();
        check((1, 4));
        wake(1);
        check((2, 4));
        relay.stop();
        check((2, 5));
        wake(1);
        check((2, 6));
    }
}
