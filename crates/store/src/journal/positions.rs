//! How far the journal has got, since when, and what waits for it to get further.

use std::sync::Arc;
use std::time::Instant;

use model::ids::JournalPosition;

use super::durable_times::DurableTimes;
use super::marks::{Advanced, Marks};
use super::waiters::Waiters;
use crate::wake::{Waiting, WakeRelay};

/// The marks, when the last of them were reached, and the waiters for one of two.
pub(crate) struct Positions {
    marks: Marks,
    durable_times: DurableTimes,
    /// When it came to this disk; only where that is not all.
    flushed_times: Option<DurableTimes>,
    durable_waiters: Waiters,
    synced_waiters: Waiters,
}

impl Positions {
    pub(crate) fn new(marks: Marks, is_replicated: bool, relay: &Arc<WakeRelay>) -> Positions {
        Positions {
            marks,
            durable_times: DurableTimes::default(),
            flushed_times: is_replicated.then(DurableTimes::default),
            durable_waiters: Waiters::new(relay.clone()),
            synced_waiters: Waiters::new(relay.clone()),
        }
    }

    /// The end of all that was appended.
    pub(crate) fn appended(&self) -> JournalPosition {
        self.marks.appended()
    }

    /// The end of all that was handed to the operating system.
    pub(crate) fn written(&self) -> JournalPosition {
        self.marks.written()
    }

    /// The end of all that is on this disk.
    pub(crate) fn flushed(&self) -> JournalPosition {
        self.marks.flushed()
    }

    /// The end of all that confirms may leave for.
    pub(crate) fn durable(&self) -> JournalPosition {
        self.marks.durable()
    }

    /// The end of all that survives a power cut, and in a group is committed.
    pub(crate) fn synced(&self) -> JournalPosition {
        self.marks.synced()
    }

    /// Since when all before `position` is durable, if that is known.
    pub(crate) fn durable_since(&self, position: JournalPosition) -> Option<Instant> {
        self.durable_times.of(position)
    }

    /// In a group, since when all before `position` is on this disk, if that is known.
    pub(crate) fn flushed_since(&self, position: JournalPosition) -> Option<Instant> {
        self.flushed_times.as_ref()?.of(position)
    }

    /// Only under the lock of the work queue.
    pub(crate) fn set_appended(&self, to: JournalPosition) {
        self.marks.set_appended(to);
    }

    /// Only by the writer.
    pub(crate) fn advance_written(&self, to: JournalPosition) {
        self.wake(self.marks.set_written(to));
    }

    /// Only by the writer.
    pub(crate) fn advance_flushed(&self, to: JournalPosition) {
        if let Some(times) = &self.flushed_times {
            times.note(to, Instant::now());
        }
        self.wake(self.marks.set_flushed(to));
    }

    /// All before `to` is on the disks of a majority. By any thread.
    pub(crate) fn advance_committed(&self, to: JournalPosition) {
        self.wake(self.marks.set_committed(to));
    }

    fn wake(&self, advanced: Advanced) {
        if let Some(durable) = advanced.durable {
            self.durable_times.note(durable, Instant::now());
            self.durable_waiters.wake(durable);
        }
        if let Some(synced) = advanced.synced {
            self.synced_waiters.wake(synced);
        }
    }

    /// Wakes once when all before `position` is durable; at once if it is, or if it never will be, which `has_failed` returns.
    pub(crate) fn when_durable(&self, position: JournalPosition, waiting: Waiting, has_failed: impl Fn() -> bool) {
        self.durable_waiters.add(position, waiting, || self.durable() >= position || has_failed());
    }

    /// As [`Positions::when_durable`], when it is synced.
    pub(crate) fn when_synced(&self, position: JournalPosition, waiting: Waiting, has_failed: impl Fn() -> bool) {
        self.synced_waiters.add(position, waiting, || self.synced() >= position || has_failed());
    }

    /// Nothing gets any further: all waiters are to see that.
    pub(crate) fn wake_all(&self) {
        self.durable_waiters.wake(JournalPosition::MAX);
        self.synced_waiters.wake(JournalPosition::MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::wake::DurableWaiter;

    #[derive(Debug, Default)]
    struct Publisher {
        wake_count: AtomicU32,
    }

    impl DurableWaiter for Publisher {
        fn wake(&self) {
            self.wake_count.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Two that wait for 10: until it is durable, and until it is synced.
    struct World {
        positions: Positions,
        waiters: [Arc<Publisher>; 2],
    }

    impl World {
        fn new(committed: JournalPosition, is_replicated: bool) -> World {
            let marks = Marks::new(JournalPosition(0), committed, true);
            let positions = Positions::new(marks, is_replicated, &Arc::default());
            let waiters: [Arc<Publisher>; 2] = Default::default();
            let waiting = |at: usize| Waiting::Task(waiters[at].clone());
            positions.when_durable(JournalPosition(10), waiting(0), || false);
            positions.when_synced(JournalPosition(10), waiting(1), || false);
            positions.set_appended(JournalPosition(10));
            World { positions, waiters }
        }

        #[track_caller]
        fn check(&self, durable: u32, synced: u32) {
            assert_eq!([0, 1].map(|at: usize| self.waiters[at].wake_count.load(Ordering::SeqCst)), [durable, synced]);
        }
    }

    #[test]
    fn each_waits_for_its_own_mark() {
        let world = World::new(JournalPosition::MAX, false);
        let positions = &world.positions;
        positions.advance_written(JournalPosition(10));
        world.check(1, 0);
        assert!(positions.durable_since(JournalPosition(10)).is_some());
        positions.advance_flushed(JournalPosition(9));
        world.check(1, 0);
        positions.advance_flushed(JournalPosition(10));
        world.check(1, 1);
        assert_eq!(positions.flushed_since(JournalPosition(10)), None, "alone it is durable since then");
    }

    #[test]
    fn in_a_group_what_is_on_this_disk_waits_for_the_others() {
        let world = World::new(JournalPosition(0), true);
        world.positions.advance_written(JournalPosition(10));
        world.positions.advance_flushed(JournalPosition(10));
        world.check(0, 0);
        let since = |of: fn(&Positions, JournalPosition) -> Option<Instant>| of(&world.positions, JournalPosition(10));
        assert!(since(Positions::flushed_since).is_some() && since(Positions::durable_since).is_none());
        world.positions.advance_committed(JournalPosition(10));
        world.check(1, 1);
    }

    #[test]
    fn nobody_waits_for_what_never_comes() {
        let world = World::new(JournalPosition::MAX, false);
        world.positions.wake_all();
        world.check(1, 1);
        world.positions.when_synced(JournalPosition(10), Waiting::Task(world.waiters[1].clone()), || true);
        world.check(1, 2);
    }
}
