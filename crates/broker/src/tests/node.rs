//! A broker on a disk in memory, whose background work is done when a test runs it.

use crate::front::Protocol as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use model::ids::JournalPosition;
use net::TlsInfo;
use parking_lot::Mutex;
use store::file::SimDisk;
use store::{QueueOwner, RecoveredStore, Store};

use super::client::{Client, Heard};
use super::group::Trio;
use crate::broker::Broker;
use crate::connections::ConnectionHandle;
use crate::options::Options;
use crate::session::Session;
use engine::residents::QueueOwnerOfEngine;

/// When tests that stop the clock begin: later than any of them runs.
pub(super) const NOW: u64 = 4_000_000_000_000;

pub(super) struct Node {
    pub(super) broker: Arc<Broker>,
    pub(super) residents: QueueOwnerOfEngine,
    pub(super) disk: SimDisk,
    /// Up to where it knows of what was before it began.
    pub(super) recovered: JournalPosition,
    /// The group that it leads; `None`: it is alone.
    pub(super) group: Option<Arc<Mutex<Trio>>>,
}

impl Node {
    /// A new one.
    pub(super) fn new() -> Self {
        Self::on(SimDisk::new(1))
    }

    /// A new one, where time stands still, and a client of it.
    pub(super) fn standing() -> (Self, Client) {
        let node = Self::new();
        node.at(NOW);
        let client = node.connect();
        (node, client)
    }

    /// One with what is on the disk.
    pub(super) fn on(disk: SimDisk) -> Self {
        let (store, recovered) = open(&disk, 1).expect("the store opens");
        Self::over(disk, store, recovered, answering_at_once(Options::default()))
    }

    /// One with what is on the disk, whose journal is too large to be full: no publisher waits for it, and all stays in memory.
    pub(super) fn roomy(disk: SimDisk) -> Self {
        let mut options = store::Options::small(PathBuf::from("/data"), 1);
        options.journal.file_len = 1 << 20;
        options.journal.unretired_len_max = 64 << 20;
        options.journal.commit_len_max = 256 << 10;
        let (store, recovered) = Store::open_stepped(options, Arc::new(disk.clone())).expect("the store opens");
        Self::over(disk, store, recovered, answering_at_once(Options::default()))
    }

    /// A broker on an empty disk.
    pub(super) fn with(options: Options) -> Self {
        let disk = SimDisk::new(1);
        let (store, recovered) = open(&disk, 1).expect("the store opens");
        Self::over(disk, store, recovered, answering_at_once(options))
    }

    pub(super) fn over(disk: SimDisk, store: Arc<Store>, recovered: RecoveredStore, options: Options) -> Self {
        let end = store.appended();
        let broker = Broker::assemble(options, store, recovered).expect("the broker starts");
        let residents = broker.residents();
        Self { broker, residents, disk, recovered: end, group: None }
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
        Client::new(Session::begin(self.broker.clone(), handle)).over(self.group.clone())
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
        while self.broker.engine.store.durable() < self.broker.engine.store.appended() {
            self.step().expect("the disk works");
        }
    }

    /// Moves all messages that are in memory to segments.
    pub(super) fn spill(&self) {
        self.sync();
        let end = self.broker.engine.store.appended();
        self.at_last(|store| store.retire_to(end, u64::MAX, &self.residents)).expect("the disk works");
        // The journal's files that are free again are made ready.
        for _ in 0..4 {
            self.step().expect("the disk works");
        }
    }

    /// Has the journal catch up, so that no publisher has to wait for it.
    pub(super) fn relieve(&self) {
        self.sync();
        if self.broker.engine.store.is_congested() {
            self.spill();
        }
    }

    /// Answers all reads that queues have asked for.
    pub(super) fn load(&self) {
        // Without power a read fails and is asked for again at once.
        while !self.disk.is_cut() && self.broker.engine.store.load_once(&self.residents) {}
    }

    /// Answers one read that a queue has asked for. False: none has.
    pub(super) fn load_one(&self) -> bool {
        self.broker.engine.store.load_once(&self.residents)
    }

    /// The process is killed, and another one starts.
    pub(super) fn kill(self) -> Self {
        self.disk.kill_process();
        Self::on(self.disk.clone())
    }

    /// Time stands still here, and what is due by then is done.
    #[track_caller]
    pub(super) fn at(&self, now_ms: u64) {
        self.broker.engine.clock.set(now_ms);
        let has_rested = (0..100).any(|_| self.broker.run_due_timers() == 0);
        assert!(has_rested, "queues are due again and again at the same time");
    }

    /// Lets reads and syncs happen until nothing more can come of them, and gives what the client heard meanwhile.
    pub(super) fn listen(&self, client: &mut Client) -> Vec<Heard> {
        let mut heard = Vec::new();
        for _ in 0..4 {
            self.load();
            heard.append(&mut client.hear());
            self.sync();
        }
        heard
    }

    /// Takes all there is in a queue, for good.
    #[track_caller]
    pub(super) fn drain(&self, queue: &str) -> Vec<String> {
        self.drain_marked(queue).into_iter().map(|(body, _)| body).collect()
    }

    /// Takes all there is in a queue, for good: with whether it is marked redelivered.
    #[track_caller]
    pub(super) fn drain_marked(&self, queue: &str) -> Vec<(String, bool)> {
        let mut client = self.connect();
        let mut all = Vec::new();
        loop {
            client.get(1, queue, true);
            match self.listen(&mut client).as_slice() {
                [Heard::Message { body, redelivered, .. }] => {
                    all.push((String::from_utf8_lossy(body).into_owned(), *redelivered));
                }
                [Heard::Other("basic.get-empty")] => return all,
                other => panic!("{other:?}"),
            }
        }
    }

    /// How many messages of a queue are ready, and how many unacked.
    #[track_caller]
    pub(super) fn counts(&self, queue: &str) -> (u64, u64) {
        let counts = self.broker.queue_counts("/", queue).expect("the queue is there");
        (counts.ready, counts.unacked)
    }

    /// How many messages of a queue are neither: on their way elsewhere, or waiting.
    #[track_caller]
    pub(super) fn set_aside_count(&self, queue: &str) -> u64 {
        let vhost = self.broker.vhosts.get("/").expect("the vhost is there");
        let queue = vhost.queue(queue.as_bytes()).expect("the queue is there");
        self.broker.engine.shards.with_queue(&queue, |entry| entry.queue.set_aside_count()).expect("the queue is there")
    }

    pub(super) fn unload(&self) {
        self.residents.unload();
    }
}

/// Declarations and bindings are answered at once: most tests are about something else.
fn answering_at_once(options: Options) -> Options {
    Options { answers_definitions_at_once: true, ..options }
}

/// Opens the store on a disk. The salt must be another one each time.
pub(super) fn open(disk: &SimDisk, salt: u64) -> Result<(Arc<Store>, RecoveredStore), store::OpenError> {
    Store::open_stepped(store::Options::small(PathBuf::from("/data"), salt), Arc::new(disk.clone()))
}
