//! One client: says methods, hears what comes.

use std::sync::Arc;
use std::task::Waker;

use amqp::content::{ContentHeader, Properties, properties_bytes, put_body_frames, put_header_encoded};
use amqp::frame::{FrameKind, PROTOCOL_HEADER, decode_frame, put_method};
use amqp::method::{EncodeMethod, Method, basic, channel, confirm, connection, queue};
use amqp::table::{Table, TableBuf, Value};
use parking_lot::Mutex;

use super::group::Trio;
use crate::front::{Phase, Protocol};
use crate::session::Session;

/// What a client hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    Ack {
        tag: u64,
        multiple: bool,
    },
    Nack {
        tag: u64,
    },
    Message {
        tag: u64,
        redelivered: bool,
        body: Vec<u8>,
    },
    Returned {
        code: u16,
        body: Vec<u8>,
    },
    ChannelClose {
        code: u16,
        text: String,
    },
    ConnectionClose {
        code: u16,
        text: String,
    },
    DeclareOk {
        queue: String,
        ready_count: u32,
        consumer_count: u32,
    },
    PurgeOk(u32),
    DeleteOk(u32),
    /// Any other method, by name.
    Other(&'static str),
}

pub(super) struct Client {
    pub(super) session: Session,
    last_header: Option<Vec<u8>>,
    now_ms: u64,
    group: Option<Arc<Mutex<Trio>>>,
}

/// A persistent message's properties: flags for delivery-mode, and 2.
pub(super) const PERSISTENT: &[u8] = &[0x10, 0, 2];
/// No properties.
pub(super) const TRANSIENT: &[u8] = &[0, 0];

impl Client {
    pub(super) fn new(session: Session) -> Self {
        Self { session, last_header: None, now_ms: 1, group: None }
    }

    /// Of a broker over a group, whose answers may have to wait for its other members.
    pub(super) fn over(self, group: Option<Arc<Mutex<Trio>>>) -> Self {
        Self { group, ..self }
    }

    /// Sends bytes, as far as the broker wants them. Says how many it took.
    /// Whether a publish would be taken now.
    pub(super) fn may_publish(&self) -> bool {
        self.session.front.wants_input() && !self.session.front.broker().engine.store.is_congested()
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) -> usize {
        self.now_ms += 1;
        let now_ms = self.session.front.broker().engine.clock.set_to().unwrap_or(self.now_ms);
        self.session.receive(bytes, now_ms)
    }

    pub(super) fn send<M: EncodeMethod>(&mut self, channel: u16, method: &M) {
        let mut bytes = Vec::new();
        put_method(&mut bytes, channel, method);
        self.send_bytes(&bytes);
    }

    /// All that has come, in order.
    pub(super) fn hear(&mut self) -> Vec<Heard> {
        let mut bytes = Vec::new();
        loop {
            let is_busy = self.session.drain_outbox(Waker::noop()) || !self.session.front.output().is_empty();
            bytes.append(&mut self.session.front.take_output());
            if !is_busy {
                return understand(&bytes, &mut self.last_header);
            }
        }
    }

    /// The content header of the last message that was heard.
    #[track_caller]
    pub(super) fn last_header(&self) -> Vec<u8> {
        self.last_header.clone().expect("a message was heard")
    }

    /// A number among its headers.
    #[track_caller]
    pub(super) fn last_number(&self, name: &str) -> Option<i64> {
        let header = self.last_header();
        let header = ContentHeader::decode(&header).expect("a content header");
        header.properties.headers?.get(name)?.as_i64()
    }

    /// The one thing that has come.
    #[track_caller]
    pub(super) fn hear_one(&mut self) -> Heard {
        let mut heard = self.hear();
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard.remove(0)
    }

    /// The answer to a declaration or a binding, which waits for the disk, or for a majority in a group. None: the broker's life is over
    /// before.
    #[track_caller]
    pub(super) fn hear_defined(&mut self) -> Option<Heard> {
        for _ in 0..100_000 {
            let mut heard = self.hear();
            assert!(heard.len() < 2, "{heard:?}");
            if let Some(heard) = heard.pop() {
                return Some(heard);
            }
            match &self.group {
                Some(group) if group.lock().is_over() => return None,
                Some(group) => group.lock().step_on(),
                None => self.session.front.broker().engine.store.step_journal().ok()?,
            }
        }
        panic!("a definition is never answered");
    }

    /// Up to connection.open.
    pub(super) fn try_log_in(&mut self, user: &str, password: &str, client_properties: Table<'_>) -> Vec<Heard> {
        self.try_log_in_by(b"PLAIN", format!("\0{user}\0{password}").as_bytes(), client_properties)
    }

    /// Up to connection.open, by any mechanism.
    pub(super) fn try_log_in_by(
        &mut self,
        mechanism: &[u8],
        response: &[u8],
        client_properties: Table<'_>,
    ) -> Vec<Heard> {
        self.send_bytes(&PROTOCOL_HEADER);
        self.send(0, &connection::StartOk { client_properties, mechanism, response, locale: b"en_US" });
        let mut heard = self.hear();
        if heard.last() == Some(&Heard::Other("connection.tune")) {
            self.send(0, &connection::TuneOk { channel_max: 2047, frame_max: 131_072, heartbeat: 0 });
            self.send(0, &connection::Open { virtual_host: b"/", ..Default::default() });
            heard.append(&mut self.hear());
        }
        heard
    }

    #[track_caller]
    pub(super) fn log_in(&mut self, user: &str, password: &str) {
        let capabilities = TableBuf::new().with("consumer_cancel_notify", Value::Bool(true));
        let properties = TableBuf::new().with("capabilities", Value::Table(capabilities.as_table()));
        let heard = self.try_log_in(user, password, properties.as_table());
        assert_eq!(heard.last(), Some(&Heard::Other("connection.open-ok")));
    }

    #[track_caller]
    pub(super) fn open_channel(&mut self, number: u16) {
        self.send(number, &channel::Open::default());
        assert_eq!(self.hear_one(), Heard::Other("channel.open-ok"));
    }

    #[track_caller]
    pub(super) fn select_confirms(&mut self, number: u16) {
        self.send(number, &confirm::Select { no_wait: false });
        assert_eq!(self.hear_one(), Heard::Other("confirm.select-ok"));
    }

    #[track_caller]
    pub(super) fn declare(&mut self, name: &str) {
        self.send(1, &queue::Declare { queue: name.as_bytes(), durable: true, ..Default::default() });
        let heard = self.hear_defined();
        assert!(matches!(heard, Some(Heard::DeclareOk { .. }) | None), "{heard:?}");
    }

    #[track_caller]
    pub(super) fn declare_with(&mut self, name: &str, arguments: &[(&str, Value<'_>)]) {
        let arguments = table_of(arguments);
        let arguments = arguments.as_table();
        self.send(1, &queue::Declare { queue: name.as_bytes(), durable: true, arguments, ..Default::default() });
        let heard = self.hear_defined();
        assert!(matches!(heard, Some(Heard::DeclareOk { .. }) | None), "{heard:?}");
    }

    /// Publishes a lasting message to a queue.
    pub(super) fn publish_with(&mut self, queue: &str, properties: Properties<'_>, body: &str) {
        let mut header = Vec::new();
        let properties = Properties { delivery_mode: Some(2), ..properties };
        ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut header);
        self.publish(1, "", queue, properties_bytes(&header), body.as_bytes());
    }

    pub(super) fn publish(&mut self, channel: u16, exchange: &str, routing_key: &str, properties: &[u8], body: &[u8]) {
        let (exchange, routing_key) = (exchange.as_bytes(), routing_key.as_bytes());
        self.publish_as(channel, &basic::Publish { exchange, routing_key, ..Default::default() }, properties, body);
    }

    pub(super) fn publish_as(&mut self, channel: u16, method: &basic::Publish<'_>, properties: &[u8], body: &[u8]) {
        let mut bytes = Vec::new();
        put_method(&mut bytes, channel, method);
        put_header_encoded(&mut bytes, channel, body.len() as u64, properties);
        put_body_frames(&mut bytes, channel, body, 131_072);
        let taken_len = self.send_bytes(&bytes);
        assert!(
            taken_len == bytes.len() || !matches!(self.session.front.phase(), Phase::Running),
            "the broker does not listen"
        );
    }

    pub(super) fn consume(&mut self, channel: u16, queue: &str, tag: &str, no_ack: bool) {
        let method =
            basic::Consume { queue: queue.as_bytes(), consumer_tag: tag.as_bytes(), no_ack, ..Default::default() };
        self.send(channel, &method);
    }

    pub(super) fn get(&mut self, channel: u16, queue: &str, no_ack: bool) {
        self.send(channel, &basic::Get { queue: queue.as_bytes(), no_ack, ..Default::default() });
    }

    pub(super) fn ack(&mut self, channel: u16, delivery_tag: u64, multiple: bool) {
        self.send(channel, &basic::Ack { delivery_tag, multiple });
    }
}

pub(super) fn table_of(pairs: &[(&str, Value<'_>)]) -> TableBuf {
    pairs.iter().fold(TableBuf::new(), |table, (name, value)| table.with(name, *value))
}

fn understand(mut bytes: &[u8], last_header: &mut Option<Vec<u8>>) -> Vec<Heard> {
    let mut all = Vec::new();
    let mut missing_len = 0;
    while let Some((frame, len)) = decode_frame(bytes, 131_080).expect("the broker speaks AMQP") {
        bytes = &bytes[len..];
        match frame.kind {
            FrameKind::Method => all.push(heard(&Method::decode(frame.payload).expect("a method"))),
            FrameKind::Header => {
                *last_header = Some(frame.payload.to_vec());
                missing_len = u64::from_be_bytes(frame.payload[4..12].try_into().expect("eight bytes")) as usize;
            }
            FrameKind::Body => {
                missing_len -= frame.payload.len();
                match all.last_mut() {
                    Some(Heard::Message { body, .. } | Heard::Returned { body, .. }) => {
                        body.extend_from_slice(frame.payload);
                    }
                    other => panic!("a body after {other:?}"),
                }
            }
            FrameKind::Heartbeat => {}
        }
    }
    assert_eq!((bytes.len(), missing_len), (0, 0), "the broker sent half of something");
    all
}

fn heard(method: &Method<'_>) -> Heard {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match method {
        Method::BasicAck(ack) => Heard::Ack { tag: ack.delivery_tag, multiple: ack.multiple },
        Method::BasicNack(nack) => Heard::Nack { tag: nack.delivery_tag },
        Method::BasicDeliver(deliver) => {
            Heard::Message { tag: deliver.delivery_tag, redelivered: deliver.redelivered, body: Vec::new() }
        }
        Method::BasicGetOk(got) => {
            Heard::Message { tag: got.delivery_tag, redelivered: got.redelivered, body: Vec::new() }
        }
        Method::BasicReturn(returned) => Heard::Returned { code: returned.reply_code, body: Vec::new() },
        Method::ChannelClose(close) => Heard::ChannelClose { code: close.reply_code, text: text(close.reply_text) },
        Method::ConnectionClose(close) => {
            Heard::ConnectionClose { code: close.reply_code, text: text(close.reply_text) }
        }
        Method::QueueDeclareOk(ok) => {
            Heard::DeclareOk { queue: text(ok.queue), ready_count: ok.message_count, consumer_count: ok.consumer_count }
        }
        Method::QueuePurgeOk(ok) => Heard::PurgeOk(ok.message_count),
        Method::QueueDeleteOk(ok) => Heard::DeleteOk(ok.message_count),
        other => Heard::Other(other.name()),
    }
}
