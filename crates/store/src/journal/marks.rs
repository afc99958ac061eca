//! How far the journal has got.

use std::sync::atomic::{AtomicU64, Ordering};

use model::ids::JournalPosition;

/// How far the journal has got. Invariants: `synced <= durable <= written <= appended` and `synced <= flushed <= written`, and none ever
/// decreases.
///
/// `flushed` is what is on this disk, `committed` what is on the disks of a majority of the group, this one or not. The journal of a node
/// that is alone is committed at once. `durable` is what confirms may leave for, `synced` what checkpoints may rely on.
#[derive(Debug)]
pub(crate) struct Marks {
    appended: AtomicU64,
    written: AtomicU64,
    flushed: AtomicU64,
    committed: AtomicU64,
    durable: AtomicU64,
    synced: AtomicU64,
    /// What is written is durable when it is committed; else when it is flushed, too.
    is_written_enough: bool,
}

/// Marks that went on, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Advanced {
    pub(crate) durable: Option<JournalPosition>,
    pub(crate) synced: Option<JournalPosition>,
}

impl Marks {
    /// Of a journal that ends there, and is committed up to there.
    pub(crate) fn new(position: JournalPosition, committed: JournalPosition, is_written_enough: bool) -> Marks {
        let mark = || AtomicU64::new(position.0);
        let committed_mark = || AtomicU64::new(position.min(committed).0);
        Marks {
            appended: mark(),
            written: mark(),
            flushed: mark(),
            committed: AtomicU64::new(committed.0),
            durable: committed_mark(),
            synced: committed_mark(),
            is_written_enough,
        }
    }

    pub(crate) fn appended(&self) -> JournalPosition {
        JournalPosition(self.appended.load(Ordering::Acquire))
    }

    pub(crate) fn written(&self) -> JournalPosition {
        JournalPosition(self.written.load(Ordering::Acquire))
    }

    pub(crate) fn flushed(&self) -> JournalPosition {
        JournalPosition(self.flushed.load(Ordering::Acquire))
    }

    pub(crate) fn durable(&self) -> JournalPosition {
        JournalPosition(self.durable.load(Ordering::Acquire))
    }

    pub(crate) fn synced(&self) -> JournalPosition {
        JournalPosition(self.synced.load(Ordering::Acquire))
    }

    /// Only under the lock of the gathering.
    pub(crate) fn set_appended(&self, to: JournalPosition) {
        self.appended.store(to.0, Ordering::Release);
    }

    /// Only by the writer.
    pub(crate) fn set_written(&self, to: JournalPosition) -> Advanced {
        assert!(self.written() <= to && to <= self.appended(), "written to {to}: {self:?}");
        self.written.store(to.0, Ordering::SeqCst);
        self.derive()
    }

    /// Only by the writer.
    pub(crate) fn set_flushed(&self, to: JournalPosition) -> Advanced {
        assert!(self.flushed() <= to && to <= self.written(), "flushed to {to}: {self:?}");
        self.flushed.store(to.0, Ordering::SeqCst);
        self.derive()
    }

    /// By any thread. What is behind what was said before says nothing.
    pub(crate) fn set_committed(&self, to: JournalPosition) -> Advanced {
        self.committed.fetch_max(to.0, Ordering::SeqCst);
        self.derive()
    }

    /// A thread that sets a mark derives the other two from all three afterwards: of two that do so at a time, one sees what both have set.
    fn derive(&self) -> Advanced {
        let load = |mark: &AtomicU64| mark.load(Ordering::SeqCst);
        // In this order, for what is flushed has been written before.
        let (committed, flushed) = (load(&self.committed), load(&self.flushed));
        let there = if self.is_written_enough { load(&self.written) } else { flushed };
        Advanced {
            durable: advance(&self.durable, there.min(committed)),
            synced: advance(&self.synced, flushed.min(committed)),
        }
    }
}

fn advance(mark: &AtomicU64, to: u64) -> Option<JournalPosition> {
    (mark.fetch_max(to, Ordering::SeqCst) < to).then_some(JournalPosition(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After each step: `(durable, synced)`.
    #[track_caller]
    fn check(marks: &Marks, durable: u64, synced: u64) {
        assert_eq!((marks.durable(), marks.synced()), (JournalPosition(durable), JournalPosition(synced)), "{marks:?}");
    }

    fn written_to(marks: &Marks, to: u64) -> Advanced {
        marks.set_appended(JournalPosition(to));
        marks.set_written(JournalPosition(to))
    }

    #[test]
    fn alone_what_is_flushed_is_durable() {
        let marks = Marks::new(JournalPosition(5), JournalPosition::MAX, false);
        assert_eq!(written_to(&marks, 10), Advanced::default());
        check(&marks, 5, 5);
        let to = Some(JournalPosition(10));
        assert_eq!(marks.set_flushed(JournalPosition(10)), Advanced { durable: to, synced: to });
        check(&marks, 10, 10);
    }

    #[test]
    fn alone_what_is_written_may_be_durable() {
        let marks = Marks::new(JournalPosition(0), JournalPosition::MAX, true);
        written_to(&marks, 10);
        check(&marks, 10, 0);
        marks.set_flushed(JournalPosition(7));
        check(&marks, 10, 7);
    }

    #[test]
    fn in_a_group_a_majority_decides() {
        let marks = Marks::new(JournalPosition(0), JournalPosition(0), true);
        written_to(&marks, 10);
        marks.set_flushed(JournalPosition(10));
        check(&marks, 0, 0);
        marks.set_committed(JournalPosition(6));
        check(&marks, 6, 6);
        assert_eq!(marks.set_committed(JournalPosition(4)), Advanced::default());
        check(&marks, 6, 6);
    }

    #[test]
    fn others_may_have_what_this_disk_has_not() {
        let marks = Marks::new(JournalPosition(0), JournalPosition(0), true);
        marks.set_committed(JournalPosition(20));
        check(&marks, 0, 0);
        written_to(&marks, 10);
        check(&marks, 10, 0);
        marks.set_flushed(JournalPosition(10));
        check(&marks, 10, 10);
        written_to(&marks, 30);
        check(&marks, 20, 10);
    }

    #[test]
    fn a_journal_may_begin_with_what_is_not_committed() {
        let marks = Marks::new(JournalPosition(9), JournalPosition(4), true);
        assert_eq!(marks.flushed(), JournalPosition(9));
        check(&marks, 4, 4);
    }

    /// Both sides at once: neither loses what the other one said, and no reader sees more synced than durable.
    #[test]
    fn who_writes_and_who_counts_votes_do_not_miss_each_other() {
        for _ in 0..200 {
            let marks = Marks::new(JournalPosition(0), JournalPosition(0), true);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for to in 1..50 {
                        written_to(&marks, to);
                        marks.set_flushed(JournalPosition(to));
                    }
                });
                scope.spawn(|| {
                    for to in 1..50 {
                        marks.set_committed(JournalPosition(to));
                        let synced = marks.synced();
                        assert!(synced <= marks.durable());
                    }
                });
            });
            check(&marks, 49, 49);
        }
    }
}
