//! What is counted, and what is remembered of it.
//!
//! Things are counted where they happen: by queues under their locks, by connections in their tasks, and for a vhost in stripes, one a
//! thread, so that nobody waits for anybody. A tick, every five seconds by default, looks at what has changed since the last one: from the
//! last two looks come rates. What rests is not looked at, and costs nothing but the memory of its numbers.
//!
//! - `numbers`: which numbers objects have, by RabbitMQ's names. `observed`: what is remembered of an object, and who is watched.
//! - `queue`, `exchange`, `channel`, `vhost`, `node`: what each of them counts. `edges`: who publishes where. `tick`: when it is looked.
//!
//! History beyond the last two looks is kept for the node and vhosts, and for objects that somebody has asked for lately.

mod channel;
mod edges;
mod exchange;
mod node;
pub mod numbers;
mod observed;
mod options;
mod queue;
mod tick;
mod vhost;

pub(crate) use channel::{ChannelCounters, ChannelCounts, ChannelNumber, ConsumerCounters};
pub(crate) use edges::{Edge, Place};
pub(crate) use exchange::ExchangeCounters;
pub use observed::Range;
pub(crate) use observed::{Keeping, Observable, Observed, Watch};
pub use options::{Options, Rates, Retention, Retentions};
pub(crate) use queue::{ArrivalRun, QueueCounters, WaitRun};
pub use vhost::{DeathStrategy, Deaths, OfType, REASONS, VhostMessages};
pub(crate) use vhost::{Gathered, VhostCounters};

use parking_lot::Mutex;
use telemetry::Scale;

use crate::connections::ConnectionHandle;
use crate::queue_handle::QueueHandle;
use node::NodeObserved;
use numbers::{CONNECTION_COUNT, EDGE_COUNT, EXCHANGE_COUNT, NODE_COUNT, QUEUE_COUNT, VHOST_COUNT};

/// Bounds of message sizes, in bytes, as RabbitMQ's metric `message_size_bytes` has them.
pub static SIZES: Scale = Scale::new(&SIZE_BOUNDS);
const SIZE_BOUNDS: [u64; 8] = [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000, 100_000_000];
/// Buckets of message sizes.
pub const SIZE_COUNT: usize = SIZE_BOUNDS.len() + 1;

/// Bounds of how long messages wait in queues, in milliseconds: from one to a day.
pub static WAITS: Scale = Scale::new(&WAIT_BOUNDS);
const WAIT_BOUNDS: [u64; 14] =
    [1, 5, 25, 100, 500, 1000, 5000, 30_000, 60_000, 300_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000];
/// Buckets of how long messages wait.
pub const WAIT_COUNT: usize = WAIT_BOUNDS.len() + 1;

/// Who is watched, and what is remembered of the node.
#[derive(Debug)]
pub(crate) struct Statistics {
    pub(crate) options: Options,
    pub(crate) queues: Watch<QueueHandle, QUEUE_COUNT>,
    pub(crate) exchanges: Watch<ExchangeCounters, EXCHANGE_COUNT>,
    pub(crate) edges: Watch<Edge, EDGE_COUNT>,
    pub(crate) connections: Watch<ConnectionHandle, CONNECTION_COUNT>,
    pub(crate) vhosts: Watch<VhostCounters, VHOST_COUNT>,
    pub(crate) node: NodeObserved,
    /// What has happened in vhosts that are gone.
    pub(crate) gone: Mutex<VhostMessages>,
}

impl Statistics {
    pub(crate) fn new(options: Options) -> Self {
        let is_on = options.has_rates();
        Self {
            options,
            queues: Watch::new(is_on),
            exchanges: Watch::new(is_on),
            edges: Watch::new(is_on),
            connections: Watch::new(is_on),
            vhosts: Watch::new(is_on),
            node: NodeObserved::default(),
            gone: Mutex::default(),
        }
    }

    /// What is kept of objects that somebody looks at.
    pub(crate) fn keeping_basic(&self) -> Keeping<'_> {
        self.keeping(&self.options.retentions.basic, false)
    }

    /// What is kept of ways between objects.
    pub(crate) fn keeping_detailed(&self) -> Keeping<'_> {
        self.keeping(&self.options.retentions.detailed, false)
    }

    /// What is kept of the node and of vhosts.
    pub(crate) fn keeping_global(&self) -> Keeping<'_> {
        self.keeping(&self.options.retentions.global, true)
    }

    fn keeping<'a>(&self, retentions: &'a [telemetry::Retention], is_always_kept: bool) -> Keeping<'a> {
        Keeping { interval_ms: self.options.interval.as_millis() as u64, retentions, is_always_kept }
    }

    /// Forgets all histories.
    pub(crate) fn forget(&self) {
        self.queues.forget();
        self.exchanges.forget();
        self.connections.forget();
        self.edges.forget();
        self.vhosts.forget();
        self.node.node.forget();
        self.node.messages.forget();
    }

    /// Looks at what has changed since the last tick. `node` and `messages` are how the node stands.
    pub(crate) fn tick(&self, now_ms: u64, node: [u64; NODE_COUNT], messages: [u64; VHOST_COUNT]) {
        let keeping = self.keeping_basic();
        self.queues.tick(now_ms, &keeping);
        self.exchanges.tick(now_ms, &keeping);
        self.connections.tick(now_ms, &keeping);
        self.edges.tick(now_ms, &self.keeping_detailed());
        let keeping = self.keeping_global();
        self.vhosts.tick(now_ms, &keeping);
        self.node.sample(now_ms, node, messages, &keeping);
    }
}
