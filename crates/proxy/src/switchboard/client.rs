//! A client: how far its connection has come, and its channels.

use std::collections::BTreeMap;
use std::rc::Rc;

use amqp::TableBuf;
use amqp::frame::{Greeting, put_heartbeat, put_method};
use amqp::handshake::{ClientRequest, ServerHandshake};
use amqp::method::{EncodeMethod, Method, connection};
use amqp::server::{ClientCapabilities, Violation};
use amqp::table::Table;

use super::buffer::Buffer;
use super::channel::{Channel, Content};
use super::ids::{LoginId, PoolId, UpstreamConnectionId};
use super::liveness::Liveness;
use super::wait::{Wait, Waits};
use crate::limits::CLIENT_OUTPUT_LEN_MAX;

/// As long as a name may be in a method.
const NAME_LEN_MAX: usize = 255;

/// What is read ahead of a client that waits: enough to see it go.
const READ_AHEAD_LEN: usize = 64 * 1024;

/// How far a client's connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Handshake(ServerHandshake),
    Running,
    /// It was asked to close; its answer is awaited.
    Closing {
        until_ms: u64,
    },
    /// It wants to close; the upstream of its own upstream connection is to agree.
    Leaving {
        until_ms: u64,
    },
    /// close-ok was said: it closes its socket next. What it still sends is thrown away, and it is not hung up on meanwhile, or it might
    /// find the end before close-ok.
    Parting {
        until_ms: u64,
    },
    /// It cannot be notified that its login was refused, and is kept waiting.
    Refused {
        until_ms: u64,
    },
    /// Nothing more is said but what waits to be written.
    Over,
}

#[derive(Debug)]
pub(super) struct Client {
    phase: Phase,
    wait: Wait,
    input: Input,
    output: Buffer,
    introduction: Introduction,
    access: Access,
    agreed: connection::TuneOk,
    own: OwnConnection,
    channels: BTreeMap<u16, Channel>,
    /// Bytes of publishes that are not whole yet.
    held_len: usize,
    knows_blocked: bool,
    /// Whether it has found no room in the spool.
    is_without_room: bool,
    joined_ms: u64,
    liveness: Liveness,
}

/// What a client has said that is not done yet.
#[derive(Debug, Default)]
struct Input {
    bytes: Buffer,
    /// When its socket came to its end, if it has: what waits is the last.
    ended_ms: Option<u64>,
    /// Whether nothing is read from it for a while, since it has sent too much.
    is_paused: bool,
}

/// What a client says of itself when it logs in.
#[derive(Debug)]
struct Introduction {
    properties: TableBuf,
    capabilities: ClientCapabilities,
    /// By which it logged in.
    mechanism: &'static str,
    /// Where it connects from; of a client that is a proxy, the client that it last named.
    peer: String,
}

/// As which user a client comes, where to, and whether it may.
#[derive(Debug, Default)]
struct Access {
    login: Option<LoginId>,
    pool: Option<PoolId>,
    vhost: Option<Rc<str>>,
    /// Whether there is room for its user.
    is_admitted: bool,
    /// Whether an upstream has just let it in, however long that is believed.
    is_vouched: bool,
}

/// An upstream connection of a client's own.
#[derive(Debug, Default)]
struct OwnConnection {
    /// Wanted, being opened, or open.
    connection: Option<UpstreamConnectionId>,
    /// Whether the client's channels are there.
    has_moved: bool,
}

impl Client {
    pub(super) fn new(now_ms: u64) -> Self {
        Client {
            phase: Phase::Handshake(ServerHandshake::Header),
            wait: Wait::new(),
            input: Input::default(),
            output: Buffer::default(),
            introduction: Introduction {
                properties: TableBuf::new(),
                capabilities: ClientCapabilities::default(),
                mechanism: "PLAIN",
                peer: String::new(),
            },
            access: Access::default(),
            agreed: connection::TuneOk { frame_max: amqp::limits::FRAME_LEN_MAX_INITIAL, channel_max: 0, heartbeat: 0 },
            own: OwnConnection::default(),
            channels: BTreeMap::new(),
            held_len: 0,
            knows_blocked: false,
            is_without_room: false,
            joined_ms: now_ms,
            liveness: Liveness::new(now_ms),
        }
    }

    pub(super) fn set_peer(&mut self, peer: String) {
        self.introduction.peer = peer;
    }

    /// The name by which an upstream shows this client: `10.0.0.5:4711 (shop)`.
    pub(super) fn name(&self) -> String {
        let Introduction { properties, peer, .. } = &self.introduction;
        let own = properties.as_table().get("connection_name").and_then(|name| name.as_bytes());
        let mut name = match own.map(String::from_utf8_lossy).filter(|own| !own.is_empty() && !peer.contains('(')) {
            Some(own) => format!("{peer} ({own})"),
            None => peer.clone(),
        };
        name.truncate(name.floor_char_boundary(NAME_LEN_MAX));
        name
    }

    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    #[inline]
    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Its connection comes to the next step.
    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// Whether it has not been let in yet: it has said nothing but its login, if that.
    pub(super) fn is_logging_in(&self) -> bool {
        self.phase == Phase::Handshake(ServerHandshake::StartOk)
    }
}

/// What it waits for.
impl Client {
    pub(super) fn waits(&self) -> Waits {
        self.wait.what()
    }

    /// Since when its timeout runs.
    pub(super) fn waiting_since_ms(&self) -> Option<u64> {
        self.wait.since_ms()
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.wait.since_ms().is_some()
    }

    /// It looks at its frame again when this has come. It waits from now on, unless a timeout of the same kind runs already.
    pub(super) fn wait_for(&mut self, what: Waits, now_ms: u64) {
        self.wait.begin(what, now_ms);
    }

    /// It looks at its frame again.
    pub(super) fn wake(&mut self) {
        self.wait.interrupt();
    }

    /// It has what it waited for.
    pub(super) fn stop_waiting(&mut self) {
        self.wait.end_timeout();
    }

    /// It has what it waited for. The timeout of the handshake has not run meanwhile.
    pub(super) fn stop_waiting_in_handshake(&mut self, now_ms: u64) {
        if let Some(since_ms) = self.wait.end_timeout() {
            self.joined_ms += now_ms.saturating_sub(since_ms);
        }
    }

    pub(super) fn restart_timeout(&mut self, now_ms: u64) {
        self.wait.restart_timeout(now_ms);
    }

    /// Whether its handshake has taken so long.
    pub(super) fn is_handshake_late(&self, timeout_ms: u64, now_ms: u64) -> bool {
        now_ms >= self.joined_ms + timeout_ms
    }
}

/// Its handshake.
impl Client {
    /// What it takes for the next step, and the output for that, as long as its connection is not open.
    fn handshake_mut(&mut self) -> Option<(&mut ServerHandshake, &mut Vec<u8>)> {
        match &mut self.phase {
            Phase::Handshake(handshake) => Some((handshake, self.output.end())),
            _ => None,
        }
    }

    /// Looks at its first bytes.
    pub(super) fn greet(&mut self, bytes: &[u8]) -> Greeting {
        self.handshake_mut().map_or(Greeting::Other, |(handshake, out)| handshake.greet(bytes, out))
    }

    /// Describes the server to it.
    pub(super) fn start(&mut self, server_properties: Table<'_>, mechanisms: &[u8]) {
        if let Some((handshake, out)) = self.handshake_mut() {
            handshake.start(server_properties, mechanisms, out);
        }
    }

    /// What a method of the handshake asks for.
    pub(super) fn request<'a>(&self, method: &Method<'a>) -> Result<ClientRequest<'a>, Violation> {
        match self.phase {
            Phase::Handshake(handshake) => handshake.request(method),
            _ => Err(Violation::method_in_handshake(method.name())),
        }
    }

    /// Its login is good: what is offered to it.
    pub(super) fn tune(&mut self, offered: connection::Tune) {
        if let Some((handshake, out)) = self.handshake_mut() {
            handshake.tune(offered, out);
        }
    }

    /// What holds from now on, if that was offered.
    pub(super) fn agree(&mut self, answer: connection::TuneOk, frame_len_floor: u32) -> Result<(), Violation> {
        if let Some((handshake, _)) = self.handshake_mut() {
            self.agreed = handshake.agree(answer, frame_len_floor)?;
        }
        Ok(())
    }

    /// Its connection is open from now on.
    pub(super) fn run(&mut self, vhost: Rc<str>) {
        self.access.is_vouched = false;
        self.access.vhost = Some(vhost);
        if let Some((handshake, out)) = self.handshake_mut() {
            handshake.open(out);
        }
        self.phase = Phase::Running;
    }
}

/// What comes from it.
impl Client {
    /// Something came from its socket. Whether nothing waits from before, so that it can be looked at where it lies.
    pub(super) fn heard(&mut self, now_ms: u64) -> bool {
        self.liveness.heard(now_ms);
        self.input.bytes.is_empty()
    }

    /// What cannot be looked at yet.
    pub(super) fn keep_input(&mut self, bytes: &[u8]) {
        self.input.bytes.end().extend_from_slice(bytes);
    }

    /// What it has said before, to be looked at.
    pub(super) fn take_input(&mut self) -> Buffer {
        std::mem::take(&mut self.input.bytes)
    }

    /// What of that is left.
    pub(super) fn put_input(&mut self, mut input: Buffer, taken: usize) {
        input.take(taken);
        input.release();
        self.input.bytes = input;
    }

    /// Its socket came to its end, or broke.
    pub(super) fn end_input(&mut self, now_ms: u64) {
        self.input.ended_ms.get_or_insert(now_ms);
    }

    pub(super) fn ended_ms(&self) -> Option<u64> {
        self.input.ended_ms
    }

    pub(super) fn has_ended(&self) -> bool {
        self.input.ended_ms.is_some()
    }

    /// It has sent so much that nothing more is read from it for a while, or that while is over.
    pub(super) fn pause(&mut self, is_paused: bool, now_ms: u64) {
        self.input.is_paused = is_paused;
        self.liveness.heard(now_ms);
    }

    /// Whether all is done that it said before its end.
    pub(super) fn has_said_all(&self) -> bool {
        self.has_ended() && self.waits() == Waits::Nothing && !self.is_full()
    }

    pub(super) fn may_read(&self) -> bool {
        let has_read_ahead = self.input.bytes.len() >= READ_AHEAD_LEN;
        match self.phase {
            _ if self.has_ended() => false,
            Phase::Over => false,
            Phase::Refused { .. } | Phase::Leaving { .. } => !has_read_ahead,
            _ => !self.is_full() && (self.waits() == Waits::Nothing || !has_read_ahead),
        }
    }

    /// Whether its frames may be looked at.
    pub(super) fn is_ready(&self) -> bool {
        let is_listened_to = !matches!(self.phase, Phase::Over | Phase::Refused { .. } | Phase::Leaving { .. });
        is_listened_to && self.waits() == Waits::Nothing && !self.is_full()
    }
}

/// The client's output.
impl Client {
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

    /// So much was written. Whether it has taken no more until now.
    pub(super) fn sent(&mut self, len: usize, now_ms: u64) -> bool {
        let was_full = self.is_full();
        self.liveness.said(now_ms);
        self.output.take(len);
        was_full && !self.is_full()
    }

    /// Whether so much waits to be written to it that nothing more is to be asked for it.
    pub(super) fn is_full(&self) -> bool {
        self.output.len() > CLIENT_OUTPUT_LEN_MAX
    }

    /// Notes whether it is notified that upstream connections of its take no publishes. Whether that is news.
    pub(super) fn note_blocked(&mut self, is_blocked: bool) -> bool {
        std::mem::replace(&mut self.knows_blocked, is_blocked) != is_blocked
    }

    /// Its heartbeat. `None` where it was silent for two of them; else whether it was said.
    pub(super) fn beat(&mut self, now_ms: u64) -> Option<bool> {
        // A client that has ended says no more, and to write to it may break what it said before.
        if self.agreed.heartbeat == 0 || !self.is_running() || self.has_ended() {
            return Some(false);
        }
        let beat_ms = u64::from(self.agreed.heartbeat) * 1000;
        if !self.may_read() || self.input.is_paused {
            // A client that is not listened to cannot be silent.
            self.liveness.heard(now_ms);
        }
        if self.liveness.is_silent_for(2 * beat_ms, now_ms) {
            return None;
        }
        let is_due = self.liveness.is_beat_due(beat_ms, now_ms) && self.output.is_empty();
        if is_due {
            put_heartbeat(self.output.end());
        }
        Some(is_due)
    }
}

/// Its user, and what was agreed on with it.
impl Client {
    /// What it says of itself with its login.
    pub(super) fn introduce(&mut self, mechanism: &'static str, properties: &Table<'_>) {
        let capabilities = ClientCapabilities::of(properties);
        let peer = std::mem::take(&mut self.introduction.peer);
        self.introduction = Introduction { properties: properties.to_owned(), capabilities, mechanism, peer };
    }

    pub(super) fn properties(&self) -> &TableBuf {
        &self.introduction.properties
    }

    pub(super) fn capabilities(&self) -> ClientCapabilities {
        self.introduction.capabilities
    }

    /// By which it logged in.
    pub(super) fn mechanism(&self) -> &'static str {
        self.introduction.mechanism
    }

    pub(super) fn login(&self) -> Option<LoginId> {
        self.access.login
    }

    pub(super) fn set_login(&mut self, login: LoginId) {
        self.access.login = Some(login);
    }

    pub(super) fn pool(&self) -> Option<PoolId> {
        self.access.pool
    }

    pub(super) fn set_pool(&mut self, pool: PoolId) {
        self.access.pool = Some(pool);
    }

    /// It uses its login and its pool no longer.
    pub(super) fn leave_login(&mut self) -> (Option<LoginId>, Option<PoolId>) {
        (self.access.login.take(), self.access.pool.take())
    }

    pub(super) fn vhost(&self) -> Option<&Rc<str>> {
        self.access.vhost.as_ref()
    }

    /// Whether there is room for its user.
    pub(super) fn is_admitted(&self) -> bool {
        self.access.is_admitted
    }

    pub(super) fn admit(&mut self) {
        self.access.is_admitted = true;
    }

    /// Whether an upstream has just let it in, however long that is believed.
    pub(super) fn is_vouched(&self) -> bool {
        self.access.is_vouched
    }

    pub(super) fn vouch(&mut self) {
        self.access.is_vouched = true;
    }

    /// What an upstream has just said of it was of use.
    pub(super) fn take_vouched(&mut self) -> bool {
        std::mem::take(&mut self.access.is_vouched)
    }

    #[inline]
    pub(super) fn frame_len_max(&self) -> u32 {
        self.agreed.frame_max
    }

    pub(super) fn channel_max(&self) -> u16 {
        self.agreed.channel_max
    }

    pub(super) fn heartbeat_s(&self) -> u16 {
        self.agreed.heartbeat
    }
}

/// Its channels, and the upstream connection of its own.
impl Client {
    #[inline]
    pub(super) fn channel(&self, number: u16) -> Option<&Channel> {
        self.channels.get(&number)
    }

    #[inline]
    pub(super) fn channel_mut(&mut self, number: u16) -> Option<&mut Channel> {
        self.channels.get_mut(&number)
    }

    pub(super) fn channels(&self) -> impl Iterator<Item = &Channel> {
        self.channels.values()
    }

    pub(super) fn channel_numbers(&self) -> Vec<u16> {
        self.channels.keys().copied().collect()
    }

    pub(super) fn channel_count(&self) -> usize {
        self.channels.len()
    }

    pub(super) fn open_channel(&mut self, number: u16) {
        self.channels.insert(number, Channel::new());
    }

    pub(super) fn forget_channel(&mut self, number: u16) {
        self.channels.remove(&number);
    }

    /// All channels, and with them what of publishes was held.
    pub(super) fn take_channels(&mut self) -> BTreeMap<u16, Channel> {
        self.held_len = 0;
        std::mem::take(&mut self.channels)
    }

    /// Its channels are on its own upstream connection from now on.
    pub(super) fn move_channels(&mut self, channels: BTreeMap<u16, Channel>) {
        self.channels = channels;
        self.own.has_moved = true;
    }

    /// Bytes of publishes that are not whole yet.
    pub(super) fn held_len(&self) -> usize {
        self.held_len
    }

    /// Holds a publish that is not whole yet, which has become so much longer.
    pub(super) fn hold(&mut self, number: u16, content: Content, more_len: usize) {
        self.held_len += more_len;
        if let Some(channel) = self.channels.get_mut(&number) {
            channel.put_content(content);
        }
    }

    /// So much of what was held is done with.
    pub(super) fn let_go(&mut self, len: usize) {
        self.held_len = self.held_len.saturating_sub(len);
    }

    /// Notes whether the spool had room for what it published. Whether it is the first time that there was none.
    pub(super) fn note_room(&mut self, has_room: bool) -> bool {
        !std::mem::replace(&mut self.is_without_room, !has_room) && !has_room
    }

    /// An upstream connection of its own: wanted, being opened, or open.
    #[inline]
    pub(super) fn own(&self) -> Option<UpstreamConnectionId> {
        self.own.connection
    }

    pub(super) fn set_own(&mut self, connection: UpstreamConnectionId) {
        self.own.connection = Some(connection);
    }

    pub(super) fn take_own(&mut self) -> Option<UpstreamConnectionId> {
        self.own.connection.take()
    }

    /// Whether its channels are on its own upstream connection.
    #[inline]
    pub(super) fn has_moved(&self) -> bool {
        self.own.has_moved
    }
}
