//! What a protocol is to the broker: what it writes of what the broker says, and what it makes of what a client sends.
//!
//! The broker's side of a session is a [`Front`], which is the same for all. A protocol is compiled with it, for itself: nothing is
//! called by a table of functions.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use engine::lane::LaneNumber;
use message::Parts;
use model::refusal::Refusal;
use queue::Counts;

use super::Front;
use super::confirms::Confirm;
use super::drain;
use super::incoming::Incoming;
use super::waits::LoadingGet;
use crate::broker::Broker;
use crate::connections::ConnectionHandle;

/// A delivery that is to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery<'a> {
    /// The tag of its consumer.
    pub(crate) consumer_tag: &'a [u8],
    /// By which its lane knows it.
    pub(crate) tag: u64,
    /// Whether it may have been delivered before.
    pub(crate) is_redelivered: bool,
    /// How often its queue has had it back, where its type counts that.
    pub(crate) counts: Option<Counts>,
    /// The message as it is stored.
    pub(crate) content: &'a [u8],
    /// The same, read.
    pub(crate) parts: &'a Parts<'a>,
}

/// A protocol, with the state of one session of it.
pub(crate) trait Protocol: Sized + Send + 'static {
    /// What a lane keeps for it.
    type Lane: fmt::Debug + Send;
    /// What client and server have agreed on: what is written depends on it.
    type Agreed: fmt::Debug + Send;

    /// Writes a delivery.
    fn put_delivery(out: &mut Vec<u8>, agreed: &Self::Agreed, lane: LaneNumber, delivery: &Delivery<'_>);

    /// Gives a message back to its publisher: no queue wants it.
    fn put_returned(out: &mut Vec<u8>, agreed: &Self::Agreed, lane: LaneNumber, message: &Incoming<'_>);

    /// Confirms publishes.
    fn put_confirm(out: &mut Vec<u8>, lane: LaneNumber, confirm: Confirm);

    /// Whether the client understands that the server ends its consumers.
    fn understands_cancellations(agreed: &Self::Agreed) -> bool;

    /// A consumer was ended by the server. Called for clients that understand it.
    fn put_cancelled(out: &mut Vec<u8>, lane: LaneNumber, consumer_tag: &[u8]);

    /// Publishers have to wait, for this reason.
    fn put_blocked(out: &mut Vec<u8>, agreed: &Self::Agreed, reason: &str);

    /// Publishers may go on.
    fn put_unblocked(out: &mut Vec<u8>, agreed: &Self::Agreed);

    /// A sign of life.
    fn put_heartbeat(out: &mut Vec<u8>);

    /// A session of a connection that has just been accepted.
    fn begin(broker: Arc<Broker>, handle: Arc<ConnectionHandle>) -> Self;

    /// The broker's side of the session.
    fn front(&self) -> &Front<Self>;

    /// The broker's side of the session.
    fn front_mut(&mut self) -> &mut Front<Self>;

    /// Takes whole messages of the protocol from the front of `bytes`, as many as it may, and returns how many bytes that were. What it
    /// leaves comes again, with what follows it.
    fn receive(&mut self, bytes: &[u8], now_ms: u64) -> usize;

    /// How long the protocol's message is that `bytes` begin with, if that is known: while less of it has come there is nothing to do.
    fn frame_len(&self, bytes: &[u8]) -> Option<usize>;

    /// The interval of signs of life that was agreed, by which a silent client is found; zero: none.
    fn keep_alive_interval(&self) -> Duration;

    /// The message of a get may have been read from a segment: it is tried again.
    fn retry_get(&mut self, get: LoadingGet);

    /// A lane ends, for this reason.
    fn fail_lane(&mut self, lane: LaneNumber, refusal: Box<Refusal>);

    /// The connection ends by the server's own decision, for this reason.
    fn close_by_server(&mut self, reason: &str);

    /// Does what the outbox and the journal ask for. True when something was done; else `waker` is woken when there is.
    fn drain_outbox(&mut self, waker: &Waker) -> bool {
        drain::drain_outbox(self, waker)
    }
}
