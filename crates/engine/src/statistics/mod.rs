//! What queues, exchanges and vhosts count, and what is remembered of it.
//!
//! Things are counted where they happen: by queues under their locks, and for a vhost in stripes, one a thread, so that no thread waits
//! for another. A tick, every five seconds by default, looks at what has changed since the last one: from the last two looks come rates.
//! What rests is not looked at, and costs nothing but the memory of its numbers.
//!
//! - `numbers`: which numbers objects have, by RabbitMQ's names. `observed`: what is remembered of an object, and which are watched.
//!   `room`: how many histories there are.
//! - `dead_letter_loops`: to which queues dead letters come back.
//! - `queue`, `exchange`, `vhost`: what each of them counts. `capacity`: how much of the time consumers had room. `edges`: how much
//!   exchanges route to queues. `stages`: where messages lost time.

mod capacity;
mod dead_letter_loops;
mod edges;
mod exchange;
mod history_budget;
mod losses;
pub mod numbers;
mod observed;
mod options;
mod queue;
mod stages;
mod vhost;

pub use capacity::Capacity;
pub use dead_letter_loops::DeadLetterLoop;
pub use edges::Edge;
pub use exchange::ExchangeCounters;
pub use losses::{LossCounts, REASONS};
pub use observed::{Keeping, Observable, Observed, Range, Watch};
pub use options::{Options, Rates, Retention, Retentions};
pub(crate) use queue::ArrivalRun;
pub use queue::{QueueCounters, WaitRun};
pub use stages::{Stage, StageCounts, StageTimes, StagesView};
pub use vhost::{DeathStrategy, Deaths, OfType, TurnCounts, VhostCounters, VhostMessages};

use std::sync::Arc;

use telemetry::{Counter, Scale};

use crate::limits::HISTORY_UNASKED_MS;
pub use crate::limits::{HISTORY_COUNT_MAX, HISTORY_COUNT_OF_LISTS_MAX, HISTORY_COUNT_UNASKED_MAX};
use crate::queue_handle::QueueHandle;
use dead_letter_loops::DeadLetterLoops;
use history_budget::HistoryBudget;
use numbers::{EDGE_COUNT, EXCHANGE_COUNT, QUEUE_COUNT, VHOST_COUNT};

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

/// The objects of the engine that are watched.
#[derive(Debug)]
pub struct Statistics {
    /// What is counted and remembered.
    pub options: Options,
    /// Queues.
    pub queues: Watch<QueueHandle, QUEUE_COUNT>,
    /// Exchanges.
    pub exchanges: Watch<ExchangeCounters, EXCHANGE_COUNT>,
    /// From exchanges to queues.
    pub edges: Watch<Edge, EDGE_COUNT>,
    /// Vhosts.
    pub vhosts: Watch<VhostCounters, VHOST_COUNT>,
    /// How long messages of the node were in each stage of their way.
    pub stages: StageTimes,
    /// Delayed messages that went on to queues.
    pub released: Counter,
    loops: DeadLetterLoops,
    budget: Arc<HistoryBudget>,
}

impl Statistics {
    pub(crate) fn new(options: Options) -> Self {
        let is_on = options.has_rates();
        Self {
            options,
            queues: Watch::new(is_on),
            exchanges: Watch::new(is_on),
            edges: Watch::new(is_on),
            vhosts: Watch::new(is_on),
            stages: StageTimes::default(),
            released: Counter::new(),
            loops: DeadLetterLoops::default(),
            budget: Arc::default(),
        }
    }

    /// What is kept of objects besides the node and vhosts. `before_ms`: when the look before this one was.
    pub fn keeping_basic(&self, before_ms: u64) -> Keeping<'_> {
        let retentions = &self.options.retentions.basic;
        let unasked_max_ms = retentions.iter().map(|retention| retention.age_ms).max().unwrap_or(0);
        let unasked_count_max = HISTORY_COUNT_UNASKED_MAX;
        Keeping { before_ms, retentions, budget: Some(&self.budget), unasked_max_ms, unasked_count_max }
    }

    /// What is kept of the node and of vhosts.
    pub fn keeping_global(&self, before_ms: u64) -> Keeping<'_> {
        let retentions = &self.options.retentions.global;
        Keeping { before_ms, retentions, budget: None, unasked_max_ms: 0, unasked_count_max: 0 }
    }

    /// Forgets what all of them were.
    pub fn forget(&self) {
        self.queues.forget();
        self.exchanges.forget();
        self.edges.forget();
        self.vhosts.forget();
    }

    /// How many histories are kept besides those of the node and vhosts.
    pub fn history_count(&self) -> usize {
        self.budget.count()
    }

    /// Queues to which dead letters come back, as the last look found, the fastest first.
    pub fn dead_letter_loops(&self) -> Vec<DeadLetterLoop> {
        self.loops.all()
    }

    /// Bytes that these take.
    pub fn histories_len(&self) -> usize {
        self.budget.len()
    }

    /// What there is now has not come just now.
    pub fn begin(&self, now_ms: u64) {
        self.queues.begin(now_ms);
        self.vhosts.begin(now_ms);
    }

    /// Looks at what has changed since the last tick. What the broker watches besides comes between the queues and their vhosts: `others`
    /// looks at that.
    pub fn tick(&self, now_ms: u64, before_ms: u64, others: impl FnOnce(&Keeping<'_>)) {
        let mut keeping = self.keeping_basic(before_ms);
        if self.budget.take_shortage() {
            // There was no room for another history since the last one.
            keeping.unasked_max_ms = keeping.unasked_max_ms.min(HISTORY_UNASKED_MS);
            keeping.unasked_count_max = 0;
        }
        // What happens in queues happens in their vhosts, connections or not.
        let loops = DeadLetterLoops::look(now_ms.saturating_sub(before_ms) as f64 / 1000.0);
        self.queues.tick(now_ms, &keeping, |queue| {
            self.vhosts.note(&queue.vhost);
            loops.at(queue);
        });
        self.loops.end(loops);
        self.exchanges.tick(now_ms, &keeping, |_| ());
        others(&keeping);
        // The history of an edge cannot be asked for.
        self.edges.tick(now_ms, &keeping.without_new(), |_| ());
        self.vhosts.tick(now_ms, &self.keeping_global(before_ms), |_| ());
    }
}
