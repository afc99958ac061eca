//! An upstream connection: a connection to an upstream.

use std::borrow::Cow;
use std::rc::Rc;

use amqp::frame::{put_heartbeat, put_method};
use amqp::handshake::{ClientHandshake, HandshakeError, ServerReply};
use amqp::method::{EncodeMethod, Method, channel, confirm, connection};
use amqp::sasl;
use amqp::server::ON_BEHALF_OF;
use amqp::table::Table;

use super::buffer::Buffer;
use super::frames::put_frames;
use super::ids::{ClientId, LoginId, PoolId};
use super::lane::Kind;
use super::liveness::Liveness;
use super::refusal::Refusal;
use super::upstream_channels::{UpstreamChannel, UpstreamChannels};
use crate::limits::UPSTREAM_OUTPUT_LEN_MAX;

/// Whose an upstream connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionUse {
    /// It checks a login; the first client that then names a vhost gives it its pool.
    Login(LoginId),
    /// It sees whether a login is let in still, and is closed then.
    Check(PoolId),
    /// All clients of a pool.
    Shared(PoolId, Kind),
    /// One client.
    Own(ClientId),
    /// It is being closed, and is no client's.
    None,
}

/// How far an upstream connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpstreamPhase {
    /// Wanted, and not connected yet.
    Dialling,
    /// Connected, and not open yet. Logged in, it may wait for a vhost.
    Handshake(ClientHandshake),
    Running,
    /// It was asked to close; the upstream's answer is awaited.
    Closing {
        until_ms: u64,
    },
    /// Nothing more is said but what waits to be written.
    Over,
}

#[derive(Debug)]
pub(super) struct UpstreamConnection {
    usage: ConnectionUse,
    phase: UpstreamPhase,
    login: LoginId,
    vhost: Option<Rc<str>>,
    input: Buffer,
    output: Buffer,
    agreed: connection::TuneOk,
    /// How long it waits for a vhost once it has logged in.
    vhost_until_ms: u64,
    channels: UpstreamChannels,
    /// Clients that wait for room.
    waiters: Vec<ClientId>,
    /// Why the upstream takes no publishes, if it has reported that.
    blocked: Option<Box<[u8]>>,
    /// Whether its handshake was done.
    has_opened: bool,
    ending: Ending,
    /// Whether the upstream wants to know the client that something is done for.
    takes_names: bool,
    /// No more clients get a channel on it.
    is_draining: bool,
    /// All that share it leave it, and it may be replaced before it is closed.
    is_uncounted: bool,
    liveness: Liveness,
}

/// Why an upstream connection ends, if it does.
#[derive(Debug, Default)]
struct Ending {
    /// What the upstream said when it closed it.
    closed_with: Option<Refusal>,
    /// What the upstream did wrong, if it was given up for that.
    fault: Option<Cow<'static, str>>,
    /// Whether that is only that it lets no client into the vhost.
    is_vhost_refused: bool,
}

impl UpstreamConnection {
    pub(super) fn new(usage: ConnectionUse, login: LoginId, vhost: Option<Rc<str>>, now_ms: u64) -> Self {
        UpstreamConnection {
            usage,
            phase: UpstreamPhase::Dialling,
            login,
            vhost,
            input: Buffer::default(),
            output: Buffer::default(),
            agreed: connection::TuneOk { frame_max: amqp::limits::FRAME_LEN_MAX, channel_max: 0, heartbeat: 0 },
            vhost_until_ms: 0,
            channels: UpstreamChannels::new(now_ms),
            waiters: Vec::new(),
            blocked: None,
            has_opened: false,
            ending: Ending::default(),
            takes_names: false,
            is_draining: false,
            is_uncounted: false,
            liveness: Liveness::new(now_ms),
        }
    }

    /// Whether the upstream wants to know the client that something is done for.
    pub(super) fn takes_names(&self) -> bool {
        self.takes_names
    }

    /// What the upstream says that it can do.
    pub(super) fn learn_capabilities(&mut self, server_properties: Table<'_>) {
        let capabilities = server_properties.get("capabilities").and_then(|capabilities| capabilities.as_table());
        self.takes_names =
            capabilities.is_some_and(|all| all.get(ON_BEHALF_OF).is_some_and(|is| is.as_bool() == Some(true)));
    }

    #[inline]
    pub(super) fn usage(&self) -> ConnectionUse {
        self.usage
    }

    /// Whose own it is.
    pub(super) fn owner(&self) -> Option<ClientId> {
        match self.usage {
            ConnectionUse::Own(client) => Some(client),
            _ => None,
        }
    }

    pub(super) fn is_shared(&self) -> bool {
        matches!(self.usage, ConnectionUse::Shared(..))
    }

    /// It has no more use: it is to be closed.
    pub(super) fn disown(&mut self) {
        self.usage = ConnectionUse::None;
    }

    /// It has checked a login, and enters a vhost.
    pub(super) fn assign(&mut self, usage: ConnectionUse, vhost: Rc<str>) {
        self.usage = usage;
        self.vhost = Some(vhost);
    }

    pub(super) fn login(&self) -> LoginId {
        self.login
    }

    pub(super) fn vhost(&self) -> Option<&Rc<str>> {
        self.vhost.as_ref()
    }
}

/// How far it has come.
impl UpstreamConnection {
    #[inline]
    pub(super) fn phase(&self) -> UpstreamPhase {
        self.phase
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == UpstreamPhase::Running
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.phase == UpstreamPhase::Over
    }

    /// Its connection comes to the next step.
    pub(super) fn enter(&mut self, phase: UpstreamPhase) {
        self.phase = phase;
    }

    /// It is connected, and the first word is said.
    pub(super) fn begin(&mut self, now_ms: u64) {
        self.phase = UpstreamPhase::Handshake(ClientHandshake::begin(self.output.end()));
        self.liveness = Liveness::new(now_ms);
    }

    /// How far its handshake is, as long as it is under way.
    pub(super) fn handshake(&self) -> Option<ClientHandshake> {
        match self.phase {
            UpstreamPhase::Handshake(handshake) => Some(handshake),
            _ => None,
        }
    }

    /// Takes a method of the handshake.
    pub(super) fn receive<'a>(&mut self, method: &Method<'a>) -> Result<ServerReply<'a>, HandshakeError> {
        let UpstreamPhase::Handshake(handshake) = &mut self.phase else {
            return Err(HandshakeError::Unexpected(method.name()));
        };
        handshake.receive_method(method, self.output.end())
    }

    /// Logs in as this user.
    pub(super) fn log_in(&mut self, properties: Table<'_>, user: &str, secret: &[u8]) {
        if let UpstreamPhase::Handshake(handshake) = &mut self.phase {
            handshake.log_in(properties, b"PLAIN", &sasl::plain_response(user, secret), self.output.end());
        }
    }

    /// The login is good; what holds from now on. It waits for a vhost as long.
    pub(super) fn agree(&mut self, agreed: connection::TuneOk, until_ms: u64) {
        self.agreed = agreed;
        self.vhost_until_ms = until_ms;
    }

    /// Whether it has logged in, and waits for a vhost.
    pub(super) fn waits_for_vhost(&self) -> bool {
        self.handshake() == Some(ClientHandshake::LoggedIn)
    }

    /// Whether it has waited for a vhost for too long.
    pub(super) fn is_vhost_late(&self, now_ms: u64) -> bool {
        now_ms >= self.vhost_until_ms
    }

    /// The rest of the handshake, once it is known where to. Whether it is.
    pub(super) fn open_vhost(&mut self) -> bool {
        let Some(vhost) = self.vhost.clone() else { return false };
        if let UpstreamPhase::Handshake(handshake) = &mut self.phase {
            handshake.open(self.agreed, &vhost, self.output.end());
        }
        true
    }

    /// Its handshake is done.
    pub(super) fn run(&mut self, now_ms: u64) {
        self.phase = UpstreamPhase::Running;
        self.has_opened = true;
        self.channels.touch(now_ms);
    }

    /// Whether its handshake was done.
    pub(super) fn has_opened(&self) -> bool {
        self.has_opened
    }

    /// It is to end: politely if it is open. Whether that is news.
    pub(super) fn close(&mut self, until_ms: u64) -> bool {
        match self.phase {
            UpstreamPhase::Closing { .. } | UpstreamPhase::Over => return false,
            UpstreamPhase::Dialling | UpstreamPhase::Handshake(ClientHandshake::Start) => {
                self.phase = UpstreamPhase::Over
            }
            _ => {
                self.send(0, &connection::Close { reply_code: 200, reply_text: b"Goodbye", class_id: 0, method_id: 0 });
                self.phase = UpstreamPhase::Closing { until_ms };
            }
        }
        true
    }

    /// The upstream closes it.
    pub(super) fn close_with(&mut self, refusal: Refusal) {
        self.ending.closed_with = Some(refusal);
    }

    /// What the upstream said when it closed it.
    pub(super) fn closed_with(&self) -> Option<&Refusal> {
        self.ending.closed_with.as_ref()
    }

    /// It is given up, for what the upstream did wrong if that is named.
    pub(super) fn give_up(&mut self, fault: Option<Cow<'static, str>>) {
        self.phase = UpstreamPhase::Over;
        self.ending.fault = fault;
    }

    /// The upstream lets no client in for now.
    pub(super) fn note_fault(&mut self, fault: String) {
        self.ending.fault = Some(fault.into());
    }

    pub(super) fn fault(&self) -> Option<&Cow<'static, str>> {
        self.ending.fault.as_ref()
    }

    pub(super) fn set_vhost_refused(&mut self, is_vhost_refused: bool) {
        self.ending.is_vhost_refused = is_vhost_refused;
    }

    /// Whether the upstream lets no client into the vhost for now.
    pub(super) fn is_vhost_refused(&self) -> bool {
        self.ending.is_vhost_refused
    }

    /// No more clients get a channel on it. Returns whether it is counted no longer from now on.
    pub(super) fn drain(&mut self) -> bool {
        let is_first = !self.is_draining && self.is_shared();
        self.is_uncounted |= is_first;
        self.is_draining = true;
        is_first
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining
    }

    pub(super) fn is_uncounted(&self) -> bool {
        self.is_uncounted
    }
}

/// What is read and written.
impl UpstreamConnection {
    pub(super) fn heard(&mut self, now_ms: u64) {
        self.liveness.heard(now_ms);
    }

    /// What it has said before, to be looked at.
    pub(super) fn take_input(&mut self) -> Buffer {
        std::mem::take(&mut self.input)
    }

    /// What of that is left.
    pub(super) fn put_input(&mut self, mut input: Buffer) {
        input.release();
        self.input = input;
    }

    #[inline]
    pub(super) fn output(&self) -> &Buffer {
        &self.output
    }

    #[inline]
    pub(super) fn output_mut(&mut self) -> &mut Buffer {
        &mut self.output
    }

    pub(super) fn send<M: EncodeMethod + ?Sized>(&mut self, channel: u16, method: &M) {
        put_method(self.output.end(), channel, method);
    }

    /// Sends frames as they came, under another channel number.
    #[inline]
    pub(super) fn send_frames(&mut self, channel: u16, frames: &[u8]) {
        put_frames(self.output.end(), frames, channel, self.agreed.frame_max);
    }

    /// So much was written. Gives the clients that waited for room, if there is enough now.
    pub(super) fn sent(&mut self, len: usize, now_ms: u64) -> Vec<ClientId> {
        self.liveness.said(now_ms);
        self.output.take(len);
        match self.output.len() <= UPSTREAM_OUTPUT_LEN_MAX / 2 {
            true => self.take_waiters(),
            false => Vec::new(),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.output.len() <= UPSTREAM_OUTPUT_LEN_MAX
    }

    /// A client waits for room.
    pub(super) fn add_waiter(&mut self, client: ClientId) {
        self.waiters.push(client);
    }

    pub(super) fn take_waiters(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.waiters)
    }

    /// Whether the upstream has said nothing for so long.
    pub(super) fn is_silent_for(&self, silence_ms: u64, now_ms: u64) -> bool {
        self.liveness.is_silent_for(silence_ms, now_ms)
    }

    /// Its heartbeat. `None` where it was silent for two of them; else whether it was said.
    pub(super) fn beat(&mut self, is_heard: bool, now_ms: u64) -> Option<bool> {
        let beat_ms = u64::from(self.agreed.heartbeat) * 1000;
        if !is_heard {
            self.liveness.heard(now_ms);
        }
        if beat_ms > 0 && self.liveness.is_silent_for(2 * beat_ms, now_ms) {
            return None;
        }
        let is_due = beat_ms > 0 && self.liveness.is_beat_due(beat_ms, now_ms) && self.output.is_empty();
        if is_due {
            put_heartbeat(self.output.end());
        }
        Some(is_due)
    }

    #[inline]
    pub(super) fn frame_len_max(&self) -> u32 {
        self.agreed.frame_max
    }

    /// Why the upstream takes no publishes, if it has reported that.
    pub(super) fn blocked(&self) -> Option<&[u8]> {
        self.blocked.as_deref()
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    pub(super) fn set_blocked(&mut self, reason: Option<&[u8]>) {
        self.blocked = reason.map(Into::into);
    }
}

/// Its channels.
impl UpstreamConnection {
    /// Whether a client may have a channel on it for this. Calls are not to be held up by an alarm.
    pub(super) fn takes(&self, kind: Kind) -> bool {
        self.is_running() && !self.is_draining && (kind == Kind::Publishes || self.blocked.is_none())
    }

    /// How many more channels it may have, where a user may have no more than `limit` on one upstream connection.
    pub(super) fn channels_left(&self, limit: usize) -> usize {
        limit.min(self.agreed.channel_max.into()).saturating_sub(self.channels.open_count())
    }

    #[inline]
    pub(super) fn channels(&self) -> &UpstreamChannels {
        &self.channels
    }

    #[inline]
    pub(super) fn channels_mut(&mut self) -> &mut UpstreamChannels {
        &mut self.channels
    }

    #[inline]
    pub(super) fn channel(&self, number: u16) -> Option<&UpstreamChannel> {
        self.channels.get(number)
    }

    #[inline]
    pub(super) fn channel_mut(&mut self, number: u16) -> Option<&mut UpstreamChannel> {
        self.channels.get_mut(number)
    }

    /// Opens another channel. It need not be answered before it is used.
    pub(super) fn open_channel(&mut self) -> u16 {
        let number = self.channels.open();
        self.send(number, &channel::Open::default());
        self.send(number, &confirm::Select { no_wait: true });
        number
    }

    /// Closes a channel. Whether there is one.
    pub(super) fn close_channel(&mut self, number: u16) -> bool {
        let is_there = self.channels.begin_close(number);
        if is_there {
            self.send(number, &channel::Close { reply_code: 200, reply_text: b"Goodbye", class_id: 0, method_id: 0 });
        }
        is_there
    }

    /// Whether no publish on it waits for its confirm.
    fn is_confirmed(&self) -> bool {
        self.channels.iter().all(|there| there.unconfirmed_count() == 0)
    }

    /// Whether no client uses it, and nothing of disconnected clients is under way.
    pub(super) fn is_unused(&self) -> bool {
        self.channels.used_count() == 0 && self.is_confirmed()
    }
}
