//! What is to be written, and where the writer waits for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::ids::JournalPosition;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::commit::Commit;
use super::pending::PendingWork;
use super::record::RecordBatch;

/// [`PendingWork`] under its lock.
pub(crate) struct WorkQueue {
    /// As [`PendingWork`] has it, to be seen without its lock.
    awaited: AtomicU64,
    pending: Mutex<PendingWork>,
    /// The writer waits here, with `pending`.
    changed: Condvar,
}

impl WorkQueue {
    /// Nothing is to be written behind `end`.
    pub(crate) fn new(pending: PendingWork, end: JournalPosition) -> WorkQueue {
        WorkQueue { awaited: AtomicU64::new(end.0), pending: Mutex::new(pending), changed: Condvar::new() }
    }

    /// Takes what is in the batch; returns where it ends. Before that, `note` is called with it and with how many bytes publishers are held
    /// responsible for, under the lock.
    pub(crate) fn append(&self, batch: &mut RecordBatch, note: impl FnOnce(JournalPosition, u64)) -> JournalPosition {
        let mut pending = self.pending.lock();
        let can_wait = batch.can_wait();
        let end = pending.gathering.append(batch);
        note(end, pending.gathering.gathered_len());
        let must_wake = if can_wait {
            pending.postpone(Instant::now)
        } else {
            self.awaited.store(end.0, Ordering::Relaxed);
            pending.hasten(end)
        };
        drop(pending);
        if must_wake {
            self.changed.notify_one();
        }
        end
    }

    /// Takes what `append` adds, which is written at once; returns where it ends, and calls `note` as [`WorkQueue::append`] does.
    pub(crate) fn append_awaited<E>(
        &self,
        append: impl FnOnce(&mut PendingWork) -> Result<JournalPosition, E>,
        note: impl FnOnce(JournalPosition, u64),
    ) -> Result<JournalPosition, E> {
        let mut pending = self.pending.lock();
        let end = append(&mut pending)?;
        self.awaited.store(end.0, Ordering::Relaxed);
        note(end, pending.gathering.gathered_len());
        let must_wake = pending.hasten(end);
        drop(pending);
        if must_wake {
            self.changed.notify_one();
        }
        Ok(end)
    }

    /// A caller waits for all before `position`: it is written at once, though nothing of it is of the kind that is. `appended` is asked
    /// under the lock how far there is something.
    pub(crate) fn hasten(&self, position: JournalPosition, appended: impl FnOnce() -> JournalPosition) {
        // What is awaited only grows: most callers wait for what has been hastened when it was appended.
        if position.0 <= self.awaited.load(Ordering::Relaxed) {
            return;
        }
        let mut pending = self.pending.lock();
        let position = position.min(appended());
        self.awaited.fetch_max(position.0, Ordering::Relaxed);
        let must_wake = pending.hasten(position);
        drop(pending);
        if must_wake {
            self.changed.notify_one();
        }
    }

    /// Wakes the writer until all before `position` is synced, whatever confirms wait for.
    pub(crate) fn want_sync(&self, position: JournalPosition) {
        let mut pending = self.pending.lock();
        pending.sync_wanted = pending.sync_wanted.max(position);
        drop(pending);
        self.changed.notify_one();
    }

    /// Up to where all is to be synced, whatever confirms wait for.
    pub(crate) fn sync_wanted(&self) -> JournalPosition {
        self.pending.lock().sync_wanted
    }

    /// The next commit to write. It stays counted until it is released.
    pub(crate) fn take(&self) -> Option<Commit> {
        self.pending.lock().take()
    }

    /// These commits are synced: their contents need be held no longer. Returns how many bytes publishers are held responsible for now.
    pub(crate) fn release(&self, commits: impl Iterator<Item = Commit>) -> u64 {
        // Contents go first, and chunks with them, outside the lock.
        let emptied: Vec<_> = commits.map(|mut commit| (commit.empty(), commit)).collect();
        let mut pending = self.pending.lock();
        for (len, commit) in emptied {
            pending.gathering.release(commit, len);
        }
        pending.gathering.gathered_len()
    }

    /// Memory of what is on its way to the disk, without chunks.
    pub(crate) fn memory_len(&self) -> usize {
        self.pending.lock().gathering.memory_len()
    }

    /// Has the writer look again, for a reason beside what gathers.
    pub(crate) fn wake_writer(&self) {
        // Under the lock, so that the writer is not between asking and waiting.
        drop(self.pending.lock());
        self.changed.notify_one();
    }

    /// For the writer, which decides what it does, and waits, under the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, PendingWork> {
        self.pending.lock()
    }

    /// The writer waits until it is woken, or for a while. Says whether the time is over.
    pub(crate) fn wait(&self, pending: &mut MutexGuard<'_, PendingWork>, time: Option<Duration>) -> bool {
        match time {
            None => {
                self.changed.wait(pending);
                false
            }
            Some(time) => self.changed.wait_for(pending, time).timed_out(),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::ids::{QueueId, QueueSeq};

    use super::super::commit::BatchQueue;
    use super::super::options::Options;
    use super::*;

    fn queue() -> WorkQueue {
        let start = JournalPosition(100);
        WorkQueue::new(PendingWork::new(BatchQueue::new(start, &Options::default())), start)
    }

    /// Appends an acknowledgement, for which no caller waits; says where it ends.
    fn settle(queue: &WorkQueue) -> JournalPosition {
        let mut batch = RecordBatch::new();
        batch.settle(QueueId(1), QueueSeq(1), QueueSeq(1));
        queue.append(&mut batch, |_, _| {})
    }

    #[test]
    fn an_end_is_noted_before_the_next_one_is_appended() {
        let queue = queue();
        let mut noted = None;
        let mut batch = RecordBatch::new();
        batch.put(b"key", b"value");
        let end = queue.append(&mut batch, |end, gathered_len| {
            assert!(queue.pending.is_locked());
            noted = Some((end, gathered_len));
        });
        assert_eq!(noted, Some((end, end.0 - 100)));
        let commit = queue.take().unwrap();
        assert_eq!(queue.release(std::iter::once(commit)), 0);
    }

    #[test]
    fn what_was_refused_is_not_noted() {
        let queue = queue();
        let refused = queue.append_awaited(|_| Err("no"), |_, _| panic!("nothing was appended"));
        assert_eq!(refused, Err("no"));
        assert!(queue.take().is_none());
    }

    #[test]
    fn no_more_is_hastened_than_was_appended() {
        let queue = queue();
        let end = settle(&queue);
        assert!(!queue.lock().is_due(Instant::now()));
        queue.hasten(JournalPosition::MAX, || end);
        assert!(queue.lock().is_due(Instant::now()));
        queue.take();
        let end = settle(&queue);
        assert!(!queue.lock().is_due(Instant::now()), "that was appended later");
        // What has been hastened takes no lock.
        let pending = queue.lock();
        queue.hasten(JournalPosition(101), || panic!("it is looked up to where"));
        drop(pending);
        queue.hasten(end, || end);
        assert!(queue.lock().is_due(Instant::now()));
    }

    #[test]
    fn a_sync_is_wanted_up_to_the_furthest_position() {
        let queue = queue();
        queue.want_sync(JournalPosition(9));
        queue.want_sync(JournalPosition(7));
        assert_eq!(queue.sync_wanted(), JournalPosition(9));
    }
}
