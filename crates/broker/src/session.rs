//! A connection's protocol, without its socket: bytes in, bytes out.
//!
//! [`Session::receive`] takes what was read, [`Session::attend`] what other tasks left in the outbox; both append to
//! `out`, which [`crate::connection`] writes. Everything a client may send is taken apart here, down to the methods of a
//! channel; what each of them does is in the file of its class.
//!
//! - `frames`: what arrives is taken apart. `methods`: what each method leads to.

mod frames;
mod methods;

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use model::ids::{JournalPosition, QueueId};
use routing::{CacheLimits, RouteCache};

use crate::backend::Answer;
use crate::broker::Broker;
use crate::channel::UnackedDelivery;
use crate::channels::Channels;
use crate::connections::{ConnectionHandle, ConnectionState, Opened};
use crate::consumer_slots::ConsumerSlots;
use crate::handshake::{Handshake, Login};
use crate::identity::{Identity, Interface, Origin};
use crate::inside::VhostAccess;
use crate::limits::{OUTPUT_LEN, PUBLISHER_PAUSE_LEN, PUBLISHER_PAUSES_MAX};
use crate::login::LoginRefused;
use crate::permissions::Open;
use crate::statistics::Gathered;
use crate::usage::Seat;
use crate::vhost::Vhost;
use engine::batch::Batch;
use engine::outbox::{Outbox, Outgoing, Taken};
use engine::queue_handle::{ConnectionId, QueueHandle};
use engine::targets::Targets;

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
    pub(crate) broker: Arc<Broker>,
    pub(crate) id: ConnectionId,
    pub(crate) handle: Arc<ConnectionHandle>,
    pub(crate) outbox: Arc<Outbox>,
    /// Bytes to send.
    pub(crate) out: Vec<u8>,
    pub(crate) phase: Phase,
    pub(crate) login: Option<Box<Login>>,
    pub(crate) inside: Option<Arc<VhostAccess>>,
    pub(crate) frame_len_max: u32,
    pub(crate) channels: Channels,
    pub(crate) links: ConsumerSlots,
    pub(crate) batch: Batch,
    pub(crate) routes: RouteCache<Arc<Targets>>,
    /// Of messages that wait where they come to an exchange that delays.
    pub(crate) delayed_routes: RouteCache<Arc<Targets>>,
    /// What has been counted in this turn.
    pub(crate) gathered: Gathered,
    /// When what is being received arrived, in milliseconds since 1970.
    pub(crate) now_ms: u64,
    /// Deliveries taken from the outbox and not encoded.
    pub(crate) pending: VecDeque<Outgoing>,
    pub(crate) taken: Taken,
    /// Reused by acknowledgements.
    pub(crate) taken_unacked: Vec<UnackedDelivery>,
    /// Deliveries leave only when the journal is durable up to here.
    pub(crate) hold_until: Option<JournalPosition>,
    /// Channels whose confirms have something to write or to wait for.
    pub(crate) confirming: Vec<u16>,
    /// The position that the journal was asked to wake us at.
    pub(crate) woken_at: Option<JournalPosition>,
    /// A reply that waits for the disk; nothing is received before it has left.
    pub(crate) awaited: Option<Awaited>,
    /// A basic.get whose message is being read from a segment; nothing is received until it is there.
    pub(crate) awaited_get: Option<AwaitedGet>,
    /// Somebody who knows users has been asked; nothing is received until he has answered, and then the same frame again.
    pub(crate) waiting: Option<Waiting>,
    /// Whether others than the broker say what its user may do.
    asks_others: bool,
    /// The answer about who somebody is.
    pub(crate) logged_in: Option<Result<Identity, LoginRefused>>,
    /// What a new secret allows is being found out.
    pub(crate) is_renewing: bool,
    /// The store asked publishers to wait.
    pub(crate) is_congested: bool,
    /// Publishes are refused by silence: an alarm is on, and this connection publishes.
    pub(crate) is_blocked: bool,
    /// An alarm was on, or the store behind, when this read began.
    pub(crate) holds_publishes: bool,
    /// The frame that was read last was not taken, because the store is behind.
    pub(crate) is_put_back: bool,
    pub(crate) exclusive_queues: Vec<Arc<QueueHandle>>,
    /// The link that is the first to be resumed when there is room.
    pub(crate) resume_from: usize,
    /// Its place among its user's connections, while it is open.
    pub(crate) seat: Option<Seat>,
    /// It is not counted among its vhost's connections any more.
    pub(crate) has_left: bool,
    /// How long nothing is received, because the vhost's limit of rates asks for it.
    pub(crate) throttled_for: Duration,
}

/// Somebody who has been asked.
pub(crate) enum Waiting {
    /// Who somebody is.
    Login(Answer<Result<Identity, LoginRefused>>),
    /// What somebody may do.
    Permission(Open),
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Waiting::Login(_) => "Login",
            Waiting::Permission(_) => "Permission",
        })
    }
}

/// A reply that waits.
#[derive(Debug)]
pub(crate) struct Awaited {
    pub(crate) position: JournalPosition,
    pub(crate) reply: Vec<u8>,
    /// No delivery may leave before it.
    pub(crate) holds_deliveries: bool,
    /// Consumers whose queues have gone meanwhile: they are cancelled after it.
    pub(crate) cancels: Vec<(u32, QueueId)>,
}

/// A basic.get that could not be answered at once.
#[derive(Debug)]
pub(crate) struct AwaitedGet {
    pub(crate) channel: u16,
    pub(crate) queue: Arc<QueueHandle>,
    pub(crate) no_ack: bool,
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
        let frame_len_max = broker.options.initial_frame_len_max;
        Self {
            id: handle.id,
            outbox: handle.outbox.clone(),
            handle,
            out: Vec::new(),
            phase: Phase::Handshake(Handshake::Header),
            login: None,
            inside: None,
            frame_len_max,
            channels: Channels::default(),
            links: ConsumerSlots::default(),
            batch: Batch::default(),
            routes: RouteCache::new(broker.hash_seed, CacheLimits::default()),
            delayed_routes: RouteCache::new(broker.hash_seed, CacheLimits::default()),
            gathered: Gathered::default(),
            now_ms: 0,
            pending: VecDeque::new(),
            taken: Taken::default(),
            taken_unacked: Vec::new(),
            hold_until: None,
            confirming: Vec::new(),
            woken_at: None,
            awaited: None,
            awaited_get: None,
            waiting: None,
            asks_others: false,
            logged_in: None,
            is_renewing: false,
            is_congested: false,
            is_blocked: false,
            holds_publishes: false,
            is_put_back: false,
            exclusive_queues: Vec::new(),
            resume_from: 0,
            seat: None,
            has_left: false,
            throttled_for: Duration::ZERO,
            broker,
        }
    }

    /// The vhost of an open connection.
    #[inline]
    pub(crate) fn vhost(&self) -> &Arc<Vhost> {
        &self.inside().vhost
    }

    /// The user in its vhost.
    #[inline]
    pub(crate) fn inside(&self) -> &VhostAccess {
        self.inside.as_deref().expect("methods of channels come after connection.open")
    }

    /// Whether frames are what comes next: the protocol header has.
    pub(crate) fn is_framed(&self) -> bool {
        !matches!(self.phase, Phase::Handshake(Handshake::Header))
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.handle.peer
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin { peer: Some(self.handle.peer), interface: Interface::Amqp }
    }

    /// connection.open succeeded.
    pub(crate) fn run(&mut self) {
        let login = self.login();
        let vhost = self.vhost();
        let opened = Opened {
            identity: login.identity.clone(),
            vhost: vhost.name().clone(),
            mechanism: login.mechanism.clone(),
            client_properties: login.client_properties.clone(),
            channel_max: login.channel_max,
            frame_max: self.frame_len_max,
            heartbeat_s: login.heartbeat_s,
        };
        // It was empty: a connection is opened once.
        let _ = self.handle.opened.set(opened);
        vhost.connection_count.fetch_add(1, Ordering::Relaxed);
        self.asks_others = !self.login().identity.is_stored();
        self.phase = Phase::Running;
    }

    /// For how many times [`PUBLISHER_PAUSE_LEN`] the connection has published more than consumers could take, and should pause once: as
    /// many as one
    /// read brings, at most.
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

    /// Whether nothing is received, whatever the peer does: its silence proves nothing then.
    pub(crate) fn is_input_paused(&self) -> bool {
        self.awaited.is_some()
            || self.waiting.is_some()
            || self.awaited_get.is_some()
            || self.is_blocked
            || self.is_congested
            || self.is_throttled()
    }

    /// Whether something was refused only because somebody else has to be asked first.
    fn waits_for_answer(&mut self) -> bool {
        let open = self.inside.as_ref().and_then(|inside| inside.permissions.take_open());
        if let Some(open) = open {
            self.waiting = Some(Waiting::Permission(open));
        }
        self.waiting.is_some()
    }

    /// Looks whether an answer has come that the connection waits for. True when it has; else `cx` is woken when it does.
    pub(crate) fn poll_answer(&mut self, cx: &mut Context<'_>) -> bool {
        match &mut self.waiting {
            None => return false,
            Some(Waiting::Login(answer)) => {
                let Poll::Ready(result) = answer.as_mut().poll(cx) else { return false };
                self.logged_in = Some(result);
                self.waiting = None;
            }
            Some(Waiting::Permission(open)) => {
                let Poll::Ready(is_allowed) = open.answer.as_mut().poll(cx) else { return false };
                if let (Some(Waiting::Permission(open)), Some(inside)) = (self.waiting.take(), &self.inside) {
                    inside.permissions.close(open, is_allowed);
                }
            }
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
            Phase::Running if self.is_blocked => ConnectionState::Blocked,
            Phase::Running => ConnectionState::Running,
        };
        self.handle.set_state(state);
        if self.is_congested || self.is_throttled() {
            self.note_flow();
        }
    }

    /// A read has brought so many bytes.
    #[inline]
    pub(crate) fn note_received(&mut self, len: usize) {
        self.handle.traffic.received(len);
        self.gathered.received_len += len as u64;
    }

    /// A write has taken so many bytes.
    #[inline]
    pub(crate) fn note_sent(&mut self, len: usize) {
        self.handle.traffic.sent(len);
        self.gathered.sent_len += len as u64;
    }

    /// The vhost takes what has been counted in this turn. What comes before there is a vhost waits for it.
    pub(crate) fn report_gathered(&mut self) {
        let Some(inside) = &self.inside else { return };
        let counters = &inside.vhost.counters;
        counters.take(&mut self.gathered);
        self.broker.engine.statistics.vhosts.note(counters);
        self.broker.statistics.connections.note(&self.handle);
    }

    /// The connection has to wait: it is shown in flow for a while.
    pub(crate) fn note_flow(&self) {
        self.handle.flow_at_ms.store(self.broker.engine.clock.now_ms(), Ordering::Relaxed);
    }

    /// Whether nothing is received for the sake of the vhost's limit of rates.
    pub(crate) fn is_throttled(&self) -> bool {
        !self.throttled_for.is_zero()
    }

    /// How long the login still holds, if it does not hold for ever.
    pub(crate) fn expires_in(&self) -> Option<Duration> {
        let expires_at_ms = self.login.as_ref()?.expires_at_ms?;
        Some(Duration::from_millis(expires_at_ms.saturating_sub(self.broker.engine.clock.now_ms())))
    }

    /// The time has passed that it was to wait for the vhost's limit of rates. Says whether that is all.
    pub(crate) fn end_throttling(&mut self) -> bool {
        self.throttled_for = match &self.inside {
            Some(inside) => inside.vhost.throttle.charge(0, 0, Instant::now()),
            None => Duration::ZERO,
        };
        !self.is_throttled()
    }

    /// Gives memory back that the connection does not need while nothing happens.
    pub(crate) fn shrink(&mut self) {
        if self.pending.is_empty() {
            self.pending = VecDeque::new();
        }
        self.taken = Taken::default();
        self.return_buffers();
    }
}
