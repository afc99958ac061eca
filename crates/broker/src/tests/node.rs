//! A broker on a disk in memory, whose background work is done when a test says so.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use net::TlsInfo;
use store::file::SimDisk;
use store::{Recovered, Residents, Store};

use super::client::Client;
use crate::broker::Broker;
use crate::connections::ConnectionHandle;
use crate::options::Options;
use crate::residents::BrokerResidents;
use crate::session::Session;

pub(super) struct Node {
    pub(super) broker: Arc<Broker>,
    pub(super) residents: BrokerResidents,
    pub(super) disk: SimDisk,
}

impl Node {
    /// A new one.
    pub(super) fn new() -> Self {
        Self::on(SimDisk::new(1))
    }

    /// One with what is on the disk.
    pub(super) fn on(disk: SimDisk) -> Self {
        let (store, recovered) = open(&disk, 1).expect("the store opens");
        Self::over(disk, store, recovered, Options::default())
    }

    /// A broker on an empty disk.
    pub(super) fn with(options: Options) -> Self {
        let disk = SimDisk::new(1);
        let (store, recovered) = open(&disk, 1).expect("the store opens");
        Self::over(disk, store, recovered, options)
    }

    pub(super) fn over(disk: SimDisk, store: Arc<Store>, recovered: Recovered, options: Options) -> Self {
        let broker = Broker::assemble(options, store, recovered).expect("the broker starts");
        let residents = BrokerResidents(Arc::downgrade(&broker));
        Self { broker, residents, disk }
    }

    /// A client that has not said anything yet.
    pub(super) fn accept(&self, peer: &str) -> Client {
        self.accept_over(peer, None)
    }

    /// A client that has not said anything yet, with what TLS knows of it.
    pub(super) fn accept_over(&self, peer: &str, tls: Option<TlsInfo>) -> Client {
        let peer: SocketAddr = peer.parse().expect("an address");
        let id = self.broker.connections.next_id();
        let handle = ConnectionHandle::new(id, peer, SocketAddr::from(([127, 0, 0, 1], 5672)), tls, 1);
        self.broker.connections.add(handle.clone());
        Client::new(Session::new(self.broker.clone(), handle))
    }

    /// A client with an open connection and channel 1.
    pub(super) fn connect(&self) -> Client {
        let mut client = self.accept("127.0.0.1:50000");
        client.log_in("guest", "guest");
        client.open_channel(1);
        client
    }

    /// Writes and syncs all that the journal has.
    pub(super) fn sync(&self) {
        while self.broker.store.durable() < self.broker.store.appended() {
            self.broker.store.step_journal().expect("the disk works");
        }
    }

    /// Moves all messages that are in memory to segments.
    pub(super) fn spill(&self) {
        self.sync();
        let end = self.broker.store.appended();
        self.broker.store.retire_to(end, u64::MAX, &self.residents).expect("the disk works");
    }

    /// Answers all reads that queues have asked for.
    pub(super) fn load(&self) {
        // Without power a read fails and is asked for again at once.
        while !self.disk.is_cut() && self.broker.store.load_once(&self.residents) {}
    }

    /// The process is killed, and another one starts.
    pub(super) fn kill(self) -> Self {
        self.disk.kill_process();
        Self::on(self.disk.clone())
    }

    pub(super) fn unload(&self) {
        self.residents.unload();
    }
}

/// Opens the store on a disk. The salt must be another one each time.
pub(super) fn open(disk: &SimDisk, salt: u64) -> Result<(Arc<Store>, Recovered), store::OpenError> {
    Store::open_stepped(store::Options::small(PathBuf::from("/data"), salt), Arc::new(disk.clone()))
}
