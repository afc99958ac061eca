//! The connections that are open now, for whoever has to reach them all.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::outbox::{News, Outbox};
use crate::queue_handle::ConnectionId;

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    next_id: AtomicU64,
    open: Mutex<HashMap<ConnectionId, Arc<Outbox>>>,
}

impl Connections {
    pub(crate) fn next_id(&self) -> ConnectionId {
        ConnectionId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn add(&self, id: ConnectionId, outbox: Arc<Outbox>) {
        self.open.lock().insert(id, outbox);
    }

    pub(crate) fn remove(&self, id: ConnectionId) {
        let mut open = self.open.lock();
        open.remove(&id);
        if open.is_empty() {
            open.shrink_to_fit();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.open.lock().len()
    }

    /// Tells every connection.
    pub(crate) fn tell_all(&self, news: impl Fn() -> News) {
        self.all().into_iter().for_each(|outbox| outbox.tell(news()));
    }

    /// Lets every connection look again at what it waits for and what waits for it.
    pub(crate) fn nudge_all(&self) {
        self.all().into_iter().for_each(|outbox| outbox.nudge());
    }

    fn all(&self) -> Vec<Arc<Outbox>> {
        self.open.lock().values().cloned().collect()
    }
}
