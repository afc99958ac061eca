//! What comes to the task's thread.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use consensus::MemberId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::report::{RemoteOrder, encode_outcome};
use crate::address::Address;
use crate::control::ControlError;
use crate::formation::SeedNode;
use crate::peers::{CallAnswer, CallError, NameError};
use crate::wire::{Identity, NodeName};

/// Something has happened.
pub(super) enum Event {
    /// A node asks.
    Called { from: Identity, name: String, payload: Vec<u8>, answer: CallAnswer },
    /// Names were looked up.
    Discovered(Result<Vec<SeedNode>, String>),
    /// A question of the formation was answered.
    Answered { number: u64, answer: Result<Vec<u8>, CallError> },
    /// A node was asked to let this one in, as this member.
    JoinAnswered { peer: SeedNode, member: MemberId, answer: Result<Vec<u8>, CallError> },
    /// The node at an address that an operator gave has said its name.
    Named { address: Address, name: Result<NodeName, NameError> },
    /// A peer has reported itself, or has not.
    NodeAnswered { peer: NodeName, answer: Result<Vec<u8>, CallError> },
    /// A peer has answered how it is, or has not.
    VitalsAnswered { peer: NodeName, asked_at: Instant, answered_at: Instant, answer: Result<Vec<u8>, CallError> },
    /// A node has answered the order that was passed on to it, or has not.
    OrderAnswered { passed: Box<PassedOrder>, answer: Result<Vec<u8>, CallError> },
    /// Another one does not want this one as a peer, and why; None: it does not yet.
    Rejected { peer: NodeName, sentence: Option<String> },
    /// The leader has removed this member, or not.
    Left { outcome: Result<String, ControlError>, reply: Reply },
    /// A link stands: this node reports itself to its other end.
    Connected(NodeName),
    /// Another node leads, or none is known to.
    LeaderChanged(Option<NodeName>),
    /// The member cannot go on.
    Failed(String),
    /// An operator orders something.
    Ordered { order: Order, reply: Reply },
    /// The node ends.
    Stop,
}

/// An order on its way.
pub(super) struct PassedOrder {
    pub(super) to: NodeName,
    pub(super) order: RemoteOrder,
    /// Which member is removed by it.
    pub(super) leaver: Option<MemberId>,
    /// Its answer was lost before.
    pub(super) is_again: bool,
    pub(super) reply: Reply,
}

/// What an operator orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    Join {
        seed: String,
        force: bool,
    },
    Forget {
        name: String,
    },
    /// A member leaves by its own wish.
    Leave {
        member: MemberId,
    },
    Reset {
        node: Option<String>,
        force: bool,
    },
    Drain {
        node: Option<String>,
    },
    Revive {
        node: Option<String>,
    },
    App {
        node: Option<String>,
        runs: bool,
    },
    Transfer {
        to: Option<String>,
    },
}

/// Where the outcome of an order is sent.
pub(super) enum Reply {
    Here(oneshot::Sender<Result<String, ControlError>>),
    ToPeer(CallAnswer),
}

impl Reply {
    pub(super) fn give(self, outcome: Result<String, ControlError>) {
        match self {
            // An operator that has left does not hear it.
            Reply::Here(to) => drop(to.send(outcome)),
            Reply::ToPeer(answer) => answer.give(&encode_outcome(&outcome)),
        }
    }
}

/// Where events are put in.
pub(super) struct Inbox(Mutex<Sender<Event>>);

impl Inbox {
    pub(super) fn new() -> (Self, Receiver<Event>) {
        let (tx, rx) = channel();
        (Inbox(Mutex::new(tx)), rx)
    }

    /// Never waits. What comes after the node's end is dropped.
    pub(super) fn put(&self, event: Event) {
        let _ = self.0.lock().send(event);
    }
}
