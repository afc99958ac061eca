//! Reports to sinks of what happens to messages. Mostly there are no sinks: all of it is out of line.

use std::collections::VecDeque;
use std::sync::Arc;

use amqp::server::ON_BEHALF_OF;
use engine::batch::Batch;
use engine::lane::LaneNumber;
use engine::outbox::Outgoing;
use engine::position::Marks;
use engine::queue_handle::QueueHandle;
use engine::queued_message::QueuedMessage;
use engine::tap::{Client, Event, Kind, Kinds, Scope, Sink, Taps, What};
use engine::targets::{Counted, Targets};
use message::{History, Parts};
use queue::FetchedMessage;

use super::{Tracer, Unconfirmed, client_name};
use crate::front::incoming::Incoming;
use crate::front::lane::Lane;
use crate::front::{Front, Protocol};

/// What happens in queues because of what is in a batch.
const OF_QUEUES: Kinds =
    Kinds::of(&[Kind::Acked, Kind::SetAside, Kind::Expired, Kind::Dropped, Kind::DeadLettered, Kind::Stored]);
/// Publishes of a connection that wait to be reported as confirmed; more are not reported.
const UNCONFIRMED_COUNT_MAX: usize = 4096;

/// The sinks that want to hear of publishes to an exchange.
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

impl<P: Protocol> Front<P> {
    #[cold]
    fn tracer(&mut self) -> &mut Tracer {
        let (handle, access) = (&self.handle, self.principal.known_access());
        self.tracer.get_or_insert_with(|| {
            let user = access.map(|access| access.identity().name()).unwrap_or_default();
            let properties = handle.opened.get().map(|opened| opened.client_properties.as_table());
            let named = properties.and_then(|properties| properties.get(ON_BEHALF_OF)?.as_bytes());
            let on_behalf_of = named.map(client_name);
            let client = Client { connection: handle.name().into(), user: user.into(), on_behalf_of };
            Box::new(Tracer::new(client))
        })
    }

    /// The client, as events name it.
    #[cold]
    pub(in crate::front) fn tracing_client(&mut self) -> Option<Arc<Client>> {
        Some(self.tracer().client.clone())
    }

    /// The same of what happens on a lane, which a proxy may use for another client.
    #[cold]
    fn client_of(&mut self, lane: LaneNumber) -> Arc<Client> {
        let on_behalf_of = self.lanes.get_mut(lane).and_then(|lane| lane.on_behalf_of.clone());
        self.tracer().client_for(on_behalf_of.as_ref())
    }

    /// Forgets what was reported of the batch.
    pub(in crate::front) fn forget_reported(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            tracer.published.clear();
        }
    }

    /// Reports the publishes of the batch that have not been reported yet.
    #[cold]
    pub(in crate::front) fn report_published(&mut self, batch: &Batch) {
        let client = self.tracer().client.clone();
        let mut published = std::mem::take(&mut self.tracer().published);
        let vhost = self.vhost().name().clone();
        let broker = self.broker.clone();
        let taps = &broker.engine.taps;
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
            let client = self.client_of(publish.lane);
            let event = Event {
                what: What::Published(batch.targets_of(publish)),
                vhost: vhost.as_str(),
                queue: None,
                seq: None,
                client: Some(&client),
                lane: publish.lane,
                publish: number,
                message: Some(message),
            };
            listeners.iter().for_each(|sink| sink.take(&event));
            published.push(if *has_more { number } else { 0 });
        }
        self.tracer().published = published;
    }

    /// Whether no sink wants to hear of anything in a batch: mostly so where the firehose of another queue is all there is.
    fn concerns_no_sink(&mut self, batch: &Batch) -> bool {
        let broker = self.broker.clone();
        let taps = &broker.engine.taps;
        if taps.want(OF_QUEUES) {
            return false;
        }
        let vhost = self.vhost().clone();
        let tracer = self.tracer();
        let (client, unwatched) = (&tracer.client, tracer.unwatched.at((taps.generation(), vhost.epoch().0)));
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
        tracer.published.is_empty()
            && batch.routes().iter().all(|route| route.targets.counted.as_deref().is_some_and(&mut is_unwatched))
    }

    /// Brings a batch to its queues, and reports what becomes of it: it is empty afterwards. Unless no sink wants to hear of it.
    #[cold]
    pub(in crate::front) fn apply_reported(&mut self, batch: &mut Batch) {
        if self.concerns_no_sink(batch) {
            return;
        }
        self.report_published(batch);
        batch.client = self.tracing_client();
        let published = std::mem::take(&mut self.tracer().published);
        let contents: Vec<_> = batch
            .publishes()
            .iter()
            .zip(&published)
            .map(|(publish, number)| (*number > 0).then(|| publish.content().clone()))
            .collect();
        let broker = self.broker.clone();
        let mut outcomes = Vec::with_capacity(contents.len());
        batch.apply(&broker.engine, |publish, position| {
            self.turn.counted.written += u64::from(publish.outcome.waits_for_disk);
            if publish.confirm_seq != 0 {
                self.lanes.complete(publish.lane, publish.confirm_seq, publish.outcome.is_refused, position);
            }
            outcomes.push((publish.lane, publish.confirm_seq, publish.outcome.is_refused, position));
        });
        let vhost = self.vhost().name().clone();
        for ((content, publish), (lane, confirm_seq, is_refused, position)) in
            contents.into_iter().zip(published).zip(outcomes)
        {
            let Some(content) = content else { continue };
            let client = self.client_of(lane);
            broker.engine.taps.report(&Event {
                what: What::Stored { is_refused },
                vhost: vhost.as_str(),
                queue: None,
                seq: None,
                client: Some(&client),
                lane,
                publish,
                message: Parts::read(content.bytes()),
            });
            let unconfirmed = &mut self.tracer().unconfirmed;
            if confirm_seq != 0 && !is_refused && unconfirmed.len() < UNCONFIRMED_COUNT_MAX {
                unconfirmed.push_back(Unconfirmed { publish, lane, client, content, position });
            }
        }
    }

    /// Reports publishes that are confirmed now.
    #[cold]
    pub(in crate::front) fn report_confirmed(&mut self, durable: Marks) {
        let Some(tracer) = &mut self.tracer else { return };
        let broker = self.broker.clone();
        let Some(vhost) = self.principal.known_access().map(|access| access.vhost.name().clone()) else { return };
        while let Some(first) = tracer.unconfirmed.pop_front_if(|first| durable.reach_all(first.position)) {
            broker.engine.taps.report(&Event {
                what: What::Confirmed,
                vhost: vhost.as_str(),
                queue: None,
                seq: None,
                client: Some(&first.client),
                lane: first.lane,
                publish: first.publish,
                message: Parts::read(first.content.bytes()),
            });
        }
    }

    /// Reports a publish that no queue wants.
    #[cold]
    pub(in crate::front) fn report_unroutable(
        &mut self,
        lane: &Lane<P::Lane>,
        message: &Incoming<'_>,
        targets: &Targets,
        (ttl_ms, hidden_keys): (Option<u64>, &[u8]),
    ) {
        let history = History { ttl_ms, hidden_keys, ..History::default() };
        // In the order in which they came.
        let batch = std::mem::take(&mut self.batch);
        self.report_published(&batch);
        self.batch = batch;
        let client = self.tracer().client_for(lane.on_behalf_of.as_ref());
        let taps = &self.broker.engine.taps;
        let mut event = Event {
            what: What::Published(targets),
            vhost: self.vhost().name().as_str(),
            queue: None,
            seq: None,
            client: Some(&client),
            lane: lane.number,
            publish: taps.number_publish(),
            message: Some(message.parts(self.turn.now_ms, history)),
        };
        taps.report(&event);
        if message.is_mandatory {
            event.what = What::Returned;
            taps.report(&event);
        }
    }

    /// Reports the first `count` deliveries, which have been encoded.
    #[cold]
    pub(in crate::front) fn report_encoded(&mut self, deliveries: &VecDeque<Outgoing>, count: usize) {
        if !self.concerns_only_unwatched(deliveries, count) {
            self.report_delivered(deliveries.iter().take(count));
        }
    }

    /// Whether they are all from one queue, of which it is known that no sink wants to hear: mostly so where the firehose of another queue
    /// is all there is. The rest costs four times as much.
    fn concerns_only_unwatched(&mut self, deliveries: &VecDeque<Outgoing>, count: usize) -> bool {
        let at = (self.broker.engine.taps.generation(), self.principal.access().vhost.epoch().0);
        let Some(slot) = deliveries.front().and_then(|first| self.consumers.get(first.consumer)) else { return false };
        let unwatched = self.tracer.as_deref_mut().and_then(|tracer| tracer.unwatched.at(at).queue);
        unwatched == Some(slot.queue.id()) && are_of_one_consumer(deliveries, count)
    }

    /// Reports deliveries that have been encoded.
    #[cold]
    pub(in crate::front) fn report_delivered<'o>(&mut self, deliveries: impl Iterator<Item = &'o Outgoing>) {
        let client = self.tracer().client.clone();
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
                let unwatched = self.tracer.as_deref_mut().map(|tracer| tracer.unwatched.at(at));
                if unwatched.is_some_and(|unwatched| unwatched.queue == Some(slot.queue.id())) {
                    unwatched_consumer = Some(outgoing.consumer);
                    continue;
                }
                let (kind, queue, client) = (Kind::Delivered, Some(&*slot.queue), Some(&*client));
                let scope = Scope { kind, vhost, exchange: None, queue, client };
                let listeners = taps.listeners(&scope);
                if listeners.is_empty() {
                    unwatched_consumer = Some(outgoing.consumer);
                    if let Some(tracer) = self.tracer.as_deref_mut() {
                        tracer.unwatched.at(at).queue = Some(slot.queue.id());
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
                lane: slot.lane,
                publish: 0,
                message: Some(message),
            };
            listeners.iter().for_each(|sink| sink.take(&event));
        }
    }

    /// Reports a message that was got.
    #[cold]
    pub(in crate::front) fn report_got(
        &mut self,
        lane: LaneNumber,
        queue: &QueueHandle,
        got: &FetchedMessage<QueuedMessage>,
        no_ack: bool,
        message: &Parts<'_>,
    ) {
        let client = self.client_of(lane);
        let had_failed = message.history.counts.delivery_count > 0;
        self.broker.engine.taps.report(&Event {
            what: What::Got { is_redelivered: got.redelivered || had_failed, no_ack },
            vhost: queue.definition.vhost.as_str(),
            queue: Some(queue),
            seq: Some(got.seq),
            client: Some(&client),
            lane,
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
