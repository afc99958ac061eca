//! What has happened, how fast, and how it was.
//!
//! Numbers lie in arrays, by the names of [`crate::statistics::numbers`].

use std::sync::Arc;

use telemetry::{Buckets, Sample};

use crate::broker::Broker;
use crate::connections::ChannelHandle;
use crate::statistics::numbers::{
    CHANNEL_COUNT, CONNECTION_COUNT, CONSUMER_COUNT, EXCHANGE_COUNT, NODE_COUNT, QUEUE_COUNT, VHOST_COUNT,
};
use crate::statistics::{
    Edge, ExchangeCounters, Observable, Observed, Place, Range, SIZE_COUNT, VhostMessages, WAIT_COUNT,
};
use crate::view::{ChannelView, ConnectionView, ConsumerView, QueueView};

/// Numbers of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers<const N: usize> {
    /// As they are now.
    pub now: [u64; N],
    /// How fast they grew a second, between the last two looks.
    pub rates: [f64; N],
}

impl<const N: usize> Numbers<N> {
    fn of(object: &impl Observable<N>) -> Self {
        Self { now: object.numbers(), rates: object.observed().rates() }
    }
}

/// What one object sends to another.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeView<T> {
    /// The other one.
    pub other: T,
    /// Messages published.
    pub published: u64,
    /// Messages a second, between the last two looks.
    pub rate: f64,
}

/// A vhost and a name in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameView {
    /// The vhost.
    pub vhost: String,
    /// The name.
    pub name: String,
}

/// A channel that publishes to a queue or an exchange.
#[derive(Debug, Clone)]
pub struct PublisherView {
    /// Which.
    pub channel: ChannelView,
    /// Messages published there.
    pub published: u64,
    /// Messages a second, between the last two looks.
    pub rate: f64,
}

impl QueueView {
    /// What has happened to its messages, and how many there are (`numbers::QUEUE`).
    #[must_use]
    pub fn numbers(&self) -> Numbers<QUEUE_COUNT> {
        Numbers::of(&*self.handle)
    }

    /// How large messages were that came in, in bytes (`statistics::SIZES`).
    #[must_use]
    pub fn sizes(&self) -> Buckets<SIZE_COUNT> {
        self.handle.counters.sizes()
    }

    /// How long messages waited that have left, in milliseconds (`statistics::WAITS`).
    #[must_use]
    pub fn waits(&self) -> Buckets<WAIT_COUNT> {
        self.handle.counters.waits()
    }

    /// From which exchanges messages come.
    #[must_use]
    pub fn incoming(&self) -> Vec<EdgeView<NameView>> {
        let edge = |edge: &Arc<Edge>| {
            let name = String::from_utf8_lossy(&edge.exchange.name).into_owned();
            edge_view(edge, NameView { vhost: edge.exchange.vhost.to_string(), name })
        };
        self.handle.incoming().iter().filter_map(edge).collect()
    }
}

/// What has come from an exchange to a queue, one of which is `other`; if anything has.
fn edge_view(edge: &Edge, other: NameView) -> Option<EdgeView<NameView>> {
    let Numbers { now: [published], rates: [rate] } = Numbers::of(edge);
    (published > 0).then_some(EdgeView { other, published, rate })
}

impl ChannelView {
    /// What it has done (`numbers::CHANNEL`).
    #[must_use]
    pub fn numbers(&self) -> Numbers<CHANNEL_COUNT> {
        Numbers::of(&*self.handle)
    }

    /// To which exchanges it publishes.
    #[must_use]
    pub fn publishes(&self) -> Vec<EdgeView<NameView>> {
        let edges = self.handle.counters.edges.lock();
        let edge = |place: &Place<ExchangeCounters>| {
            let exchange = &place.target;
            let name = String::from_utf8_lossy(&exchange.name).into_owned();
            let other = NameView { vhost: exchange.vhost.to_string(), name };
            EdgeView { other, published: place.published, rate: place.rate() }
        };
        edges.exchanges.iter().map(edge).collect()
    }
}

impl ConsumerView {
    /// What it has done (`numbers::CONSUMER`).
    #[must_use]
    pub fn numbers(&self) -> Numbers<CONSUMER_COUNT> {
        Numbers::of(&*self.handle)
    }
}

impl ConnectionView {
    /// What it has carried (`numbers::CONNECTION`).
    #[must_use]
    pub fn numbers(&self) -> Numbers<CONNECTION_COUNT> {
        Numbers::of(&*self.handle)
    }
}

impl Broker {
    /// Whether there are rates.
    #[must_use]
    pub fn has_rates(&self) -> bool {
        self.engine.statistics.options.has_rates()
    }

    /// Forgets all histories; counters count on.
    pub fn forget_histories(&self) {
        self.statistics.forget(&self.engine.statistics);
        // Those that rest are remembered, too.
        self.vhosts.all().iter().for_each(|vhost| vhost.counters.observed().forget());
    }

    /// What has happened to messages on the whole node, including deleted vhosts. Costs nothing by the number of queues.
    #[must_use]
    pub fn all_messages(&self) -> VhostMessages {
        let mut deleted = self.statistics.deleted_vhosts.lock();
        let mut all = deleted.messages();
        self.vhosts.all().iter().for_each(|vhost| all.add(&vhost.counters.messages()));
        all
    }

    /// Reads from all clients' sockets that brought something, and writes to them, including those of closed connections.
    #[must_use]
    pub fn traffic_count(&self) -> (u64, u64) {
        self.connections.traffic_count()
    }

    /// Delayed messages that were due and were released to queues, including those at deleted exchanges.
    #[must_use]
    pub fn released_count(&self) -> u64 {
        self.engine.statistics.released.get()
    }

    /// What has happened to messages in a vhost.
    #[must_use]
    pub fn messages_in(&self, vhost: &str) -> Option<VhostMessages> {
        Some(self.vhosts.get(vhost)?.counters.messages())
    }

    /// The numbers of a vhost (`numbers::VHOST`).
    #[must_use]
    pub fn vhost_numbers(&self, vhost: &str) -> Option<Numbers<VHOST_COUNT>> {
        Some(Numbers::of(&*self.vhosts.get(vhost)?.counters))
    }

    /// The numbers of all vhosts together.
    #[must_use]
    pub fn messages_numbers(&self) -> Numbers<VHOST_COUNT> {
        let now = self.all_messages().numbers();
        Numbers { now, rates: self.statistics.node.messages.rates() }
    }

    /// The node's other numbers (`numbers::NODE`).
    #[must_use]
    pub fn node_numbers(&self) -> Numbers<NODE_COUNT> {
        Numbers { now: self.node_now(), rates: self.statistics.node.node.rates() }
    }

    /// The numbers of an exchange (`numbers::EXCHANGE`), if anything has happened there.
    #[must_use]
    pub fn exchange_numbers(&self, vhost: &str, exchange: &str) -> Option<Numbers<EXCHANGE_COUNT>> {
        let counters = self.vhosts.get(vhost)?.known_exchange_counters(exchange.as_bytes())?;
        Some(Numbers::of(&*counters))
    }

    /// To which queues an exchange brings messages. Looks at every queue of the vhost.
    #[must_use]
    pub fn outgoing_of(&self, vhost: &str, exchange: &str) -> Vec<EdgeView<NameView>> {
        let outgoing = |queue: QueueView| {
            let incoming = queue.handle.incoming();
            let edge = incoming.iter().find(|edge| *edge.exchange.name == *exchange.as_bytes())?;
            edge_view(edge, NameView { vhost: vhost.to_owned(), name: queue.definition().name.to_string() })
        };
        self.walk_queues([vhost]).filter_map(outgoing).collect()
    }

    /// The channels that publish to an exchange. Looks at every channel.
    #[must_use]
    pub fn publishers_to(&self, vhost: &str, exchange: &str) -> Vec<PublisherView> {
        self.publishers(|channel| {
            let edges = channel.counters.edges.lock();
            let is_it = |place: &&Place<ExchangeCounters>| {
                place.target.vhost.as_str() == vhost && *place.target.name == *exchange.as_bytes()
            };
            edges.exchanges.iter().find(is_it).map(|place| (place.published, place.rate()))
        })
    }

    /// The channels whose messages come to a queue. Looks at every channel.
    #[must_use]
    pub fn publishers_of(&self, queue: &QueueView) -> Vec<PublisherView> {
        self.publishers(|channel| {
            let edges = channel.counters.edges.lock();
            let place = edges.queues.iter().find(|place| Arc::ptr_eq(&place.target, &queue.handle))?;
            Some((place.published, place.rate()))
        })
    }

    fn publishers(&self, published: impl Fn(&ChannelHandle) -> Option<(u64, f64)>) -> Vec<PublisherView> {
        let publisher = |channel: ChannelView| {
            let (published, rate) = published(&channel.handle)?;
            Some(PublisherView { channel, published, rate })
        };
        self.channel_views().into_iter().filter_map(publisher).collect()
    }

    /// What a queue's numbers were, newest first. They are remembered from now on, as long as they are asked for.
    #[must_use]
    pub fn queue_history(&self, queue: &QueueView, range: Range) -> Vec<Sample<QUEUE_COUNT>> {
        let (of_engine, now_ms) = (&self.engine.statistics, self.engine.clock.now_ms());
        of_engine.queues.history(&queue.handle, range, now_ms, &of_engine.keeping_basic(now_ms))
    }

    /// The same of an exchange.
    #[must_use]
    pub fn exchange_history(&self, vhost: &str, exchange: &str, range: Range) -> Vec<Sample<EXCHANGE_COUNT>> {
        let (of_engine, now_ms) = (&self.engine.statistics, self.engine.clock.now_ms());
        let Some(vhost) = self.vhosts.get(vhost) else { return Vec::new() };
        let counters = vhost.exchange_counters(exchange.as_bytes());
        of_engine.exchanges.history(&counters, range, now_ms, &of_engine.keeping_basic(now_ms))
    }

    /// The same of a connection.
    #[must_use]
    pub fn connection_history(&self, connection: &ConnectionView, range: Range) -> Vec<Sample<CONNECTION_COUNT>> {
        let (of_engine, now_ms) = (&self.engine.statistics, self.engine.clock.now_ms());
        self.statistics.connections.history(&connection.handle, range, now_ms, &of_engine.keeping_basic(now_ms))
    }

    /// The same of a channel.
    #[must_use]
    pub fn channel_history(&self, channel: &ChannelView, range: Range) -> Vec<Sample<CHANNEL_COUNT>> {
        let (of_engine, now_ms) = (&self.engine.statistics, self.engine.clock.now_ms());
        if !of_engine.options.has_rates() {
            return Vec::new();
        }
        let keeping = of_engine.keeping_basic(now_ms);
        let history = channel.handle.observed().history(range, now_ms, channel.handle.numbers(), &keeping);
        if history.is_new {
            // It is looked at with its connection.
            self.statistics.connections.note(&channel.connection.handle);
        }
        history.samples
    }

    /// What a vhost's numbers were, newest first.
    #[must_use]
    pub fn vhost_history(&self, vhost: &str, range: Range) -> Vec<Sample<VHOST_COUNT>> {
        let (of_engine, now_ms) = (&self.engine.statistics, self.engine.clock.now_ms());
        let Some(vhost) = self.vhosts.get(vhost) else { return Vec::new() };
        of_engine.vhosts.history(&vhost.counters, range, now_ms, &of_engine.keeping_global(now_ms))
    }

    /// What the numbers of all vhosts together were, newest first.
    #[must_use]
    pub fn messages_history(&self, range: Range) -> Vec<Sample<VHOST_COUNT>> {
        self.of_node(&self.statistics.node.messages, range, || self.all_messages().numbers())
    }

    /// What the node's other numbers were, newest first.
    #[must_use]
    pub fn node_history(&self, range: Range) -> Vec<Sample<NODE_COUNT>> {
        self.of_node(&self.statistics.node.node, range, || self.node_now())
    }

    fn of_node<const N: usize>(
        &self,
        observed: &Observed<N>,
        range: Range,
        now: impl FnOnce() -> [u64; N],
    ) -> Vec<Sample<N>> {
        if !self.has_rates() {
            return Vec::new();
        }
        let now_ms = self.engine.clock.now_ms();
        observed.history(range, now_ms, now(), &self.engine.statistics.keeping_global(now_ms)).samples
    }
}
