//! Syncs beside the writer, when confirms do not wait for it or wait for others as well: so that no commit waits behind one.
//!
//! The writer hands over the file and how far it has been written, and goes on writing. Only one sync is ever under way, and only the
//! writer acts on what came of it: until then it counts nothing as synced and holds every commit. The kernel tells of a failure
//! once per open file; so before the writer syncs a file itself, leaves it, or gives it up, it waits for this.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::ids::JournalPosition;
use parking_lot::{Condvar, Mutex};

use super::shared::Shared;
use super::watch::DiskOperation;
use crate::file::File;
use crate::trace_points::SYNC;

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
    Asked(Job),
    Running,
    Done(SyncOutcome),
}

struct Job {
    file: Arc<dyn File>,
    /// All before this has been written to it.
    end: JournalPosition,
}

/// What came of a sync.
pub(crate) struct SyncOutcome {
    pub(crate) end: JournalPosition,
    pub(crate) result: io::Result<()>,
}

impl SyncInProgress {
    pub(crate) fn ask(&self, file: Arc<dyn File>, end: JournalPosition) {
        let mut state = self.state.lock();
        assert!(matches!(*state, State::Idle), "one sync is under way at a time");
        *state = State::Asked(Job { file, end });
        self.changed.notify_all();
    }

    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// What came of it, once: `None` if it has not ended.
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

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        let _state = self.state.lock();
        self.changed.notify_all();
    }
}

/// The one that syncs. A thread calls [`Syncer::sync_once`] in a loop; tests call it by hand.
pub(crate) struct Syncer {
    shared: Arc<Shared>,
}

impl Syncer {
    pub(crate) fn new(shared: Arc<Shared>) -> Syncer {
        Syncer { shared }
    }

    /// Does what the writer has asked for, if anything.
    pub(crate) fn sync_once(&self) {
        let syncing = &self.shared.syncing;
        let job = {
            let mut state = syncing.state.lock();
            match std::mem::take(&mut *state) {
                State::Asked(job) => {
                    *state = State::Running;
                    job
                }
                other => {
                    *state = other;
                    return;
                }
            }
        };
        let call = SYNC.enter(|_| {});
        let result = self.shared.sync(DiskOperation::Sync, &*job.file);
        drop(call);
        {
            let mut state = syncing.state.lock();
            *state = State::Done(SyncOutcome { end: job.end, result });
            syncing.is_done.store(true, Ordering::Release);
            syncing.changed.notify_all();
        }
        // Under the lock, so that the writer is not between asking and waiting.
        drop(self.shared.pending.lock());
        self.shared.work.notify_one();
    }

    /// Waits for something to do. False: it is over.
    pub(crate) fn wait(&self) -> bool {
        let syncing = &self.shared.syncing;
        let mut state = syncing.state.lock();
        while !matches!(*state, State::Asked(_)) {
            if syncing.is_stopping.load(Ordering::Acquire) {
                return false;
            }
            syncing.changed.wait(&mut state);
        }
        true
    }
}
