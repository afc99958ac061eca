//! The lead of a group, with which the store of a member is open: a store without it is that of a node alone.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::leases::{Leases, NamedFiles};
use super::replicated_log::ReplicatedLog;

/// What the store of a leader has beside one of a node alone.
pub(crate) struct Lead {
    log: Arc<dyn ReplicatedLog>,
    /// What is not removed because others fetch it.
    leases: Arc<Mutex<Leases>>,
}

impl Lead {
    pub(crate) fn new(log: Arc<dyn ReplicatedLog>, leases: Arc<Mutex<Leases>>) -> Lead {
        Lead { log, leases }
    }

    pub(crate) fn log(&self) -> &Arc<dyn ReplicatedLog> {
        &self.log
    }

    /// This checkpoint is in force on a store that is open.
    pub(crate) fn set_in_force(&self, files: NamedFiles) {
        self.leases.lock().set_in_force(Some(files));
    }

    /// What others fetch; none of it where the disk is full.
    pub(crate) fn kept_for_others(&self, is_disk_full: bool) -> Vec<NamedFiles> {
        let mut leases = self.leases.lock();
        if is_disk_full {
            leases.give_way();
        }
        leases.kept(Instant::now())
    }

    /// When some of that may be removed.
    pub(crate) fn next_lease_end(&self) -> Option<Instant> {
        self.leases.lock().next_end()
    }
}
