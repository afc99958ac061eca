//! What federation needs to feed exchanges and queues from other brokers: what to feed, what is bound there, and when messages are needed.

use model::definition::{self, Binding, BindingChange};
use tokio::sync::{mpsc, watch};

use crate::broker::Broker;
use crate::vhost::Federated;

impl Broker {
    /// A number that changes after each change of what policies have fed, and of the cluster's name.
    #[must_use]
    pub fn subscribe_federated(&self) -> watch::Receiver<u64> {
        self.federated_changes.subscribe()
    }

    /// The exchanges that policies have fed.
    #[must_use]
    pub fn federated_exchanges(&self) -> Vec<Federated<definition::Exchange>> {
        self.vhosts.all().iter().flat_map(|vhost| vhost.federated_exchanges()).collect()
    }

    /// The queues that policies have fed.
    #[must_use]
    pub fn federated_queues(&self) -> Vec<Federated<definition::Queue>> {
        self.vhosts.all().iter().flat_map(|vhost| vhost.federated_queues()).collect()
    }

    /// The bindings of an exchange now, and what changes afterwards, in order. That ends with the exchange, or when too much of it was not
    /// taken.
    #[must_use]
    pub fn follow_bindings(
        &self,
        vhost: &str,
        exchange: &str,
    ) -> Option<(Vec<Binding>, mpsc::Receiver<BindingChange>)> {
        self.vhosts.get(vhost)?.follow_bindings(exchange)
    }

    /// Whether a queue needs messages of other brokers: it has none that is ready, and a consumer of this broker's own waits.
    #[must_use]
    pub fn follow_need(&self, vhost: &str, queue: &str) -> Option<watch::Receiver<bool>> {
        let handle = self.vhosts.get(vhost)?.queue(queue.as_bytes())?;
        self.engine.shards.with_queue(&handle, |entry| entry.follow_need())
    }

    pub(crate) fn federated_changed(&self) {
        self.federated_changes.send_modify(|count| *count += 1);
    }
}
