//! The federation links of a broker: those that its policies want. They run as long as the broker does, so in a cluster on the node that
//! leads.

use std::sync::{Arc, Weak};
use std::time::Duration;

use broker::{Broker, Event};
use federation::{Host, LinkId, LinkStatus, Links};
use tokio::runtime::Handle;

/// What links are given of this process.
struct BrokerHost {
    broker: Weak<Broker>,
}

impl Host for BrokerHost {
    fn state_changed(&self, status: &LinkStatus) {
        let Some(broker) = self.broker.upgrade() else { return };
        let event = event("federation.link.status", &status.id).with_text("status", status.state.name());
        let event = event.with_text("uri", &status.uri);
        broker.emit(match status.state.reason() {
            Some(reason) => event.with_text("error", reason),
            None => event,
        });
    }

    fn removed(&self, status: &LinkStatus) {
        if let Some(broker) = self.broker.upgrade() {
            broker.emit(event("federation.link.removed", &status.id));
        }
    }
}

fn event(name: &'static str, id: &LinkId) -> Event {
    let (here, there) = match id.kind {
        federation::LinkKind::Exchange => ("exchange", "upstream_exchange"),
        federation::LinkKind::Queue => ("queue", "upstream_queue"),
    };
    let event = Event::new(name).with_text(here, &id.name).with_text(there, &id.upstream_name);
    let event = event.with_text("type", id.kind.name()).with_text("vhost", id.vhost.as_str());
    event.with_text("upstream", &id.upstream).with_text("id", &id.key())
}

/// Links, and what keeps them as they are wanted.
pub(super) struct RunningLinks {
    links: Arc<Links>,
}

impl RunningLinks {
    /// Starts those that are wanted now, and follows what is wanted.
    pub(super) fn start(broker: &Arc<Broker>) -> Self {
        let host = BrokerHost { broker: Arc::downgrade(broker) };
        Self { links: Arc::new(Links::new(Arc::new(host), Handle::current())) }
    }

    pub(super) fn links(&self) -> &Arc<Links> {
        &self.links
    }

    /// Ends all of them, for good. What is under way is settled for so long.
    pub(super) async fn stop(&self, patience: Duration) {
        self.links.stop(patience).await;
    }
}
