//! A connection's protocol, without its socket: bytes in, bytes out.
//!
//! [`Session::receive`] takes what was read, [`Session::attend`] what other tasks left in the outbox; both append to
//! `out`, which [`crate::connection`] writes. Everything a client may send is taken apart here, down to the methods of a
//! channel; what each of them does is in the file of its class.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use amqp::frame::{Frame, FrameKind, PROTOCOL_HEADER, decode_frame, put_method};
use amqp::limits::FRAME_LEN_FUDGE;
use amqp::method::{DecodeError, Method, basic, channel, connection, decode_publish};
use model::ids::JournalPosition;
use routing::{CacheLimits, RouteCache};

use crate::backend::Answer;
use crate::batch::Batch;
use crate::broker::Broker;
use crate::channel::{Channel, UnackedDelivery};
use crate::channels::Channels;
use crate::clock::now_ms;
use crate::connections::{ConnectionHandle, ConnectionState, Opened};
use crate::events::Event;
use crate::handshake::{Handshake, Login};
use crate::identity::{Identity, Interface, Origin};
use crate::inside::Inside;
use crate::limits::{BATCH_COUNT, OUTPUT_LEN, PACE_LEN, PAUSES_MAX};
use crate::links::Links;
use crate::login::LoginRefused;
use crate::outbox::{Outbox, Outgoing, Taken};
use crate::permissions::Open;
use crate::publish::{Assembly, Whole, is_body_len_allowed};
use crate::queue_handle::{ConnectionId, QueueHandle, Targets};
use crate::refusal::{self, Outcome, Refusal};
use crate::usage::{Counted, Seat};
use crate::vhost::Vhost;

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
    /// What is in `out` is the last.
    Closed,
}

/// What a connection has done.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounters {
    pub(crate) published: telemetry::Counter,
    pub(crate) delivered: telemetry::Counter,
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
    pub(crate) inside: Option<Arc<Inside>>,
    pub(crate) frame_len_max: u32,
    pub(crate) channels: Channels,
    pub(crate) links: Links,
    pub(crate) batch: Batch,
    pub(crate) routes: RouteCache<Arc<Targets>>,
    /// Of messages that wait where they come to an exchange that delays.
    pub(crate) delayed_routes: RouteCache<Arc<Targets>>,
    pub(crate) counters: ConnectionCounters,
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
            links: Links::default(),
            batch: Batch::default(),
            routes: RouteCache::new(broker.hash_seed, CacheLimits::default()),
            delayed_routes: RouteCache::new(broker.hash_seed, CacheLimits::default()),
            counters: ConnectionCounters::default(),
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
    pub(crate) fn inside(&self) -> &Inside {
        self.inside.as_deref().expect("methods of channels come after connection.open")
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

    /// For how many times [`PACE_LEN`] the connection has published more than consumers could take, and should pause once: as many as one
    /// read brings, at most.
    pub(crate) fn take_pause(&mut self) -> u32 {
        let pauses = (self.batch.outrun_len / PACE_LEN).min(PAUSES_MAX.into());
        self.batch.outrun_len %= PACE_LEN;
        pauses as u32
    }

    /// Whether more bytes may be received now.
    pub(crate) fn wants_input(&self) -> bool {
        !matches!(self.phase, Phase::Closed | Phase::Refused { .. })
            && !self.is_deaf()
            && self.out.len() < 4 * OUTPUT_LEN
    }

    /// Whether nothing is received, whatever the peer does: its silence proves nothing then.
    pub(crate) fn is_deaf(&self) -> bool {
        self.awaited.is_some()
            || self.waiting.is_some()
            || self.awaited_get.is_some()
            || self.is_blocked
            || self.is_congested
            || self.is_throttled()
    }

    /// Takes whole frames from the front of `bytes`, as many as it may, and tells how many bytes that were.
    pub(crate) fn receive(&mut self, bytes: &[u8], now_ms: u64) -> usize {
        self.now_ms = now_ms;
        let mut at = 0;
        if matches!(self.phase, Phase::Handshake(Handshake::Header)) {
            let Some(consumed) = self.protocol_header(bytes) else { return 0 };
            at = consumed;
        }
        while self.wants_input() {
            match decode_frame(&bytes[at..], self.frame_len_max + FRAME_LEN_FUDGE) {
                Ok(Some((frame, len))) => {
                    let more_len = self.frame(&frame, &bytes[at + len..]);
                    if self.waiting.is_some() {
                        // It comes again when there is an answer.
                        break;
                    }
                    at += len + more_len;
                    if self.batch.publishes.len() >= BATCH_COUNT {
                        self.apply_batch();
                    }
                }
                Ok(None) => break,
                Err(_) if matches!(self.phase, Phase::Closing { .. }) => {
                    // It was told, and cannot be understood any more.
                    self.phase = Phase::Closed;
                    return bytes.len();
                }
                Err(error) => {
                    let refusal = Refusal { code: amqp::reply::ReplyCode::FrameError, text: error.to_string() };
                    self.fail_connection(&refusal, Site::default());
                    return bytes.len();
                }
            }
        }
        self.apply_batch();
        self.write_confirms();
        at
    }

    fn protocol_header(&mut self, bytes: &[u8]) -> Option<usize> {
        let len = bytes.len().min(PROTOCOL_HEADER.len());
        if bytes[..len] != PROTOCOL_HEADER[..len] {
            // Any other protocol or version is answered with ours (AMQP 0-9-1, 4.2.2).
            self.out.extend_from_slice(&PROTOCOL_HEADER);
            self.phase = Phase::Closed;
            return Some(bytes.len());
        }
        if len < PROTOCOL_HEADER.len() {
            return None;
        }
        self.start();
        Some(len)
    }

    /// Handles one frame. `rest` is what follows it; gives how much of that belonged to it, too.
    #[inline]
    fn frame(&mut self, frame: &Frame<'_>, rest: &[u8]) -> usize {
        let len = self.handle_frame(frame, rest);
        if self.asks_others && self.waiting.is_none() {
            self.inside().permissions.forget_answers();
        }
        len
    }

    #[inline]
    fn handle_frame(&mut self, frame: &Frame<'_>, rest: &[u8]) -> usize {
        if matches!(self.phase, Phase::Running) && frame.kind == FrameKind::Method && frame.channel != 0 {
            match self.try_whole_publish(frame, rest) {
                Some(Ok(len)) => return len,
                Some(Err((refusal, len))) => {
                    let site = Site { channel: frame.channel, class_id: 60, method_id: 40 };
                    if !self.waits_for_answer() {
                        self.fail(&refusal, site);
                    }
                    return len;
                }
                None => {}
            }
        }
        let (result, site) = match frame.kind {
            FrameKind::Method => self.method_frame(frame),
            FrameKind::Header | FrameKind::Body => {
                let site = Site { channel: frame.channel, class_id: 60, method_id: 40 };
                (self.content_frame(frame), site)
            }
            FrameKind::Heartbeat => (check_heartbeat(frame), Site::default()),
        };
        if let Err(refusal) = result
            && !self.waits_for_answer()
        {
            self.fail(&refusal, site);
        }
        0
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

    /// A publish that lies in the buffer in full. `None` when it does not, or when anything about it is unusual.
    #[inline]
    fn try_whole_publish(&mut self, frame: &Frame<'_>, rest: &[u8]) -> Option<Result<usize, (Box<Refusal>, usize)>> {
        let publish = decode_publish(frame.payload)?;
        let frame_len_max = self.frame_len_max + FRAME_LEN_FUDGE;
        let (header, header_len) = decode_frame(rest, frame_len_max).ok()??;
        let is_basic = header.payload.starts_with(&[0, 60]);
        if header.kind != FrameKind::Header || header.channel != frame.channel || !is_basic {
            return None;
        }
        let body_len = u64::from_be_bytes(header.payload.get(4..12)?.try_into().ok()?);
        let (body, len) = if body_len == 0 {
            (&[][..], header_len)
        } else {
            let (body, len) = decode_frame(&rest[header_len..], frame_len_max).ok()??;
            if body.kind != FrameKind::Body || body.channel != frame.channel || body.payload.len() as u64 != body_len {
                return None;
            }
            (body.payload, header_len + len)
        };
        if !is_body_len_allowed(body_len, self.broker.options.message_len_max) || publish.immediate {
            return None;
        }
        let mut channel = self.channels.take(frame.channel)?;
        if channel.is_closing || channel.assembly.is_some() {
            self.channels.put(channel);
            return None;
        }
        let whole = Whole {
            exchange: publish.exchange,
            routing_key: publish.routing_key,
            mandatory: publish.mandatory,
            header: header.payload,
            body,
        };
        let result = self.publish(&mut channel, &whole);
        self.channels.put(channel);
        self.note_published();
        Some(result.map(|()| len).map_err(|refusal| (refusal, len)))
    }

    fn method_frame(&mut self, frame: &Frame<'_>) -> (Outcome<()>, Site) {
        let method = match Method::decode(frame.payload) {
            Ok(method) => method,
            Err(error) => {
                let site = Site { channel: 0, class_id: error.class_id(), method_id: error.method_id() };
                let result = match error {
                    DecodeError::Unknown { .. } => refusal::command_invalid(error.to_string()),
                    DecodeError::Malformed { .. } => refusal::frame_error(error.to_string()),
                };
                return (result, site);
            }
        };
        let site = Site { channel: frame.channel, class_id: method.class_id(), method_id: method.method_id() };
        let result = match (&self.phase, frame.channel) {
            (Phase::Running, 0) => self.connection_method(method),
            (Phase::Running, number) => self.channel_method(number, method),
            (Phase::Handshake(_), 0) => self.handshake_method(method),
            (Phase::Handshake(_), _) => {
                refusal::unexpected_frame(format!("{} on a channel before the connection is open", method.name()))
            }
            (Phase::Closing { .. }, 0) => {
                match method {
                    Method::ConnectionCloseOk(_) => self.phase = Phase::Closed,
                    Method::ConnectionClose(_) => {
                        put_method(&mut self.out, 0, &connection::CloseOk);
                        self.phase = Phase::Closed;
                    }
                    _ => {}
                }
                Ok(())
            }
            (Phase::Closing { .. } | Phase::Refused { .. } | Phase::Closed, _) => Ok(()),
        };
        (result, site)
    }

    fn connection_method(&mut self, method: Method<'_>) -> Outcome<()> {
        match method {
            Method::ConnectionClose(_) => {
                self.apply_batch();
                self.release_everything();
                put_method(&mut self.out, 0, &connection::CloseOk);
                self.phase = Phase::Closed;
                Ok(())
            }
            Method::ConnectionUpdateSecret(update) => self.update_secret(&update),
            // A client that answers a blocked notice with one of its own means nothing by it.
            Method::ConnectionBlocked(_) | Method::ConnectionUnblocked(_) => Ok(()),
            _ => refusal::channel_error("unexpected method in connection state running"),
        }
    }

    fn channel_method(&mut self, number: u16, method: Method<'_>) -> Outcome<()> {
        if let Method::ChannelOpen(_) = method {
            return self.open_channel(number);
        }
        // Acks are gathered; all else sees the effect of what was sent before it.
        let is_gathered = matches!(method, Method::BasicAck(_) | Method::BasicPublish(_));
        if !is_gathered {
            self.apply_batch();
        }
        let Some(mut channel) = self.channels.take(number) else {
            if let Method::ChannelCloseOk(_) = method {
                return Ok(());
            }
            return refusal::channel_error("expected 'channel.open'");
        };
        if channel.is_closing {
            match method {
                Method::ChannelCloseOk(_) => {}
                Method::ChannelClose(_) => {
                    put_method(&mut self.out, number, &channel::CloseOk);
                }
                _ => self.channels.put(channel),
            }
            return Ok(());
        }
        if channel.assembly.is_some() {
            let has_header = channel.assembly.as_ref().is_some_and(|assembly| assembly.has_header());
            self.channels.put(channel);
            let text = if has_header { NO_CONTENT_BODY } else { NO_CONTENT_HEADER };
            // It is the publish that failed, not what came in its way.
            let refusal = Refusal { code: amqp::reply::ReplyCode::UnexpectedFrame, text: text.to_owned() };
            self.fail(&refusal, Site { channel: number, class_id: 60, method_id: 40 });
            return Ok(());
        }
        if let Method::ChannelClose(_) = method {
            self.release_channel(channel);
            put_method(&mut self.out, number, &channel::CloseOk);
            return Ok(());
        }
        let result = self.method_on(&mut channel, method);
        self.channels.put(channel);
        result
    }

    /// The table of contents: what each method of a channel leads to.
    fn method_on(&mut self, channel: &mut Channel, method: Method<'_>) -> Outcome<()> {
        match method {
            Method::BasicPublish(publish) => self.begin_publish(channel, &publish),
            Method::BasicAck(ack) => self.ack(channel, ack.delivery_tag, ack.multiple),
            Method::BasicNack(nack) => self.nack(channel, nack.delivery_tag, nack.multiple, nack.requeue, false),
            Method::BasicReject(reject) => self.nack(channel, reject.delivery_tag, false, reject.requeue, true),
            Method::BasicRecover(recover) => self.recover(channel, recover.requeue, true),
            Method::BasicRecoverAsync(recover) => self.recover(channel, recover.requeue, false),
            Method::BasicConsume(consume) => self.consume(channel, &consume),
            Method::BasicCancel(cancel) => self.cancel(channel, &cancel),
            // A client that confirms a cancellation of ours.
            Method::BasicCancelOk(_) => Ok(()),
            Method::BasicGet(get) => self.get(channel, &get),
            Method::BasicQos(qos) => self.qos(channel, &qos),
            Method::QueueDeclare(declare) => self.queue_declare(channel, &declare),
            Method::QueueBind(bind) => self.queue_bind(channel, &bind),
            Method::QueueUnbind(unbind) => self.queue_unbind(channel, &unbind),
            Method::QueuePurge(purge) => self.queue_purge(channel, &purge),
            Method::QueueDelete(delete) => self.queue_delete(channel, &delete),
            Method::ExchangeDeclare(declare) => self.exchange_declare(channel, &declare),
            Method::ExchangeDelete(delete) => self.exchange_delete(channel, &delete),
            Method::ExchangeBind(bind) => self.exchange_bind(channel, &bind),
            Method::ExchangeUnbind(unbind) => self.exchange_unbind(channel, &unbind),
            Method::ConfirmSelect(select) => self.confirm_select(channel, select.no_wait),
            Method::TxSelect(_) => self.tx_select(channel),
            Method::TxCommit(_) => self.tx_commit(channel),
            Method::TxRollback(_) => self.tx_rollback(channel),
            Method::AccessRequest(_) => {
                put_method(&mut self.out, channel.number, &amqp::method::access::RequestOk { ticket: 1 });
                Ok(())
            }
            Method::ChannelFlow(flow) if flow.active => {
                put_method(&mut self.out, channel.number, &channel::FlowOk { active: true });
                Ok(())
            }
            Method::ChannelFlow(_) => refusal::not_implemented("active=false"),
            Method::ChannelFlowOk(_) => Ok(()),
            _ => refusal::command_invalid("unimplemented method"),
        }
    }

    fn open_channel(&mut self, number: u16) -> Outcome<()> {
        if self.channels.is_open(number) {
            return refusal::channel_error("second 'channel.open' seen");
        }
        // As in RabbitMQ the number of channels counts, not the channel's own.
        let channel_max = self.login().channel_max;
        if channel_max != 0 && self.channels.open_count() >= usize::from(channel_max) {
            return refusal::not_allowed(format!(
                "number of channels opened ({channel_max}) has reached the negotiated channel_max ({channel_max})"
            ));
        }
        let mut channel = Box::new(Channel::new(number));
        channel.seat = Some(self.take_channel_seat()?);
        self.handle.channels.lock().insert(number, channel.handle.clone());
        self.channels.put(channel);
        put_method(&mut self.out, number, &channel::OpenOk { channel_id: b"" });
        self.broker.counters.channels_opened.add(1);
        self.broker.emit_if_wanted(|| Event::channel_created(&self.handle, number));
        Ok(())
    }

    /// The user's channels over all its connections are limited.
    fn take_channel_seat(&self) -> Outcome<Seat> {
        let user = self.user_name();
        let limit = self.broker.users.get(user).and_then(|user| user.limits.channel_max);
        self.broker.usages.take(user, Counted::Channel, limit).or_else(|channel_max| {
            refusal::not_allowed(format!(
                "number of channels opened for user '{user}' has reached the maximum allowed user limit of {channel_max}"
            ))
        })
    }

    fn begin_publish(&mut self, channel: &mut Channel, publish: &basic::Publish<'_>) -> Outcome<()> {
        if publish.immediate {
            return refusal::not_implemented("immediate=true");
        }
        channel.assembly = Some(Assembly::begin(publish));
        Ok(())
    }

    fn content_frame(&mut self, frame: &Frame<'_>) -> Outcome<()> {
        if !matches!(self.phase, Phase::Running) {
            return match self.phase {
                Phase::Handshake(_) => refusal::unexpected_frame("content frame before the connection is open"),
                _ => Ok(()),
            };
        }
        if frame.channel == 0 {
            return refusal::unexpected_frame("content frame on channel 0");
        }
        let Some(mut channel) = self.channels.take(frame.channel) else {
            return refusal::channel_error("expected 'channel.open'");
        };
        let result = self.content_of(&mut channel, frame);
        self.channels.put(channel);
        self.note_published();
        result
    }

    fn content_of(&mut self, channel: &mut Channel, frame: &Frame<'_>) -> Outcome<()> {
        if channel.is_closing {
            return Ok(());
        }
        let Some(mut assembly) = channel.assembly.take() else {
            return refusal::unexpected_frame("expected method frame, got non method frame instead");
        };
        match (frame.kind, assembly.has_header()) {
            (FrameKind::Header, false) => assembly.header(frame.payload, self.broker.options.message_len_max)?,
            (FrameKind::Body, true) => assembly.body(frame.payload)?,
            (_, false) => return refusal::unexpected_frame(NO_CONTENT_HEADER),
            (_, true) => return refusal::unexpected_frame(NO_CONTENT_BODY),
        }
        if !assembly.is_complete() {
            channel.assembly = Some(assembly);
            return Ok(());
        }
        let result = self.publish(channel, &assembly.whole());
        if result.is_err() && self.waits_for_answer() {
            // Its last frame comes again.
            assembly.undo(frame.kind, frame.payload);
            channel.assembly = Some(assembly);
            return Ok(());
        }
        result
    }

    /// Writes down how things stand, for listings: the last thing of a turn.
    pub(crate) fn report(&mut self) {
        self.channels.report();
        let state = match &self.phase {
            Phase::Handshake(_) => return,
            Phase::Closing { .. } | Phase::Refused { .. } | Phase::Closed => ConnectionState::Closing,
            Phase::Running if self.is_blocked => ConnectionState::Blocked,
            Phase::Running => ConnectionState::Running,
        };
        self.handle.set_state(state);
        if self.is_congested || self.is_throttled() {
            self.note_flow();
        }
    }

    /// The connection has to wait: it is shown in flow for a while.
    pub(crate) fn note_flow(&self) {
        self.handle.flow_at_ms.store(now_ms(), Ordering::Relaxed);
    }

    /// Whether nothing is received for the sake of the vhost's limit of rates.
    pub(crate) fn is_throttled(&self) -> bool {
        !self.throttled_for.is_zero()
    }

    /// How long the login still holds, if it does not hold for ever.
    pub(crate) fn expires_in(&self) -> Option<Duration> {
        let expires_at = self.login.as_ref()?.identity.expires_at?;
        Some(expires_at.duration_since(SystemTime::now()).unwrap_or_default())
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
        self.leave_room();
    }
}

const NO_CONTENT_HEADER: &str = "expected content header for class 60, got non content header frame instead";

const NO_CONTENT_BODY: &str = "expected content body, got non content body frame instead";

/// A heartbeat is empty and belongs to no channel.
fn check_heartbeat(frame: &Frame<'_>) -> Outcome<()> {
    if frame.channel != 0 {
        return refusal::unexpected_frame(format!("heartbeat on channel {}", frame.channel));
    }
    if !frame.payload.is_empty() {
        return refusal::frame_error("heartbeat with a payload");
    }
    Ok(())
}
