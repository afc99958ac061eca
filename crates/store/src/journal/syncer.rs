//! Syncs beside the writer, when confirms do not wait for it or wait for others as well: so that no commit waits behind one.
//!
//! The writer hands over the file and how far it has been written, and keeps writing: see `sync_progress`.

use std::sync::Arc;

use super::shared::Shared;
use super::sync_progress::SyncOutcome;
use super::watch::DiskOperation;
use crate::trace_points::SYNC;

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
        let Some(job) = self.shared.syncing.take_job() else { return };
        let call = SYNC.enter(|_| {});
        let result = self.shared.sync(DiskOperation::Sync, &*job.file);
        drop(call);
        self.shared.syncing.finish(SyncOutcome { end: job.end, result });
        self.shared.work.wake_writer();
    }

    /// Waits for something to do. False: it is over.
    pub(crate) fn wait(&self) -> bool {
        self.shared.syncing.wait_for_job()
    }
}
