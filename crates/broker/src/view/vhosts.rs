//! Vhosts as they are listed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::name::VhostName;

use crate::broker::Broker;
use crate::statistics::VhostMessages;
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
}

/// Bytes that connections of a vhost have carried since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VhostTraffic {
    /// From clients.
    pub received_len: u64,
    /// To clients.
    pub sent_len: u64,
}

impl VhostView {
    fn of(vhost: &Vhost) -> Self {
        let queues = vhost.queues();
        let sum = |gauge: fn(&crate::queue_handle::QueueGauges) -> i64| {
            queues.iter().map(|queue| gauge(&queue.gauges).cast_unsigned()).sum()
        };
        VhostView {
            facts: vhost.facts(),
            queue_count: queues.len(),
            exchange_count: vhost.exchange_count(),
            connection_count: vhost.connection_count.load(Ordering::Relaxed),
            ready_count: sum(|gauges| gauges.ready_count.get()),
            unacked_count: sum(|gauges| gauges.unacked_count.get()),
        }
    }
}

impl Broker {
    /// All vhosts, by name.
    #[must_use]
    pub fn vhost_views(&self) -> Vec<VhostView> {
        self.vhosts.all().iter().map(|vhost| VhostView::of(vhost)).collect()
    }

    /// The vhost of this name.
    #[must_use]
    pub fn vhost_view(&self, name: &str) -> Option<VhostView> {
        self.vhosts.get(name).map(|vhost| VhostView::of(&vhost))
    }

    /// Whether there is a vhost of this name.
    #[must_use]
    pub fn has_vhost(&self, name: &str) -> bool {
        self.vhosts.get(name).is_some()
    }

    /// What the connections of each vhost have carried: of those that are open, and of those that were.
    #[must_use]
    pub fn vhost_traffic(&self) -> BTreeMap<VhostName, VhostTraffic> {
        let traffic = |vhost: &Arc<Vhost>| {
            let VhostMessages { received_len, sent_len, .. } = vhost.counters.messages();
            (vhost.name().clone(), VhostTraffic { received_len, sent_len })
        };
        self.vhosts.all().iter().map(traffic).collect()
    }

    /// The names of all vhosts.
    #[must_use]
    pub fn vhost_names(&self) -> Vec<VhostName> {
        self.vhosts.all().iter().map(|vhost| vhost.name().clone()).collect()
    }
}
