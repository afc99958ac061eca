//! What has been appended and not been written, and when it has to be.
//!
//! A commit costs a write and a sync, whatever is in it. So only what a caller may wait for is written at once. What became of messages
//! that have been delivered (acknowledgements, rejections, watermarks) waits for the next commit that is written anyway, or until a caller
//! asks for its position, or for [`POSTPONED`]. A broker that is killed meanwhile delivers those messages again, as it does with any
//! acknowledgement that had not reached it.

use std::time::{Duration, Instant};

use model::ids::JournalPosition;

use super::commit::BatchQueue;

/// How long at most what no caller waits for is held back.
pub(crate) const POSTPONED: Duration = Duration::from_millis(10);
/// So much is not held back any longer.
const POSTPONED_LEN_MAX: u64 = 64 << 10;

/// What is to be written.
pub(crate) struct PendingWork {
    pub(crate) gathering: BatchQueue,
    /// A caller needs all before this synced, though confirms do not.
    pub(crate) sync_wanted: JournalPosition,
    /// All before this is written at once.
    awaited: JournalPosition,
    /// When the rest of what gathers is written at the latest.
    due: Option<Instant>,
    writer: WriterWait,
}

/// How the writer waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriterWait {
    /// It does not, or not for this: it looks at what has gathered before it does.
    No,
    /// For a while, and looks again then.
    ForAWhile,
    /// Until it is woken.
    UntilWoken,
}

impl PendingWork {
    pub(crate) fn new(gathering: BatchQueue) -> PendingWork {
        PendingWork {
            gathering,
            sync_wanted: JournalPosition::START,
            awaited: JournalPosition::START,
            due: None,
            writer: WriterWait::No,
        }
    }

    /// Something was appended that can wait. Says whether the writer has to be woken, to see how long.
    pub(crate) fn postpone(&mut self, now: impl FnOnce() -> Instant) -> bool {
        if self.due.is_none() {
            self.due = Some(now() + POSTPONED);
        }
        let must_wake = self.writer == WriterWait::UntilWoken || self.gathering.unwritten_len() >= POSTPONED_LEN_MAX;
        must_wake && self.wake_writer()
    }

    /// All before `position` is to be written at once. Says whether the writer has to be woken for that.
    pub(crate) fn hasten(&mut self, position: JournalPosition) -> bool {
        self.awaited = self.awaited.max(position);
        self.is_awaited() && self.wake_writer()
    }

    fn wake_writer(&mut self) -> bool {
        std::mem::replace(&mut self.writer, WriterWait::No) != WriterWait::No
    }

    fn is_awaited(&self) -> bool {
        self.gathering.first().is_some_and(|first| first < self.awaited.max(self.sync_wanted))
    }

    /// Whether the next commit is to be written now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.is_awaited()
            || self.gathering.unwritten_len() >= POSTPONED_LEN_MAX
            || (!self.gathering.is_empty() && self.due.is_none_or(|due| due <= now))
    }

    /// In how long it is; `None`: nothing has gathered.
    pub(crate) fn due_in(&self, now: Instant) -> Option<Duration> {
        let due = self.due.filter(|_| !self.gathering.is_empty())?;
        Some(due.saturating_duration_since(now))
    }

    /// The writer is about to wait.
    pub(crate) fn note_wait(&mut self, wait: WriterWait) {
        self.writer = wait;
    }

    /// The next commit to write. It stays counted until it is released.
    pub(crate) fn take(&mut self) -> Option<super::commit::Commit> {
        let commit = self.gathering.take();
        if self.gathering.is_empty() {
            self.due = None;
        }
        commit
    }
}

#[cfg(test)]
mod tests {
    use model::ids::{QueueId, QueueSeq};

    use super::super::options::Options;
    use super::super::record::RecordBatch;
    use super::*;

    /// What has gathered, and the time at which it is looked at.
    struct World {
        pending: PendingWork,
        now: Instant,
    }

    impl World {
        fn new(writer: WriterWait) -> World {
            let mut pending = PendingWork::new(BatchQueue::new(JournalPosition(100), &Options::default()));
            pending.note_wait(writer);
            World { pending, now: Instant::now() }
        }

        /// Appends so many settlements; says whether the writer was woken.
        fn settle(&mut self, count: u64) -> bool {
            let mut batch = RecordBatch::new();
            // Every other one: they are not joined.
            (0..count).for_each(|seq| batch.settle(QueueId(1), QueueSeq(2 * seq), QueueSeq(2 * seq)));
            assert!(batch.can_wait());
            self.pending.gathering.append(&mut batch);
            self.pending.postpone(|| self.now)
        }

        #[track_caller]
        fn check_due(&self, expected: bool, expected_in: Option<Duration>) {
            assert_eq!((self.pending.is_due(self.now), self.pending.due_in(self.now)), (expected, expected_in));
        }
    }

    #[test]
    fn what_no_caller_waits_for_is_written_after_a_while() {
        let mut world = World::new(WriterWait::ForAWhile);
        world.check_due(false, None);
        assert!(!world.settle(1), "a writer that looks again by itself is not woken");
        world.check_due(false, Some(POSTPONED));
        world.now += POSTPONED / 2;
        assert!(!world.settle(1));
        world.check_due(false, Some(POSTPONED / 2));
        world.now += POSTPONED / 2;
        world.check_due(true, Some(Duration::ZERO));
        assert!(world.pending.take().is_some());
        world.check_due(false, None);
        // The next begins anew.
        world.settle(1);
        world.check_due(false, Some(POSTPONED));
    }

    #[test]
    fn a_writer_that_sleeps_is_woken_once_to_see_how_long() {
        let mut world = World::new(WriterWait::UntilWoken);
        assert!(world.settle(1));
        assert!(!world.settle(1));
        world.check_due(false, Some(POSTPONED));
    }

    #[test]
    fn what_a_caller_waits_for_is_written_at_once_with_all_before() {
        let mut world = World::new(WriterWait::ForAWhile);
        world.settle(1);
        let position = JournalPosition(101);
        assert!(!world.pending.hasten(JournalPosition(100)), "that has been written");
        assert!(world.pending.hasten(position));
        assert!(!world.pending.hasten(position), "the writer has been woken already");
        world.check_due(true, Some(POSTPONED));
        world.pending.take();
        world.settle(1);
        world.check_due(false, Some(POSTPONED));
        world.pending.sync_wanted = JournalPosition::MAX;
        world.check_due(true, Some(POSTPONED));
    }

    #[test]
    fn much_is_not_held_back() {
        let mut world = World::new(WriterWait::ForAWhile);
        assert!(world.settle(POSTPONED_LEN_MAX / 16));
        world.check_due(true, Some(POSTPONED));
        world.pending.take();
        world.settle(1);
        world.check_due(false, Some(POSTPONED));
    }
}
