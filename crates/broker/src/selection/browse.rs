//! Browsing: what is in a queue, shown without being taken.

use std::collections::BinaryHeap;

use model::ids::QueueSeq;
use model::name::QueueName;
use model::user::Access;
use queue::{ConsumerId, Load, Message, Position};

use super::filter::is_redelivered;
use super::limits::{LOOK_COUNT, LOOKED_AT_COUNT_MAX, PAGE_LEN_MAX, TAIL_COUNT_MAX};
use super::sweep::Sweep;
use super::{MessageFilter, MessageId};
use crate::vhost_access::VhostAccess;
use engine::queue_handle::QueueHandle;
use engine::queued_message::QueuedMessage;
use message::Parts;
use model::refusal::{self, Outcome};

/// What is to be seen of a queue.
#[derive(Debug, Clone)]
pub struct BrowseRequest<'a> {
    /// Which queue.
    pub queue: &'a QueueName,
    /// Where to begin.
    pub start: Start,
    /// How many messages at most.
    pub count_max: usize,
    /// Which of them.
    pub filter: &'a MessageFilter,
    /// How many bytes of each body.
    pub body_len_max: usize,
    /// Whether those are wanted that have been handed out and not settled, rather than those that are ready.
    pub wants_unacked: bool,
}

/// Where browsing begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At the message that is delivered next.
    Head,
    /// At a place, or behind it if nothing is there.
    At(MessageId),
    /// So many messages from the end, or a few less.
    Tail(u64),
}

/// A message that is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowsedMessage {
    /// By which it is found again.
    pub id: MessageId,
    /// Over which exchange it came.
    pub exchange: Vec<u8>,
    /// With which routing key.
    pub routing_key: Vec<u8>,
    /// When it entered the queue, in milliseconds since 1970.
    pub entered_ms: u64,
    /// Whether it may have been handed out before.
    pub is_redelivered: bool,
    /// Whether it outlives a restart.
    pub is_durable: bool,
    /// Its properties, encoded ([`amqp::content::Properties::decode`]).
    pub properties: Vec<u8>,
    /// How long its body is, in bytes.
    pub body_len: u64,
    /// The beginning of its body.
    pub body: Vec<u8>,
    /// The consumer or client that holds it, if it is not ready.
    pub held_by: Option<HeldBy>,
}

/// The consumer or client that holds a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeldBy {
    /// The name of the connection, and the number of the channel; none for a client that used `basic.get`, or has disconnected.
    pub channel: Option<(String, u16)>,
    /// The consumer's tag.
    pub consumer_tag: Option<String>,
}

/// Some messages of a queue, in the order of delivery.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BrowsedPage {
    /// They.
    pub messages: Vec<BrowsedMessage>,
    /// Where there may be more. `None` at the end.
    pub next: Option<MessageId>,
}

/// An unacked message: where it is, and which consumer holds it.
type HeldMessage = (QueueSeq, QueuedMessage, Option<ConsumerId>);

impl VhostAccess {
    /// Shows messages of a queue, and changes nothing about them.
    pub async fn browse(&self, request: &BrowseRequest<'_>) -> Outcome<BrowsedPage> {
        let queue = self.retry_until_authorized(|access| access.queue_for(Access::Read, request.queue)).await?;
        if request.wants_unacked {
            self.browse_unacked(&queue, request).await
        } else {
            self.browse_ready(&queue, request).await
        }
    }

    async fn browse_ready(&self, queue: &QueueHandle, request: &BrowseRequest<'_>) -> Outcome<BrowsedPage> {
        let from = match request.start {
            Start::Head => Position::FIRST,
            Start::At(id) => id.0,
            Start::Tail(count) => {
                let count = count.min(TAIL_COUNT_MAX);
                let at = self.broker.engine.shards.with_queue(queue, |entry| entry.queue.position_from_end(count));
                at.unwrap_or(Position::FIRST)
            }
        };
        let mut sweep = Sweep::new(&self.broker, queue, from);
        let mut page = Page::new(request);
        while let Some(seen) = sweep.next().await? {
            for seen in seen {
                if page.is_full() {
                    return Ok(page.ends_at(Some(seen.position)));
                }
                page.add(seen.position, &seen.message, seen.redelivered, None);
            }
        }
        Ok(page.ends_at(sweep.at))
    }

    /// Those that consumers have, by number.
    async fn browse_unacked(&self, queue: &QueueHandle, request: &BrowseRequest<'_>) -> Outcome<BrowsedPage> {
        let mut from = match request.start {
            Start::Head => QueueSeq(0),
            Start::At(id) => id.0.seq,
            Start::Tail(_) => return refusal::precondition_failed("unacked messages are listed from the head only"),
        };
        let mut page = Page::new(request);
        let mut looked_at_count = 0;
        let at = |seq| Position { priority: 0, seq };
        while looked_at_count < LOOKED_AT_COUNT_MAX {
            let held = self.broker.engine.shards.with_queue(queue, |entry| first_unacked(entry.queue.unacked(), from));
            let Some(held) = held else { return refusal::not_found(format!("no {}", queue.definition.resource())) };
            if held.is_empty() {
                return Ok(page.ends_at(None));
            }
            looked_at_count += held.len();
            for (seq, message, holder) in held {
                if page.is_full() {
                    return Ok(page.ends_at(Some(at(seq))));
                }
                from = seq.next();
                let Some(message) = self.with_body(queue, seq, message).await else { continue };
                let position = Position { priority: message.priority(), seq };
                let held_by = self.held_by(queue, holder);
                page.add(position, &message, true, Some(held_by));
            }
        }
        Ok(page.ends_at(Some(at(from))))
    }

    /// The message with its body, read again if it has to be. `None`: it has left the queue meanwhile.
    async fn with_body(&self, queue: &QueueHandle, seq: QueueSeq, message: QueuedMessage) -> Option<QueuedMessage> {
        if message.has_body() {
            return Some(message);
        }
        let load = Load::look_at(message.place()?, message.priority());
        let read = self.broker.engine.pending_reads.read(queue, load).await;
        read.messages.into_iter().find(|(found, _)| *found == seq).map(|(_, held)| held)
    }

    fn held_by(&self, queue: &QueueHandle, holder: Option<ConsumerId>) -> HeldBy {
        let Some(holder) = holder else { return HeldBy::default() };
        let gate = self.broker.engine.shards.with_queue(queue, |entry| {
            let gate = &entry.queue.consumer(holder)?.consumer.gate;
            Some((gate.outbox.clone(), gate.consumer))
        });
        let Some((outbox, number)) = gate.flatten() else { return HeldBy::default() };
        let connections = self.broker.connections.all();
        let Some(connection) =
            connections.iter().find(|connection| std::sync::Arc::ptr_eq(&connection.outbox, &outbox))
        else {
            return HeldBy::default();
        };
        let consumer = connection.consumers.lock().get(&number).cloned();
        HeldBy {
            channel: consumer.as_ref().map(|consumer| (connection.name(), consumer.channel)),
            consumer_tag: consumer.map(|consumer| String::from_utf8_lossy(&consumer.tag).into_owned()),
        }
    }
}

/// The first unacked messages from a seq on.
fn first_unacked<'a>(
    unacked: impl Iterator<Item = (QueueSeq, &'a QueuedMessage, Option<ConsumerId>)>,
    from: QueueSeq,
) -> Vec<HeldMessage> {
    let mut first: BinaryHeap<QueueSeq> = BinaryHeap::new();
    let mut found: Vec<HeldMessage> = Vec::new();
    for (seq, message, holder) in unacked.filter(|(seq, ..)| *seq >= from) {
        if first.len() == LOOK_COUNT {
            if first.peek().is_some_and(|last| *last < seq) {
                continue;
            }
            first.pop();
        }
        first.push(seq);
        found.push((seq, message.clone(), holder));
        if found.len() > 2 * LOOK_COUNT {
            let last = first.peek().copied().unwrap_or(seq);
            found.retain(|(seq, ..)| *seq <= last);
        }
    }
    found.sort_by_key(|(seq, ..)| *seq);
    found.truncate(LOOK_COUNT);
    found
}

/// A page that is being filled.
struct Page<'a> {
    request: &'a BrowseRequest<'a>,
    page: BrowsedPage,
    len: usize,
}

impl<'a> Page<'a> {
    fn new(request: &'a BrowseRequest<'a>) -> Self {
        Self { request, page: BrowsedPage::default(), len: 0 }
    }

    fn is_full(&self) -> bool {
        self.page.messages.len() >= self.request.count_max || self.len >= PAGE_LEN_MAX
    }

    fn add(&mut self, position: Position, held: &QueuedMessage, has_been_handed_out: bool, held_by: Option<HeldBy>) {
        let Some(parts) = Parts::read(held.content().bytes()) else { return };
        if !self.request.filter.means(&parts, has_been_handed_out) {
            return;
        }
        let body = &parts.body[..parts.body.len().min(self.request.body_len_max)];
        let properties = parts.header.to_amqp091_properties().into_owned();
        self.len += body.len() + properties.len();
        self.page.messages.push(BrowsedMessage {
            id: MessageId(position),
            exchange: parts.exchange.to_vec(),
            routing_key: parts.routing_key.to_vec(),
            entered_ms: parts.published_at_ms,
            is_redelivered: is_redelivered(&parts, has_been_handed_out),
            is_durable: held.is_journaled(),
            properties,
            body_len: parts.body.len() as u64,
            body: body.to_vec(),
            held_by,
        });
    }

    fn ends_at(mut self, next: Option<Position>) -> BrowsedPage {
        self.page.next = next.map(MessageId);
        self.page
    }
}
