//! What deleted vhosts counted.

use std::sync::Arc;

use engine::statistics::{VhostCounters, VhostMessages};

/// All of them together: the node's counters do not fall when a vhost is deleted.
#[derive(Debug, Default)]
pub(crate) struct DeletedVhosts {
    past: VhostMessages,
    /// Those in which is still counted: connections that have not been closed yet, queues that are on their way out.
    leaving: Vec<Arc<VhostCounters>>,
}

impl DeletedVhosts {
    /// These vhosts are deleted.
    pub(crate) fn leave_all(&mut self, counters: impl IntoIterator<Item = Arc<VhostCounters>>) {
        self.leaving.extend(counters);
    }

    /// What has happened in them.
    pub(crate) fn messages(&mut self) -> VhostMessages {
        let mut all = VhostMessages::default();
        self.leaving.retain_mut(|counters| {
            let messages = counters.messages().of_the_past();
            // This is the only reference: nothing is counted in it any longer.
            let Some(counters) = Arc::get_mut(counters) else {
                all.add(&messages);
                return true;
            };
            self.past.add(&counters.messages().of_the_past());
            false
        });
        all.add(&self.past);
        all
    }
}
