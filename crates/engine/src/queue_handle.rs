//! What everybody may know of a queue without its lock: its name, its properties, where it lives, its counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::arguments::QueueType;
use model::definition;
use model::features::QueueFeatures;
use model::ids::QueueId;
use model::policy::EffectivePolicy;
use parking_lot::{Mutex, RwLock};
use telemetry::Gauge;

use crate::clock::Clock;
use crate::durability::Durability;
use crate::effort::Effort;
use crate::limits::QUEUE_EDGE_COUNT_MAX;
use crate::queued_message::Priorities;
use crate::shard_number::{shard_bit, shard_of};
use crate::statistics::numbers::QUEUE_COUNT;
use crate::statistics::{Capacity, Edge, ExchangeCounters, Observed, QueueCounters, StageTimes, VhostCounters};

/// The number of a connection, never reused while the broker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// A queue, as names, routes and consumers refer to it. It may outlive the queue.
#[derive(Debug)]
pub struct QueueHandle {
    /// As it was declared.
    pub definition: definition::Queue,
    pub(crate) slot: u32,
    /// The only connection that may use it, for an exclusive queue.
    pub owner: Option<ConnectionId>,
    /// What it counts.
    pub counters: QueueCounters,
    /// How much of the time its consumers had room.
    pub capacity: Capacity,
    /// How things stand.
    pub gauges: QueueGauges,
    /// What is remembered of its numbers.
    pub observed: Observed<QUEUE_COUNT>,
    /// When it was declared, or the broker started, in milliseconds since 1970.
    pub made_at_ms: u64,
    /// The clock that it uses.
    pub clock: Arc<Clock>,
    /// What is counted for the whole vhost.
    pub(crate) vhost: Arc<VhostCounters>,
    /// How long its messages were in each stage of their way, while it is watched.
    pub watched: RwLock<Option<Arc<StageTimes>>>,
    /// What it has taken of the processors' time, while that was counted.
    pub effort: Effort,
    /// Held by the thread that brings on what the queue has given up.
    pub(crate) dead_letter_turn: Mutex<()>,
    /// From which exchanges messages come.
    incoming: Mutex<Vec<Arc<Edge>>>,
    /// The policies that hold for it.
    pub policy: Mutex<EffectivePolicy>,
    /// What it does, by its arguments and these policies.
    features: RwLock<Arc<QueueFeatures>>,
    /// Whether an operator has paused it.
    pub is_paused: AtomicBool,
    /// Whether it drops duplicates: asked for each route that is looked up, and mostly not so.
    is_keyed: AtomicBool,
    /// Which priorities it has: as it was declared, for ever.
    pub(crate) priorities: Priorities,
    /// Which of its messages are journaled: as it was declared, too.
    pub(crate) durability: Durability,
}

/// How things stand on a queue, as of the end of the last locked section that touched it.
#[derive(Debug, Default)]
pub struct QueueGauges {
    /// Messages that are ready.
    pub ready_count: Gauge,
    /// Messages that have been handed out and not settled.
    pub unacked_count: Gauge,
    /// Bytes of the bodies of those that are ready.
    pub ready_bytes: Gauge,
    /// Bytes of the bodies of those that are unacked.
    pub unacked_bytes: Gauge,
    /// Consumers.
    pub consumer_count: Gauge,
}

/// What a queue takes in maps by name and by number.
const MAP_PLACES_LEN: usize = 96;

impl QueueHandle {
    /// Of a queue that lives in `slot` of its shard.
    pub fn new(
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
        let durability = match definition.arguments.queue_type() {
            _ if !definition.is_durable || owner.is_some() => Durability::NONE,
            QueueType::Quorum => Durability::ALL,
            _ => Durability::PERSISTENT,
        };
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
            watched: RwLock::default(),
            effort: Effort::default(),
            made_at_ms: clock.now_ms(),
            clock,
            dead_letter_turn: Mutex::default(),
            incoming: Mutex::default(),
            policy: Mutex::new(policy),
            features,
            is_paused: AtomicBool::new(false),
            is_keyed,
            priorities,
            durability,
        }
    }

    /// Bytes that it takes, with its names and with its places in maps.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        let arguments = self.definition.arguments.table().as_bytes().len();
        let names = self.name().len() + self.definition.vhost.as_str().len();
        size_of::<Self>()
            + MAP_PLACES_LEN
            + names
            + arguments
            + size_of::<QueueFeatures>()
            + self.counters.memory_len()
            + self.observed.memory_len()
    }

    /// Messages that are ready, and that are unacked.
    pub fn counts(&self) -> [u64; 2] {
        [&self.gauges.ready_count, &self.gauges.unacked_count].map(|gauge| gauge.get().cast_unsigned())
    }

    /// The way from an exchange to here.
    pub(crate) fn edge_from(&self, exchange: &Arc<ExchangeCounters>) -> Option<Arc<Edge>> {
        let mut incoming = self.incoming.lock();
        if let Some(edge) = incoming.iter().find(|edge| Arc::ptr_eq(&edge.exchange, exchange)) {
            return Some(edge.clone());
        }
        // One of the same name may be among the deleted ones.
        incoming.retain(|edge| !edge.exchange.is_gone());
        (incoming.len() < QUEUE_EDGE_COUNT_MAX).then(|| {
            let edge = Arc::new(Edge::new(exchange.clone()));
            incoming.push(edge.clone());
            edge
        })
    }

    /// The ways by which messages came here, from exchanges that are there still.
    pub fn incoming(&self) -> Vec<Arc<Edge>> {
        self.incoming.lock().iter().filter(|edge| !edge.exchange.is_gone()).cloned().collect()
    }

    /// What it does.
    pub fn features(&self) -> Arc<QueueFeatures> {
        self.features.read().clone()
    }

    /// These policies hold for it from now on. Returns what it does then, if that is something else than before: the caller has to pass
    /// that to the queue.
    pub fn set_policy(&self, policy: EffectivePolicy) -> Option<Arc<QueueFeatures>> {
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
    pub fn is_keyed(&self) -> bool {
        self.is_keyed.load(Ordering::Relaxed)
    }

    /// The header that holds keys of messages, if it drops duplicates.
    pub(crate) fn key_header(&self) -> Option<Arc<str>> {
        if !self.is_keyed() {
            return None;
        }
        self.features().deduplication.as_ref().map(|deduplication| Arc::from(&*deduplication.header))
    }

    /// Whether it counts how often messages come back, and reports that to its consumers.
    pub fn is_quorum(&self) -> bool {
        self.definition.arguments.queue_type() == QueueType::Quorum
    }

    /// Its number.
    #[inline]
    pub fn id(&self) -> QueueId {
        self.definition.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.definition.name.as_str()
    }

    /// Whether it lasts, with all of its messages or with those that are persistent.
    #[inline]
    pub fn is_journaled(&self) -> bool {
        self.durability != Durability::NONE
    }

    /// The number of its shard.
    #[inline]
    pub fn shard(&self) -> usize {
        shard_of(self.id())
    }

    /// The bit of its shard, for locking several.
    #[inline]
    pub fn shard_bit(&self) -> u64 {
        shard_bit(self.id())
    }
}
