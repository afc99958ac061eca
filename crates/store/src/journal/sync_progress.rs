//! A sync beside the writer: asked for, under way, done, and its outcome taken.
//!
//! ```text
//!  Idle ──ask──► Asked ──take_job──► Running ──finish──► Done
//!   ▲              │                    ┊                  │
//!   └─────end──────┴╌╌ end waits for ╌╌╌┘                  │
//!   └─────────────────── end, take_done ───────────────────┘
//! ```
//!
//! The writer asks and takes the outcome, the syncer does the rest. Only one sync is ever under way, and only the writer acts on its
//! outcome: until then it counts nothing as synced and holds every commit. The kernel reports a failure once per open file; so before the
//! writer syncs a file itself, leaves it, or gives it up, it waits for this.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::ids::JournalPosition;
use parking_lot::{Condvar, Mutex};

use crate::file::File;

/// The sync under way, if there is one.
#[derive(Default)]
pub(crate) struct SyncInProgress {
    state: Mutex<State>,
    changed: Condvar,
    /// There is an outcome: seen without a lock.
    is_done: AtomicBool,
    is_stopping: AtomicBool,
}

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Asked(SyncJob),
    Running,
    Done(SyncOutcome),
}

/// What the writer has asked for.
pub(crate) struct SyncJob {
    pub(crate) file: Arc<dyn File>,
    /// All before this has been written to it.
    pub(crate) end: JournalPosition,
}

/// The outcome of a sync.
pub(crate) struct SyncOutcome {
    pub(crate) end: JournalPosition,
    pub(crate) result: io::Result<()>,
}

impl SyncInProgress {
    /// By the writer: has the file synced.
    pub(crate) fn ask(&self, file: Arc<dyn File>, end: JournalPosition) {
        let mut state = self.state.lock();
        assert!(matches!(*state, State::Idle), "one sync is under way at a time");
        *state = State::Asked(SyncJob { file, end });
        self.changed.notify_all();
    }

    /// Whether there is an outcome.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Its outcome, once: `None` if it has not ended.
    pub(crate) fn take_done(&self) -> Option<SyncOutcome> {
        self.is_done().then(|| self.end())?
    }

    /// Waits until nothing is under way. What has not begun is given up: then there is no outcome.
    pub(crate) fn end(&self) -> Option<SyncOutcome> {
        let mut state = self.state.lock();
        while matches!(*state, State::Running) {
            self.changed.wait(&mut state);
        }
        self.is_done.store(false, Ordering::Release);
        match std::mem::take(&mut *state) {
            State::Done(outcome) => Some(outcome),
            State::Idle | State::Asked(_) | State::Running => None,
        }
    }

    /// By the syncer: what the writer has asked for, which is being done from now on.
    pub(crate) fn take_job(&self) -> Option<SyncJob> {
        let mut state = self.state.lock();
        match std::mem::take(&mut *state) {
            State::Asked(job) => {
                *state = State::Running;
                Some(job)
            }
            other => {
                *state = other;
                None
            }
        }
    }

    /// By the syncer: it is done.
    pub(crate) fn finish(&self, outcome: SyncOutcome) {
        let mut state = self.state.lock();
        *state = State::Done(outcome);
        self.is_done.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// By the syncer: waits until there is a job. False: there will be none.
    pub(crate) fn wait_for_job(&self) -> bool {
        let mut state = self.state.lock();
        while !matches!(*state, State::Asked(_)) {
            if self.is_stopping.load(Ordering::Acquire) {
                return false;
            }
            self.changed.wait(&mut state);
        }
        true
    }

    /// The syncer ends.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        let _state = self.state.lock();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::{Disk, SimDisk};

    fn asked() -> SyncInProgress {
        let disk = SimDisk::new(1);
        disk.create_dir(Path::new("/data")).unwrap();
        let file = disk.create(Path::new("/data/file")).unwrap();
        let syncing = SyncInProgress::default();
        syncing.ask(file.into(), JournalPosition(10));
        syncing
    }

    fn finish(syncing: &SyncInProgress, job: SyncJob) {
        syncing.finish(SyncOutcome { end: job.end, result: job.file.fdatasync() });
    }

    #[test]
    fn an_outcome_is_taken_once() {
        let syncing = asked();
        assert!(syncing.take_done().is_none() && syncing.wait_for_job());
        let job = syncing.take_job().unwrap();
        assert!(syncing.take_job().is_none(), "it is under way");
        assert!(!syncing.is_done());
        finish(&syncing, job);
        assert!(syncing.is_done());
        assert_eq!(syncing.take_done().unwrap().end, JournalPosition(10));
        assert!(!syncing.is_done() && syncing.take_done().is_none());
    }

    #[test]
    fn what_has_not_begun_is_given_up_and_what_has_is_waited_for() {
        let syncing = asked();
        assert!(syncing.end().is_none());
        assert!(syncing.take_job().is_none());
        let syncing = asked();
        let job = syncing.take_job().unwrap();
        std::thread::scope(|scope| {
            let end = scope.spawn(|| syncing.end());
            finish(&syncing, job);
            assert_eq!(end.join().unwrap().unwrap().end, JournalPosition(10));
        });
    }

    #[test]
    fn a_syncer_that_is_stopped_does_what_it_was_asked_for() {
        let syncing = asked();
        syncing.stop();
        assert!(syncing.wait_for_job());
        let job = syncing.take_job().unwrap();
        finish(&syncing, job);
        assert!(!syncing.wait_for_job());
    }
}
