//! The broker's side of a connection's session, without its socket and without its protocol.
//!
//! A [`Protocol`] takes apart what a client sends, asks the front for what that means, and writes what the front says. Many protocols
//! share it: it knows lanes, publishes, consumers, settlements, logins and how a connection ends, and no frame of any protocol.
//!
//! - `protocol` is what a protocol is, `connection` moves bytes between a socket and a session of one.
//! - What a client asks for: `opening` (logins), `publish`, `consume`, `settle`, `commit`.
//! - What a front is made of: `lanes`, `consumer_slots`, `deliveries`, `waits`, `publisher_flow`, `principal`, `resources`, `routes`.
//! - How it goes on and ends: `drain`, `deliver`, `publish_hold`, `departures`, `ending`.
//! - What is reported of messages: `tracer`. What is timed: `stages`, `answers`.

mod answers;
mod buffers;
mod commit;
mod confirms;
pub(crate) mod connection;
mod connection_resources;
mod consume;
mod consumer_slots;
mod deliver;
mod deliveries;
mod departures;
mod disposition;
mod drain;
mod ending;
mod incoming;
mod lane;
mod lanes;
mod last_route;
mod memory;
mod opening;
mod phase;
mod principal;
mod protocol;
mod publish;
mod publish_hold;
mod publisher_flow;
mod received;
mod routes;
mod settle;
mod stages;
mod tracer;
mod transaction;
mod unacked;
mod waits;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use engine::batch::Batch;
use engine::lane::LaneNumber;

pub(crate) use confirms::Confirm;
pub(crate) use consume::{ConsumeRequest, Got, GotMessage};
pub(crate) use disposition::Disposition;
pub(crate) use incoming::Incoming;
pub(crate) use lane::Lane;
pub(crate) use opening::{Negotiated, Renewal};
pub(crate) use phase::Phase;
pub(crate) use protocol::{Delivery, KeepAlive, Protocol};
pub(crate) use tracer::client_name;
pub(crate) use waits::LoadingGet;

use crate::broker::Broker;
use crate::connections::{ConnectionHandle, ConnectionState};
use crate::identity::{Interface, Origin};
use crate::limits::{OUTPUT_LEN, PUBLISHER_PAUSE_LEN, PUBLISHER_PAUSES_MAX};
use crate::statistics::TurnCounts;
use crate::vhost::Vhost;
use crate::vhost_access::VhostAccess;
use connection_resources::ConnectionResources;
use consumer_slots::ConsumerSlots;
use deliveries::Deliveries;
use lanes::Lanes;
use principal::Principal;
use publisher_flow::PublisherFlow;
use routes::Routes;
use stages::Stages;
use tracer::Tracer;
use waits::{Question, Waits};

/// The broker's side of one connection.
#[derive(Debug)]
pub(crate) struct Front<P: Protocol> {
    broker: Arc<Broker>,
    handle: Arc<ConnectionHandle>,
    /// Bytes to send.
    out: Vec<u8>,
    phase: Phase,
    agreed: P::Agreed,
    principal: Principal,
    lanes: Lanes<P::Lane>,
    consumers: ConsumerSlots,
    batch: Batch,
    routes: Routes,
    deliveries: Deliveries,
    waits: Waits,
    flow: PublisherFlow,
    resources: ConnectionResources,
    stages: Stages,
    turn: Turn,
    /// What was reported of messages; None: nothing yet.
    tracer: Option<Box<Tracer>>,
}

/// What one read, and what was done because of it, came to.
#[derive(Debug, Default)]
struct Turn {
    /// When what is being received arrived, in milliseconds since 1970.
    now_ms: u64,
    /// When the last read brought it.
    received_at: Option<Instant>,
    /// What has been counted.
    counted: TurnCounts,
}

impl<P: Protocol> Front<P> {
    /// Of a connection that has just been accepted.
    pub(crate) fn new(broker: Arc<Broker>, handle: Arc<ConnectionHandle>, agreed: P::Agreed) -> Self {
        Self {
            phase: Phase::Opening,
            agreed,
            principal: Principal::default(),
            lanes: Lanes::default(),
            consumers: ConsumerSlots::default(),
            batch: Batch::default(),
            routes: Routes::new(broker.hash_seed),
            deliveries: Deliveries::default(),
            waits: Waits::default(),
            flow: PublisherFlow::default(),
            resources: ConnectionResources::default(),
            stages: Stages::new(handle.id.0),
            turn: Turn::default(),
            tracer: None,
            out: Vec::new(),
            handle,
            broker,
        }
    }

    pub(crate) fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// What listings know of the connection.
    pub(crate) fn handle(&self) -> &Arc<ConnectionHandle> {
        &self.handle
    }

    /// What client and server have agreed on.
    #[inline]
    pub(crate) fn agreed(&self) -> &P::Agreed {
        &self.agreed
    }

    /// What client and server agree on, where it is agreed.
    pub(crate) fn agreed_mut(&mut self) -> &mut P::Agreed {
        &mut self.agreed
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether the client may publish and consume.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    /// Where the protocol writes its answers.
    #[inline]
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// The same, beside what was agreed.
    #[inline]
    pub(crate) fn out_and_agreed(&mut self) -> (&mut Vec<u8>, &P::Agreed) {
        (&mut self.out, &self.agreed)
    }

    /// Bytes to send.
    #[inline]
    pub(crate) fn output(&self) -> &[u8] {
        &self.out
    }

    #[cfg(test)]
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    #[cfg(test)]
    pub(crate) fn has_exclusive_queues(&self) -> bool {
        self.resources.has_queues()
    }

    /// As if the client had published while an alarm is on.
    #[cfg(test)]
    pub(crate) fn set_blocked(&mut self) {
        self.flow.set_blocked(true);
    }

    /// So many bytes of the output have been sent.
    #[inline]
    pub(super) fn remove_output(&mut self, len: usize) {
        self.out.drain(..len);
    }

    /// All of the output has been sent, or the client reads it no more.
    #[inline]
    pub(crate) fn clear_output(&mut self) {
        self.out.clear();
    }

    pub(super) fn send_heartbeat(&mut self) {
        P::put_heartbeat(&mut self.out);
    }

    /// The vhost of an open connection.
    #[inline]
    pub(crate) fn vhost(&self) -> &Arc<Vhost> {
        &self.access().vhost
    }

    /// The user in its vhost.
    #[inline]
    pub(crate) fn access(&self) -> &VhostAccess {
        self.principal.access()
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.handle.peer
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin { peer: Some(self.handle.peer), interface: Interface::Amqp }
    }

    /// Whether a lane of this number exists.
    pub(crate) fn has_lane(&self, number: LaneNumber) -> bool {
        self.lanes.is_open(number)
    }

    /// All lanes.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = &Lane<P::Lane>> {
        self.lanes.iter()
    }

    /// A lane.
    pub(crate) fn lane_mut(&mut self, number: LaneNumber) -> Option<&mut Lane<P::Lane>> {
        self.lanes.get_mut(number)
    }

    /// Takes a lane out, to work on it beside the rest of the front; [`Front::put_lane`] brings it back.
    #[inline]
    pub(crate) fn take_lane(&mut self, number: LaneNumber) -> Option<Box<Lane<P::Lane>>> {
        self.lanes.take(number)
    }

    #[inline(always)]
    pub(crate) fn put_lane(&mut self, lane: Box<Lane<P::Lane>>) {
        self.lanes.put(lane);
    }

    /// Receiving begins: this is the time of all that comes with it.
    #[inline]
    pub(crate) fn begin_receiving(&mut self, now_ms: u64) {
        self.turn.now_ms = now_ms;
    }

    /// How many publishes wait to be brought to their queues together.
    #[inline]
    pub(crate) fn batched_publish_count(&self) -> usize {
        self.batch.publishes().len()
    }

    /// For how many times [`PUBLISHER_PAUSE_LEN`] the connection has published more than consumers could take, and should pause once: as
    /// many as one read brings, at most.
    pub(crate) fn take_pause(&mut self) -> u32 {
        let pauses = self.batch.take_pauses(PUBLISHER_PAUSE_LEN, PUBLISHER_PAUSES_MAX.into());
        pauses as u32
    }

    /// Whether more bytes may be received now.
    #[inline]
    pub(crate) fn wants_input(&self) -> bool {
        !matches!(self.phase, Phase::Closed { .. } | Phase::Refused { .. })
            && !self.is_input_paused()
            && self.out.len() < 4 * OUTPUT_LEN
    }

    /// Whether bytes may come from the client, if only such as define something.
    pub(crate) fn wants_bytes(&self) -> bool {
        self.wants_input()
            || (self.waits.is_followed()
                && !self.flow.is_stopped()
                && self.is_running()
                && self.out.len() < 4 * OUTPUT_LEN)
    }

    /// Whether nothing is received, whatever the peer does: its silence proves nothing then.
    #[inline]
    pub(super) fn is_input_paused(&self) -> bool {
        self.waits.has_any() || self.flow.is_stopped()
    }

    /// Whether something was refused only because a back end has to be asked first: then it is to come again.
    pub(crate) fn waits_for_answer(&mut self) -> bool {
        let open = self.principal.known_access().and_then(|access| access.permissions.take_open());
        if let Some(open) = open {
            self.waits.ask(Question::Permission(open));
        }
        self.waits.has_question()
    }

    /// Whether the last request that was received comes again: when there is an answer, when all alarms are over, or when the store has
    /// caught up. Asked once a read.
    #[inline]
    pub(crate) fn comes_again(&mut self) -> bool {
        self.waits.has_question() || self.flow.take_put_back()
    }

    /// Whether a publish has to wait, for the end of an alarm or for the store.
    pub(crate) fn is_held_back(&self) -> bool {
        self.flow.is_blocked() || self.flow.is_put_back()
    }

    /// Whether the publishes of this read have to be checked, by [`Front::hold_publish`] and for traces.
    #[inline(always)]
    pub(crate) fn checks_publishes(&self) -> bool {
        self.flow.checks_publishes()
    }

    /// Whether what defines something is received, although nothing else is: the answer to what did so before it is yet to leave.
    #[inline]
    pub(crate) fn is_followed(&self) -> bool {
        self.waits.is_followed()
    }

    /// What was written since `start` leaves after the answer that is held, if one is.
    pub(crate) fn hold_output(&mut self, start: usize) {
        self.waits.hold_output(&mut self.out, start);
    }

    /// Nothing more is received before that answer has left.
    pub(crate) fn end_following(&mut self) {
        self.waits.end_following();
    }

    /// What back ends have answered is good for one request, which is done.
    #[inline]
    pub(crate) fn forget_answers(&mut self) {
        if self.principal.asks_back_ends() && !self.waits.has_question() {
            self.principal.access().permissions.forget_answers();
        }
    }

    /// Looks whether an answer has come that the connection waits for. True when it has; else `cx` is woken when it does.
    pub(crate) fn poll_answer(&mut self, cx: &mut Context<'_>) -> bool {
        let question = self.waits.question();
        match question {
            None => return false,
            Some(Question::Login(answer)) => {
                let Poll::Ready(result) = answer.as_mut().poll(cx) else { return false };
                self.principal.answer(result);
                *question = None;
            }
            Some(Question::Permission(open)) => {
                let Poll::Ready(is_allowed) = open.answer.as_mut().poll(cx) else { return false };
                if let (Some(Question::Permission(open)), Some(access)) =
                    (question.take(), self.principal.known_access())
                {
                    access.permissions.close(*open, is_allowed);
                }
            }
        }
        if self.stages.is_timing() {
            self.ask_followed();
        }
        true
    }

    /// Writes down how things stand, for listings: the last thing of a turn.
    pub(crate) fn report(&mut self) {
        self.lanes.report();
        self.report_counted();
        let state = match self.phase {
            Phase::Opening => return,
            Phase::Closing { .. } | Phase::Refused { .. } | Phase::Parting { .. } | Phase::Closed { .. } => {
                ConnectionState::Closing
            }
            Phase::Running if self.flow.is_blocked() => ConnectionState::Blocked,
            Phase::Running => ConnectionState::Running,
        };
        self.handle.set_state(state);
        if self.flow.is_congested() || self.is_throttled() {
            self.note_flow();
        }
    }

    /// A read has brought so many bytes.
    #[inline]
    pub(crate) fn note_received(&mut self, len: usize, at: Instant) {
        self.turn.received_at = Some(at);
        self.handle.traffic.received(len);
        self.turn.counted.received_len += len as u64;
    }

    /// A write has taken so many bytes.
    #[inline]
    pub(crate) fn note_sent(&mut self, len: usize) {
        self.handle.traffic.sent(len);
        self.turn.counted.sent_len += len as u64;
    }

    /// The vhost takes what has been counted in this turn. What comes before there is a vhost waits for it.
    fn report_counted(&mut self) {
        let Some(access) = self.principal.known_access() else { return };
        let counters = &access.vhost.counters;
        counters.take(&mut self.turn.counted);
        self.broker.engine.statistics.vhosts.note(counters);
        self.broker.statistics.connections.note(&self.handle);
    }

    /// The connection has to wait: it is shown in flow for a while.
    pub(super) fn note_flow(&self) {
        self.handle.flow_at_ms.store(self.broker.engine.clock.now_ms(), Ordering::Relaxed);
    }

    /// Whether nothing is received for the sake of the vhost's limit of rates.
    pub(crate) fn is_throttled(&self) -> bool {
        self.flow.is_throttled()
    }

    /// How long the login still holds, if it does not hold for ever.
    pub(crate) fn expires_in(&self) -> Option<Duration> {
        let expires_at_ms = self.principal.known_login()?.expires_at_ms?;
        Some(Duration::from_millis(expires_at_ms.saturating_sub(self.broker.engine.clock.now_ms())))
    }

    /// The time has passed that it was to wait for the vhost's limit of rates. Says whether that is all.
    pub(crate) fn end_throttling(&mut self) -> bool {
        let left = match self.principal.known_access() {
            Some(access) => access.vhost.throttle.charge(0, 0, Instant::now()),
            None => Duration::ZERO,
        };
        self.flow.throttle_for(left);
        !self.is_throttled()
    }

    /// How long nothing is received for the sake of the vhost's limit of rates.
    pub(crate) fn throttled_for(&self) -> Duration {
        self.flow.throttled_for()
    }

    /// Gives memory back that the connection does not need while nothing happens.
    pub(crate) fn shrink(&mut self) {
        self.deliveries.shrink();
        self.return_buffers();
        self.tracer.take_if(|tracer| tracer.is_done());
    }
}
