//! The nodes, and what can be done to them.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cluster::control::{ClusterView, Control, ControlError, NodeFigures, Outcome, Role};
use cluster::formation::Settings;
use cluster::wire::{NodeName, Secret};
use cluster::{
    Address, ClientSituation, ClusterNode, Contents, Discovery, ForwardedClient, Host, Names, NodeAlarms, NodeError,
    NodeSetup,
};
use parking_lot::Mutex;
use store::file::RealDisk;
use store::{RecordBatch, RecoveredStore, Store};

use crate::no_queues::NoQueues;

/// Longer than anything here takes.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

/// What a node serves: keys, found and put.
#[derive(Default)]
pub(super) struct Served {
    store: Mutex<Option<(Arc<Store>, RecoveredStore)>>,
    pub(super) situation: Mutex<Option<ClientSituation>>,
    pub(super) failure: Mutex<Option<String>>,
    pub(super) own_refusal: Mutex<Option<String>>,
    pause_count: Mutex<u32>,
    /// How often clients were closed.
    pub(super) close_count: Mutex<u32>,
    /// How far the time of what it serves is ahead of the system's clock.
    pub(super) ahead_ms: Mutex<i64>,
    pub(super) alarms: Mutex<NodeAlarms>,
    pub(super) peer_alarms: Mutex<Vec<(String, NodeAlarms)>>,
}

impl Host for Served {
    fn serve(&self, store: Arc<Store>, recovered: RecoveredStore, ahead_ms: Option<i64>) -> Result<(), String> {
        *self.ahead_ms.lock() = ahead_ms.unwrap_or(0);
        store.start(Arc::new(NoQueues));
        *self.store.lock() = Some((store, recovered));
        Ok(())
    }

    fn pause(&self) {
        *self.pause_count.lock() += 1;
        if let Some((store, _)) = &*self.store.lock() {
            let since = Instant::now();
            while store.durable() < store.appended() && store.failure().is_none() && since.elapsed() < TIMEOUT {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn stop(&self, _: &str) {
        self.store.lock().take();
    }

    fn set_situation(&self, situation: ClientSituation) {
        *self.situation.lock() = Some(situation);
    }

    fn refuse_own(&self, reason: Option<&str>) {
        *self.own_refusal.lock() = reason.map(str::to_owned);
    }

    fn close_clients(&self, _: &str) {
        *self.close_count.lock() += 1;
    }

    fn forwarded(&self, _: ForwardedClient) {}

    fn contents(&self) -> Option<Contents> {
        let store = self.store.lock();
        let (store, recovered) = store.as_ref()?;
        let is_empty = store.appended() == model::ids::JournalPosition::START && recovered.definitions.is_empty();
        (!is_empty).then_some(Contents { queues: 1, messages: 2 })
    }

    fn alarms(&self) -> NodeAlarms {
        *self.alarms.lock()
    }

    fn peer_alarms(&self, alarms: &[(NodeName, NodeAlarms)]) {
        *self.peer_alarms.lock() = alarms.iter().map(|(name, alarms)| (name.to_string(), *alarms)).collect();
    }

    fn broker_ms(&self) -> Option<u64> {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        self.store.lock().as_ref().map(|_| now_ms.saturating_add_signed(*self.ahead_ms.lock()))
    }

    fn figures(&self) -> NodeFigures {
        NodeFigures { memory_used_len: 7 << 20, ..NodeFigures::default() }
    }

    fn failed(&self, reason: &str) {
        *self.failure.lock() = Some(reason.to_owned());
    }
}

impl Served {
    pub(super) fn is_serving(&self) -> bool {
        self.store.lock().is_some()
    }
}

/// A node, running or not.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) dir: PathBuf,
    pub(super) served: Arc<Served>,
    pub(super) cluster: Option<ClusterNode>,
    /// Up to which level it knows formats.
    pub(super) level: u32,
}

/// Some nodes.
pub(super) struct World {
    dir: PathBuf,
    ports: Arc<Mutex<HashMap<String, u16>>>,
    pub(super) nodes: Vec<Node>,
    /// All nodes have these in their lists; none: they look for none.
    pub(super) listed: Vec<usize>,
    pub(super) secret: &'static str,
}

pub(super) fn options(dir: &Path) -> store::Options {
    let mut options = store::Options::new(dir.to_path_buf());
    options.journal.file_len = 1 << 20;
    options.journal.unretired_len_max = 4 << 20;
    options.is_reserve_kept = false;
    options
}

impl World {
    /// So many nodes that do not run yet. `listed`: whether they are to form a cluster by themselves.
    pub(super) fn of(test: &str, count: usize, listed: bool) -> World {
        let dir = std::env::temp_dir().join(format!("warren-node-task-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let node = |number: usize| Node {
            name: format!("hare{number}@127.0.0.1"),
            dir: dir.join(format!("{number}")),
            served: Arc::default(),
            cluster: None,
            level: 1,
        };
        World {
            ports: Arc::default(),
            nodes: (0..count).map(node).collect(),
            listed: if listed { (0..count).collect() } else { Vec::new() },
            secret: "what all know",
            dir,
        }
    }

    pub(super) fn try_start(&mut self, number: usize) -> Result<(), NodeError> {
        let ports = self.ports.clone();
        let address_of = move |name: &str| Address::new("127.0.0.1", *ports.lock().get(name)?);
        let names: Vec<_> = self.listed.iter().map(|number| self.nodes[*number].name.clone()).collect();
        let node = &mut self.nodes[number];
        node.served = Arc::default();
        let port = self.ports.lock().get(&node.name).copied().unwrap_or(0);
        let setup = NodeSetup {
            name: NodeName::new(&node.name).unwrap(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            advertise: None,
            secret: Secret::new(self.secret.as_bytes()),
            tls: None,
            version: "0.0.1".to_owned(),
            level: node.level,
            formation: Settings {
                is_configured: !names.is_empty(),
                size_hint: 0,
                retry_limit: u32::MAX,
                interval_ms: 50,
            },
            names: Names {
                discovery: (!names.is_empty()).then_some(Discovery::Listed(names)),
                address_of: Arc::new(address_of),
                prefix: "hare".to_owned(),
                port: 25_672,
            },
            store: options(&node.dir),
            disk: Arc::new(RealDisk),
            heartbeat: Duration::from_millis(40),
            election_timeout: Duration::from_millis(400),
        };
        let cluster = ClusterNode::start(setup, node.served.clone())?;
        self.ports.lock().insert(node.name.clone(), cluster.links().address().port());
        node.cluster = Some(cluster);
        Ok(())
    }

    pub(super) fn start(&mut self, number: usize) {
        self.try_start(number).unwrap();
    }

    pub(super) fn start_all(&mut self) {
        (0..self.nodes.len()).for_each(|number| self.start(number));
    }

    /// Ends a node in good order.
    pub(super) fn stop(&mut self, number: usize) {
        self.nodes[number].cluster = None;
        self.nodes[number].served.store.lock().take();
    }

    pub(super) fn view(&self, number: usize) -> Arc<ClusterView> {
        self.nodes[number].cluster.as_ref().unwrap().view()
    }

    pub(super) fn control(&self, number: usize) -> &ClusterNode {
        self.nodes[number].cluster.as_ref().unwrap()
    }

    /// The node that serves, if one does.
    pub(super) fn server(&self) -> Option<usize> {
        self.nodes.iter().position(|node| node.cluster.is_some() && node.served.store.lock().is_some())
    }

    /// Waits until these nodes are a cluster in which all vote, and a leader is known to all.
    pub(super) fn wait_for_cluster_of(&self, numbers: &[usize]) {
        let is_whole = |number: &usize| {
            let view = self.view(*number);
            let voters = view.members.iter().filter(|member| member.role != Role::Learner && member.is_running).count();
            view.cluster.is_some()
                && view.leader.is_some()
                && view.members.len() == numbers.len()
                && voters == numbers.len()
        };
        wait_until("a cluster", || numbers.iter().all(is_whole));
    }

    /// Waits until whatever node serves has made a key durable; says which did.
    pub(super) fn put(&self, key: &str) -> usize {
        let since = Instant::now();
        loop {
            assert!(since.elapsed() < TIMEOUT, "{key} is not committed");
            let Some(server) = self.server() else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            let store = self.nodes[server].served.store.lock().as_ref().map(|(store, _)| store.clone());
            let Some(store) = store else { continue };
            let mut batch = RecordBatch::new();
            batch.put(key.as_bytes(), &[7; 100]);
            let end = store.append(&mut batch);
            while store.durable() < end && store.failure().is_none() && since.elapsed() < TIMEOUT {
                std::thread::sleep(Duration::from_millis(1));
            }
            if store.durable() >= end {
                return server;
            }
        }
    }

    /// Whether the node that serves was opened with a key.
    pub(super) fn has(&self, number: usize, key: &str) -> bool {
        let served = self.nodes[number].served.store.lock();
        served.as_ref().is_some_and(|(_, recovered)| recovered.definitions.contains_key(key.as_bytes()))
    }

    pub(super) fn failure(&self, number: usize) -> String {
        wait_until("a failure", || self.nodes[number].served.failure.lock().is_some());
        self.nodes[number].served.failure.lock().clone().unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|number| self.stop(number));
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[track_caller]
pub(super) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < TIMEOUT, "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The outcome of an order.
pub(super) fn done<T>(outcome: Outcome<T>) -> Result<T, ControlError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(outcome)
}

/// Writes what was copied over what the directory has now, into the same files: as a disk that is rolled back.
pub(super) fn roll_back(copy: &Path, dir: &Path) {
    let names =
        |dir: &Path| -> Vec<_> { std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect() };
    for name in names(dir).into_iter().filter(|name| !copy.join(name).exists()) {
        let path = dir.join(name);
        if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
    }
    for name in names(copy) {
        let (from, to) = (copy.join(&name), dir.join(&name));
        if from.is_dir() && to.is_dir() {
            roll_back(&from, &to);
        } else if from.is_dir() {
            copy_dir(&from, &to);
        } else {
            std::fs::write(to, std::fs::read(from).unwrap()).unwrap();
        }
    }
}

/// Copies a directory as it is.
pub(super) fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
