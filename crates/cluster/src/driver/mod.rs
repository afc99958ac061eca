//! What makes a member of a group run: its clock, its links, and the moments at which a node's broker starts and stops.
//!
//! ```text
//!  links' thread    what arrives ─► Member::receive
//!  journal's writer Member ─► `transport` ─► links
//!  clock            Member::tick, every 20 ms; faster while the leader's process is known to have ended
//!  work             elected: opens the store, and the owner serves clients on it; lost: the owner stops, and the member follows again
//!  fetch            a follower's checkpoints, and what is shipped to a member that is far behind
//! ```

mod calls;
mod clock;
mod fetch;
mod handler;
mod owner;
mod shared;
mod shipping;
mod transport;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use consensus::{MemberChange, MemberId, PeerStatus, Refusal, Status, Timing};
use member::{Member, MemberError, Timings};
use parking_lot::{Condvar, Mutex};
use store::file::Disk;

use crate::call_router::CallRouter;
use crate::peers::Links;
pub(crate) use calls::CALLS;
pub use clock::TICK;
pub use owner::NodeOwner;
use shared::DriverShared;
use transport::LinkTransport;

/// How a member begins.
pub struct DriverSetup {
    /// About its directory, which is a member's, and its journal.
    pub store: store::Options,
    /// What holds it.
    pub disk: Arc<dyn Disk>,
    /// How long it waits for a leader, in ticks of [`TICK`].
    pub timing: Timing,
    /// Where random numbers begin.
    pub seed: u64,
}

/// Why a member does not run.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// Its directory cannot be used.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// The system gives no thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// A member that runs.
pub struct Driver {
    shared: Arc<DriverShared>,
    router: Arc<CallRouter>,
    threads: Vec<JoinHandle<()>>,
}

impl Driver {
    /// Opens the member, and has it run: what comes for it by `router` is handed to it, and its messages are sent over `links`.
    ///
    /// # Errors
    ///
    /// Its directory is no member's, is damaged or in use; the system refuses.
    pub fn start(
        setup: DriverSetup,
        links: Arc<Links>,
        router: Arc<CallRouter>,
        owner: Arc<dyn NodeOwner>,
    ) -> Result<Driver, DriverError> {
        let DriverSetup { store, disk, timing, seed } = setup;
        let transport = Arc::new(LinkTransport::default());
        let options = member::Options { store, timing, seed, is_stepped: false };
        let member = Member::open(options, disk, transport.clone())?;
        transport.connect(links);
        let shared = Arc::new(DriverShared {
            member,
            transport,
            owner,
            store: Mutex::default(),
            shipments: Mutex::default(),
            ordered: Mutex::default(),
            ordering: Condvar::new(),
            has_leader_ended: AtomicBool::new(false),
            handing_over: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            stopping: Default::default(),
        });
        router.set_member(Some(shared.clone()));
        let mut driver = Driver { shared, router, threads: Vec::new() };
        driver.spawn("cluster clock", clock::run)?;
        driver.spawn("cluster work", work::run)?;
        driver.spawn("cluster fetch", fetch::run)?;
        Ok(driver)
    }

    fn spawn(&mut self, name: &str, run: fn(&Arc<DriverShared>)) -> std::io::Result<()> {
        let shared = self.shared.clone();
        let run = move || {
            sampler::does(sampler::Work::Cluster);
            run(&shared);
        };
        self.threads.push(std::thread::Builder::new().name(name.to_owned()).spawn(run)?);
        Ok(())
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

    /// How long commits take, by a leader's knowledge.
    #[must_use]
    pub fn timings(&self) -> Timings {
        self.shared.member.timings()
    }

    /// Where the member's log ends, in bytes.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.shared.member.end().0
    }

    /// Has a change of members appended.
    ///
    /// # Errors
    ///
    /// This node does not lead, or the change cannot be made now.
    pub fn change(&self, change: &MemberChange) -> Result<(), Refusal> {
        self.shared.member.change(change)
    }

    /// Hands over to another voter, if this node leads: soon, and perhaps not.
    pub fn hand_over(&self, to: MemberId) {
        *self.shared.handing_over.lock() = Some(to);
    }

    /// This member's identity.
    #[must_use]
    pub fn identity(&self) -> &store::group::Identity {
        self.shared.member.identity()
    }

    /// Waits until this node no longer serves, for a while at most.
    pub fn wait_until_not_serving(&self, timeout: Duration) {
        let until = Instant::now() + timeout;
        while self.is_serving() && Instant::now() < until {
            self.shared.member.wait_for_change(TICK);
        }
    }

    /// Whether this node serves clients on its store.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.shared.store.lock().is_some()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.router.set_member(None);
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        drop(self.shared.stopping.0.lock());
        self.shared.stopping.1.notify_all();
        drop(self.shared.ordered.lock());
        self.shared.ordering.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if self.shared.store.lock().is_some() {
            self.shared.owner.pause();
            self.shared.stop_serving();
        }
        self.shared.shipments.lock().clear();
        self.shared.transport.close();
    }
}
