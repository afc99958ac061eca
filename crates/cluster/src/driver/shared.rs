//! What a driver's threads share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use consensus::MemberId;
use member::{Member, Situation};
use parking_lot::{Condvar, Mutex};
use store::Store;

use super::fetch::FetchOrder;
use super::owner::NodeOwner;
use super::shipping::Shipments;
use super::transport::LinkTransport;
use crate::wire::NodeName;

/// What its threads share.
pub(crate) struct DriverShared {
    pub(crate) member: Member,
    pub(super) transport: Arc<LinkTransport>,
    pub(super) owner: Arc<dyn NodeOwner>,
    /// While this node leads: for files that others fetch.
    pub(super) store: Mutex<Option<Arc<Store>>>,
    pub(super) shipments: Mutex<Shipments>,
    /// What a leader has ordered this node to fetch.
    pub(super) ordered: Mutex<Option<FetchOrder>>,
    pub(super) ordering: Condvar,
    /// The leader's process has ended: its host refuses connections.
    pub(super) has_leader_ended: AtomicBool,
    /// To which member this node is to hand over.
    pub(super) handing_over: Mutex<Option<MemberId>>,
    pub(super) is_stopping: AtomicBool,
    pub(super) stopping: (Mutex<()>, Condvar),
}

impl DriverShared {
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Waits a while, or until the node stops; says whether it does.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        let mut lock = self.stopping.0.lock();
        if !self.is_stopping() {
            let _ = self.stopping.1.wait_for(&mut lock, time);
        }
        self.is_stopping()
    }

    /// Which leader this member follows, if it follows another.
    pub(super) fn leader(&self) -> Option<NodeName> {
        match self.member.situation() {
            Situation::Following { leader: Some(leader) } => self.transport.find(leader),
            _ => None,
        }
    }
}
