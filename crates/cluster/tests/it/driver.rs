//! Three nodes with real disks and sockets, in one process: a group forms, takes records, and continues when its leader is lost.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::wire::{ClusterId, ExpectedPeer, Identity, Local, NodeName, Secret};
use cluster::{
    CallAnswer, CallRouter, Driver, DriverSetup, ForwardedClient, Links, NodeCalls, NodeOwner, PeerAddress, PeerEvent,
    Setup,
};
use consensus::{MemberChange, MemberId, MemberStep, Timing};
use member::Member;
use parking_lot::Mutex;
use store::file::{Disk, RealDisk};
use store::{RecordBatch, RecoveredStore, Store};

use crate::no_queues::NoQueues;

/// Longer than anything here takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a node serves: definitions, found and put.
#[derive(Default)]
struct Served(Mutex<Option<(Arc<Store>, RecoveredStore)>>);

impl NodeOwner for Served {
    fn serve(&self, store: Arc<Store>, recovered: RecoveredStore) -> Result<(), String> {
        store.start(Arc::new(NoQueues));
        *self.0.lock() = Some((store, recovered));
        Ok(())
    }

    fn pause(&self) {}

    fn stop(&self) {
        self.0.lock().take();
    }

    fn leader_changed(&self, _: Option<NodeName>) {}

    fn failed(&self, reason: &str) {
        panic!("a node has failed: {reason}");
    }
}

/// A node that is asked nothing.
struct NoCalls;

impl NodeCalls for NoCalls {
    fn called(&self, _: &Identity, _: &str, _: &[u8], _: CallAnswer) {}
    fn peer_changed(&self, _: &NodeName, _: &PeerEvent) {}
    fn forwarded(&self, _: ForwardedClient) {}
}

struct Node {
    name: NodeName,
    id: MemberId,
    dir: PathBuf,
    driver: Option<Driver>,
    links: Option<Arc<Links>>,
    served: Arc<Served>,
    port: u16,
}

fn options(dir: &Path) -> store::Options {
    let mut options = store::Options::new(dir.to_path_buf());
    options.journal.file_len = 1 << 20;
    options.journal.unretired_len_max = 4 << 20;
    options.is_reserve_kept = false;
    options
}

impl Node {
    fn new(number: u64) -> Node {
        let dir = std::env::temp_dir().join(format!("warren-driver-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let name = NodeName::new(&format!("rabbit@{number}")).unwrap();
        let id = MemberId::new(number).unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let make = if number == 1 { Member::found } else { Member::join };
        make(options(&dir), &disk, 77, id, name.as_str().to_owned()).unwrap();
        Node { name, id, dir, driver: None, links: None, served: Arc::default(), port: 0 }
    }

    fn start(&mut self) {
        self.served = Arc::default();
        let identity = Identity {
            cluster: ClusterId::new(77),
            name: self.name.clone(),
            member: Some(self.id),
            incarnation: 1,
            level: 1,
        };
        let router = CallRouter::new(Arc::new(NoCalls));
        let links = Setup {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)),
            local: Local::new(identity, Secret::new(b"what all three know").unwrap()),
            tls: None,
            peers: Vec::new(),
        };
        let links = Arc::new(Links::start(links, router.clone()).unwrap());
        let setup = DriverSetup {
            store: options(&self.dir),
            disk: Arc::new(RealDisk),
            timing: Timing { heartbeat_ticks: 5, election_ticks: 50 },
            seed: self.id.get(),
        };
        self.port = links.address().port();
        self.driver = Some(Driver::start(setup, links.clone(), router, self.served.clone()).unwrap());
        self.links = Some(links);
    }

    fn stop(&mut self) {
        self.driver = None;
        if let Some(links) = self.links.take() {
            links.close();
        }
    }

    fn address(&self) -> PeerAddress {
        let node = ExpectedPeer { name: self.name.clone(), member: Some(self.id) };
        PeerAddress { node, host: "127.0.0.1".to_owned(), port: self.port }
    }

    /// The store, if this node leads.
    fn store(&self) -> Option<Arc<Store>> {
        self.served.0.lock().as_ref().map(|(store, _)| store.clone())
    }
}

fn introduce(nodes: &[Node]) {
    for node in nodes {
        let others = nodes.iter().filter(|other| other.id != node.id && other.driver.is_some()).map(Node::address);
        if let Some(links) = &node.links {
            links.set_peers(others.collect());
        }
    }
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < TIMEOUT, "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn leader(nodes: &[Node]) -> Option<usize> {
    nodes.iter().position(|node| node.store().is_some())
}

/// Waits until the group has committed a record with this key.
fn put(nodes: &[Node], key: &str) {
    let since = Instant::now();
    loop {
        assert!(since.elapsed() < TIMEOUT, "{key} is not committed");
        let Some(store) = leader(nodes).and_then(|leader| nodes[leader].store()) else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let mut batch = RecordBatch::new();
        batch.put(key.as_bytes(), &[7; 1000]);
        let end = store.append(&mut batch);
        while store.durable() < end && store.failure().is_none() && since.elapsed() < TIMEOUT {
            std::thread::sleep(Duration::from_millis(1));
        }
        if store.durable() >= end {
            return;
        }
    }
}

fn change(nodes: &[Node], step: MemberStep) {
    wait_until("a change of members", || {
        let leader = leader(nodes).map(|leader| &nodes[leader]);
        leader.is_some_and(|node| node.driver.as_ref().unwrap().change(&MemberChange::of(step)).is_ok())
    });
}

#[test]
fn a_group_forms_and_loses_nothing_with_its_leader() {
    let mut nodes: Vec<_> = (1..=3).map(Node::new).collect();
    nodes.iter_mut().for_each(Node::start);
    introduce(&nodes);
    (0..2000).step_by(100).for_each(|number| put(&nodes, &format!("alone/{number}")));
    for number in [1, 2] {
        let id = nodes[number].id;
        change(&nodes, MemberStep::AddLearner(id));
        wait_until("a learner that has caught up", || {
            let node = &nodes[leader(&nodes).unwrap()];
            let peers = node.driver.as_ref().unwrap().peers();
            let last = node.driver.as_ref().unwrap().status().last.index;
            peers.iter().any(|peer| peer.member == id && peer.upto == last)
        });
        change(&nodes, MemberStep::AddVoter(id));
        put(&nodes, &format!("joined/{number}"));
    }
    for round in 0..4 {
        for number in 0..50 {
            put(&nodes, &format!("round/{round}/{number}"));
        }
        let lost = leader(&nodes).unwrap();
        nodes[lost].stop();
        put(&nodes, &format!("after/{round}"));
        let now = leader(&nodes).unwrap();
        assert_ne!(now, lost);
        let served = nodes[now].served.0.lock();
        let definitions = &served.as_ref().unwrap().1.definitions;
        assert!(definitions.contains_key(b"alone/1900".as_slice()) && definitions.contains_key(b"joined/2".as_slice()));
        for earlier in 0..=round {
            let all = (0..50).all(|number| definitions.contains_key(format!("round/{earlier}/{number}").as_bytes()));
            assert!(all, "something of round {earlier} is lost");
        }
        drop(served);
        nodes[lost].start();
        introduce(&nodes);
    }
    for node in &mut nodes {
        node.stop();
        std::fs::remove_dir_all(&node.dir).unwrap();
    }
}
