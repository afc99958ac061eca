//! Vhosts as they are listed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::name::VhostName;

use crate::broker::Broker;
use crate::vhost::Vhost;

/// A vhost.
#[derive(Debug, Clone)]
pub struct VhostView {
    /// What an operator says about it.
    pub facts: Arc<model::vhost::Vhost>,
    /// Its queues.
    pub queue_count: usize,
    /// Its exchanges.
    pub exchange_count: usize,
    /// Connections that are open in it.
    pub connection_count: usize,
    /// Messages that wait in its queues.
    pub ready_count: u64,
    /// Messages of its queues that are handed out and not settled.
    pub unacked_count: u64,
    /// Whether its messages are traced.
    pub is_traced: bool,
}

impl VhostView {
    fn of(broker: &Broker, vhost: &Vhost) -> Self {
        let messages = vhost.counters.messages();
        VhostView {
            facts: vhost.facts(),
            queue_count: vhost.queue_count(),
            exchange_count: vhost.exchange_count(),
            connection_count: vhost.connection_count.load(Ordering::Relaxed),
            ready_count: messages.ready_count,
            unacked_count: messages.unacked_count,
            is_traced: broker.firehose.is_on(vhost.name().as_str()),
        }
    }
}

impl Broker {
    /// All vhosts, by name.
    #[must_use]
    pub fn vhost_views(&self) -> Vec<VhostView> {
        self.vhosts.all().iter().map(|vhost| VhostView::of(self, vhost)).collect()
    }

    /// The vhost of this name.
    #[must_use]
    pub fn vhost_view(&self, name: &str) -> Option<VhostView> {
        self.vhosts.get(name).map(|vhost| VhostView::of(self, &vhost))
    }

    /// Whether there is a vhost of this name.
    #[must_use]
    pub fn has_vhost(&self, name: &str) -> bool {
        self.vhosts.get(name).is_some()
    }

    /// The names of all vhosts.
    #[must_use]
    pub fn vhost_names(&self) -> Vec<VhostName> {
        self.vhosts.all().iter().map(|vhost| vhost.name().clone()).collect()
    }
}
