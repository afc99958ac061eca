//! A broker that is played: strict about what may come over a connection, and slow to confirm unless a test has it confirm.

use std::collections::{BTreeMap, VecDeque};

use amqp::frame::{FrameKind, PROTOCOL_HEADER, decode_frame, put_frame, put_method};
use amqp::method::{Method, basic, channel, connection, queue};
use amqp::{ContentHeader, Frame, Table, sasl};

/// A message as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) exchange: String,
    pub(crate) routing_key: String,
    pub(crate) body: Vec<u8>,
}

/// A publish whose content is coming: whether it is mandatory, and how much of the body is left.
type Incoming = (Published, bool, Option<(u64, Vec<u8>)>);

#[derive(Debug, Default)]
struct BrokerChannel {
    is_confirming: bool,
    published: u64,
    /// Tags that are to be confirmed.
    unconfirmed: VecDeque<u64>,
    content: Option<Incoming>,
    /// The broker has closed it, and waits for the other side to agree.
    is_closing: bool,
    consumer: Option<String>,
    last_declared: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Header,
    StartOk,
    TuneOk,
    Open,
    Running,
    Closed,
}

/// One connection to it.
#[derive(Debug)]
pub(crate) struct BrokerConnection {
    step: Step,
    input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    channels: BTreeMap<u16, BrokerChannel>,
    pub(crate) vhost: String,
    pub(crate) user: String,
    pub(crate) password: Vec<u8>,
    pub(crate) secrets: Vec<Vec<u8>>,
    pub(crate) published: Vec<Published>,
    pub(crate) methods: Vec<String>,
    /// Channels and tags of what is not confirmed as it comes, in order.
    to_confirm: VecDeque<(u16, u64)>,
    /// Queue and key of each binding.
    pub(crate) bound: Vec<String>,
    /// Whether publishes are confirmed as they come.
    pub(crate) confirms_at_once: bool,
    /// Why it refuses a vhost, if it does.
    refusal: Option<(u16, &'static str)>,
    /// A vhost that is down.
    down: Option<&'static str>,
    /// Whether every password is refused.
    is_unwelcoming: bool,
    pub(crate) frame_len_max: u32,
    pub(crate) channel_max: u16,
}

/// The password of every user; a token begins with `eyJgood.`.
pub(crate) const PASSWORD: &[u8] = b"right";

impl BrokerConnection {
    pub(crate) fn new() -> Self {
        BrokerConnection {
            step: Step::Header,
            input: Vec::new(),
            output: Vec::new(),
            channels: BTreeMap::new(),
            vhost: String::new(),
            user: String::new(),
            password: Vec::new(),
            secrets: Vec::new(),
            published: Vec::new(),
            methods: Vec::new(),
            to_confirm: VecDeque::new(),
            bound: Vec::new(),
            confirms_at_once: true,
            refusal: None,
            down: None,
            is_unwelcoming: false,
            frame_len_max: 131_072,
            channel_max: 2047,
        }
    }

    /// One that confirms when a test has it confirm.
    pub(crate) fn hesitant() -> Self {
        BrokerConnection { confirms_at_once: false, ..Self::new() }
    }

    /// One where the user has as many connections as it may.
    pub(crate) fn full() -> Self {
        Self::refusing(530, "NOT_ALLOWED - access to vhost '/' refused for user 'u': connection limit (1) is reached")
    }

    /// One that refuses a vhost.
    pub(crate) fn refusing(code: u16, text: &'static str) -> Self {
        BrokerConnection { refusal: Some((code, text)), ..Self::new() }
    }

    /// One of whose vhosts one is down.
    pub(crate) fn with_vhost_down(vhost: &'static str) -> Self {
        BrokerConnection { down: Some(vhost), ..Self::new() }
    }

    /// One that knows other passwords.
    pub(crate) fn unwelcoming() -> Self {
        BrokerConnection { is_unwelcoming: true, ..Self::new() }
    }

    /// One that is open, with these channels.
    pub(crate) fn with_channels(numbers: &[u16]) -> Self {
        let channels = numbers.iter().map(|number| (*number, BrokerChannel::default())).collect();
        BrokerConnection { step: Step::Running, channels, ..Self::new() }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.step == Step::Closed
    }

    pub(crate) fn channel_count(&self) -> usize {
        self.channels.len()
    }

    pub(crate) fn unconfirmed_count(&self) -> usize {
        self.channels.values().map(|channel| channel.unconfirmed.len()).sum()
    }

    /// Whether a publish has begun and is not whole.
    pub(crate) fn has_half_a_message(&self) -> bool {
        !self.input.is_empty() || self.channels.values().any(|channel| channel.content.is_some())
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        let mut input = std::mem::take(&mut self.input);
        let mut at = 0;
        if self.step == Step::Header {
            if input.len() < 8 {
                self.input = input;
                return;
            }
            assert_eq!(input[..8], PROTOCOL_HEADER);
            at = 8;
            let start = connection::Start {
                version_major: 0,
                version_minor: 9,
                server_properties: Table::default(),
                mechanisms: b"PLAIN AMQPLAIN",
                locales: b"en_US",
            };
            put_method(&mut self.output, 0, &start);
            self.step = Step::StartOk;
        }
        while let Some((frame, len)) = decode_frame(&input[at..], self.frame_len_max).expect("what comes is in frames")
        {
            self.frame(&frame);
            at += len;
        }
        input.drain(..at);
        self.input = input;
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        if self.step == Step::Closed || frame.kind == FrameKind::Heartbeat {
            return;
        }
        if frame.kind != FrameKind::Method {
            return self.content(frame);
        }
        let method = Method::decode(frame.payload).expect("methods are well-formed");
        if frame.channel == 0 {
            return self.connection_method(&method);
        }
        assert_eq!(self.step, Step::Running, "{method:?} before the connection is open");
        self.channel_method(frame.channel, &method);
    }

    fn connection_method(&mut self, method: &Method<'_>) {
        match (self.step, method) {
            (Step::StartOk, Method::ConnectionStartOk(start_ok)) => {
                let (user, password) = sasl::plain(start_ok.response).expect("a login");
                self.user = user;
                self.password = password;
                let is_right = self.password == PASSWORD || self.password.starts_with(b"eyJgood.");
                if !is_right || self.is_unwelcoming {
                    let close =
                        connection::Close { reply_code: 403, reply_text: b"ACCESS_REFUSED - no", ..Default::default() };
                    put_method(&mut self.output, 0, &close);
                    self.step = Step::Closed;
                    return;
                }
                let tune =
                    connection::Tune { channel_max: self.channel_max, frame_max: self.frame_len_max, heartbeat: 0 };
                put_method(&mut self.output, 0, &tune);
                self.step = Step::TuneOk;
            }
            (Step::TuneOk, Method::ConnectionTuneOk(tune_ok)) => {
                self.frame_len_max = tune_ok.frame_max;
                self.step = Step::Open;
            }
            (Step::Open, Method::ConnectionOpen(open)) => {
                self.vhost = String::from_utf8(open.virtual_host.to_vec()).unwrap();
                let refusal = match (self.refusal, &*self.vhost) {
                    (Some((code, text)), _) => Some((code, text.to_owned())),
                    (None, vhost) if self.down == Some(vhost) => {
                        let text = format!(
                            "access to vhost '{vhost}' refused for user '{}': vhost '{vhost}' is down",
                            self.user
                        );
                        Some((541, format!("INTERNAL_ERROR - {text}")))
                    }
                    (None, "nowhere") => Some((530, "NOT_ALLOWED - vhost".to_owned())),
                    (None, _) => None,
                };
                if let Some((reply_code, text)) = refusal {
                    self.close(reply_code, text.as_bytes());
                    self.step = Step::Closed;
                    return;
                }
                put_method(&mut self.output, 0, &connection::OpenOk::default());
                self.step = Step::Running;
            }
            (Step::Running, Method::ConnectionUpdateSecret(update)) => {
                self.secrets.push(update.new_secret.to_vec());
                put_method(&mut self.output, 0, &connection::UpdateSecretOk);
            }
            (_, Method::ConnectionClose(_)) => {
                put_method(&mut self.output, 0, &connection::CloseOk);
                self.step = Step::Closed;
            }
            (_, Method::ConnectionCloseOk(_)) => self.step = Step::Closed,
            (step, other) => panic!("{other:?} at {step:?}"),
        }
    }

    fn channel_method(&mut self, number: u16, method: &Method<'_>) {
        self.methods.push(method.name().to_owned());
        let out = &mut self.output;
        if let Method::ChannelOpen(_) = method {
            assert!(number <= self.channel_max);
            let before = self.channels.insert(number, BrokerChannel::default());
            assert!(before.is_none(), "channel {number} is opened twice");
            put_method(out, number, &channel::OpenOk::default());
            return;
        }
        let channel =
            self.channels.get_mut(&number).unwrap_or_else(|| panic!("{method:?} on {number}, which is not open"));
        if channel.is_closing {
            match method {
                Method::ChannelCloseOk(_) => drop(self.channels.remove(&number)),
                Method::ChannelClose(_) => put_method(out, number, &channel::CloseOk),
                _ => {}
            }
            return;
        }
        assert!(channel.content.is_none(), "{method:?} within a content");
        match method {
            Method::ChannelClose(_) => {
                self.channels.remove(&number);
                put_method(out, number, &channel::CloseOk);
            }
            Method::ConfirmSelect(select) => {
                channel.is_confirming = true;
                if !select.no_wait {
                    put_method(out, number, &amqp::confirm::SelectOk);
                }
            }
            Method::BasicQos(_) => put_method(out, number, &basic::QosOk),
            Method::BasicPublish(publish) => {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let (exchange, routing_key) = (text(publish.exchange), text(publish.routing_key));
                channel.content =
                    Some((Published { exchange, routing_key, body: Vec::new() }, publish.mandatory, None));
            }
            Method::BasicGet(get) => {
                // A client that asks for a queue gets its name.
                let name =
                    if get.queue.is_empty() { channel.last_declared.clone().into_bytes() } else { get.queue.to_vec() };
                put_method(out, number, &basic::GetOk { delivery_tag: 1, routing_key: &name, ..Default::default() });
                put_content(out, number, &name);
            }
            Method::BasicConsume(consume) => {
                let name = if consume.queue.is_empty() {
                    channel.last_declared.clone().into_bytes()
                } else {
                    consume.queue.to_vec()
                };
                channel.consumer = Some(String::from_utf8(name.clone()).unwrap());
                put_method(out, number, &basic::ConsumeOk { consumer_tag: consume.consumer_tag });
                let deliver = basic::Deliver {
                    consumer_tag: consume.consumer_tag,
                    delivery_tag: 1,
                    routing_key: &name,
                    ..Default::default()
                };
                put_method(out, number, &deliver);
                put_content(out, number, &name);
            }
            Method::QueueDeclare(declare) => {
                channel.last_declared = String::from_utf8(declare.queue.to_vec()).unwrap();
                if !declare.no_wait {
                    put_method(out, number, &queue::DeclareOk { queue: declare.queue, ..Default::default() });
                }
            }
            Method::QueueBind(bind) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                self.bound.push(format!("{} {}", text(bind.queue), text(bind.routing_key)));
                if !bind.no_wait {
                    put_method(out, number, &queue::BindOk);
                }
            }
            Method::BasicAck(_) => {}
            other => panic!("the played broker does not know {other:?}"),
        }
    }

    fn content(&mut self, frame: &Frame<'_>) {
        let channel = self.channels.get_mut(&frame.channel).expect("content on an open channel");
        if channel.is_closing {
            return;
        }
        let (mut message, mandatory, state) = channel.content.take().expect("content follows a publish");
        let (left, body) = match (frame.kind, state) {
            (FrameKind::Header, None) => (ContentHeader::decode(frame.payload).unwrap().body_len, Vec::new()),
            (FrameKind::Body, Some((left, mut body))) => {
                body.extend_from_slice(frame.payload);
                (left.checked_sub(frame.payload.len() as u64).expect("no more than was said"), body)
            }
            (kind, state) => panic!("{kind:?} at {state:?}"),
        };
        if left > 0 {
            channel.content = Some((message, mandatory, Some((left, body))));
            return;
        }
        message.body = body;
        channel.published += u64::from(channel.is_confirming);
        if message.exchange == "missing" {
            let text = format!("NOT_FOUND - {}", message.routing_key);
            let close = channel::Close { reply_code: 404, reply_text: text.as_bytes(), class_id: 60, method_id: 40 };
            put_method(&mut self.output, frame.channel, &close);
            channel.is_closing = true;
            channel.unconfirmed.clear();
            return;
        }
        if mandatory {
            let returned = basic::Return {
                reply_code: 312,
                reply_text: b"NO_ROUTE",
                exchange: message.exchange.as_bytes(),
                routing_key: message.routing_key.as_bytes(),
            };
            put_method(&mut self.output, frame.channel, &returned);
            put_content(&mut self.output, frame.channel, &message.body);
        }
        self.published.push(message);
        if channel.is_confirming {
            channel.unconfirmed.push_back(channel.published);
            self.to_confirm.push_back((frame.channel, channel.published));
            if self.confirms_at_once {
                self.confirm(usize::MAX, false);
            }
        }
    }

    /// Confirms up to so many publishes of each channel: the oldest, as one or each for itself.
    pub(crate) fn confirm(&mut self, count: usize, is_multiple: bool) {
        for (number, channel) in &mut self.channels {
            let count = count.min(channel.unconfirmed.len());
            let tags: Vec<u64> = channel.unconfirmed.drain(..count).collect();
            if is_multiple {
                if let Some(tag) = tags.last() {
                    put_method(&mut self.output, *number, &basic::Ack { delivery_tag: *tag, multiple: true });
                }
                continue;
            }
            for tag in tags.iter().rev() {
                put_method(&mut self.output, *number, &basic::Ack { delivery_tag: *tag, multiple: false });
            }
        }
    }

    /// Confirms so many, those that came first.
    pub(crate) fn confirm_first(&mut self, count: usize) {
        for _ in 0..count {
            let Some((number, tag)) = self.to_confirm.pop_front() else { return };
            if let Some(channel) = self.channels.get_mut(&number) {
                channel.unconfirmed.retain(|unconfirmed| *unconfirmed != tag);
                put_method(&mut self.output, number, &basic::Ack { delivery_tag: tag, multiple: false });
            }
        }
    }

    pub(crate) fn close(&mut self, code: u16, text: &[u8]) {
        let close = connection::Close { reply_code: code, reply_text: text, ..Default::default() };
        put_method(&mut self.output, 0, &close);
    }

    pub(crate) fn send<M: amqp::method::EncodeMethod>(&mut self, channel: u16, method: &M) {
        put_method(&mut self.output, channel, method);
    }
}

pub(crate) fn put_content(out: &mut Vec<u8>, channel: u16, body: &[u8]) {
    let mut header = Vec::new();
    ContentHeader { class_id: 60, body_len: body.len() as u64, properties: Default::default() }.encode(&mut header);
    put_frame(out, &Frame { kind: FrameKind::Header, channel, payload: &header });
    // In two parts, where there is enough.
    let (first, second) = body.split_at(body.len() / 2);
    for payload in [first, second].into_iter().filter(|part| !part.is_empty()) {
        put_frame(out, &Frame { kind: FrameKind::Body, channel, payload });
    }
}
