//! What everybody may know of a queue without its lock: its name, its properties, where it lives, its counters.

use std::sync::Arc;

use model::definition;
use model::ids::QueueId;
use model::policy::EffectivePolicy;
use parking_lot::Mutex;
use telemetry::{Counter, Gauge};

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
}

impl QueueHandle {
    pub(crate) fn new(definition: definition::Queue, slot: u32, owner: Option<ConnectionId>) -> Self {
        let (counters, gauges) = (QueueCounters::default(), QueueGauges::default());
        Self { definition, slot, owner, counters, gauges, policy: Mutex::default() }
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
}

impl Targets {
    pub(crate) fn new(queues: impl IntoIterator<Item = Arc<QueueHandle>>) -> Self {
        let queues: Box<[_]> = queues.into_iter().collect();
        let is_journalled = queues.iter().any(|queue| queue.is_journalled());
        let shards = queues.iter().fold(0, |bits, queue| bits | queue.shard_bit());
        Self { queues, is_journalled, shards }
    }
}
