//! What a connection holds as long as it is open: its place among its user's connections, and queues of its own.

use std::sync::Arc;

use model::ids::QueueId;

use crate::usage::Permit;
use engine::queue_handle::QueueHandle;

/// What is given up when the connection ends.
#[derive(Debug, Default)]
pub(super) struct ConnectionResources {
    exclusive_queues: Vec<Arc<QueueHandle>>,
    permit: Option<Permit>,
    /// It is no longer counted among its vhost's connections.
    has_left: bool,
}

impl ConnectionResources {
    /// The connection is counted among its user's.
    pub(super) fn keep_permit(&mut self, permit: Permit) {
        self.permit = Some(permit);
    }

    /// The connection has declared an exclusive queue.
    pub(super) fn own(&mut self, queue: Arc<QueueHandle>) {
        self.exclusive_queues.push(queue);
    }

    /// A queue has been deleted.
    pub(super) fn disown(&mut self, queue: QueueId) {
        self.exclusive_queues.retain(|mine| mine.id() != queue);
    }

    /// The exclusive queues, to be deleted.
    pub(super) fn take_queues(&mut self) -> Vec<Arc<QueueHandle>> {
        std::mem::take(&mut self.exclusive_queues)
    }

    /// The connection leaves its vhost and its place. False when it has done so before.
    pub(super) fn leave(&mut self) -> bool {
        if std::mem::replace(&mut self.has_left, true) {
            return false;
        }
        self.permit = None;
        true
    }

    #[cfg(test)]
    pub(super) fn has_queues(&self) -> bool {
        !self.exclusive_queues.is_empty()
    }
}
