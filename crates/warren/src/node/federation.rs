//! The federation links of a broker: those that its policies want. They run as long as the broker does, so in a cluster on the node that
//! leads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use broker::{Broker, Event, Federated};
use federation::{Fed, FollowedBindings, Host, Link, LinkId, LinkKind, LinkStatus, Links, Subject, Upstreams};
use model::config::LinkOptions;
use model::name::VhostName;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::own_broker::OwnBroker;

impl Host for OwnBroker {
    fn follow_bindings(&self, vhost: &VhostName, exchange: &str) -> Option<FollowedBindings> {
        let (now, changes) = self.broker()?.follow_bindings(vhost.as_str(), exchange)?;
        Some(FollowedBindings { now, changes })
    }

    fn follow_need(&self, vhost: &VhostName, queue: &str) -> Option<watch::Receiver<bool>> {
        self.broker()?.follow_need(vhost.as_str(), queue)
    }

    fn state_changed(&self, status: &LinkStatus) {
        let Some(broker) = self.broker() else { return };
        let event = event("federation.link.status", &status.id).with_text("status", status.state.name());
        let event = event.with_text("uri", &status.uri);
        broker.emit(match status.state.reason() {
            Some(reason) => event.with_text("error", reason),
            None => event,
        });
    }

    fn removed(&self, status: &LinkStatus) {
        if let Some(broker) = self.broker() {
            broker.emit(event("federation.link.removed", &status.id));
        }
    }
}

fn event(name: &'static str, id: &LinkId) -> Event {
    let (here, there) = match id.kind {
        LinkKind::Exchange => ("exchange", "upstream_exchange"),
        LinkKind::Queue => ("queue", "upstream_queue"),
    };
    let event = Event::new(name).with_text(here, &id.name).with_text(there, &id.upstream_name);
    let event = event.with_text("type", id.kind.name()).with_text("vhost", id.vhost.as_str());
    event.with_text("upstream", &id.upstream).with_text("id", &id.key())
}

/// Links, and what keeps them as they are wanted.
pub(super) struct RunningLinks {
    links: Arc<Links>,
    following: JoinHandle<()>,
}

impl RunningLinks {
    /// Starts those that are wanted now, and follows what is wanted.
    pub(super) fn start(broker: &Arc<Broker>, options: &LinkOptions) -> Self {
        let host = OwnBroker::new(broker, options);
        let links = Arc::new(Links::new(Arc::new(host), Handle::current()));
        let (mut parameters, mut federated) = (broker.subscribe_vhost_parameters(), broker.subscribe_federated());
        let following = {
            let (links, broker) = (links.clone(), Arc::downgrade(broker));
            tokio::spawn(async move {
                loop {
                    parameters.mark_unchanged();
                    federated.mark_unchanged();
                    let Some(broker) = broker.upgrade() else { return };
                    let wanted = wanted(&broker);
                    // What waits for the next change is not to keep a broker that has stopped.
                    drop(broker);
                    links.reconcile(wanted);
                    let changed = tokio::select! {
                        changed = parameters.changed() => changed,
                        changed = federated.changed() => changed,
                    };
                    if changed.is_err() {
                        return;
                    }
                }
            })
        };
        Self { links, following }
    }

    pub(super) fn links(&self) -> &Arc<Links> {
        &self.links
    }

    /// Ends all of them, for good. What is under way is settled for so long.
    pub(super) async fn stop(&self, timeout: Duration) {
        self.following.abort();
        self.links.stop(timeout).await;
    }
}

/// The links that policies make of upstreams.
fn wanted(broker: &Broker) -> Vec<Link> {
    let cluster_name = broker.cluster_name();
    let exchanges = broker.federated_exchanges().into_iter().map(|federated| subject(federated, Fed::Exchange));
    let queues = broker.federated_queues().into_iter().map(|federated| subject(federated, Fed::Queue));
    let mut of_vhosts: BTreeMap<VhostName, Upstreams> = BTreeMap::new();
    let mut links = Vec::new();
    for subject in exchanges.chain(queues).filter(|subject| subject.fed.may_be_fed()) {
        let vhost = subject.fed.vhost().clone();
        let upstreams = of_vhosts.entry(vhost).or_insert_with_key(|vhost| {
            let parameters = broker.vhost_parameters(None, Some(vhost.as_str()));
            Upstreams::of(&parameters, &cluster_name)
        });
        links.extend(upstreams.links(&subject));
    }
    links
}

fn subject<T>(federated: Federated<T>, fed: fn(T) -> Fed) -> Subject {
    let Federated { what, policy, choice } = federated;
    Subject { fed: fed(what), policy, choice }
}
