//! The broker's side of a connection's session, without its socket and without its protocol.
//!
//! A [`Protocol`] takes apart what a client sends, asks the front for what that means, and writes what the front says. Many protocols
//! share it: it knows lanes, publishes, consumers, settlements, logins and how a connection ends, and no frame of any protocol.
//!
//! - `protocol` is what a protocol is, `connection` moves bytes between a socket and a session of one.
//! - What a client asks for: `opening` (logins), `publish`, `consume`, `settle`, `commit`.
//! - What a front is made of: `lanes`, `consumer_slots`, `deliveries`, `waits`, `publisher_flow`, `principal`,
//!   `connection_resources`, `routes`.
//! - What comes in and out: `input`, `output`, `throttling`; `turn` counts it.
//! - How it continues and ends: `drain`, `deliver`, `publish_hold`, `departures`, `ending`.
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
mod input;
mod lane;
mod lanes;
mod last_route;
mod memory;
mod opening;
mod output;
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
mod throttling;
mod tracer;
mod transaction;
mod turn;
mod unacked;
mod waits;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use engine::batch::Batch;
use engine::lane::LaneNumber;

pub(crate) use confirms::Confirm;
pub(crate) use consume::{ConsumeRequest, Got, GotMessage};
pub(crate) use disposition::Disposition;
pub(crate) use incoming::Incoming;
pub(crate) use lane::Lane;
pub(crate) use opening::{Negotiated, Renewal};
pub(crate) use phase::Phase;
pub(crate) use protocol::{Delivery, Protocol};
pub(crate) use tracer::client_name;
pub(crate) use waits::LoadingGet;

use crate::broker::Broker;
use crate::connections::ConnectionHandle;
use crate::identity::{Interface, Origin};
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
use turn::Turn;
use waits::Waits;

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

    #[cfg(test)]
    pub(crate) fn has_exclusive_queues(&self) -> bool {
        self.resources.has_queues()
    }

    /// As if the client had published while an alarm is on.
    #[cfg(test)]
    pub(crate) fn set_blocked(&mut self) {
        self.flow.set_blocked(true);
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

    /// How long the login still holds, if it does not hold for ever.
    pub(crate) fn expires_in(&self) -> Option<Duration> {
        let expires_at_ms = self.principal.known_login()?.expires_at_ms?;
        Some(Duration::from_millis(expires_at_ms.saturating_sub(self.broker.engine.clock.now_ms())))
    }

    /// Gives memory back that the connection does not need while nothing happens.
    pub(crate) fn shrink(&mut self) {
        self.deliveries.shrink();
        self.return_buffers();
        self.tracer.take_if(|tracer| tracer.is_done());
    }
}
