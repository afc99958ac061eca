//! What makes a member of a group run: its clock, its links, and the moments at which a node's broker starts and stops.
//!
//! ```text
//!  links' thread    what arrives ─► Member::receive
//!  journal's writer Member ─► `transport` ─► links
//!  clock            Member::tick, every 20 ms; faster while the leader's process is known to be gone
//!  work             elected: opens the store, and the owner serves clients on it; lost: the owner stops, and the member follows again
//!  fetch            a follower's checkpoints, and what is shipped to a member that is far behind
//! ```

mod clock;
mod fetch;
mod handler;
mod shipping;
mod transport;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use consensus::{GroupId, MemberChange, MemberId, PeerStatus, Refusal, Status, Timing};
use parking_lot::{Condvar, Mutex};
use store::file::Disk;
use store::member::{Member, MemberError, Situation};
use store::{RecoveredStore, Store};

use crate::link::{NodeName, Secret};
use crate::links::{LinkTls, Links, PeerAddress, Setup, StartError};
use fetch::Ordered;
use shipping::Shipments;
use transport::LinkTransport;

/// The one group there is.
pub(crate) const GROUP: GroupId = GroupId(1);
/// Time between two ticks of the engine.
const TICK: Duration = Duration::from_millis(20);
/// A heartbeat every 100 ms; an election after one to two seconds without any.
const TIMING: Timing = Timing { heartbeat_ticks: 5, election_ticks: 50 };

/// What a node does as its member leads or does not.
pub trait NodeOwner: Send + Sync + 'static {
    /// This node leads: it is to serve clients on this store, and returns when it does.
    ///
    /// # Errors
    ///
    /// It cannot. The node gives up.
    fn serve(&self, store: Arc<Store>, recovered: RecoveredStore) -> Result<(), String>;

    /// This node does not lead any more: it stops serving, and returns when nothing of the store is in use.
    fn stop(&self);

    /// Another node leads, or none is known to.
    fn leader_changed(&self, leader: Option<NodeName>);

    /// The node cannot go on as a member; the reason. It has to end, or to join anew.
    fn failed(&self, reason: &str);
}

/// How a node begins.
pub struct DriverSetup {
    /// About its directory, which is a member's, and its journal.
    pub store: store::Options,
    /// What holds it.
    pub disk: Arc<dyn Disk>,
    /// Where its links listen.
    pub listen: std::net::SocketAddr,
    /// What peers have to know.
    pub secret: Secret,
    /// Mutual TLS, if wanted.
    pub tls: Option<Arc<LinkTls>>,
    /// Which of the node's starts this is.
    pub incarnation: u64,
    /// Up to which level it knows formats.
    pub level: u32,
    /// Where the others are.
    pub peers: Vec<PeerAddress>,
    /// Where random numbers begin.
    pub seed: u64,
}

/// Why a node does not run.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// Its directory cannot be used.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// It has no links.
    #[error(transparent)]
    Links(#[from] StartError),
    /// The name in its directory is none.
    #[error("the data directory is of a node without a proper name")]
    Name,
    /// The system gives no thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// A node of a cluster that runs.
pub struct Driver {
    shared: Arc<DriverShared>,
    threads: Vec<JoinHandle<()>>,
}

/// What its threads share.
pub(crate) struct DriverShared {
    pub(crate) member: Member,
    transport: Arc<LinkTransport>,
    owner: Arc<dyn NodeOwner>,
    /// While this node leads: for files that others fetch.
    store: Mutex<Option<Arc<Store>>>,
    shipments: Mutex<Shipments>,
    /// What a leader has ordered this node to fetch.
    ordered: Mutex<Option<Ordered>>,
    ordering: Condvar,
    /// The leader's process is gone: its host refuses connections.
    is_leader_gone: AtomicBool,
    is_stopping: AtomicBool,
    stopping: (Mutex<()>, Condvar),
}

impl Driver {
    /// Opens the member, and has it run.
    ///
    /// # Errors
    ///
    /// Its directory is no member's, is damaged or in use; the port is taken; the system refuses.
    pub fn start(setup: DriverSetup, owner: Arc<dyn NodeOwner>) -> Result<Driver, DriverError> {
        let DriverSetup { store, disk, listen, secret, tls, incarnation, level, peers, seed } = setup;
        let transport = Arc::new(LinkTransport::default());
        let options = store::member::Options { store, timing: TIMING, seed, is_stepped: false };
        let member = Member::open(options, disk, transport.clone())?;
        let identity = handler::identity_of(member.identity(), incarnation, level).ok_or(DriverError::Name)?;
        let shared = Arc::new(DriverShared {
            member,
            transport: transport.clone(),
            owner,
            store: Mutex::default(),
            shipments: Mutex::default(),
            ordered: Mutex::default(),
            ordering: Condvar::new(),
            is_leader_gone: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            stopping: Default::default(),
        });
        let local = crate::link::Local::new(identity, secret);
        let links = Links::start(Setup { listen, local, tls, peers }, shared.clone())?;
        transport.connect(links);
        let mut driver = Driver { shared, threads: Vec::new() };
        driver.spawn("cluster clock", clock::run)?;
        driver.spawn("cluster work", work::run)?;
        driver.spawn("cluster fetch", fetch::run)?;
        Ok(driver)
    }

    fn spawn(&mut self, name: &str, run: fn(&Arc<DriverShared>)) -> std::io::Result<()> {
        let shared = self.shared.clone();
        self.threads.push(std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&shared))?);
        Ok(())
    }

    /// The links to the others.
    ///
    /// # Panics
    ///
    /// Never: a driver that runs has them.
    #[must_use]
    pub fn links(&self) -> Arc<Links> {
        self.shared.transport.links().expect("a driver that runs has links")
    }

    /// How the member stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.member.status()
    }

    /// How far the others are, by a leader's knowledge.
    #[must_use]
    pub fn peers(&self) -> Vec<PeerStatus> {
        self.shared.member.peers()
    }

    /// Has a change of members appended.
    ///
    /// # Errors
    ///
    /// This node does not lead, or the change cannot be made now.
    pub fn change(&self, change: &MemberChange) -> Result<(), Refusal> {
        self.shared.member.change(change)
    }

    /// Hands over to another voter, if this node leads.
    pub fn transfer(&self, to: MemberId) {
        self.shared.member.transfer(to);
    }

    /// Whether this node serves clients on its store.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.shared.store.lock().is_some()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        drop(self.shared.stopping.0.lock());
        self.shared.stopping.1.notify_all();
        drop(self.shared.ordered.lock());
        self.shared.ordering.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if self.shared.store.lock().take().is_some() {
            self.shared.owner.stop();
        }
        self.shared.shipments.lock().clear();
        self.shared.transport.close();
    }
}

impl DriverShared {
    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Waits a while, or until the node stops; says whether it does.
    fn sleep(&self, time: Duration) -> bool {
        let mut lock = self.stopping.0.lock();
        if !self.is_stopping() {
            let _ = self.stopping.1.wait_for(&mut lock, time);
        }
        self.is_stopping()
    }

    /// Whom this member follows, if it follows another.
    fn leader(&self) -> Option<NodeName> {
        match self.member.situation() {
            Situation::Following { leader: Some(leader) } => self.transport.find(leader),
            _ => None,
        }
    }
}
