//! What a node reaches others through: its host, its links to peers, and the inbox to which answers come back.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use consensus::MemberId;

use super::discovery::Names;
use super::error::NodeError;
use super::host::Host;
use super::inbox::{Event, Inbox};
use super::sources::DriverEvents;
use super::time::GroupTime;
use crate::address::Address;
use crate::call_router::CallRouter;
use crate::driver::{Driver, DriverSetup};
use crate::peers::{CallError, Links, PeerAddress, PeerStatistics};
use crate::wire::{Lane, Local, NodeName};

/// See the module.
pub(super) struct NodeIo {
    host: Arc<dyn Host>,
    links: Arc<Links>,
    router: Arc<CallRouter>,
    inbox: Arc<Inbox>,
}

impl NodeIo {
    pub(super) fn new(host: Arc<dyn Host>, links: Arc<Links>, router: Arc<CallRouter>, inbox: Arc<Inbox>) -> Self {
        NodeIo { host, links, router, inbox }
    }

    pub(super) fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// Where work on other threads puts its outcome.
    pub(super) fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// Its links introduce the node as this from now on.
    pub(super) fn introduce(&self, local: Local) {
        self.links.set_local(local);
    }

    /// Sets the peers that its links connect to.
    pub(super) fn set_peers(&self, peers: Vec<PeerAddress>) {
        self.links.set_peers(peers);
    }

    /// From now on this start of a member is listened to.
    pub(super) fn admit(&self, member: MemberId, incarnation: u64) {
        self.router.admit(member, incarnation);
    }

    /// How its links to all peers are.
    pub(super) fn statistics(&self) -> Vec<PeerStatistics> {
        self.links.statistics()
    }

    /// Whether a peer can be reached.
    pub(super) fn is_connected(&self, name: &NodeName) -> bool {
        is_connected(&self.statistics(), name)
    }

    /// Calls a peer. The answer comes as the event that `event` makes of it.
    pub(super) fn call(
        &self,
        peer: &NodeName,
        name: &str,
        payload: Vec<u8>,
        timeout: Duration,
        event: impl FnOnce(Result<Vec<u8>, CallError>) -> Event + Send + 'static,
    ) {
        let inbox = self.inbox.clone();
        self.links.call_then(peer, name, payload, timeout, move |answer| inbox.put(event(answer)));
    }

    /// Asks which node listens at an address; the answer is an event.
    pub(super) fn ask_name(&self, address: Address) {
        let (inbox, asked) = (self.inbox.clone(), address.clone());
        self.links.name_then(address, move |name| inbox.put(Event::Named { address: asked, name }));
    }

    /// Looks up the names of peers on another thread; what was found is an event.
    pub(super) fn look_names_up(&self, names: Names) -> io::Result<()> {
        let inbox = self.inbox.clone();
        let look_up = move || inbox.put(Event::Discovered(names.look_up()));
        std::thread::Builder::new().name("cluster names".to_owned()).spawn(look_up).map(drop)
    }

    /// Runs the member that a directory is.
    pub(super) fn start_driver(&self, setup: DriverSetup, time: Arc<GroupTime>) -> Result<Driver, NodeError> {
        let owner = Arc::new(DriverEvents::new(self.inbox.clone(), self.host.clone(), time));
        Ok(Driver::start(setup, self.links.clone(), self.router.clone(), owner)?)
    }

    /// Closes all links.
    pub(super) fn close(&self) {
        self.links.close();
    }
}

/// Whether a peer can be reached, by the statistics of links.
pub(super) fn is_connected(statistics: &[PeerStatistics], name: &NodeName) -> bool {
    statistics.iter().find(|peer| peer.name == *name).is_some_and(|peer| peer.is_connected(Lane::Votes))
}
