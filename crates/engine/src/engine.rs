//! The engine as a whole: what the data path shares.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use model::ids::JournalPosition;
use parking_lot::Mutex;
use store::{DurableWaiter, RecordBatch, Store};

use telemetry::trace::{WaitKind, WaitReason, waiting};

use crate::chunks::Chunks;
use crate::clock::Clock;
use crate::delayed::DelaySets;
use crate::pending_reads::PendingReads;
use crate::position::{Marks, Position, Positions, StoreNumber};
use crate::queue_handle::QueueHandle;
use crate::queue_ids::QueueIds;
use crate::router::Router;
use crate::shard::Shards;
use crate::statistics::{self, Statistics};
use crate::tap::Taps;
use crate::timers::Timers;

/// What a caller waits for whose change is to be durable here.
pub const JOURNAL: WaitReason =
    WaitReason { kind: WaitKind::Disk, name: "the journal", threads: store::JOURNAL_THREADS };
/// The same where it is to be on the disks of a majority of nodes.
const JOURNALS: WaitReason =
    WaitReason { kind: WaitKind::Socket, name: "the journals of a majority of nodes", threads: store::JOURNAL_THREADS };

/// What the data path takes from the configuration.
#[derive(Debug, Clone)]
pub struct Options {
    /// For how long consumers of quorum queues may hold a message, where nothing else is said.
    pub consumer_timeout: Duration,
    /// What is counted and remembered.
    pub statistics: statistics::Options,
}

/// Queues and what moves messages through them.
pub struct Engine {
    /// Its options.
    pub options: Options,
    /// The data directory.
    pub store: Arc<Store>,
    /// The queues.
    pub shards: Shards,
    /// Where content is written.
    pub chunks: Chunks,
    /// The clock that all that waits uses.
    pub clock: Arc<Clock>,
    /// What is to be looked after, and when.
    pub timers: Arc<Timers>,
    /// The numbers of queues.
    pub queue_ids: QueueIds,
    /// The messages that wait at exchanges.
    pub delays: DelaySets,
    /// Messages that operators wait for.
    pub pending_reads: PendingReads,
    /// What is counted.
    pub statistics: Statistics,
    /// The sinks that watch what happens to messages.
    pub taps: Taps,
    pub(crate) router: Arc<dyn Router>,
    /// Queues whose watermark is open.
    pub(crate) open_watermarks: Mutex<Vec<Arc<QueueHandle>>>,
    /// Whether other nodes have what this one's store has.
    pub(crate) is_replicated: bool,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine without queues, over an opened store.
    pub fn new(options: Options, store: Arc<Store>, clock: Clock, router: Arc<dyn Router>) -> Self {
        Self {
            statistics: Statistics::new(options.statistics.clone()),
            taps: Taps::default(),
            options,
            shards: Shards::new(),
            chunks: Chunks::new(store.clone()),
            clock: Arc::new(clock),
            timers: Arc::default(),
            queue_ids: QueueIds::new(store.clone()),
            delays: DelaySets::default(),
            pending_reads: PendingReads::new(store.clone()),
            router,
            open_watermarks: Mutex::default(),
            is_replicated: store.is_replicated(),
            store,
        }
    }

    /// Appends what there is, if there is anything.
    pub fn append(&self, records: &mut RecordBatch) -> Positions {
        if records.is_empty() { Positions::NONE } else { self.append_some(records).into() }
    }

    /// The same where there is something.
    #[inline]
    pub(crate) fn append_some(&self, records: &mut RecordBatch) -> Position {
        position(self.store.append(records))
    }

    /// Appends one definition.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Position {
        let mut records = RecordBatch::new();
        records.put(key, value);
        self.append_some(&mut records)
    }

    /// Appends that a definition is no more.
    pub fn delete(&self, key: &[u8]) -> Position {
        let mut records = RecordBatch::new();
        records.delete(key);
        self.append_some(&mut records)
    }

    /// The topology.
    #[must_use]
    pub fn router(&self) -> &Arc<dyn Router> {
        &self.router
    }

    /// Whether other nodes have what this one's store has: then nothing that was answered may be lost with this node.
    #[must_use]
    pub fn is_replicated(&self) -> bool {
        self.is_replicated
    }

    /// Where all that has been changed so far will be durable. A request that is answered "already so" waits for it, since the one that
    /// made it so may wait still.
    #[inline]
    pub fn journal_end(&self) -> Positions {
        position(self.store.appended()).into()
    }

    /// How far the journals are durable: what may be answered, and delivered.
    #[inline]
    pub fn durable(&self) -> Marks {
        Marks::new([self.store.durable().0])
    }

    /// Wakes `waiter` when its journal is durable up to `position`, or will never be.
    pub fn when_durable(&self, position: Position, waiter: Arc<dyn DurableWaiter>) {
        self.store.when_durable(JournalPosition(position.at()), waiter);
    }

    /// Since when all of these are durable; none if they are not, or only just now.
    pub fn durable_since(&self, positions: Positions) -> Option<Instant> {
        self.latest(positions, Store::durable_since)
    }

    /// In a group, since when all of these are on this node's disks; none if they are not, or only just now.
    pub fn flushed_since(&self, positions: Positions) -> Option<Instant> {
        self.latest(positions, Store::flushed_since)
    }

    fn latest(
        &self,
        positions: Positions,
        since: impl Fn(&Store, JournalPosition) -> Option<Instant>,
    ) -> Option<Instant> {
        let each = positions.iter().map(|position| since(&self.store, JournalPosition(position.at())));
        each.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Waits until the journals are durable up to `positions`, or never will be.
    pub async fn until_durable(&self, positions: Positions) -> bool {
        if positions.is_empty() {
            return true;
        }
        let durable = poll_fn(|cx| {
            let has_failed = self.store.failure().is_some();
            if self.durable().reach_all(positions) {
                return Poll::Ready(true);
            }
            if has_failed {
                return Poll::Ready(false);
            }
            for position in positions.iter() {
                self.when_durable(position, Arc::new(cx.waker().clone()));
            }
            // They may have become so between the two.
            if self.durable().reach_all(positions) { Poll::Ready(true) } else { Poll::Pending }
        });
        waiting(if self.is_replicated { JOURNALS } else { JOURNAL }, durable).await
    }

    /// Waits until the journal has failed for good, which may be for ever. Nothing is confirmed from then on: the owner has to end the
    /// process and to start again.
    pub async fn failed(&self) -> store::journal::Failed {
        poll_fn(|cx| match self.store.failure() {
            Some(failed) => Poll::Ready(failed),
            None => {
                // Wakes at once if it has failed meanwhile.
                self.store.when_durable(JournalPosition::MAX, Arc::new(cx.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }
}

/// A position of the only store.
#[inline]
fn position(at: JournalPosition) -> Position {
    Position::new(StoreNumber::ONLY, at.0)
}
