//! An open connection, without I/O: frames in, events out; methods and messages into the output.
//!
//! An event borrows from the input where its content lies there in one piece, as nearly always. A content of several
//! body frames, or one between whose frames another channel's came, is put together in memory first.

use std::collections::VecDeque;
use std::ops::Range;

use amqp::content::{BASIC_CLASS_ID, body_part_len_max, properties_bytes, put_body_frames};
use amqp::frame::{FRAME_HEAD_LEN, Frame, FrameError, FrameKind, decode_frame, put_heartbeat, put_method};
use amqp::method::EncodeMethod;
use amqp::{Method, Table, Value, basic, channel, connection};

use crate::buffers::{Input, Output};
use crate::content::Content;
use crate::error::Closed;
use crate::handshake::Agreement;

/// The longest content that may come to a client; RabbitMQ's hard limit. More than that is a broken peer.
const BODY_LEN_MAX: u64 = 512 << 20;

/// What both sides have agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tune {
    /// The highest channel number.
    pub channel_max: u16,
    /// The longest frame, all of it, in bytes.
    pub frame_len_max: u32,
    /// Seconds between heartbeats; 0 is none.
    pub heartbeat: u16,
}

/// What the broker says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// `product`.
    pub product: String,
    /// `version`.
    pub version: String,
    /// `platform`.
    pub platform: String,
    /// `product_name`, which RabbitMQ's relatives have beside `product`.
    pub product_name: Option<String>,
    /// `product_version`.
    pub product_version: Option<String>,
    /// `cluster_name`.
    pub cluster_name: Option<String>,
}

impl Server {
    pub(crate) fn of(properties: Table<'_>) -> Self {
        let text = |name| match properties.get(name) {
            Some(Value::LongStr(text)) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        };
        Server {
            product: text("product").unwrap_or_default(),
            version: text("version").unwrap_or_default(),
            platform: text("platform").unwrap_or_default(),
            product_name: text("product_name"),
            product_version: text("product_version"),
            cluster_name: text("cluster_name"),
        }
    }
}

/// What the broker did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// It takes responsibility for publishes (`basic.ack`), or refuses it (`basic.nack`).
    Confirmed {
        /// The channel.
        channel: u16,
        /// Which publish of the channel, from 1.
        tag: u64,
        /// All up to that one.
        is_multiple: bool,
        /// Whether it takes it.
        is_ack: bool,
    },
    /// It hands a message to a consumer.
    Delivered {
        /// The channel.
        channel: u16,
        /// The consumer's tag, the delivery's, and where the message was published.
        deliver: basic::Deliver<'a>,
        /// The message.
        content: Content<'a>,
    },
    /// It answers a `basic.get` with a message.
    Got {
        /// The channel.
        channel: u16,
        /// Which, from where.
        got: basic::GetOk<'a>,
        /// The message.
        content: Content<'a>,
    },
    /// It returns a message that has no queue to go to.
    Returned {
        /// The channel.
        channel: u16,
        /// Why.
        returned: basic::Return<'a>,
        /// The message.
        content: Content<'a>,
    },
    /// It closed a channel. That was acknowledged already; the number can be opened again.
    ChannelClosed {
        /// The channel.
        channel: u16,
        /// Why.
        close: channel::Close<'a>,
    },
    /// It is short of something and does not want to be sent messages. See [`Session::is_blocked`].
    Blocked {
        /// The broker's words.
        reason: &'a [u8],
    },
    /// It can be sent messages again.
    Unblocked,
    /// Any other method: the answer to a request, or a consumer that was cancelled.
    Answered {
        /// The channel.
        channel: u16,
        /// The method.
        method: Method<'a>,
    },
}

/// Exchange, routing key and flags of publishes: encoded once, used for any number of messages on any channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// A method frame of channel 0.
    frame: Box<[u8]>,
}

impl Route {
    /// A route, or `None` if the exchange's name or the key is longer than 255 bytes.
    #[must_use]
    pub fn new(exchange: &[u8], routing_key: &[u8], is_mandatory: bool) -> Option<Self> {
        let len_max = amqp::limits::SHORT_STR_LEN_MAX;
        if exchange.len() > len_max || routing_key.len() > len_max {
            return None;
        }
        let publish = basic::Publish { exchange, routing_key, mandatory: is_mandatory, ..Default::default() };
        let mut frame = Vec::new();
        put_method(&mut frame, 0, &publish);
        Some(Route { frame: frame.into() })
    }
}

/// A content that was put together in memory, or an event that was put back.
#[derive(Debug, Default)]
struct Kept {
    channel: u16,
    /// A method's payload.
    method: Vec<u8>,
    /// Encoded properties and the length that the body will have, once the header has come.
    header: Option<(Vec<u8>, usize)>,
    body: Vec<u8>,
}

/// Where an event lies.
enum EventSource {
    /// More input is needed.
    Nothing,
    /// Ranges of the input before `taken` bytes were taken from it.
    Here { channel: u16, method: Range<usize>, content: Option<(Range<usize>, Range<usize>)>, taken: usize },
    /// In [`Session::current`].
    Kept,
}

/// An open connection, without I/O.
#[derive(Debug)]
pub struct Session {
    pub(crate) input: Input,
    pub(crate) output: Output,
    tune: Tune,
    server: Option<Box<Server>>,
    blocked: Option<String>,
    is_closing: bool,
    /// Contents that are not complete, at most one a channel.
    partial: Vec<Kept>,
    /// Events that were put back, oldest first.
    held: VecDeque<Kept>,
    /// What the last event borrows from, if not the input.
    current: Kept,
}

impl Session {
    pub(crate) fn new(agreement: Agreement, input: Input, output: Output) -> Self {
        Session {
            input,
            output,
            tune: agreement.tune,
            server: Some(Box::new(agreement.server)),
            blocked: None,
            is_closing: false,
            partial: Vec::new(),
            held: VecDeque::new(),
            current: Kept::default(),
        }
    }

    /// What both sides have agreed on.
    #[must_use]
    pub fn tune(&self) -> Tune {
        self.tune
    }

    /// What the broker says of itself, unless it was taken.
    #[must_use]
    pub fn server(&self) -> Option<&Server> {
        self.server.as_deref()
    }

    /// What the broker says of itself. Once taken it is not kept: it would take more than half of what an idle connection does.
    pub fn take_server(&mut self) -> Server {
        self.server.take().map(|server| *server).unwrap_or_default()
    }

    /// Whether, and why, the broker does not want to be sent messages (`connection.blocked`). It reads none until it
    /// says otherwise, so that a caller that publishes nevertheless fills buffers.
    #[must_use]
    pub fn is_blocked(&self) -> Option<&str> {
        self.blocked.as_deref()
    }

    /// Bytes that wait to be sent.
    #[inline]
    #[must_use]
    pub fn output_len(&self) -> usize {
        self.output.len()
    }

    /// Sends a method without content.
    #[inline]
    pub fn send<M: EncodeMethod + ?Sized>(&mut self, channel: u16, method: &M) {
        put_method(self.output.bytes(), channel, method);
    }

    /// Publishes a message. `properties` are encoded ([`Properties::encode`]).
    #[inline]
    pub fn publish(&mut self, channel: u16, route: &Route, properties: &[u8], body: &[u8]) {
        let out = self.output.bytes();
        let channel_bytes = channel.to_be_bytes();
        let start = out.len();
        out.extend_from_slice(&route.frame);
        out[start + 1..start + 3].copy_from_slice(&channel_bytes);
        amqp::content::put_header_encoded(out, channel, body.len() as u64, properties);
        put_body_frames(out, channel, body, self.tune.frame_len_max);
    }

    /// Where frames are appended that the caller has encoded, whole ones and no longer than was [agreed](Self::tune).
    pub fn encoded(&mut self) -> &mut Vec<u8> {
        self.output.bytes()
    }

    /// Acknowledges deliveries.
    #[inline]
    pub fn ack(&mut self, channel: u16, delivery_tag: u64, is_multiple: bool) {
        self.send(channel, &basic::Ack { delivery_tag, multiple: is_multiple });
    }

    /// Refuses deliveries.
    pub fn nack(&mut self, channel: u16, delivery_tag: u64, is_multiple: bool, requeue: bool) {
        self.send(channel, &basic::Nack { delivery_tag, multiple: is_multiple, requeue });
    }

    pub(crate) fn heartbeat(&mut self) {
        put_heartbeat(self.output.bytes());
    }

    /// Starts closing the connection; the broker's answer ends it as [`Closed::ByUs`].
    pub fn close(&mut self) {
        if !self.is_closing {
            self.is_closing = true;
            let code = amqp::ReplyCode::Success.code();
            self.send(0, &connection::Close { reply_code: code, reply_text: b"Goodbye", ..Default::default() });
        }
    }

    /// The next event of what has been received; `None` when more has to be.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, Closed> {
        let found = match self.held.pop_front() {
            Some(held) => {
                self.current = held;
                EventSource::Kept
            }
            None => self.find()?,
        };
        match found {
            EventSource::Nothing => Ok(None),
            EventSource::Kept => {
                let kept = &self.current;
                let content = kept.header.as_ref().map(|(properties, _)| Content::new(properties, &kept.body));
                event(kept.channel, &kept.method, content).map(Some)
            }
            EventSource::Here { channel, method, content, taken } => {
                let content = content.map(|(properties, body)| {
                    Content::new(self.input.taken(taken, &properties), self.input.taken(taken, &body))
                });
                event(channel, self.input.taken(taken, &method), content).map(Some)
            }
        }
    }

    /// The next event of those that have been received is an answer on this channel, or it becomes one that a later
    /// [`next_event`](Self::next_event) gives. `None` when more has to be received.
    pub(crate) fn next_answer(
        &mut self,
        channel: u16,
        held: &mut VecDeque<KeptEvent>,
    ) -> Result<Option<RequestOutcome>, Closed> {
        loop {
            let is_fresh = self.held.is_empty();
            let Some(event) = self.next_event()? else { return Ok(None) };
            match event {
                Event::Answered { channel: on, method }
                    if on == channel && !matches!(method, Method::BasicCancel(_)) =>
                {
                    let mut payload = Vec::new();
                    method.encode_method(&mut payload);
                    return Ok(Some(RequestOutcome::Answer(payload)));
                }
                Event::Got { channel: on, got, content } if on == channel && is_fresh => {
                    let kept = KeptEvent::content(on, &got, content);
                    // A get is answered by a message: the caller finds it among the events.
                    let mut payload = Vec::new();
                    got.encode_method(&mut payload);
                    self.held.push_front(kept.0);
                    return Ok(Some(RequestOutcome::Answer(payload)));
                }
                Event::ChannelClosed { channel: on, close } if on == channel => {
                    let text = String::from_utf8_lossy(close.reply_text).into_owned();
                    return Ok(Some(RequestOutcome::Refused { code: close.reply_code, text }));
                }
                other => {
                    if let Some(kept) = KeptEvent::of(&other) {
                        held.push_back(kept);
                    }
                }
            }
        }
    }

    /// Puts events back, before all others.
    pub(crate) fn put_back(&mut self, events: VecDeque<KeptEvent>) {
        for KeptEvent(kept) in events.into_iter().rev() {
            self.held.push_front(kept);
        }
    }

    fn find(&mut self) -> Result<EventSource, Closed> {
        loop {
            let rest = self.input.rest();
            let Some((frame, len)) = decode(rest, self.tune.frame_len_max)? else { return Ok(EventSource::Nothing) };
            let channel = frame.channel;
            match frame.kind {
                FrameKind::Heartbeat => self.input.take(len),
                FrameKind::Method if !has_content(frame.payload) => {
                    let method = payload_range(0, &frame);
                    self.input.take(len);
                    if channel != 0 && !is_channel_close(self.input.taken(len, &method)) {
                        return Ok(EventSource::Here { channel, method, content: None, taken: len });
                    }
                    if self.on_control(channel, len, &method)? {
                        return Ok(EventSource::Here { channel, method, content: None, taken: len });
                    }
                }
                FrameKind::Method => match whole_content(rest, &frame, len, self.tune.frame_len_max)? {
                    ContentFrames::More => return Ok(EventSource::Nothing),
                    ContentFrames::Here { content, taken } => {
                        let method = payload_range(0, &frame);
                        self.input.take(taken);
                        return Ok(EventSource::Here { channel, method, content: Some(content), taken });
                    }
                    ContentFrames::InParts => {
                        let method = frame.payload.to_vec();
                        self.partial.retain(|partial| partial.channel != channel);
                        self.partial.push(Kept { channel, method, ..Kept::default() });
                        self.input.take(len);
                    }
                },
                FrameKind::Header | FrameKind::Body => {
                    let is_complete = self.add_part(len)?;
                    if is_complete {
                        return Ok(EventSource::Kept);
                    }
                }
            }
        }
    }

    /// Takes a header or body frame at the front of the input. Returns whether that completes a content.
    fn add_part(&mut self, len: usize) -> Result<bool, Closed> {
        let Some((frame, _)) = decode(self.input.rest(), self.tune.frame_len_max)? else { return Ok(false) };
        let found = self.partial.iter().position(|partial| partial.channel == frame.channel);
        let Some(at) = found else {
            return Err(Closed::Garbled(format!(
                "a part of a content on channel {} without its method",
                frame.channel
            )));
        };
        let partial = &mut self.partial[at];
        if frame.kind == FrameKind::Header {
            let body_len = body_len(frame.payload)?;
            partial.header = Some((properties_bytes(frame.payload).to_vec(), body_len));
            partial.body.reserve_exact(body_len);
        } else {
            partial.body.extend_from_slice(frame.payload);
        }
        self.input.take(len);
        let partial = &self.partial[at];
        match &partial.header {
            Some((_, body_len)) if partial.body.len() > *body_len => {
                Err(Closed::Garbled("a body longer than its header says".to_owned()))
            }
            Some((_, body_len)) if partial.body.len() == *body_len => {
                self.current = self.partial.swap_remove(at);
                Ok(true)
            }
            Some(_) => Ok(false),
            None => Err(Closed::Garbled("a body before its header".to_owned())),
        }
    }

    /// What concerns the connection itself, or the end of a channel. Returns whether it is an event as well.
    fn on_control(&mut self, channel: u16, taken: usize, method: &Range<usize>) -> Result<bool, Closed> {
        match decode_method(self.input.taken(taken, method))? {
            Method::ConnectionClose(close) => {
                let closed = Closed::ByBroker {
                    code: close.reply_code,
                    text: String::from_utf8_lossy(close.reply_text).into_owned(),
                };
                put_method(self.output.bytes(), 0, &connection::CloseOk);
                Err(closed)
            }
            Method::ConnectionCloseOk(_) => Err(Closed::ByUs),
            Method::ConnectionBlocked(blocked) => {
                self.blocked = Some(String::from_utf8_lossy(blocked.reason).into_owned());
                Ok(true)
            }
            Method::ConnectionUnblocked(_) => {
                self.blocked = None;
                Ok(true)
            }
            Method::ChannelClose(_) => {
                put_method(self.output.bytes(), channel, &channel::CloseOk);
                self.partial.retain(|partial| partial.channel != channel);
                Ok(true)
            }
            _ => Ok(true),
        }
    }
}

/// What a request came to.
#[derive(Debug)]
pub(crate) enum RequestOutcome {
    /// The answer's payload.
    Answer(Vec<u8>),
    /// The broker closed the channel.
    Refused { code: u16, text: String },
}

/// An event that owns what it says.
#[derive(Debug)]
pub(crate) struct KeptEvent(Kept);

impl KeptEvent {
    fn of(event: &Event<'_>) -> Option<Self> {
        Some(match *event {
            Event::Confirmed { channel, tag, is_multiple, is_ack: true } => {
                Self::method(channel, &basic::Ack { delivery_tag: tag, multiple: is_multiple })
            }
            Event::Confirmed { channel, tag, is_multiple, is_ack: false } => {
                let nack = basic::Nack { delivery_tag: tag, multiple: is_multiple, requeue: false };
                Self::method(channel, &nack)
            }
            Event::Delivered { channel, deliver, content } => Self::content(channel, &deliver, content),
            Event::Got { channel, got, content } => Self::content(channel, &got, content),
            Event::Returned { channel, returned, content } => Self::content(channel, &returned, content),
            Event::ChannelClosed { channel, close } => Self::method(channel, &close),
            Event::Answered { channel, method } => Self::method(channel, &method),
            // The session remembers whether it is blocked.
            Event::Blocked { .. } | Event::Unblocked => return None,
        })
    }

    fn method(channel: u16, method: &impl EncodeMethod) -> Self {
        let mut payload = Vec::new();
        method.encode_method(&mut payload);
        KeptEvent(Kept { channel, method: payload, header: None, body: Vec::new() })
    }

    fn content(channel: u16, method: &impl EncodeMethod, content: Content<'_>) -> Self {
        let KeptEvent(mut kept) = Self::method(channel, method);
        kept.header = Some((content.properties_bytes().to_vec(), content.body.len()));
        kept.body = content.body.to_vec();
        KeptEvent(kept)
    }
}

/// Whether the frames after a method are all here, in one piece.
enum ContentFrames {
    More,
    Here { content: (Range<usize>, Range<usize>), taken: usize },
    InParts,
}

fn whole_content(
    rest: &[u8],
    method: &Frame<'_>,
    method_len: usize,
    frame_len_max: u32,
) -> Result<ContentFrames, Closed> {
    let Some((header, header_len)) = decode(&rest[method_len..], frame_len_max)? else {
        return Ok(ContentFrames::More);
    };
    if header.kind != FrameKind::Header || header.channel != method.channel {
        return Ok(ContentFrames::InParts);
    }
    let body_len = body_len(header.payload)?;
    if body_len > body_part_len_max(frame_len_max) {
        return Ok(ContentFrames::InParts);
    }
    let properties_len = properties_bytes(header.payload).len();
    let properties_end = method_len + FRAME_HEAD_LEN + header.payload.len();
    let properties = properties_end - properties_len..properties_end;
    let taken = method_len + header_len;
    if body_len == 0 {
        return Ok(ContentFrames::Here { content: (properties, taken..taken), taken });
    }
    let Some((body, frame_len)) = decode(&rest[taken..], frame_len_max)? else { return Ok(ContentFrames::More) };
    if body.kind != FrameKind::Body || body.channel != method.channel || body.payload.len() != body_len {
        return Ok(ContentFrames::InParts);
    }
    Ok(ContentFrames::Here { content: (properties, payload_range(taken, &body)), taken: taken + frame_len })
}

#[inline]
fn decode(input: &[u8], frame_len_max: u32) -> Result<Option<(Frame<'_>, usize)>, Closed> {
    decode_frame(input, frame_len_max).map_err(|error: FrameError| Closed::Garbled(error.to_string()))
}

#[inline]
fn decode_method(payload: &[u8]) -> Result<Method<'_>, Closed> {
    Method::decode(payload).map_err(|error| Closed::Garbled(error.to_string()))
}

#[inline]
fn payload_range(frame_start: usize, frame: &Frame<'_>) -> Range<usize> {
    let start = frame_start + FRAME_HEAD_LEN;
    start..start + frame.payload.len()
}

fn body_len(header: &[u8]) -> Result<usize, Closed> {
    // Properties are looked at when the caller asks for them.
    let len = header.get(4..12).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
    match len {
        Some(len) if len <= BODY_LEN_MAX => Ok(len as usize),
        Some(len) => Err(Closed::Garbled(format!("a body of {len} bytes"))),
        None => Err(Closed::Garbled("a content header that ends too early".to_owned())),
    }
}

/// Whether a method's payload says that a content follows: basic.return, basic.deliver or basic.get-ok.
#[inline]
fn has_content(payload: &[u8]) -> bool {
    const BASIC: [u8; 2] = BASIC_CLASS_ID.to_be_bytes();
    matches!(*payload, [class0, class1, 0, 50 | 60 | 71, ..] if [class0, class1] == BASIC)
}

#[inline]
fn is_channel_close(payload: &[u8]) -> bool {
    matches!(*payload, [0, 20, 0, 40, ..])
}

#[inline]
fn event<'a>(channel: u16, method: &'a [u8], content: Option<Content<'a>>) -> Result<Event<'a>, Closed> {
    let method = decode_method(method)?;
    Ok(match (method, content) {
        (Method::BasicDeliver(deliver), Some(content)) => Event::Delivered { channel, deliver, content },
        (Method::BasicAck(ack), _) => {
            Event::Confirmed { channel, tag: ack.delivery_tag, is_multiple: ack.multiple, is_ack: true }
        }
        (Method::BasicNack(nack), _) => {
            Event::Confirmed { channel, tag: nack.delivery_tag, is_multiple: nack.multiple, is_ack: false }
        }
        (Method::BasicGetOk(got), Some(content)) => Event::Got { channel, got, content },
        (Method::BasicReturn(returned), Some(content)) => Event::Returned { channel, returned, content },
        (Method::ChannelClose(close), _) => Event::ChannelClosed { channel, close },
        (Method::ConnectionBlocked(blocked), _) => Event::Blocked { reason: blocked.reason },
        (Method::ConnectionUnblocked(_), _) => Event::Unblocked,
        (method, _) => Event::Answered { channel, method },
    })
}

#[cfg(test)]
mod tests {
    use amqp::frame::put_frame;
    use proptest::prelude::*;

    use super::*;

    const FRAME_LEN_MAX: u32 = 4096;

    fn session() -> Session {
        let tune = Tune { channel_max: 10, frame_len_max: FRAME_LEN_MAX, heartbeat: 0 };
        Session::new(Agreement { tune, server: Server::default() }, Input::default(), Output::default())
    }

    /// Gives the session bytes as a socket would, and takes all events. Returns how many there were.
    fn feed(bytes: &[u8]) -> usize {
        let mut session = session();
        let mut rest = bytes;
        let mut count = 0;
        while !rest.is_empty() {
            let space = session.input.space();
            let len = space.len().min(rest.len());
            space[..len].copy_from_slice(&rest[..len]);
            session.input.fill(len);
            rest = &rest[len..];
            loop {
                match session.next_event() {
                    Ok(Some(_)) => count += 1,
                    Ok(None) => break,
                    Err(_) => return count,
                }
            }
        }
        count
    }

    /// Frames of a kind that exists, with anything in them, or with what looks like a method.
    fn frame() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop_oneof![Just(FrameKind::Method), Just(FrameKind::Header), Just(FrameKind::Body)];
        let start = prop_oneof![
            Just(vec![]),
            Just(vec![0, 60, 0, 60, 1, b'c', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
            Just(vec![0, 60, 0, 80]),
            Just(vec![0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0]),
            Just(vec![0, 10, 0, 60]),
            Just(vec![0, 20, 0, 40]),
        ];
        (kind, 0u16..4, start, proptest::collection::vec(any::<u8>(), 0..40)).prop_map(
            |(kind, channel, start, rest)| {
                let mut out = Vec::new();
                let payload = [start, rest].concat();
                put_frame(&mut out, &Frame { kind, channel, payload: &payload });
                out
            },
        )
    }

    proptest! {
        #[test]
        fn nothing_that_a_broker_sends_is_a_panic(frames in proptest::collection::vec(frame(), 0..20)) {
            feed(&frames.concat());
        }

        #[test]
        fn bytes_of_any_kind_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            feed(&bytes);
        }
    }

    #[test]
    fn body_that_is_announced_too_long_is_refused_before_it_comes() {
        let mut bytes = Vec::new();
        let deliver = basic::Deliver { consumer_tag: b"c", delivery_tag: 1, ..Default::default() };
        put_method(&mut bytes, 1, &deliver);
        let mut header = vec![0, 60, 0, 0];
        header.extend_from_slice(&u64::MAX.to_be_bytes());
        header.extend_from_slice(&[0, 0]);
        put_frame(&mut bytes, &Frame { kind: FrameKind::Header, channel: 1, payload: &header });
        assert_eq!(feed(&bytes), 0);
    }
}
