//! What is counted, and what is remembered of it.
//!
//! Things are counted where they happen: by queues under their locks, by connections in their tasks, and for a vhost in stripes, one a
//! thread, so that nobody waits for anybody. A tick, every five seconds by default, looks at what has changed since the last one: from the
//! last two looks come rates. What rests is not looked at, and costs nothing but the memory of its numbers.
//!
//! - `numbers`: which numbers objects have, by RabbitMQ's names. `observed`: what is remembered of an object, and who is watched.
//!   `room`: how many histories there are.
//! - `queue`, `exchange`, `channel`, `vhost`, `node`: what each of them counts. `capacity`: how much of the time consumers had room.
//!   `gone`: what vhosts counted that are gone. `edges`: who publishes where. `tick`: when it is looked.
//!
//! History beyond the last two looks is kept for the node and vhosts, and for objects that somebody has asked for lately.

mod capacity;
mod channel;
mod edges;
mod exchange;
mod gone;
mod node;
pub mod numbers;
mod observed;
mod options;
mod queue;
mod room;
mod tick;
mod vhost;

pub(crate) use capacity::Capacity;
pub(crate) use channel::{ChannelCounters, ChannelCounts, ChannelNumber, ConsumerCounters};
pub(crate) use edges::{Edge, Place};
pub(crate) use exchange::ExchangeCounters;
pub use observed::Range;
pub(crate) use observed::{Keeping, Observable, Observed, Watch};
pub use options::{Options, Rates, Retention, Retentions};
pub(crate) use queue::{ArrivalRun, QueueCounters, WaitRun};
pub use vhost::{DeathStrategy, Deaths, OfType, REASONS, VhostMessages};
pub(crate) use vhost::{Gathered, VhostCounters};

use std::sync::Arc;

use parking_lot::Mutex;
use telemetry::{Counter, Scale};

use crate::connections::ConnectionHandle;
use crate::limits::HISTORY_UNASKED_MS;
use crate::queue_handle::QueueHandle;
use gone::Gone;
use node::NodeObserved;
use numbers::{CONNECTION_COUNT, EDGE_COUNT, EXCHANGE_COUNT, NODE_COUNT, QUEUE_COUNT, VHOST_COUNT};
use room::Room;

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
    /// What has happened in vhosts that are gone. Whoever takes one away, or adds up all, holds it meanwhile: a vhost is always here or there.
    pub(crate) gone: Mutex<Gone>,
    /// Delayed messages that went on to queues.
    pub(crate) released: Counter,
    /// When the last look was. Held while somebody looks.
    looked_at_ms: Mutex<Option<u64>>,
    room: Arc<Room>,
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
            released: Counter::new(),
            looked_at_ms: Mutex::default(),
            room: Arc::default(),
        }
    }

    /// What is kept of objects that somebody looks at. `before_ms`: when the look before this one was.
    pub(crate) fn keeping_basic(&self, before_ms: u64) -> Keeping<'_> {
        let retentions = &self.options.retentions.basic;
        let unasked_max_ms = retentions.iter().map(|retention| retention.age_ms).max().unwrap_or(0);
        Keeping { before_ms, retentions, room: Some(&self.room), unasked_max_ms }
    }

    /// What is kept of the node and of vhosts.
    pub(crate) fn keeping_global(&self, before_ms: u64) -> Keeping<'_> {
        Keeping { before_ms, retentions: &self.options.retentions.global, room: None, unasked_max_ms: 0 }
    }

    /// Forgets all histories.
    pub(crate) fn forget(&self) {
        // Who is being looked at is on no list.
        let _looking = self.looked_at_ms.lock();
        self.queues.forget();
        self.exchanges.forget();
        self.connections.forget();
        self.edges.forget();
        self.vhosts.forget();
        self.node.node.forget();
        self.node.messages.forget();
    }

    /// How many objects have a history because somebody looks at them.
    #[cfg(test)]
    pub(crate) fn history_count(&self) -> usize {
        self.room.count()
    }

    /// What a start has found was there before anything happened.
    pub(crate) fn begin(&self, now_ms: u64) {
        self.queues.begin(now_ms);
        self.vhosts.begin(now_ms);
    }

    /// Looks at what has changed since the last tick. `node` and `messages` are how the node stands.
    pub(crate) fn tick(&self, now_ms: u64, node: [u64; NODE_COUNT], messages: [u64; VHOST_COUNT]) {
        let mut looked_at_ms = self.looked_at_ms.lock();
        let interval_ms = self.options.interval.as_millis() as u64;
        let before_ms = looked_at_ms.replace(now_ms).unwrap_or(now_ms.saturating_sub(interval_ms));
        let mut keeping = self.keeping_basic(before_ms);
        if self.room.take_shortage() {
            keeping.unasked_max_ms = keeping.unasked_max_ms.min(HISTORY_UNASKED_MS);
        }
        // What happens in queues happens in their vhosts, connections or not.
        self.queues.tick(now_ms, &keeping, |queue| self.vhosts.note(&queue.vhost));
        self.exchanges.tick(now_ms, &keeping, |_| ());
        self.connections.tick(now_ms, &keeping, |_| ());
        // Nobody can ask for the history of a way.
        self.edges.tick(now_ms, &keeping, |_| ());
        let keeping = self.keeping_global(before_ms);
        self.vhosts.tick(now_ms, &keeping, |_| ());
        self.node.sample(now_ms, node, messages, &keeping);
    }
}
