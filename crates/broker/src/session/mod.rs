//! A connection's protocol, without its socket: bytes in, bytes out.
//!
//! [`Session::receive`] takes what was read, [`Session::drain_outbox`] what other tasks left in the outbox; both append to the output,
//! which [`crate::connection`] writes. Everything a client may send is taken apart here, down to the methods of a channel.
//!
//! - `frames` takes apart what arrives, `methods` leads to what each method does: `handshake`, `publish`, `consume`, `settle`, `tx`,
//!   `exchange_methods`, `queue_methods`.
//! - What a session is made of: `channels`, `consumer_slots`, `deliveries`, `waits`, `publisher_flow`, `principal`, `holdings`.
//! - How it goes on and ends: `drain_outbox`, `deliver`, `publish_hold`, `departures`, `ending`.
//! - What those are told who watch: `told`, `traced`. What it times: `stages`.

mod answers;
mod assembly;
mod buffers;
mod channel;
mod channels;
mod confirms;
mod consume;
mod consumer_slots;
mod deliver;
mod deliveries;
mod departures;
mod drain_outbox;
mod ending;
mod exchange_methods;
mod frames;
mod handshake;
mod holdings;
mod last_route;
mod memory;
mod methods;
mod principal;
mod publish;
mod publish_hold;
mod publisher_flow;
mod queue_methods;
mod settle;
mod stages;
mod told;
mod told_replies;
mod traced;
mod transaction;
mod tx;
mod unacked;
mod waits;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use amqp::frame::put_heartbeat;
use routing::{CacheLimits, HashSeed, RouteCache};

use crate::broker::Broker;
use crate::connections::{ConnectionHandle, ConnectionState};
use crate::identity::{Interface, Origin};
use crate::limits::{OUTPUT_LEN, PUBLISHER_PAUSE_LEN, PUBLISHER_PAUSES_MAX};
use crate::statistics::Gathered;
use crate::vhost::Vhost;
use crate::vhost_access::VhostAccess;
use channels::Channels;
use consumer_slots::ConsumerSlots;
use deliveries::Deliveries;
use engine::batch::Batch;
use engine::targets::Targets;
use handshake::Handshake;
use holdings::Holdings;
use principal::Principal;
use publisher_flow::PublisherFlow;
use stages::Stages;
use told::Told;
pub(crate) use traced::METHODS;
use waits::{Question, Waits};

/// How far the connection has come.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Before connection.open-ok.
    Handshake(Handshake),
    Running,
    /// connection.close was sent; all but close-ok is ignored.
    Closing {
        until: Instant,
    },
    /// A refused login of a client that cannot be told why: the socket is closed after a while.
    Refused {
        until: Instant,
    },
    /// close-ok was sent to the client's connection.close: it closes its socket next, and what it still sends is thrown away. It would
    /// find the end of the stream rather than close-ok if the server closed first.
    Parting {
        until: Instant,
    },
    /// What is in `out` is the last. Then the server ends its direction, and throws away what comes until the client has ended the other
    /// one: a socket that is closed with something unread takes back what was sent last.
    Closed {
        until: Instant,
    },
}

impl Phase {
    /// When the socket is closed, whatever the client does.
    pub(crate) fn until(&self) -> Option<Instant> {
        match *self {
            Phase::Closing { until }
            | Phase::Refused { until }
            | Phase::Parting { until }
            | Phase::Closed { until } => Some(until),
            Phase::Handshake(_) | Phase::Running => None,
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Session {
    broker: Arc<Broker>,
    handle: Arc<ConnectionHandle>,
    /// Bytes to send.
    out: Vec<u8>,
    phase: Phase,
    principal: Principal,
    frame_len_max: u32,
    channels: Channels,
    consumers: ConsumerSlots,
    batch: Batch,
    routes: Routes,
    deliveries: Deliveries,
    waits: Waits,
    flow: PublisherFlow,
    holdings: Holdings,
    stages: Stages,
    turn: Turn,
    /// What was told to those who watch; None: nothing yet.
    told: Option<Box<Told>>,
}

/// What one read, and what was done because of it, came to.
#[derive(Debug, Default)]
struct Turn {
    /// When what is being received arrived, in milliseconds since 1970.
    now_ms: u64,
    /// When the last read brought it.
    received_at: Option<Instant>,
    /// What has been counted.
    gathered: Gathered,
}

/// The routes that are remembered.
#[derive(Debug)]
struct Routes {
    immediate: RouteCache<Arc<Targets>>,
    /// Of messages that wait where they come to an exchange that delays.
    delayed: Option<Box<RouteCache<Arc<Targets>>>>,
}

impl Routes {
    fn new(hash_seed: HashSeed) -> Self {
        Self { immediate: route_cache(hash_seed), delayed: None }
    }

    /// Those of messages that wait where they come to an exchange that delays, or of the others.
    fn of(&mut self, is_delayed: bool) -> &mut RouteCache<Arc<Targets>> {
        if !is_delayed {
            return &mut self.immediate;
        }
        let seed = self.immediate.seed();
        self.delayed.get_or_insert_with(|| Box::new(route_cache(seed)))
    }

    /// Bytes that they take beside themselves.
    fn memory_len(&self) -> usize {
        let delayed = self.delayed.as_ref().map_or(0, |cache| size_of_val(&**cache) + cache.memory_len());
        self.immediate.memory_len() + delayed
    }

    fn clear(&mut self) {
        self.immediate.clear();
        self.delayed = None;
    }
}

fn route_cache(hash_seed: HashSeed) -> RouteCache<Arc<Targets>> {
    RouteCache::new(hash_seed, CacheLimits::default())
}

/// Where a failure happened, for the close method.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Site {
    pub(crate) channel: u16,
    pub(crate) class_id: u16,
    pub(crate) method_id: u16,
}

impl Session {
    pub(crate) fn new(broker: Arc<Broker>, handle: Arc<ConnectionHandle>) -> Self {
        Self {
            frame_len_max: broker.options.initial_frame_len_max,

            phase: Phase::Handshake(Handshake::Header),
            principal: Principal::default(),
            channels: Channels::default(),
            consumers: ConsumerSlots::default(),
            batch: Batch::default(),
            routes: Routes::new(broker.hash_seed),
            deliveries: Deliveries::default(),
            waits: Waits::default(),
            flow: PublisherFlow::default(),
            holdings: Holdings::default(),
            stages: Stages::new(handle.id.0),
            turn: Turn::default(),
            told: None,
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

    #[cfg(test)]
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    #[cfg(test)]
    pub(crate) fn has_exclusive_queues(&self) -> bool {
        self.holdings.has_queues()
    }

    /// As if the client had published while an alarm is on.
    #[cfg(test)]
    pub(crate) fn set_blocked(&mut self) {
        self.flow.set_blocked(true);
    }

    /// What replaces `reply-to` in requests of a channel.
    #[cfg(test)]
    pub(crate) fn reply_consumer_address(&mut self, channel: u16) -> Option<std::sync::Arc<str>> {
        Some(self.channels.get_mut(channel)?.reply_consumer.as_ref()?.address.clone())
    }

    pub(crate) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Bytes to send.
    #[inline]
    pub(crate) fn output(&self) -> &[u8] {
        &self.out
    }

    /// So many bytes of the output have been sent.
    #[inline]
    pub(crate) fn remove_output(&mut self, len: usize) {
        self.out.drain(..len);
    }

    /// All of the output has been sent, or the client reads it no more.
    #[inline]
    pub(crate) fn clear_output(&mut self) {
        self.out.clear();
    }

    /// The interval of heartbeats that was agreed, in seconds; 0: none.
    pub(crate) fn heartbeat_s(&self) -> u16 {
        self.principal.login().heartbeat_s
    }

    pub(crate) fn send_heartbeat(&mut self) {
        put_heartbeat(&mut self.out);
    }

    /// The vhost of an open connection.
    #[inline]
    fn vhost(&self) -> &Arc<Vhost> {
        &self.access().vhost
    }

    /// The user in its vhost.
    #[inline]
    fn access(&self) -> &VhostAccess {
        self.principal.access()
    }

    /// Whether frames are what comes next: the protocol header has.
    pub(crate) fn is_framed(&self) -> bool {
        !matches!(self.phase, Phase::Handshake(Handshake::Header))
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.handle.peer
    }

    fn origin(&self) -> Origin {
        Origin { peer: Some(self.handle.peer), interface: Interface::Amqp }
    }

    /// For how many times [`PUBLISHER_PAUSE_LEN`] the connection has published more than consumers could take, and should pause once: as
    /// many as one read brings, at most.
    pub(crate) fn take_pause(&mut self) -> u32 {
        let pauses = self.batch.take_pauses(PUBLISHER_PAUSE_LEN, PUBLISHER_PAUSES_MAX.into());
        pauses as u32
    }

    /// Whether more bytes may be received now.
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
                && matches!(self.phase, Phase::Running)
                && self.out.len() < 4 * OUTPUT_LEN)
    }

    /// Whether nothing is received, whatever the peer does: its silence proves nothing then.
    pub(crate) fn is_input_paused(&self) -> bool {
        self.waits.has_any() || self.flow.is_stopped()
    }

    /// Whether something was refused only because a back end has to be asked first.
    fn waits_for_answer(&mut self) -> bool {
        let open = self.principal.known_access().and_then(|access| access.permissions.take_open());
        if let Some(open) = open {
            self.waits.ask(Question::Permission(open));
        }
        self.waits.has_question()
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
        self.channels.report();
        self.report_gathered();
        let state = match &self.phase {
            Phase::Handshake(_) => return,
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
        self.turn.gathered.received_len += len as u64;
    }

    /// A write has taken so many bytes.
    #[inline]
    pub(crate) fn note_sent(&mut self, len: usize) {
        self.handle.traffic.sent(len);
        self.turn.gathered.sent_len += len as u64;
    }

    /// The vhost takes what has been counted in this turn. What comes before there is a vhost waits for it.
    fn report_gathered(&mut self) {
        let Some(access) = self.principal.known_access() else { return };
        let counters = &access.vhost.counters;
        counters.take(&mut self.turn.gathered);
        self.broker.engine.statistics.vhosts.note(counters);
        self.broker.statistics.connections.note(&self.handle);
    }

    /// The connection has to wait: it is shown in flow for a while.
    pub(crate) fn note_flow(&self) {
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
        self.told.take_if(|told| told.is_done());
    }
}
