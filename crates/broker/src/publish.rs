//! basic.publish: from frames to a message in the batch.
//!
//! The usual publish lies in the read buffer as a whole (method, header, one body frame) and is taken from there
//! without an intermediate copy; any other is assembled on its channel.

use std::sync::Arc;

use amqp::content::{ContentHeader, Properties};
use amqp::method::basic;
use amqp::reply::ReplyCode;
use amqp::server::{ContentProgress, Violation};
use amqp::table::{Table, Value};
use model::user::Tags;
use routing::RouteCache;
use store::Kind;

use crate::channel::{Channel, LastRoute};
use crate::identity::Identity;
use crate::limits::{CACHED_TARGET_COUNT, MESSAGE_LEN_MAX};
use crate::refusal::{self, Outcome};
use crate::reply_to;
use crate::session::Session;
use crate::statistics::ChannelNumber;
use engine::clock::Clock;
use engine::delayed::header;
use engine::message::{History, Parts};
use engine::publish::{PERSISTENT, Publish, PublishOptions};
use engine::router::Routing;
use engine::targets::Targets;

/// A publish whose content is on its way.
#[derive(Debug)]
pub(crate) struct Assembly {
    exchange: Box<[u8]>,
    routing_key: Box<[u8]>,
    mandatory: bool,
    /// The payload of the content header frame, once it is there.
    header: Option<Box<[u8]>>,
    body: Vec<u8>,
    progress: ContentProgress,
}

/// A publish in full, wherever its parts lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompletePublish<'a> {
    pub(crate) exchange: &'a [u8],
    pub(crate) routing_key: &'a [u8],
    pub(crate) mandatory: bool,
    /// The payload of the content header frame.
    pub(crate) header: &'a [u8],
    pub(crate) body: &'a [u8],
}

impl<'a> CompletePublish<'a> {
    /// As a message is stored.
    fn parts(&self, published_at_ms: u64, history: History<'a>) -> Parts<'a> {
        let Self { exchange, routing_key, header, body, .. } = *self;
        Parts { published_at_ms, history, exchange, routing_key, header, body }
    }
}

impl Assembly {
    /// Begins with the method.
    pub(crate) fn begin(publish: &basic::Publish<'_>) -> Box<Self> {
        Box::new(Self {
            exchange: publish.exchange.into(),
            routing_key: publish.routing_key.into(),
            mandatory: publish.mandatory,
            header: None,
            body: Vec::new(),
            progress: ContentProgress::default(),
        })
    }

    /// How much of it has come.
    pub(crate) fn progress(&self) -> ContentProgress {
        self.progress
    }

    /// Takes the content header. The body's length is checked before a byte of it is kept.
    pub(crate) fn header(&mut self, payload: &[u8], message_len_max: u64) -> Outcome<()> {
        let header =
            ContentHeader::decode(payload).map_err(|error| Violation::content_header(error, ReplyCode::SyntaxError))?;
        check_body_len(header.body_len, message_len_max)?;
        self.header = Some(payload.into());
        self.progress = ContentProgress::with_header(header.body_len);
        Ok(())
    }

    /// Takes a part of the body.
    pub(crate) fn body(&mut self, part: &[u8]) -> Outcome<()> {
        self.progress = self.progress.after_body(part.len())?;
        // Room grows with what arrives, not with what was announced.
        self.body.extend_from_slice(part);
        Ok(())
    }

    /// Forgets the last frame, which comes again.
    pub(crate) fn undo(&mut self, before: ContentProgress) {
        match (before.body_left(), self.progress.body_left()) {
            (Some(before_len), Some(left)) => self.body.truncate(self.body.len() - (before_len - left) as usize),
            _ => self.header = None,
        }
        self.progress = before;
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.progress.is_complete()
    }

    pub(crate) fn whole(&self) -> CompletePublish<'_> {
        CompletePublish {
            exchange: &self.exchange,
            routing_key: &self.routing_key,
            mandatory: self.mandatory,
            header: self.header.as_deref().unwrap_or_default(),
            body: &self.body,
        }
    }
}

/// The content header of a publish.
#[inline(always)]
fn decode_header<'a>(whole: &CompletePublish<'a>) -> Outcome<ContentHeader<'a>> {
    match ContentHeader::decode(whole.header) {
        Ok(header) => Ok(header),
        Err(error) => refusal::syntax_error(error.to_string()),
    }
}

/// Refuses a body that is longer than configured.
pub(crate) fn check_body_len(body_len: u64, message_len_max: u64) -> Outcome<()> {
    if is_body_len_allowed(body_len, message_len_max) {
        return Ok(());
    }
    let len_max = message_len_max.min(MESSAGE_LEN_MAX);
    refusal::precondition_failed(format!("message size {body_len} is larger than configured max size {len_max}"))
}

#[inline]
pub(crate) fn is_body_len_allowed(body_len: u64, message_len_max: u64) -> bool {
    body_len <= message_len_max.min(MESSAGE_LEN_MAX)
}

/// What a publish asks that not every publish does; found by one look at the properties.
pub(crate) struct ParsedProperties<'a> {
    pub(crate) headers: Option<Table<'a>>,
    pub(crate) terms: PublishOptions,
    pub(crate) has_sender_selected: bool,
    pub(crate) wants_fast_reply: bool,
}

impl<'a> ParsedProperties<'a> {
    /// Refuses what somebody may not ask.
    // Always, as with the header itself: what it answers is large. The clock comes by its handle: it is read only for a delay.
    #[inline(always)]
    pub(crate) fn of(properties: &Properties<'a>, identity: &Identity, clock: &Arc<Clock>) -> Outcome<Self> {
        if let Some(user_id) = properties.user_id
            && user_id != identity.name().as_bytes()
            && !identity.user.tags.has(Tags::IMPERSONATOR)
        {
            return refusal::precondition_failed(format!(
                "user_id property set to '{}' but authenticated user was '{}'",
                String::from_utf8_lossy(user_id),
                identity.name()
            ));
        }
        let ttl_ms = match properties.expiration {
            Some(expiration) => Some(parse_expiration(&String::from_utf8_lossy(expiration))?),
            None => None,
        };
        let headers = properties.headers.filter(|headers| !headers.is_empty());
        let (mut has_sender_selected, mut delay_ms) = (false, None);
        for (name, value) in headers.iter().flat_map(Table::iter) {
            match name {
                b"CC" | b"BCC" => has_sender_selected = true,
                b"x-delay" => delay_ms = delay_ms.or_else(|| header::delay_ms(&value)),
                _ => {}
            }
        }
        Ok(ParsedProperties {
            headers,
            terms: PublishOptions {
                is_persistent: properties.delivery_mode == Some(PERSISTENT),
                ttl_ms,
                priority: properties.priority,
                due_ms: delay_ms.map_or(0, |delay_ms| clock.due_ms(delay_ms)),
            },
            has_sender_selected,
            wants_fast_reply: properties.reply_to == Some(reply_to::QUEUE.as_bytes()),
        })
    }
}

impl Session {
    /// Publishes a message on a channel: routes it, stores its content, and puts it into the batch (or the transaction).
    pub(crate) fn publish(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>) -> Outcome<()> {
        // The decoded header stays in here: it is large, and whoever needs more of it than this decodes it again.
        let (terms, is_special) = {
            let header = decode_header(whole)?;
            let asked = self.inside().check_properties(&header.properties)?;
            (asked.terms, asked.has_sender_selected || asked.wants_fast_reply)
        };
        if is_special || (whole.exchange.is_empty() && reply_to::is_address(whole.routing_key)) {
            return self.publish_specially(channel, whole);
        }
        // Whether a delayed one would be routable now is looked for each time.
        let is_known = !(terms.is_delayed() && whole.mandatory);
        let epoch = self.vhost().epoch();
        let is_same = |last: &mut Box<LastRoute>| is_known && last.is_for(epoch, whole, terms.is_delayed());
        match channel.last_route.take_if(is_same) {
            Some(last) => {
                self.store_publish(channel, whole, &last.targets, terms, &[]);
                channel.last_route = Some(last);
                Ok(())
            }
            None => self.publish_elsewhere(channel, whole, terms, is_known),
        }
    }

    /// Publishes a message that goes elsewhere than the channel's last.
    fn publish_elsewhere(
        &mut self,
        channel: &mut Channel,
        whole: &CompletePublish<'_>,
        terms: PublishOptions,
        is_known: bool,
    ) -> Outcome<()> {
        let (epoch, is_delayed) = (self.vhost().epoch(), terms.is_delayed());
        let known = match is_known {
            true => self.routes(is_delayed).get(epoch, whole.exchange, whole.routing_key).cloned(),
            false => None,
        };
        let targets = match known {
            Some(targets) => {
                LastRoute::remember(&mut channel.last_route, epoch, whole, is_delayed, &targets);
                targets
            }
            None => self.route_afresh(whole, &[whole.routing_key], &decode_header(whole)?.properties, is_delayed)?,
        };
        self.store_publish(channel, whole, &targets, terms, &[]);
        Ok(())
    }

    /// A publish with more than one routing key, or of a reply, or that asks for one.
    #[cold]
    fn publish_specially(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>) -> Outcome<()> {
        let header = decode_header(whole)?;
        let asked = self.inside().check_properties(&header.properties)?;
        if asked.wants_fast_reply && channel.reply_consumer.is_none() {
            return refusal::precondition_failed("fast reply consumer does not exist");
        }
        if asked.has_sender_selected || asked.wants_fast_reply {
            return self.publish_rewritten(channel, whole, &header, &asked);
        }
        self.publish_reply(channel, whole)
    }

    /// The remembered routes of messages that wait where they come to an exchange that delays, or of the others.
    fn routes(&mut self, is_delayed: bool) -> &mut RouteCache<Arc<Targets>> {
        if is_delayed { &mut self.delayed_routes } else { &mut self.routes }
    }

    fn route_afresh(
        &mut self,
        whole: &CompletePublish<'_>,
        routing_keys: &[&[u8]],
        properties: &Properties<'_>,
        is_delayed: bool,
    ) -> Outcome<Arc<Targets>> {
        let exchange = whole.exchange;
        let vhost = self.vhost().clone();
        // Read before the permission is: what is revoked in between must not be remembered as allowed.
        let epoch = vhost.epoch();
        self.inside().check_publish(exchange, routing_keys)?;
        let content = || {
            let ttl_ms = properties.expiration.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            whole.parts(self.now_ms, History { ttl_ms, ..History::default() }).to_kept()
        };
        let routing = Routing { exchange, routing_keys, properties, content: &content, is_delayed };
        let mut routed = vhost.route(&routing)?;
        if whole.mandatory
            && routed.targets.queues.is_empty()
            && let Some(delay) = &mut routed.targets.delay
        {
            delay.is_returned = self.broker.options.returns_every_delayed || !vhost.would_route(&routing, &delay.sets);
        }
        let targets = Arc::new(routed.targets);
        if let [routing_key] = routing_keys
            && routed.cacheable_at == Some(epoch)
            && !(is_delayed && whole.mandatory)
            && targets.queues.len() <= CACHED_TARGET_COUNT
        {
            self.routes(is_delayed).insert(epoch, exchange, routing_key, targets.clone());
        }
        Ok(targets)
    }

    /// A message with CC or BCC headers, or a reply-to that has to be replaced: its properties are encoded anew.
    fn publish_rewritten(
        &mut self,
        channel: &mut Channel,
        whole: &CompletePublish<'_>,
        published: &ContentHeader<'_>,
        asked: &ParsedProperties<'_>,
    ) -> Outcome<()> {
        let mut routing_keys = vec![whole.routing_key];
        let mut headers = asked.headers.map(|headers| headers.to_owned());
        let mut hidden_keys = Vec::new();
        if let Some(table) = asked.headers {
            sender_selected_keys(&table, &mut routing_keys)?;
            hidden_keys = hidden_keys_of(&table);
            if let Some(headers) = &mut headers {
                headers.remove(b"BCC");
            }
        }
        let address = channel.reply_consumer.as_ref().map(|consumer| consumer.address.clone());
        let mut header = *published;
        if asked.wants_fast_reply {
            header.properties.reply_to = address.as_deref().map(str::as_bytes);
        }
        header.properties.headers = headers.as_ref().map(|headers| headers.as_table());
        let mut payload = Vec::with_capacity(whole.header.len() + 64);
        header.encode(&mut payload);
        let rewritten = CompletePublish { header: &payload, ..*whole };
        if whole.exchange.is_empty() && reply_to::is_address(whole.routing_key) {
            return self.publish_reply(channel, &rewritten);
        }
        let targets = self.route_afresh(&rewritten, &routing_keys, &published.properties, asked.terms.is_delayed())?;
        self.store_publish(channel, &rewritten, &targets, asked.terms, &hidden_keys);
        Ok(())
    }

    /// A reply to a direct reply-to consumer: it goes to that consumer's connection, past all queues.
    fn publish_reply(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>) -> Outcome<()> {
        self.inside().check_publish(whole.exchange, &[whole.routing_key])?;
        match &mut channel.tx {
            Some(tx) => {
                let parts = whole.parts(self.now_ms, History::default());
                tx.publish(&parts, whole.mandatory, None, PublishOptions::default());
            }
            None => self.send_reply(channel, whole),
        }
        Ok(())
    }

    /// Sends a reply to where its routing key says.
    pub(crate) fn send_reply(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>) {
        let content = self.content(whole, History::default(), Kind::Transient);
        let is_there = self.broker.replies.send(self.vhost().name().as_str(), whole.routing_key, content);
        if !is_there && whole.mandatory {
            self.return_unroutable(channel, whole);
        }
        let confirm_seq = channel.confirms.as_mut().map_or(0, |confirms| confirms.take_seq());
        self.confirm_now(channel, confirm_seq);
    }

    /// Publishes to queues: at once, or when the transaction is committed.
    #[inline(always)]
    fn store_publish(
        &mut self,
        channel: &mut Channel,
        whole: &CompletePublish<'_>,
        targets: &Arc<Targets>,
        terms: PublishOptions,
        hidden_keys: &[u8],
    ) {
        let history = History { ttl_ms: terms.ttl_ms, hidden_keys, ..History::default() };
        match &mut channel.tx {
            Some(tx) => {
                tx.publish(&whole.parts(self.now_ms, history), whole.mandatory, Some(targets.clone()), terms);
            }
            None => self.publish_to(channel, whole, targets, terms, history),
        }
    }

    /// Copies the message into a chunk and puts it into the batch; or returns or drops it where no queue wants it.
    // Always, as with writing the parts: most of a history is not there, and is not even looked at then.
    #[inline(always)]
    pub(crate) fn publish_to(
        &mut self,
        channel: &mut Channel,
        whole: &CompletePublish<'_>,
        targets: &Arc<Targets>,
        terms: PublishOptions,
        history: History<'_>,
    ) {
        channel.counts.add(ChannelNumber::Published, 1);
        self.gathered.publish(whole.body.len() as u64);
        let confirm_seq = channel.confirms.as_mut().map_or(0, |confirms| confirms.take_seq());
        if targets.is_empty() {
            self.gathered.published_to_confirm += u64::from(confirm_seq != 0);
            if whole.mandatory {
                self.return_unroutable(channel, whole);
            } else {
                channel.counts.add(ChannelNumber::Dropped, 1);
                self.vhost().counters.stripe().dropped.add(1);
            }
            if let Some(counted) = &targets.counted {
                counted.exchange.published_in.add(1);
                self.broker.engine.statistics.exchanges.note(&counted.exchange);
            }
            if self.broker.engine.statistics.options.has_rates() {
                channel.note_places(targets, 1);
            }
            self.confirm_now(channel, confirm_seq);
            return;
        }
        if let Some(delay) = &targets.delay
            && delay.is_returned
        {
            // It waits nevertheless: that it was not routable then does not mean that it will not be.
            self.return_unroutable(channel, whole);
        }
        let content = self.content(whole, history, targets.kind(terms.is_persistent));
        let publish = Publish::new(content, whole.body.len(), terms);
        self.batch.publish(targets, publish.confirmed_as(channel.number, confirm_seq));
    }

    #[inline(always)]
    fn content(&self, whole: &CompletePublish<'_>, history: History<'_>, kind: Kind) -> store::Content {
        let parts = whole.parts(self.now_ms, history);
        self.broker.engine.chunks.write(kind, parts.len(), |out| parts.write(out))
    }

    /// Confirms a publish that no queue took. As in RabbitMQ each has an ack of its own, and waits for none before it: there are clients
    /// that count acks.
    fn confirm_now(&mut self, channel: &mut Channel, confirm_seq: u64) {
        if confirm_seq == 0 {
            return;
        }
        let ack = basic::Ack { delivery_tag: confirm_seq, multiple: false };
        amqp::frame::put_method(&mut self.out, channel.number, &ack);
        channel.counts.add(ChannelNumber::Confirmed, 1);
        self.gathered.confirmed += 1;
    }

    /// basic.return with 312 NO_ROUTE.
    pub(crate) fn return_unroutable(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>) {
        channel.counts.add(ChannelNumber::Returned, 1);
        self.vhost().counters.stripe().returned.add(1);
        let method = basic::Return {
            reply_code: amqp::reply::ReplyCode::NoRoute.code(),
            reply_text: b"NO_ROUTE",
            exchange: whole.exchange,
            routing_key: whole.routing_key,
        };
        amqp::frame::put_method(&mut self.out, channel.number, &method);
        self.put_content(channel.number, whole.header, whole.body);
    }
}

/// Expirations are whole milliseconds in decimal; the reasons are RabbitMQ's.
fn parse_expiration(text: &str) -> Outcome<u64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digit_count = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(text.len() - unsigned.len() + digit_count);
    let reason = if digit_count == 0 {
        "no_integer".to_owned()
    } else if !rest.is_empty() {
        format!("{{leftover_string,\"{rest}\"}}")
    } else {
        match number.parse::<i128>() {
            Ok(milliseconds @ 0..=EXPIRATION_MS_MAX) => return Ok(milliseconds as u64),
            Ok(milliseconds) if milliseconds < 0 => format!("{{value_negative,{milliseconds}}}"),
            _ => format!("{{value_too_large,{}}}", number.trim_start_matches('+')),
        }
    };
    refusal::precondition_failed(format!("invalid expiration '{text}': {reason}"))
}

/// RabbitMQ's longest time to live: ten years.
const EXPIRATION_MS_MAX: i128 = 10 * 365 * 24 * 60 * 60 * 1000;

/// The keys of a BCC header, each a shortstr. Longer ones match no binding's key.
pub(crate) fn hidden_keys_of(headers: &Table<'_>) -> Vec<u8> {
    let mut hidden = Vec::new();
    if let Some(Value::Array(keys)) = headers.get("BCC") {
        for key in keys.iter().filter_map(|key| key.as_bytes()) {
            if let Ok(len) = u8::try_from(key.len()) {
                hidden.push(len);
                hidden.extend_from_slice(key);
            }
        }
    }
    hidden
}

/// Adds the routing keys of the CC and BCC headers (RabbitMQ's sender-selected distribution).
pub(crate) fn sender_selected_keys<'a>(headers: &Table<'a>, keys: &mut Vec<&'a [u8]>) -> Outcome<()> {
    collect_keys(headers, "CC", keys)?;
    collect_keys(headers, "BCC", keys)
}

fn collect_keys<'a>(headers: &Table<'a>, name: &str, keys: &mut Vec<&'a [u8]>) -> Outcome<()> {
    match headers.get(name) {
        None => Ok(()),
        Some(Value::Array(array)) => {
            for value in array.iter() {
                // As in RabbitMQ what is no text is no key, and no fault either.
                if let Value::LongStr(key) = value {
                    keys.push(key);
                }
            }
            Ok(())
        }
        Some(other) => unacceptable_type(name, other.type_name()),
    }
}

fn unacceptable_type<T>(header: &str, kind: &str) -> Outcome<T> {
    refusal::precondition_failed(format!("invalid message: {{unacceptable_type_in_header,\"{header}\",{kind}}}"))
}
