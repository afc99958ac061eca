//! Whether publishers must wait, and for what.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use model::ids::JournalPosition;

use super::options::{Event, OnEvent};
use super::waiters::Waiters;
use crate::wake::{Waiting, WakeRelay};

/// Why publishers must wait: a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Too much is not yet synced.
    Pending = 1,
    /// Too much journal is in use.
    Unretired = 2,
    /// Only the reserve is left: the disk alarm.
    Reserve = 4,
    /// Nothing more will become durable.
    Failed = 8,
    /// No file is ready but the one being written. It holds what is gathered by now; more only when there is another.
    Files = 16,
}

/// The causes of the moment, and the publishers that wait until there is none. The owner learns when [`Cause::Reserve`] begins and ends.
pub(crate) struct Congestion {
    causes: AtomicU8,
    waiters: Waiters,
    on_event: OnEvent,
}

impl Congestion {
    pub(crate) fn new(relay: &Arc<WakeRelay>, on_event: OnEvent) -> Congestion {
        Congestion { causes: AtomicU8::new(0), waiters: Waiters::new(relay.clone()), on_event }
    }

    /// Whether publishers must wait.
    pub(crate) fn is_any(&self) -> bool {
        self.causes.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn has(&self, cause: Cause) -> bool {
        self.causes.load(Ordering::Relaxed) & cause as u8 != 0
    }

    pub(crate) fn add(&self, cause: Cause) {
        let before = self.causes.fetch_or(cause as u8, Ordering::SeqCst);
        if cause == Cause::Reserve && before & cause as u8 == 0 {
            (self.on_event)(Event::ReserveEntered);
        }
    }

    pub(crate) fn remove(&self, cause: Cause) {
        let before = self.causes.fetch_and(!(cause as u8), Ordering::SeqCst);
        if cause == Cause::Reserve && before & cause as u8 != 0 {
            (self.on_event)(Event::ReserveLeft);
        }
        if before == cause as u8 {
            self.waiters.wake(JournalPosition::MAX);
        }
    }

    /// Adds or removes the cause, until what was done is right by what is seen afterwards: another thread may do the opposite.
    pub(crate) fn judge(&self, cause: Cause, must_wait: impl Fn() -> bool) {
        loop {
            let is_congested = self.causes.load(Ordering::SeqCst) & cause as u8 != 0;
            match (must_wait(), is_congested) {
                (true, false) => self.add(cause),
                (false, true) => self.remove(cause),
                _ => return,
            }
        }
    }

    /// Wakes once when publishers may go on; at once if they may.
    pub(crate) fn when_none(&self, waiting: Waiting) {
        self.waiters.add(JournalPosition::START, waiting, || !self.is_any());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use parking_lot::Mutex;

    use super::*;
    use crate::wake::DurableWaiter;

    /// The events that the owner received, and a congestion that reports them.
    fn congestion() -> (Arc<Mutex<Vec<Event>>>, Congestion) {
        let events = Arc::<Mutex<Vec<Event>>>::default();
        let told = events.clone();
        (events, Congestion::new(&Arc::default(), Arc::new(move |event| told.lock().push(event))))
    }

    #[derive(Debug, Default)]
    struct Publisher {
        wake_count: AtomicU32,
    }

    impl DurableWaiter for Publisher {
        fn wake(&self) {
            self.wake_count.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Publisher {
        fn wait(self: &Arc<Self>, congestion: &Congestion) {
            congestion.when_none(Waiting::Task(self.clone()));
        }

        #[track_caller]
        fn check(&self, wake_count: u32) {
            assert_eq!(self.wake_count.load(Ordering::SeqCst), wake_count);
        }
    }

    #[test]
    fn publishers_wait_until_the_last_cause_has_gone() {
        let (_, congestion) = congestion();
        let publisher = Arc::<Publisher>::default();
        publisher.wait(&congestion);
        publisher.check(1);
        congestion.add(Cause::Pending);
        congestion.add(Cause::Files);
        publisher.wait(&congestion);
        congestion.remove(Cause::Pending);
        assert!(congestion.is_any() && congestion.has(Cause::Files) && !congestion.has(Cause::Pending));
        publisher.check(1);
        congestion.remove(Cause::Files);
        publisher.check(2);
        assert!(!congestion.is_any());
    }

    #[test]
    fn the_owner_is_told_once_when_the_reserve_is_entered_and_left() {
        let (events, congestion) = congestion();
        for cause in [Cause::Pending, Cause::Reserve, Cause::Reserve] {
            congestion.add(cause);
        }
        assert_eq!(*events.lock(), [Event::ReserveEntered]);
        for cause in [Cause::Pending, Cause::Reserve, Cause::Reserve] {
            congestion.remove(cause);
        }
        assert_eq!(*events.lock(), [Event::ReserveEntered, Event::ReserveLeft]);
    }

    #[test]
    fn what_is_judged_is_right_by_what_is_seen_afterwards() {
        let (_, congestion) = congestion();
        congestion.judge(Cause::Unretired, || true);
        assert!(congestion.has(Cause::Unretired));
        // It has changed by the time of the second look.
        let looks = AtomicU32::new(0);
        congestion.judge(Cause::Files, || looks.fetch_add(1, Ordering::SeqCst) == 0);
        assert!(!congestion.has(Cause::Files));
        congestion.judge(Cause::Unretired, || false);
        assert!(!congestion.is_any());
    }
}
