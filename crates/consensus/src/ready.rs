//! What a member wants done, and what it says when that is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::ballot::Ballot;
use crate::entry::Entry;
use crate::ids::{Index, MemberId, Term};
use crate::members::{Base, Members};
use crate::message::Message;

/// Counts what is to be made durable, within one life of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadyNumber(pub(crate) u64);

/// What a member does in its term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// It follows, or waits for a leader.
    #[default]
    Follower,
    /// It asks for votes.
    Candidate,
    /// It leads.
    Leader,
}

/// Which member leads, as one member sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leadership {
    /// The member's term.
    pub term: Term,
    /// What the member does in it.
    pub role: Role,
    /// The member that it follows, or itself.
    pub leader: Option<MemberId>,
}

/// What is to be done after one or several calls of an engine. The caller owns it and reuses it.
///
/// To be written are, in this order: `ballot`, `restore`, `append`. All of that is durable before `persisted` is called with `number`, and
/// numbers are made durable in their order. Whatever must not leave before is held back by the engine, and comes in `send` afterwards.
#[derive(Debug, Default)]
pub struct Ready {
    /// What to call `persisted` with; nothing if there is nothing to be written.
    pub number: Option<ReadyNumber>,
    /// To be written to the ballot file.
    pub ballot: Option<Ballot>,
    /// The directory is to switch to the files that were shipped: it then has all up to that entry, and nothing after it. Until this is
    /// durable and acknowledged, the engine neither hears nor says anything.
    pub restore: Option<Base>,
    /// To be written to the journal, in place of all that it has from the first one's index on. Contents are with the caller: those that it
    /// proposed, or that came with the last `Append`.
    pub append: Vec<Entry>,
    /// To be sent at once. It may be lost.
    pub send: Vec<Message>,
    /// Members that files are to be shipped to.
    pub ship: Vec<Shipment>,
    /// A new member is to be shipped to, and the last checkpoint was made before it was one: a newer one is wanted.
    pub is_checkpoint_wanted: bool,
    /// All entries up to this one are committed: on a majority of disks, and for ever. Perhaps not yet on this disk. A leader's word: any
    /// majority of the members has them and knows itself as a majority.
    pub committed: Index,
    /// Which member leads, if that has changed.
    pub leadership: Option<Leadership>,
    /// The members, if they have changed.
    pub members: Option<Members>,
}

impl Ready {
    /// Forgets what was in it.
    pub fn clear(&mut self) {
        let (append, send) = (std::mem::take(&mut self.append), std::mem::take(&mut self.send));
        *self = Ready { append, send, ..Ready::default() };
        self.append.clear();
        self.send.clear();
    }

    /// Whether something is to be written.
    #[must_use]
    pub fn is_to_be_written(&self) -> bool {
        self.ballot.is_some() || self.restore.is_some() || !self.append.is_empty()
    }
}

const UNDER_WAY: u8 = 0;
const ARRIVED: u8 = 1;
const FAILED: u8 = 2;

/// An order to ship a member all files up to a base, and then to give it the message. The engine sends that member nothing else until
/// it knows the outcome. It always learns that: a shipment that is dropped has failed.
#[derive(Debug)]
#[must_use = "a shipment that is dropped has failed"]
pub struct Shipment {
    message: Message,
    base: Base,
    state: Arc<AtomicU8>,
}

impl Shipment {
    pub(crate) fn new(message: Message, base: Base) -> (Self, ShipmentState) {
        let state = Arc::new(AtomicU8::new(UNDER_WAY));
        let (to, term) = (message.to, message.term);
        (Shipment { message, base, state: Arc::clone(&state) }, ShipmentState { to, term, state })
    }

    /// Its receiver.
    #[must_use]
    pub fn to(&self) -> MemberId {
        self.message.to
    }

    /// The checkpoint whose files are to arrive: no more and no less.
    #[must_use]
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// What to give the receiver when all files have arrived, as it gets any message.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The receiver has the files, and has been given the message.
    pub fn arrived(self) {
        self.state.store(ARRIVED, Ordering::Release);
    }
}

impl Drop for Shipment {
    fn drop(&mut self) {
        // Not over what `arrived` has said.
        let _ = self.state.compare_exchange(UNDER_WAY, FAILED, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// The engine's end of a shipment.
#[derive(Debug)]
pub(crate) struct ShipmentState {
    pub(crate) to: MemberId,
    pub(crate) term: Term,
    state: Arc<AtomicU8>,
}

impl ShipmentState {
    /// Whether it arrived; nothing while it is under way.
    pub(crate) fn outcome(&self) -> Option<bool> {
        match self.state.load(Ordering::Acquire) {
            UNDER_WAY => None,
            state => Some(state == ARRIVED),
        }
    }
}
