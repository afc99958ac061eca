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
use telemetry::{Counter, Gauge};

use crate::deduplication::ExchangeKeys;
use crate::delayed::{Delay, DelaySet};
use crate::message::Priorities;
use crate::options::Options;
use crate::shard::Shards;

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
    pub(crate) gauges: QueueGauges,
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

/// What has happened on a queue, as RabbitMQ's `message_stats` count it.
#[derive(Debug, Default)]
pub(crate) struct QueueCounters {
    /// Messages that were routed here.
    pub(crate) published: Counter,
    /// Messages handed to consumers and getters, redeliveries included.
    pub(crate) delivered: Counter,
    /// Messages handed out again.
    pub(crate) redelivered: Counter,
    /// Messages acknowledged, or rejected without requeue.
    pub(crate) acked: Counter,
    /// Messages that the queue gave up: expired, too many, rejected, or failed too often.
    pub(crate) dropped: Counter,
    /// Those of them that had been given up before, and had found no place.
    pub(crate) dropped_again: Counter,
    /// Messages that were not taken in, being duplicates, or that others have taken the place of.
    pub(crate) deduplicated: Counter,
}

impl QueueHandle {
    pub(crate) fn new(
        definition: definition::Queue,
        slot: u32,
        owner: Option<ConnectionId>,
        policy: EffectivePolicy,
        features: QueueFeatures,
    ) -> Self {
        let (counters, gauges) = (QueueCounters::default(), QueueGauges::default());
        let priorities = Priorities::of_arguments(&definition.arguments);
        let is_keyed = AtomicBool::new(features.deduplication.is_some());
        let features = RwLock::new(Arc::new(features));
        Self { definition, slot, owner, counters, gauges, policy: Mutex::new(policy), features, is_keyed, priorities }
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
}

impl Targets {
    pub(crate) fn new(queues: impl IntoIterator<Item = Arc<QueueHandle>>) -> Self {
        let queues: Box<[_]> = queues.into_iter().collect();
        let is_journalled = queues.iter().any(|queue| queue.is_journalled());
        let shards = queues.iter().fold(0, |bits, queue| bits | queue.shard_bit());
        let mut targets = Self { queues, is_journalled, shards, delay: None, keys: None, key_headers: None };
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
