//! Messages without a channel: published one at a time, and looked at or taken one after the other.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use amqp::content::Properties;
use engine::Positions;
use message::{History, Parts, View};
use model::ids::QueueSeq;
use model::name::{ExchangeName, QueueName};
use model::user::Access;
use queue::{Get, Return};
use store::Kind;

use super::VhostAccess;
use crate::changed::Changed;
use crate::permissions::Permitted;
use crate::publish_properties::{ParsedProperties, check_body_len, hidden_keys_of, sender_selected_keys};
use crate::reply_to;
use crate::statistics::TurnCounts;
use engine::batch::Batch;
use engine::lane::LaneNumber;
use engine::outbox::{Outbox, Taken};
use engine::publish::Publish;
use engine::queue_handle::QueueHandle;
use engine::router::{Routed, Routing};
use engine::tap::{self, Client, Event, Kinds, What};
use engine::targets::Targets;
use model::refusal::{self, Outcome};

/// A message that is published without a channel.
#[derive(Debug, Clone, Copy)]
pub struct PublishRequest<'a> {
    /// Where to.
    pub exchange: &'a ExchangeName,
    /// Under which key.
    pub routing_key: &'a [u8],
    /// Its properties.
    pub properties: Properties<'a>,
    /// Its body.
    pub body: &'a [u8],
}

/// What became of a message that was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Published {
    /// Whether any queue wants it, or would if it were not delayed.
    pub is_routed: bool,
    /// Whether a queue has refused it.
    pub is_refused: bool,
    /// Where it is durable; None where nothing has to be.
    pub position: Positions,
}

/// What becomes of messages that were got, by RabbitMQ's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AckMode {
    /// They go back to their places.
    AckRequeue,
    /// They are removed.
    AckRemove,
    /// They are rejected, and return to their places.
    RejectRequeue,
    /// They are rejected, and removed.
    RejectRemove,
}

impl AckMode {
    /// What RabbitMQ calls so.
    #[must_use]
    pub fn parse(name: &str) -> Option<AckMode> {
        match name {
            "ack_requeue_true" => Some(AckMode::AckRequeue),
            "ack_requeue_false" => Some(AckMode::AckRemove),
            "reject_requeue_true" => Some(AckMode::RejectRequeue),
            "reject_requeue_false" => Some(AckMode::RejectRemove),
            _ => None,
        }
    }
}

/// Messages that are to be got.
#[derive(Debug, Clone, Copy)]
pub struct GetRequest<'a> {
    /// Of which queue.
    pub queue: &'a QueueName,
    /// How many at most.
    pub count: u64,
    /// What becomes of them.
    pub ack_mode: AckMode,
    /// How many bytes of each body are wanted at most.
    pub body_len_max: Option<u64>,
}

/// A message that was got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GotMessage {
    /// Where it was published.
    pub exchange: Vec<u8>,
    /// Under which key.
    pub routing_key: Vec<u8>,
    /// Whether it was handed out before.
    pub is_redelivered: bool,
    /// How many messages waited behind it.
    pub remaining_count: u64,
    /// Its properties, encoded ([`amqp::content::Properties::decode`]).
    pub properties: Vec<u8>,
    /// As much of its body as was wanted.
    pub body: Vec<u8>,
    /// How long its body is, in bytes.
    pub body_len: u64,
}

/// The most bytes of bodies that one request gets; fewer messages than asked for are got then, at least one.
const GOT_LEN_MAX: usize = 64 << 20;

impl VhostAccess {
    /// Publishes a message.
    pub fn publish(&self, request: &PublishRequest<'_>) -> Outcome<Published> {
        let PublishRequest { exchange, routing_key, properties, body } = *request;
        let view = View::of(properties, body.len());
        check_body_len(body.len() as u64, self.broker.options.message_len_max)?;
        let parsed = self.check_properties(&view)?;
        if parsed.wants_fast_reply {
            return refusal::precondition_failed("fast reply consumer does not exist");
        }
        let mut routing_keys = vec![routing_key];
        let mut headers = parsed.headers.map(|headers| headers.to_owned());
        let mut hidden_keys = Vec::new();
        if parsed.has_sender_selected
            && let Some(table) = &parsed.headers
        {
            sender_selected_keys(table, &mut routing_keys)?;
            hidden_keys = hidden_keys_of(table);
            if let Some(headers) = &mut headers {
                headers.remove(b"BCC");
            }
        }
        let permitted = self.check_publish(exchange.as_bytes(), &routing_keys)?;
        let header = view.with_headers(headers.as_ref().map(|headers| headers.as_table())).encode();
        let exchange = exchange.as_bytes();
        let history = History { ttl_ms: parsed.options.ttl_ms, hidden_keys: &hidden_keys, ..History::default() };
        let published_at_ms = self.broker.engine.clock.now_ms();
        let parts = Parts { published_at_ms, history, exchange, routing_key, header: header.as_header(), body };
        if exchange.is_empty() && reply_to::is_address(routing_key) {
            return Ok(Published { is_routed: self.send_reply(permitted, &parts), ..Published::default() });
        }
        let (routing_keys, content) = (&routing_keys[..], || parts.to_kept());
        let is_delayed = parsed.options.is_delayed();
        let routing = Routing { exchange, routing_keys, view: &view, content: &content, is_delayed };
        let targets = Arc::new(self.route(permitted, &routing)?.targets);
        let is_routed = match &targets.delay {
            Some(delay) if targets.queues.is_empty() => {
                !self.broker.options.returns_every_delayed && self.vhost.would_route(&routing, &delay.sets)
            }
            _ => !targets.queues.is_empty(),
        };
        let mut counted = TurnCounts::default();
        counted.publish(body.len() as u64);
        counted.published_to_confirm = 1;
        if !is_routed {
            self.vhost.counters.stripe().returned.add(1);
        }
        self.report(What::Published(&targets), None, None, &parts);
        if targets.is_empty() {
            if let Some(at) = &targets.counted {
                at.exchange.published_in.add(1);
                self.broker.engine.statistics.exchanges.note(&at.exchange);
            }
            counted.confirmed = 1;
            self.count(counted);
            return Ok(Published::default());
        }
        let kind = targets.kind(parsed.options.is_persistent);
        let content = self.broker.engine.chunks.write(kind, parts.len(), |out| parts.write(out));
        let mut batch = Batch::default();
        batch.publish(&targets, Publish::new(content, body.len(), parsed.options));
        *self.throttled_for.lock() = self.vhost.throttle.charge_batch(&batch, Instant::now);
        let mut published = Published { is_routed, ..Published::default() };
        batch.apply(&self.broker.engine, |publish, position| {
            published = Published { is_routed, is_refused: publish.outcome.is_refused, position };
            counted.written = publish.outcome.waits_for_disk.into();
            counted.confirmed = (!publish.outcome.is_refused).into();
        });
        self.vhost.counters.stripe().refused.add(1 - counted.confirmed);
        self.count(counted);
        Ok(published)
    }

    /// Sends a direct reply. Says whether its address has a consumer.
    fn send_reply(&self, _permitted: Permitted, parts: &Parts<'_>) -> bool {
        self.report(What::Published(&Targets::default()), None, None, parts);
        let content = self.broker.engine.chunks.write(Kind::Transient, parts.len(), |out| parts.write(out));
        self.broker.replies.send(self.vhost.name().as_str(), parts.routing_key, content)
    }

    /// Reports what happens to a message here to those that watch.
    fn report(&self, what: What<'_>, queue: Option<&QueueHandle>, seq: Option<QueueSeq>, message: &Parts<'_>) {
        let taps = &self.broker.engine.taps;
        if !taps.want(Kinds::of(&[tap::Kind::Published, tap::Kind::Got])) {
            return;
        }
        let client = Client { connection: Box::default(), user: self.identity().name().into(), on_behalf_of: None };
        let (vhost, client, message) = (self.vhost.name().as_str(), Some(&client), Some(*message));
        taps.report(&Event {
            what,
            vhost,
            queue,
            seq,
            client,
            lane: LaneNumber::NONE,
            publish: taps.number_publish(),
            message,
        });
    }

    /// The route of a message that the user may publish.
    pub(crate) fn route(&self, _permitted: Permitted, routing: &Routing<'_>) -> Outcome<Routed> {
        self.vhost.route(routing)
    }

    /// What is published here counts as over a channel that confirms, and on which it is mandatory: so RabbitMQ publishes it.
    fn count(&self, mut counted: TurnCounts) {
        self.vhost.counters.take(&mut counted);
        self.broker.engine.statistics.vhosts.note(&self.vhost.counters);
    }

    /// Refuses properties that the user may not set, and says what they ask for.
    #[inline(always)]
    pub(crate) fn check_properties<'v>(&self, view: &'v View<'_>) -> Outcome<ParsedProperties<'v>> {
        ParsedProperties::of(view, self.identity(), &self.broker.engine.clock)
    }

    /// Gets messages from the front of a queue. Once they are given back or removed, says where that is durable.
    ///
    /// A caller that does not wait for the end (the future is dropped) has got nothing: all go back.
    pub async fn get(&self, request: &GetRequest<'_>) -> Outcome<(Vec<GotMessage>, Changed)> {
        let queue = self.retry_until_authorized(|access| access.queue_for(Access::Read, request.queue)).await?;
        let mut held = HeldBack { access: self, queue: &queue, seqs: Vec::new() };
        let mut messages = Vec::new();
        let mut got_len = 0;
        while (messages.len() as u64) < request.count && got_len < GOT_LEN_MAX {
            let Some(message) = held.get_one(request.body_len_max).await? else { break };
            got_len += message.body.len();
            messages.push(message);
        }
        let position = held.settle(request.ack_mode);
        Ok((messages, Changed { is_new: false, position }))
    }
}

/// Why a message that was taken is not handed out.
const NOT_DURABLE: &str = "nothing can be made durable on this node any more";

/// Messages that are unacked while a request runs. Dropped, it gives them back.
struct HeldBack<'a> {
    access: &'a VhostAccess,
    queue: &'a QueueHandle,
    seqs: Vec<QueueSeq>,
}

impl HeldBack<'_> {
    /// The next message; None when there is none.
    async fn get_one(&mut self, body_len_max: Option<u64>) -> Outcome<Option<GotMessage>> {
        let broker = &self.access.broker;
        let outbox = Outbox::new();
        loop {
            let got = broker.engine.with_queue(self.queue, |entry, work| work.get(entry, false, &outbox));
            let Some(((got, hold_until), _)) = got else {
                return refusal::not_found(format!("no {}", self.queue.definition.resource()));
            };
            match got {
                Get::Empty => return Ok(None),
                Get::Message(got) => {
                    self.seqs.push(got.seq);
                    if !broker.engine.until_durable(hold_until).await {
                        return refusal::internal(NOT_DURABLE);
                    }
                    let Some(parts) = Parts::read(got.message.content().bytes()) else {
                        return refusal::internal("a message's content was unreadable");
                    };
                    let what = What::Got { is_redelivered: got.redelivered, no_ack: false };
                    self.access.report(what, Some(self.queue), Some(got.seq), &parts);
                    return Ok(Some(copied(&parts, got.redelivered, got.remaining, body_len_max)));
                }
                Get::Loading(_) => {
                    let (mut taken, mut none) = (Taken::default(), VecDeque::new());
                    let look = |cx: &mut std::task::Context<'_>| match outbox.take(&mut taken, &mut none, cx.waker()) {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    };
                    poll_fn(look).await;
                }
            }
        }
    }

    fn settle(mut self, ack_mode: AckMode) -> Positions {
        match ack_mode {
            AckMode::AckRequeue => self.requeue(Return::Unharmed),
            AckMode::RejectRequeue => self.requeue(Return::Failed),
            AckMode::AckRemove | AckMode::RejectRemove => {}
        }
        let seqs = std::mem::take(&mut self.seqs);
        if seqs.is_empty() {
            return Positions::NONE;
        }
        let broker = &self.access.broker;
        let settled = broker.engine.with_queue(self.queue, |entry, work| {
            if ack_mode == AckMode::RejectRemove {
                work.reject(entry, &seqs, true);
                work.dispatch(entry);
                return;
            }
            work.ack(entry, &seqs);
        });
        settled.map_or(Positions::NONE, |((), position)| position)
    }

    fn requeue(&mut self, how: Return) {
        let seqs = std::mem::take(&mut self.seqs);
        if seqs.is_empty() {
            return;
        }
        let broker = &self.access.broker;
        broker.engine.with_queue(self.queue, |entry, work| {
            work.requeue(entry, &seqs, how);
        });
    }
}

impl Drop for HeldBack<'_> {
    fn drop(&mut self) {
        self.requeue(Return::Unharmed);
    }
}

fn copied(parts: &Parts<'_>, is_redelivered: bool, remaining_count: u64, body_len_max: Option<u64>) -> GotMessage {
    let wanted_len = body_len_max.and_then(|len| usize::try_from(len).ok()).unwrap_or(usize::MAX);
    GotMessage {
        exchange: parts.exchange.to_vec(),
        routing_key: parts.routing_key.to_vec(),
        is_redelivered,
        remaining_count,
        properties: parts.header.to_amqp091_properties().into_owned(),
        body: parts.body[..parts.body.len().min(wanted_len)].to_vec(),
        body_len: parts.body.len() as u64,
    }
}
