//! What everybody may know of a queue without its lock: its name, its properties, where it lives, its counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::arguments::{Overflow, QueueType};
use model::definition;
use model::features::QueueFeatures;
use model::ids::QueueId;
use model::policy::EffectivePolicy;
use parking_lot::{Mutex, RwLock};
use store::Kind;
use telemetry::Gauge;

use crate::clock::Clock;
use crate::deduplication::ExchangeKeys;
use crate::delayed::{Delay, DelaySet};
use crate::limits::QUEUE_EDGE_COUNT_MAX;
use crate::message::Priorities;
use crate::options::Options;
use crate::shard::Shards;
use crate::statistics::numbers::QUEUE_COUNT;
use crate::statistics::{Capacity, Edge, ExchangeCounters, Observed, QueueCounters, VhostCounters};

/// The number of a connection, never reused while the broker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// A queue, as names, routes and consumers refer to it. It may outlive the queue.
#[derive(Debug)]
pub(crate) struct QueueHandle {
    pub(crate) definition: definition::Queue,
    pub(crate) slot: u32,
    /// The only connection that may use it, for an exclusive queue.
    pub(crate) owner: Option<ConnectionId>,
    pub(crate) counters: QueueCounters,
    pub(crate) capacity: Capacity,
    pub(crate) gauges: QueueGauges,
    pub(crate) observed: Observed<QUEUE_COUNT>,
    /// When it was declared, or the broker started, in milliseconds since 1970.
    pub(crate) made_at_ms: u64,
    pub(crate) clock: Arc<Clock>,
    /// What is counted for the whole vhost.
    pub(crate) vhost: Arc<VhostCounters>,
    /// Held by who brings on what the queue has given up.
    pub(crate) dead_letter_turn: Mutex<()>,
    /// From which exchanges messages come.
    incoming: Mutex<Vec<Arc<Edge>>>,
    /// The policies that hold for it.
    pub(crate) policy: Mutex<EffectivePolicy>,
    /// What it does, by its arguments and these policies.
    features: RwLock<Arc<QueueFeatures>>,
    /// Whether it drops duplicates: asked by whoever routes, and mostly not so.
    is_keyed: AtomicBool,
    /// Which priorities it has: as it was declared, for ever.
    pub(crate) priorities: Priorities,
}

/// How things stand on a queue, as of the end of the last locked section that touched it.
#[derive(Debug, Default)]
pub(crate) struct QueueGauges {
    pub(crate) ready_count: Gauge,
    pub(crate) unacked_count: Gauge,
    pub(crate) ready_bytes: Gauge,
    pub(crate) unacked_bytes: Gauge,
    pub(crate) consumer_count: Gauge,
}

impl QueueHandle {
    pub(crate) fn new(
        definition: definition::Queue,
        slot: u32,
        owner: Option<ConnectionId>,
        vhost: Arc<VhostCounters>,
        clock: Arc<Clock>,
        policy: EffectivePolicy,
        features: QueueFeatures,
    ) -> Self {
        let priorities = Priorities::of_arguments(&definition.arguments);
        let is_keyed = AtomicBool::new(features.deduplication.is_some());
        let features = RwLock::new(Arc::new(features));
        Self {
            definition,
            slot,
            owner,
            counters: QueueCounters::default(),
            capacity: Capacity::default(),
            gauges: QueueGauges::default(),
            observed: Observed::default(),
            vhost,
            made_at_ms: clock.now_ms(),
            clock,
            dead_letter_turn: Mutex::default(),
            incoming: Mutex::default(),
            policy: Mutex::new(policy),
            features,
            is_keyed,
            priorities,
        }
    }

    /// Messages that are ready, and that are unacked.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [&self.gauges.ready_count, &self.gauges.unacked_count].map(|gauge| gauge.get().cast_unsigned())
    }

    /// The way from an exchange to here.
    pub(crate) fn edge_from(&self, exchange: &Arc<ExchangeCounters>) -> Option<Arc<Edge>> {
        let mut incoming = self.incoming.lock();
        if let Some(edge) = incoming.iter().find(|edge| Arc::ptr_eq(&edge.exchange, exchange)) {
            return Some(edge.clone());
        }
        // One of the same name may be among those that are gone.
        incoming.retain(|edge| !edge.exchange.is_gone());
        (incoming.len() < QUEUE_EDGE_COUNT_MAX).then(|| {
            let edge = Arc::new(Edge::new(exchange.clone()));
            incoming.push(edge.clone());
            edge
        })
    }

    /// The ways by which messages came here, from exchanges that are there still.
    pub(crate) fn incoming(&self) -> Vec<Arc<Edge>> {
        self.incoming.lock().iter().filter(|edge| !edge.exchange.is_gone()).cloned().collect()
    }

    /// What it does.
    pub(crate) fn features(&self) -> Arc<QueueFeatures> {
        self.features.read().clone()
    }

    /// These policies hold for it from now on. What it does then, if that is something else than before: it is the caller's to tell
    /// the queue.
    pub(crate) fn set_policy(&self, policy: EffectivePolicy) -> Option<Arc<QueueFeatures>> {
        let features = QueueFeatures::of(&self.definition.arguments, &policy);
        *self.policy.lock() = policy;
        let mut current = self.features.write();
        if **current == features {
            return None;
        }
        self.is_keyed.store(features.deduplication.is_some(), Ordering::Relaxed);
        *current = Arc::new(features);
        Some(current.clone())
    }

    /// Whether it drops duplicates.
    pub(crate) fn is_keyed(&self) -> bool {
        self.is_keyed.load(Ordering::Relaxed)
    }

    /// The header that holds keys of messages, if it drops duplicates.
    fn key_header(&self) -> Option<Arc<str>> {
        if !self.is_keyed() {
            return None;
        }
        self.features().deduplication.as_ref().map(|deduplication| Arc::from(&*deduplication.header))
    }

    /// Whether it counts how often messages come back, and tells its consumers.
    pub(crate) fn is_quorum(&self) -> bool {
        self.definition.arguments.queue_type() == QueueType::Quorum
    }

    #[inline]
    pub(crate) fn id(&self) -> QueueId {
        self.definition.id
    }

    pub(crate) fn name(&self) -> &str {
        self.definition.name.as_str()
    }

    /// Whether its messages last: they are journalled when they are persistent.
    #[inline]
    pub(crate) fn is_journalled(&self) -> bool {
        self.definition.is_durable && self.owner.is_none()
    }

    /// The bit of its shard, for locking several.
    #[inline]
    pub(crate) fn shard_bit(&self) -> u64 {
        1 << Shards::number_of(self.id())
    }
}

/// Where a publish goes: the queues that one routing gave.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    pub(crate) queues: Box<[Arc<QueueHandle>]>,
    /// Whether a persistent message to these queues is journalled.
    pub(crate) is_journalled: bool,
    /// The shards to lock.
    pub(crate) shards: u64,
    /// Where it waits, if it is delayed.
    pub(crate) delay: Option<Box<Delay>>,
    /// Keys of the exchange that it was published to, if that drops duplicates.
    pub(crate) keys: Option<Arc<ExchangeKeys>>,
    /// The headers that hold keys which somebody of these asks for.
    pub(crate) key_headers: Option<Box<[Arc<str>]>>,
    /// What is counted of a message that a client published.
    pub(crate) counted: Option<Box<Counted>>,
}

/// What is counted of messages that come to an exchange and go to some queues.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) exchange: Arc<ExchangeCounters>,
    pub(crate) edges: Box<[Arc<Edge>]>,
}

impl Targets {
    pub(crate) fn new(queues: impl IntoIterator<Item = Arc<QueueHandle>>) -> Self {
        let queues: Box<[_]> = queues.into_iter().collect();
        let is_journalled = queues.iter().any(|queue| queue.is_journalled());
        let shards = queues.iter().fold(0, |bits, queue| bits | queue.shard_bit());
        let mut targets =
            Self { queues, is_journalled, shards, delay: None, keys: None, key_headers: None, counted: None };
        let headers: Vec<_> = targets.queues.iter().filter_map(|queue| queue.key_header()).collect();
        headers.into_iter().for_each(|header| targets.add_key_header(header));
        targets
    }

    /// The same, of a message that was published to an exchange which drops duplicates, if there are any.
    pub(crate) fn with_keys(mut self, keys: Option<Arc<ExchangeKeys>>) -> Self {
        if let Some(keys) = &keys {
            self.shards |= keys.shard_bit();
            self.add_key_header(keys.header.clone());
        }
        Self { keys, ..self }
    }

    /// The same, of messages that clients publish to this exchange.
    pub(crate) fn counted_at(self, exchange: Arc<ExchangeCounters>) -> Self {
        let edges = self.queues.iter().filter_map(|queue| queue.edge_from(&exchange)).collect();
        Self { counted: Some(Box::new(Counted { exchange, edges })), ..self }
    }

    fn add_key_header(&mut self, header: Arc<str>) {
        let mut headers = self.key_headers.take().map_or_else(Vec::new, <[_]>::into_vec);
        if !headers.contains(&header) {
            headers.push(header);
        }
        self.key_headers = Some(headers.into());
    }

    /// The same, and these exchanges, at which it waits.
    pub(crate) fn with_delay(self, sets: Vec<Arc<DelaySet>>) -> Self {
        if sets.is_empty() {
            return self;
        }
        let is_journalled = self.is_journalled || sets.iter().any(|set| set.is_durable);
        let delay = Some(Box::new(Delay { sets: sets.into(), is_returned: false }));
        Self { is_journalled, delay, ..self }
    }

    /// The queue, if a message goes to just one and nothing else is to be done with it.
    #[inline]
    pub(crate) fn only(&self) -> Option<&Arc<QueueHandle>> {
        match &*self.queues {
            [queue] if self.delay.is_none() && self.keys.is_none() => Some(queue),
            _ => None,
        }
    }

    /// Which kind of content a message for them is.
    #[inline]
    pub(crate) fn kind(&self, is_persistent: bool) -> Kind {
        if is_persistent && self.is_journalled { Kind::Journalled } else { Kind::Transient }
    }

    /// Whether nobody takes the message, now or later.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.delay.is_none()
    }
}

/// What the queue's state machine has to know of its features.
pub(crate) fn rules_of(features: &QueueFeatures, options: &Options) -> queue::Rules {
    let timeout_ms = options.consumer_timeout.as_millis() as u64;
    queue::Rules {
        length_max: features.length_max,
        bytes_max: features.length_bytes_max,
        refuses_beyond: features.overflow != Overflow::DropHead
            && (features.length_max.is_some() || features.length_bytes_max.is_some()),
        keeps_dropped: features.dead_letter.is_some(),
        counts_returns: features.is_quorum,
        delivery_limit: features.delivery_limit,
        retry: features.retry,
        consumer_timeout_ms: features.consumer_timeout_ms.or(features.is_quorum.then_some(timeout_ms)),
        expires_after_ms: features.expires_ms,
    }
}
