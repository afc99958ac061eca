//! Waiting until a time, to the microsecond. The runtime's own timers round to milliseconds, which is more than a
//! broker's whole latency.
//!
//! One kernel timer a thread wakes a task that wakes all whose time has come.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::clock::now_ns;

/// Closer than this no task sleeps: waking up takes longer.
const SHORTEST_NS: u64 = 1_000;

/// A thread is not woken more often than this: at hundreds of thousands of messages a second, waking up for each would take the
/// processor from the broker beside it. What is sent later for it counts as latency, as every lateness of the generator does.
const GAP_NS: u64 = 50_000;

/// A thread's timers.
#[derive(Debug)]
pub(crate) struct Pacer {
    timer: AsyncFd<OwnedFd>,
    waiting: RefCell<WaitingTask>,
}

#[derive(Debug, Default)]
struct WaitingTask {
    /// By time, and by the waiter's id.
    wakers: BTreeMap<(u64, u64), Waker>,
    last_id: u64,
    armed: Option<u64>,
    /// When the timer went off last.
    woken_at: u64,
}

impl Pacer {
    /// Must be called inside the thread's runtime; [`run`](Self::run) has to be spawned there.
    pub(crate) fn new() -> io::Result<Rc<Self>> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let timer = watched(timer)?;
        Ok(Rc::new(Pacer { timer, waiting: RefCell::default() }))
    }

    /// Wakes whose time has come, for ever.
    pub(crate) async fn run(self: Rc<Self>) {
        loop {
            // A timer that cannot be waited for is a runtime that is shutting down.
            let Ok(mut ready) = self.timer.readable().await else { return };
            // Arming it again clears what made it readable; there is no need to read it.
            ready.clear_ready();
            let due = {
                let mut waiting = self.waiting.borrow_mut();
                waiting.armed = None;
                let now = now_ns();
                waiting.woken_at = now;
                let later = waiting.wakers.split_off(&(now + SHORTEST_NS, 0));
                std::mem::replace(&mut waiting.wakers, later)
            };
            self.arm();
            for waker in due.into_values() {
                waker.wake();
            }
        }
    }

    fn arm(&self) {
        let mut waiting = self.waiting.borrow_mut();
        let Some((first, _)) = waiting.wakers.first_key_value().map(|(key, _)| *key) else { return };
        let first = first.max(waiting.woken_at + GAP_NS);
        if waiting.armed.is_some_and(|armed| armed <= first) {
            return;
        }
        let at = Timespec { tv_sec: (first / 1_000_000_000) as i64, tv_nsec: (first % 1_000_000_000) as i64 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        // It fails for invalid times only, and these are valid.
        if timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &once).is_ok() {
            waiting.armed = Some(first);
        }
    }
}

#[allow(deprecated, reason = "its successor is unsafe, for files that may be closed meanwhile; this one is not")]
fn watched(timer: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(timer, Interest::READABLE)
}

/// One waiter on a thread's [`Pacer`].
#[derive(Debug)]
pub(crate) struct Timer {
    pacer: Rc<Pacer>,
    id: u64,
    at: Option<u64>,
}

impl Timer {
    pub(crate) fn new(pacer: &Rc<Pacer>) -> Self {
        let mut waiting = pacer.waiting.borrow_mut();
        waiting.last_id += 1;
        Timer { pacer: Rc::clone(pacer), id: waiting.last_id, at: None }
    }

    /// Ready once it is `at` or later. Asking for another time forgets the one before.
    pub(crate) fn poll_until(&mut self, cx: &mut Context<'_>, at: u64) -> Poll<()> {
        if at <= now_ns() + SHORTEST_NS {
            self.forget();
            return Poll::Ready(());
        }
        {
            let mut waiting = self.pacer.waiting.borrow_mut();
            if let Some(before) = self.at.filter(|before| *before != at) {
                waiting.wakers.remove(&(before, self.id));
            }
            waiting.wakers.insert((at, self.id), cx.waker().clone());
        }
        self.at = Some(at);
        self.pacer.arm();
        Poll::Pending
    }

    /// Waits until it is `at` or later.
    pub(crate) async fn until(&mut self, at: u64) {
        poll_fn(|cx| self.poll_until(cx, at)).await;
    }

    /// Stops waiting.
    pub(crate) fn forget(&mut self) {
        if let Some(at) = self.at.take() {
            self.pacer.waiting.borrow_mut().wakers.remove(&(at, self.id));
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Runs waiters side by side; returns the order in which their times came.
    fn order(times_us: &[u64]) -> Vec<u64> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let early = Rc::new(Cell::new(0));
        local.block_on(&runtime, async {
            let pacer = Pacer::new().unwrap();
            let driver = tokio::task::spawn_local(Rc::clone(&pacer).run());
            let start = now_ns();
            let waiters: Vec<_> = times_us
                .iter()
                .map(|us| {
                    let (us, seen, early, mut timer) = (*us, Rc::clone(&seen), Rc::clone(&early), Timer::new(&pacer));
                    tokio::task::spawn_local(async move {
                        timer.until(start + us * 1_000).await;
                        if now_ns() + SHORTEST_NS < start + us * 1_000 {
                            early.set(early.get() + 1);
                        }
                        seen.borrow_mut().push(us);
                    })
                })
                .collect();
            for waiter in waiters {
                waiter.await.unwrap();
            }
            driver.abort();
        });
        assert_eq!(early.get(), 0);
        seen.take()
    }

    #[test]
    fn nobody_is_woken_before_their_time_and_all_in_order() {
        assert_eq!(order(&[9_000, 3_000, 6_000, 0]), [0, 3_000, 6_000, 9_000]);
    }

    #[test]
    fn waiter_that_goes_away_is_forgotten() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let pacer = Pacer::new().unwrap();
            let mut timer = Timer::new(&pacer);
            let mut cx = Context::from_waker(Waker::noop());
            assert!(timer.poll_until(&mut cx, now_ns() + 1_000_000_000).is_pending());
            assert!(timer.poll_until(&mut cx, now_ns() + 2_000_000_000).is_pending());
            assert_eq!(pacer.waiting.borrow().wakers.len(), 1);
            drop(timer);
            assert!(pacer.waiting.borrow().wakers.is_empty());
        });
    }
}
