//! What those are told who watch what happens to messages. Mostly there are none: all of it is out of line.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::batch::Batch;
use engine::message::{Held, History, Parts};
use engine::outbox::Outgoing;
use engine::queue_handle::QueueHandle;
use engine::statistics::ExchangeCounters;
use engine::tap::{Client, Event, Kind, Kinds, Scope, Sink, Taps, What};
use engine::targets::{Counted, Targets};
use model::ids::{JournalPosition, QueueId};
use queue::FetchedMessage;
use store::Content;

use super::Session;
use crate::session::assembly::CompletePublish;
use crate::session::channel::Channel;

/// What becomes of the publishes and settlements of a batch.
pub(super) const OF_BATCHES: Kinds =
    Kinds::of(&[Kind::Published, Kind::Returned, Kind::Stored, Kind::Confirmed, Kind::Acked, Kind::SetAside]);
/// What happens in queues because of what is in a batch.
const OF_QUEUES: Kinds =
    Kinds::of(&[Kind::Acked, Kind::SetAside, Kind::Expired, Kind::Dropped, Kind::DeadLettered, Kind::Stored]);
/// What is sent to consumers.
pub(super) const DELIVERED: Kinds = Kinds::of(&[Kind::Delivered]);
/// What is answered to `basic.get`.
pub(super) const GOT: Kinds = Kinds::of(&[Kind::Got]);
/// What comes back from consumers.
pub(super) const GIVEN_BACK: Kinds = Kinds::of(&[Kind::Rejected, Kind::Requeued]);

/// Publishes of a connection that wait to be told as confirmed; of more it is not told.
const UNCONFIRMED_COUNT_MAX: usize = 4096;

/// What a connection has told.
#[derive(Debug)]
pub(super) struct Told {
    client: Arc<Client>,
    /// The numbers of the publishes in the batch that have been told; 0: no sink wanted it.
    published: Vec<u64>,
    /// Publishes that were told, and are to be when they are confirmed.
    unconfirmed: VecDeque<Unconfirmed>,
    /// The last exchange and the last queue of which no sink wants to hear anything.
    unwatched: Unwatched,
}

/// What no sink wanted to hear of, as long as neither sinks nor the topology change.
#[derive(Debug, Default)]
struct Unwatched {
    at: (u64, u64),
    exchange: Option<Arc<ExchangeCounters>>,
    queue: Option<QueueId>,
}

impl Unwatched {
    /// What is known for this state of sinks and topology.
    fn at(&mut self, at: (u64, u64)) -> &mut Self {
        if self.at != at {
            *self = Unwatched { at, ..Unwatched::default() };
        }
        self
    }
}

/// A publish that waits.
#[derive(Debug)]
struct Unconfirmed {
    publish: u64,
    channel: u16,
    content: Content,
    /// Where it is durable.
    position: Option<JournalPosition>,
}

/// Who wants to hear of publishes to an exchange.
struct AtExchange {
    exchange: Vec<u8>,
    listeners: Vec<Arc<dyn Sink>>,
    /// Whether any wants to hear what becomes of them.
    has_more: bool,
}

impl AtExchange {
    fn of(taps: &Taps, vhost: &str, exchange: &[u8], client: &Client) -> Self {
        let scope = |kind| Scope { kind, vhost, exchange: Some(exchange), queue: None, client: Some(client) };
        AtExchange {
            exchange: exchange.to_vec(),
            listeners: taps.listeners(&scope(Kind::Published)),
            has_more: taps.has_listeners(&scope(Kind::Stored)) || taps.has_listeners(&scope(Kind::Confirmed)),
        }
    }
}

impl Told {
    /// Whether nothing is to be told of what it has told.
    pub(super) fn is_done(&self) -> bool {
        self.unconfirmed.is_empty() && self.published.is_empty()
    }
}

impl Session {
    #[cold]
    fn told(&mut self) -> &mut Told {
        let (handle, access) = (&self.handle, self.principal.known_access());
        self.told.get_or_insert_with(|| {
            let user = access.map(|access| access.identity().name()).unwrap_or_default();
            let client = Client { connection: handle.name().into(), user: user.into() };
            let (published, unconfirmed, unwatched) = Default::default();
            Box::new(Told { client: Arc::new(client), published, unconfirmed, unwatched })
        })
    }

    /// Who the client is.
    #[cold]
    pub(super) fn told_client(&mut self) -> Option<Arc<Client>> {
        Some(self.told().client.clone())
    }

    /// The batch is gone.
    pub(super) fn forget_told(&mut self) {
        if let Some(told) = &mut self.told {
            told.published.clear();
        }
    }

    /// Tells of the publishes of the batch of which it has not been told yet.
    #[cold]
    pub(super) fn tell_published(&mut self, batch: &Batch) {
        let client = self.told().client.clone();
        let mut published = std::mem::take(&mut self.told().published);
        let vhost = self.vhost().name().clone();
        let taps = &self.broker.engine.taps;
        let mut known: Option<AtExchange> = None;
        for publish in &batch.publishes()[published.len().min(batch.publishes().len())..] {
            let Some(message) = Parts::read(publish.content().bytes()) else {
                published.push(0);
                continue;
            };
            let at = match known.take_if(|at| at.exchange == message.exchange) {
                Some(at) => at,
                None => AtExchange::of(taps, vhost.as_str(), message.exchange, &client),
            };
            let AtExchange { listeners, has_more, .. } = known.insert(at);
            if listeners.is_empty() && !*has_more {
                published.push(0);
                continue;
            }
            let number = taps.number_publish();
            let event = Event {
                what: What::Published(batch.targets_of(publish)),
                vhost: vhost.as_str(),
                queue: None,
                seq: None,
                client: Some(&client),
                channel: publish.channel,
                publish: number,
                message: Some(message),
            };
            listeners.iter().for_each(|sink| sink.take(&event));
            published.push(if *has_more { number } else { 0 });
        }
        self.told().published = published;
    }

    /// Whether no sink wants to hear of anything in a batch: mostly so where the firehose of another queue is all there is.
    fn concerns_no_sink(&mut self, batch: &Batch) -> bool {
        let broker = self.broker.clone();
        let taps = &broker.engine.taps;
        if taps.want(OF_QUEUES) {
            return false;
        }
        let vhost = self.vhost().clone();
        let told = self.told();
        let (client, unwatched) = (&told.client, told.unwatched.at((taps.generation(), vhost.epoch().0)));
        let mut is_unwatched = |counted: &Counted| {
            if unwatched.exchange.as_ref().is_some_and(|known| Arc::ptr_eq(known, &counted.exchange)) {
                return true;
            }
            let at = AtExchange::of(taps, vhost.name().as_str(), &counted.exchange.name, client);
            let is_unwatched = at.listeners.is_empty() && !at.has_more;
            if is_unwatched {
                unwatched.exchange = Some(counted.exchange.clone());
            }
            is_unwatched
        };
        told.published.is_empty()
            && batch.routes().iter().all(|route| route.targets.counted.as_deref().is_some_and(&mut is_unwatched))
    }

    /// Brings a batch to its queues, and tells what becomes of it: it is empty afterwards. Unless no sink wants to hear of it.
    #[cold]
    pub(super) fn apply_told(&mut self, batch: &mut Batch) {
        if self.concerns_no_sink(batch) {
            return;
        }
        self.tell_published(batch);
        batch.client = self.told_client();
        let published = std::mem::take(&mut self.told().published);
        let contents: Vec<_> = batch
            .publishes()
            .iter()
            .zip(&published)
            .map(|(publish, number)| (*number > 0).then(|| publish.content().clone()))
            .collect();
        let broker = self.broker.clone();
        let mut outcomes = Vec::with_capacity(contents.len());
        batch.apply(&broker.engine, |publish, position| {
            self.turn.gathered.written += u64::from(publish.outcome.waits_for_disk);
            if publish.confirm_seq != 0 {
                self.channels.complete(publish.channel, publish.confirm_seq, publish.outcome.is_refused, position);
            }
            outcomes.push((publish.channel, publish.confirm_seq, publish.outcome.is_refused, position));
        });
        let client = self.told().client.clone();
        let vhost = self.vhost().name().clone();
        for ((content, publish), (channel, confirm_seq, is_refused, position)) in
            contents.into_iter().zip(published).zip(outcomes)
        {
            let Some(content) = content else { continue };
            broker.engine.taps.tell(&Event {
                what: What::Stored { is_refused },
                vhost: vhost.as_str(),
                queue: None,
                seq: None,
                client: Some(&client),
                channel,
                publish,
                message: Parts::read(content.bytes()),
            });
            let unconfirmed = &mut self.told().unconfirmed;
            if confirm_seq != 0 && !is_refused && unconfirmed.len() < UNCONFIRMED_COUNT_MAX {
                unconfirmed.push_back(Unconfirmed { publish, channel, content, position });
            }
        }
    }

    /// Tells of publishes that are confirmed now.
    #[cold]
    pub(super) fn tell_confirmed(&mut self, durable: JournalPosition) {
        let Some(told) = &mut self.told else { return };
        let (client, broker) = (told.client.clone(), self.broker.clone());
        let Some(vhost) = self.principal.known_access().map(|access| access.vhost.name().clone()) else { return };
        while let Some(first) = told.unconfirmed.pop_front_if(|first| first.position <= Some(durable)) {
            broker.engine.taps.tell(&Event {
                what: What::Confirmed,
                vhost: vhost.as_str(),
                queue: None,
                seq: None,
                client: Some(&client),
                channel: first.channel,
                publish: first.publish,
                message: Parts::read(first.content.bytes()),
            });
        }
    }

    /// Tells of a publish that no queue wants.
    #[cold]
    pub(super) fn tell_unroutable(
        &mut self,
        channel: &Channel,
        whole: &CompletePublish<'_>,
        targets: &Targets,
        (ttl_ms, hidden_keys): (Option<u64>, &[u8]),
    ) {
        let history = History { ttl_ms, hidden_keys, ..History::default() };
        // In the order in which they came.
        let batch = std::mem::take(&mut self.batch);
        self.tell_published(&batch);
        self.batch = batch;
        let client = self.told().client.clone();
        let taps = &self.broker.engine.taps;
        let mut event = Event {
            what: What::Published(targets),
            vhost: self.vhost().name().as_str(),
            queue: None,
            seq: None,
            client: Some(&client),
            channel: channel.number,
            publish: taps.number_publish(),
            message: Some(whole.parts(self.turn.now_ms, history)),
        };
        taps.tell(&event);
        if whole.mandatory {
            event.what = What::Returned;
            taps.tell(&event);
        }
    }

    /// Tells of the first `count` deliveries, which have been encoded.
    #[cold]
    pub(super) fn tell_encoded(&mut self, deliveries: &VecDeque<Outgoing>, count: usize) {
        if !self.concerns_only_unwatched(deliveries, count) {
            self.tell_delivered(deliveries.iter().take(count));
        }
    }

    /// Whether they are all from one queue, of which it is known that no sink wants to hear: mostly so where the firehose of another queue
    /// is all there is. The rest costs four times as much.
    fn concerns_only_unwatched(&mut self, deliveries: &VecDeque<Outgoing>, count: usize) -> bool {
        let at = (self.broker.engine.taps.generation(), self.principal.access().vhost.epoch().0);
        let Some(slot) = deliveries.front().and_then(|first| self.consumers.get(first.consumer)) else { return false };
        let unwatched = self.told.as_deref_mut().and_then(|told| told.unwatched.at(at).queue);
        unwatched == Some(slot.queue.id()) && are_of_one_consumer(deliveries, count)
    }

    /// Tells of deliveries that have been encoded.
    #[cold]
    pub(super) fn tell_delivered<'o>(&mut self, deliveries: impl Iterator<Item = &'o Outgoing>) {
        let client = self.told().client.clone();
        let taps = &self.broker.engine.taps;
        let vhost = self.principal.access().vhost.name().as_str();
        let at = (taps.generation(), self.principal.access().vhost.epoch().0);
        let mut known: Option<(u32, Vec<Arc<dyn Sink>>)> = None;
        let mut unwatched_consumer = None;
        for outgoing in deliveries {
            if unwatched_consumer == Some(outgoing.consumer) {
                continue;
            }
            let Some(slot) = self.consumers.get(outgoing.consumer) else { continue };
            if known.as_ref().is_none_or(|(consumer, _)| *consumer != outgoing.consumer) {
                let unwatched = self.told.as_deref_mut().map(|told| told.unwatched.at(at));
                if unwatched.is_some_and(|unwatched| unwatched.queue == Some(slot.queue.id())) {
                    unwatched_consumer = Some(outgoing.consumer);
                    continue;
                }
                let (kind, queue, client) = (Kind::Delivered, Some(&*slot.queue), Some(&*client));
                let scope = Scope { kind, vhost, exchange: None, queue, client };
                let listeners = taps.listeners(&scope);
                if listeners.is_empty() {
                    unwatched_consumer = Some(outgoing.consumer);
                    if let Some(told) = self.told.as_deref_mut() {
                        told.unwatched.at(at).queue = Some(slot.queue.id());
                    }
                    continue;
                }
                known = Some((outgoing.consumer, listeners));
            }
            let Some((_, listeners)) = &known else { continue };
            let Some(message) = Parts::read(outgoing.content.bytes()) else { continue };
            let had_failed =
                message.history.counts.delivery_count > 0 && (slot.queue.is_quorum() || !outgoing.is_at_once());
            let event = Event {
                what: What::Delivered {
                    is_redelivered: outgoing.is_redelivered || had_failed,
                    consumer_tag: &slot.tag,
                    no_ack: slot.no_ack,
                },
                vhost,
                queue: Some(&slot.queue),
                seq: Some(outgoing.seq),
                client: Some(&client),
                channel: slot.channel,
                publish: 0,
                message: Some(message),
            };
            listeners.iter().for_each(|sink| sink.take(&event));
        }
    }

    /// Tells of a message that was got.
    #[cold]
    pub(super) fn tell_got(
        &mut self,
        channel: u16,
        queue: &QueueHandle,
        got: &FetchedMessage<Held>,
        no_ack: bool,
        message: &Parts<'_>,
    ) {
        let client = self.told().client.clone();
        let had_failed = message.history.counts.delivery_count > 0;
        self.broker.engine.taps.tell(&Event {
            what: What::Got { is_redelivered: got.redelivered || had_failed, no_ack },
            vhost: queue.definition.vhost.as_str(),
            queue: Some(queue),
            seq: Some(got.seq),
            client: Some(&client),
            channel,
            publish: 0,
            message: Some(*message),
        });
    }
}

fn are_of_one_consumer(deliveries: &VecDeque<Outgoing>, count: usize) -> bool {
    let (front, back) = deliveries.as_slices();
    let (front, back) = (&front[..count.min(front.len())], &back[..count.saturating_sub(front.len()).min(back.len())]);
    let consumer = deliveries.front().map(|first| first.consumer);
    front.iter().chain(back).all(|outgoing| Some(outgoing.consumer) == consumer)
}
