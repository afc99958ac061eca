//! Where the task's events come from: the links of the node, and the driver of its member.

use std::sync::Arc;

use store::{RecoveredStore, Store};

use super::host::Host;
use super::inbox::{Event, Inbox};
use super::time::{GroupTime, clock_ms};
use crate::call_router::NodeCalls;
use crate::driver::NodeOwner;
use crate::peers::{CallAnswer, ForwardedClient, PeerEvent};
use crate::wire::{Identity, Lane, NodeName, Refusal};

/// The reason that clients get of a node that has stopped leading.
const NOT_LEADING: &str = "this node no longer leads the cluster";

/// Brings what comes by links to the task, and clients to the host.
pub(super) struct LinkEvents {
    inbox: Arc<Inbox>,
    host: Arc<dyn Host>,
}

impl LinkEvents {
    pub(super) fn new(inbox: Arc<Inbox>, host: Arc<dyn Host>) -> Self {
        LinkEvents { inbox, host }
    }
}

impl NodeCalls for LinkEvents {
    fn called(&self, from: &Identity, name: &str, payload: &[u8], answer: CallAnswer) {
        let (from, name, payload) = (from.clone(), name.to_owned(), payload.to_vec());
        self.inbox.put(Event::Called { from, name, payload, answer });
    }

    fn peer_changed(&self, peer: &NodeName, event: &PeerEvent) {
        match event {
            PeerEvent::Connected { lane: Lane::Calls, .. } => self.inbox.put(Event::Connected(peer.clone())),
            PeerEvent::Rejected { sentence, refusal: Some(refusal) } => {
                // A node that is no peer yet may ask, and one that is not ready will be.
                let is_final = !matches!(refusal, Refusal::NoPeer { .. } | Refusal::NotReady);
                let sentence = is_final.then(|| sentence.clone());
                self.inbox.put(Event::Rejected { peer: peer.clone(), sentence });
            }
            _ => {}
        }
    }

    fn forwarded(&self, client: ForwardedClient) {
        self.host.forwarded(client);
    }
}

/// Brings what the member's driver reports to the task, and stores that are to be served to the host.
pub(super) struct DriverEvents {
    inbox: Arc<Inbox>,
    host: Arc<dyn Host>,
    time: Arc<GroupTime>,
}

impl DriverEvents {
    pub(super) fn new(inbox: Arc<Inbox>, host: Arc<dyn Host>, time: Arc<GroupTime>) -> Self {
        DriverEvents { inbox, host, time }
    }
}

impl NodeOwner for DriverEvents {
    fn serve(&self, store: Arc<Store>, recovered: RecoveredStore) -> Result<(), String> {
        self.host.serve(store, recovered, self.time.ahead_ms(clock_ms()))
    }

    fn pause(&self) {
        self.host.pause();
    }

    fn stop(&self) {
        self.host.stop(NOT_LEADING);
    }

    fn leader_changed(&self, leader: Option<NodeName>) {
        self.inbox.put(Event::LeaderChanged(leader));
    }

    fn failed(&self, reason: &str) {
        self.inbox.put(Event::Failed(reason.to_owned()));
    }
}
