//! A switchboard, the brokers behind it and clients before it, and time that passes when a test has it pass.

use std::collections::{BTreeMap, BTreeSet};

use amqp::frame::{FrameKind, PROTOCOL_HEADER, decode_frame, put_frame, put_method};
use amqp::method::{EncodeMethod, Method, basic, channel, confirm, connection};
use amqp::{ContentHeader, Frame, TableBuf, Value};
use proxy::switchboard::{ClientId, Effect, Notice, Options, Refusal, Switchboard, UpstreamConnectionId};

use crate::broker::{BrokerConnection, PASSWORD};

/// What a client was sent, as text: methods by name with what matters of them, contents by their body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    Method(u16, String),
    Ack { channel: u16, tag: u64, is_multiple: bool },
    ChannelClosed { channel: u16, code: u16, text: String },
    ConnectionClosed { code: u16, text: String },
    Returned { channel: u16, routing_key: String, body: Vec<u8> },
    Got { channel: u16, routing_key: String, body: Vec<u8> },
    Delivered { channel: u16, routing_key: String, body: Vec<u8> },
}

#[derive(Debug, Default)]
pub(crate) struct PlayedClient {
    input: Vec<u8>,
    pub(crate) heard: Vec<Heard>,
    /// A content that is coming: of what, and how much of it is left.
    content: BTreeMap<u16, (Heard, Option<u64>)>,
}

impl PlayedClient {
    fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        let input = std::mem::take(&mut self.input);
        let mut at = 0;
        while let Some((frame, len)) = decode_frame(&input[at..], 131_072).expect("what comes is in frames") {
            self.frame(&frame);
            at += len;
        }
        self.input = input[at..].to_vec();
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        let number = frame.channel;
        match frame.kind {
            FrameKind::Heartbeat => {}
            FrameKind::Method => {
                assert!(!self.content.contains_key(&number), "a method within a content");
                let method = Method::decode(frame.payload).expect("methods are well-formed");
                self.method(number, &method);
            }
            FrameKind::Header | FrameKind::Body => {
                let (heard, left) = self.content.remove(&number).expect("content follows its method");
                let left = match (frame.kind, left) {
                    (FrameKind::Header, None) => ContentHeader::decode(frame.payload).unwrap().body_len,
                    (_, Some(left)) => left.checked_sub(frame.payload.len() as u64).expect("no more than was said"),
                    _ => panic!("a body before its header"),
                };
                let mut heard = heard;
                if let Heard::Returned { body, .. } | Heard::Got { body, .. } | Heard::Delivered { body, .. } =
                    &mut heard
                    && frame.kind == FrameKind::Body
                {
                    body.extend_from_slice(frame.payload);
                }
                if left == 0 {
                    self.heard.push(heard);
                } else {
                    self.content.insert(number, (heard, Some(left)));
                }
            }
        }
    }

    fn method(&mut self, channel: u16, method: &Method<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let heard = match method {
            Method::BasicAck(ack) => Heard::Ack { channel, tag: ack.delivery_tag, is_multiple: ack.multiple },
            Method::ChannelClose(close) => {
                Heard::ChannelClosed { channel, code: close.reply_code, text: text(close.reply_text) }
            }
            Method::ConnectionClose(close) => {
                Heard::ConnectionClosed { code: close.reply_code, text: text(close.reply_text) }
            }
            Method::BasicReturn(returned) => {
                let heard = Heard::Returned { channel, routing_key: text(returned.routing_key), body: Vec::new() };
                self.content.insert(channel, (heard, None));
                return;
            }
            Method::BasicGetOk(get_ok) => {
                let heard = Heard::Got { channel, routing_key: text(get_ok.routing_key), body: Vec::new() };
                self.content.insert(channel, (heard, None));
                return;
            }
            Method::BasicDeliver(deliver) => {
                let heard = Heard::Delivered { channel, routing_key: text(deliver.routing_key), body: Vec::new() };
                self.content.insert(channel, (heard, None));
                return;
            }
            other => Heard::Method(channel, other.name().to_owned()),
        };
        self.heard.push(heard);
    }
}

/// Everything.
pub(crate) struct World {
    pub(crate) board: Switchboard,
    pub(crate) now_ms: u64,
    pub(crate) clients: BTreeMap<ClientId, PlayedClient>,
    pub(crate) brokers: BTreeMap<UpstreamConnectionId, BrokerConnection>,
    /// Upstream connections that are wanted and not dialled, while no broker answers.
    pub(crate) wanted: Vec<UpstreamConnectionId>,
    /// Upstream connections that are one client's.
    own_connections: BTreeSet<UpstreamConnectionId>,
    pub(crate) is_reachable: bool,
    pub(crate) notices: Vec<Notice>,
    pub(crate) dialled: usize,
    /// What a new connection to the broker is like.
    pub(crate) new_broker: fn() -> BrokerConnection,
    /// Whether what the broker says stays on its way until a test lets it [arrive](Self::arrive).
    pub(crate) is_far: bool,
    /// Upstream connections to which nothing can be written for now.
    pub(crate) stuck: BTreeSet<UpstreamConnectionId>,
    /// Clients that read nothing for now.
    pub(crate) deaf: BTreeSet<ClientId>,
}

impl World {
    pub(crate) fn new(options: Options) -> Self {
        World {
            board: Switchboard::new(options),
            now_ms: 1_000_000,
            clients: BTreeMap::new(),
            brokers: BTreeMap::new(),
            wanted: Vec::new(),
            own_connections: BTreeSet::new(),
            is_reachable: true,
            notices: Vec::new(),
            dialled: 0,
            new_broker: BrokerConnection::new,
            is_far: false,
            stuck: BTreeSet::new(),
            deaf: BTreeSet::new(),
        }
    }

    pub(crate) fn join(&mut self) -> ClientId {
        let id = self.board.client_joined(self.now_ms);
        self.clients.insert(id, PlayedClient::default());
        id
    }

    /// Dialling continues, and something was in the way.
    pub(crate) fn last_error(&mut self, why: &str) {
        for connection in &self.wanted {
            self.board.dial_failed(*connection, why);
        }
    }

    /// A client whose connection is open.
    pub(crate) fn open(&mut self, user: &str, password: &[u8], vhost: &str) -> ClientId {
        let id = self.join();
        self.say_hello(id, user, password, vhost);
        id
    }

    /// All that a client says until its connection is open, without waiting for answers.
    pub(crate) fn say_hello(&mut self, id: ClientId, user: &str, password: &[u8], vhost: &str) {
        self.say(id, &hello(user, password, vhost));
    }

    pub(crate) fn say(&mut self, id: ClientId, bytes: &[u8]) {
        // In parts, as sockets give them.
        for part in bytes.chunks(4_000) {
            self.board.client_received(id, part, self.now_ms);
        }
        self.settle();
    }

    pub(crate) fn call<M: EncodeMethod>(&mut self, id: ClientId, channel: u16, method: &M) {
        let mut bytes = Vec::new();
        put_method(&mut bytes, channel, method);
        self.say(id, &bytes);
    }

    pub(crate) fn open_channel(&mut self, id: ClientId, number: u16) {
        self.call(id, number, &channel::Open::default());
    }

    pub(crate) fn select_confirms(&mut self, id: ClientId, number: u16) {
        self.call(id, number, &confirm::Select { no_wait: false });
    }

    pub(crate) fn publish(&mut self, id: ClientId, number: u16, exchange: &str, routing_key: &str, body: &[u8]) {
        self.say(id, &publish(number, exchange, routing_key, false, body));
    }

    pub(crate) fn leave(&mut self, id: ClientId) {
        self.call(id, 0, &connection::Close { reply_code: 200, ..Default::default() });
    }

    /// A client's socket breaks.
    pub(crate) fn vanish(&mut self, id: ClientId) {
        self.clients.remove(&id);
        self.board.client_gone(id, self.now_ms);
        self.settle();
    }

    /// An upstream connection's socket breaks.
    pub(crate) fn cut(&mut self, id: UpstreamConnectionId) {
        self.brokers.remove(&id);
        self.board.upstream_lost(id, "cut", self.now_ms);
        self.settle();
    }

    pub(crate) fn pass_ms(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(500) {
            self.now_ms += 500;
            self.board.tick(self.now_ms);
            self.settle();
        }
    }

    /// What the broker has said arrives.
    pub(crate) fn arrive(&mut self) {
        let connections: Vec<UpstreamConnectionId> = self.brokers.keys().copied().collect();
        for id in connections {
            let Some(broker) = self.brokers.get_mut(&id) else { continue };
            let output = std::mem::take(&mut broker.output);
            for part in output.chunks(4_000) {
                self.board.upstream_received(id, part, self.now_ms);
            }
        }
        self.carry();
    }

    /// Carries bytes and wishes until nothing moves.
    pub(crate) fn settle(&mut self) {
        self.carry();
        while !self.is_far && self.brokers.values().any(|broker| !broker.output.is_empty()) {
            self.arrive();
        }
    }

    /// Carries everything but what brokers say.
    fn carry(&mut self) {
        loop {
            let effects = self.board.take_effects();
            let mut has_moved = !effects.is_empty();
            for effect in effects {
                match effect {
                    Effect::Dial { connection, client, .. } => {
                        self.dialled += 1;
                        if client.is_some() {
                            self.own_connections.insert(connection);
                        }
                        self.wanted.push(connection);
                    }
                    Effect::Log(notice) => self.notices.push(notice),
                    Effect::Admit { client, user } => {
                        let refused = || Err(Refusal::new(amqp::ReplyCode::NotAllowed, "no room"));
                        let admitted = if &*user == "unwelcome" { refused() } else { Ok(()) };
                        self.board.client_admitted(client, admitted, self.now_ms);
                    }
                    Effect::ClientChanged(_) | Effect::UpstreamChanged(_) => {}
                }
            }
            if self.is_reachable {
                for connection in std::mem::take(&mut self.wanted) {
                    has_moved = true;
                    if self.board.upstream_wants(connection).close {
                        self.board.upstream_lost(connection, "not wanted any more", self.now_ms);
                        continue;
                    }
                    self.brokers.insert(connection, (self.new_broker)());
                    self.board.upstream_connected(connection, self.now_ms);
                }
            }
            has_moved |= self.carry_connections();
            has_moved |= self.carry_clients();
            if !has_moved {
                return;
            }
        }
    }

    fn carry_connections(&mut self) -> bool {
        let mut has_moved = false;
        let connections: Vec<UpstreamConnectionId> = self.brokers.keys().copied().collect();
        for id in connections {
            let is_stuck = self.stuck.contains(&id);
            let bytes = if is_stuck { Vec::new() } else { self.board.upstream_output(id).to_vec() };
            let broker = self.brokers.get_mut(&id).expect("it is there");
            if !bytes.is_empty() {
                has_moved = true;
                broker.receive(&bytes);
                self.board.upstream_sent(id, bytes.len(), self.now_ms);
            }
            let broker = &self.brokers[&id];
            let is_hung_up = broker.is_closed() && broker.output.is_empty();
            if self.board.upstream_wants(id).close || is_hung_up {
                has_moved = true;
                let is_shared = !self.own_connections.contains(&id);
                assert!(!is_shared || !broker.has_half_a_message(), "a line was closed with half a message on it");
                self.brokers.remove(&id);
                self.board.upstream_lost(id, "the upstream hung up", self.now_ms);
            }
        }
        has_moved
    }

    fn carry_clients(&mut self) -> bool {
        let mut has_moved = false;
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        for id in clients.into_iter().filter(|id| !self.deaf.contains(id)).collect::<Vec<_>>() {
            let bytes = self.board.client_output(id).to_vec();
            if !bytes.is_empty() {
                has_moved = true;
                self.clients.get_mut(&id).expect("it is there").receive(&bytes);
                self.board.client_sent(id, bytes.len(), self.now_ms);
                if self.clients[&id].heard.last() == Some(&Heard::Method(0, "connection.close-ok".to_owned())) {
                    // It closes its socket then.
                    self.board.client_ended(id, self.now_ms);
                }
            }
        }
        has_moved
    }

    /// Whether a client's connection is over.
    pub(crate) fn is_over(&self, id: ClientId) -> bool {
        self.board.client_wants(id).close
    }

    /// What a client has heard since it was last asked, but for the handshake.
    pub(crate) fn heard(&mut self, id: ClientId) -> Vec<Heard> {
        let heard = std::mem::take(&mut self.clients.get_mut(&id).expect("it is there").heard);
        let names = ["connection.start", "connection.tune", "connection.open-ok"];
        let is_handshake = |heard: &Heard| matches!(heard, Heard::Method(0, name) if names.contains(&&**name));
        heard.into_iter().filter(|heard| !is_handshake(heard)).collect()
    }

    /// The only connection to the broker.
    #[track_caller]
    pub(crate) fn only_broker(&mut self) -> &mut BrokerConnection {
        assert_eq!(self.brokers.len(), 1, "{:?}", self.brokers.keys());
        self.brokers.values_mut().next().unwrap()
    }

    /// Everything that brokers were given, by their bodies.
    pub(crate) fn bodies(&self) -> Vec<String> {
        let published = self.brokers.values().flat_map(|broker| &broker.published);
        published.map(|message| String::from_utf8_lossy(&message.body).into_owned()).collect()
    }
}

pub(crate) fn hello(user: &str, password: &[u8], vhost: &str) -> Vec<u8> {
    let capabilities = TableBuf::new()
        .with("authentication_failure_close", Value::Bool(true))
        .with("connection.blocked", Value::Bool(true));
    hello_with(&capabilities, user, password, vhost)
}

pub(crate) fn hello_with(capabilities: &TableBuf, user: &str, password: &[u8], vhost: &str) -> Vec<u8> {
    let mut bytes = PROTOCOL_HEADER.to_vec();
    let mut response = vec![0];
    response.extend_from_slice(user.as_bytes());
    response.push(0);
    response.extend_from_slice(password);
    let properties = TableBuf::new().with("capabilities", Value::Table(capabilities.as_table()));
    let start_ok = connection::StartOk {
        client_properties: properties.as_table(),
        mechanism: b"PLAIN",
        response: &response,
        locale: b"en_US",
    };
    put_method(&mut bytes, 0, &start_ok);
    put_method(&mut bytes, 0, &connection::TuneOk { channel_max: 2047, frame_max: 131_072, heartbeat: 0 });
    put_method(&mut bytes, 0, &connection::Open { virtual_host: vhost.as_bytes(), ..Default::default() });
    bytes
}

/// A whole publish, its body in frames of at most so many bytes.
pub(crate) fn publish_in(
    channel: u16,
    exchange: &str,
    routing_key: &str,
    mandatory: bool,
    body: &[u8],
    part_len: usize,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let method = basic::Publish {
        exchange: exchange.as_bytes(),
        routing_key: routing_key.as_bytes(),
        mandatory,
        ..Default::default()
    };
    put_method(&mut bytes, channel, &method);
    let mut header = Vec::new();
    ContentHeader { class_id: 60, body_len: body.len() as u64, properties: Default::default() }.encode(&mut header);
    put_frame(&mut bytes, &Frame { kind: FrameKind::Header, channel, payload: &header });
    for payload in body.chunks(part_len) {
        put_frame(&mut bytes, &Frame { kind: FrameKind::Body, channel, payload });
    }
    bytes
}

pub(crate) fn publish(channel: u16, exchange: &str, routing_key: &str, mandatory: bool, body: &[u8]) -> Vec<u8> {
    publish_in(channel, exchange, routing_key, mandatory, body, 100_000)
}

pub(crate) fn world() -> World {
    World::new(Options::default())
}

/// A client with a channel, and nothing heard of either.
pub(crate) fn publisher(world: &mut World) -> ClientId {
    let id = world.open("u", PASSWORD, "/");
    world.open_channel(id, 1);
    world.heard(id);
    id
}

/// The broker's last connection: a client's own, where one has moved.
pub(crate) fn last(world: &mut World) -> &mut BrokerConnection {
    world.brokers.values_mut().last().unwrap()
}

pub(crate) fn ack(channel: u16, tag: u64) -> Heard {
    Heard::Ack { channel, tag, is_multiple: false }
}

pub(crate) fn method(channel: u16, name: &str) -> Heard {
    Heard::Method(channel, name.to_owned())
}
