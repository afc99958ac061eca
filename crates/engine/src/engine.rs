//! The engine as a whole: what the data path shares.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use model::ids::JournalPosition;
use parking_lot::Mutex;
use store::{RecordBatch, Store};

use telemetry::trace::{WaitKind, Waited, waiting};

use crate::chunks::Chunks;
use crate::clock::Clock;
use crate::delayed::DelaySets;
use crate::pending_reads::PendingReads;
use crate::queue_handle::QueueHandle;
use crate::queue_ids::QueueIds;
use crate::router::Router;
use crate::shard::Shards;
use crate::statistics::{self, Statistics};
use crate::tap::Taps;
use crate::timers::Timers;

/// What a caller waits for whose change is to be durable here.
pub const JOURNAL: Waited = Waited { kind: WaitKind::Disk, name: "the journal", threads: store::JOURNAL_THREADS };
/// The same where it is to be on the disks of a majority of nodes.
const JOURNALS: Waited =
    Waited { kind: WaitKind::Socket, name: "the journals of a majority of nodes", threads: store::JOURNAL_THREADS };

/// What the data path is told of the configuration.
#[derive(Debug, Clone)]
pub struct Options {
    /// For how long consumers of quorum queues may hold a message, where nothing else is said.
    pub consumer_timeout: Duration,
    /// What is counted and remembered.
    pub statistics: statistics::Options,
}

/// Queues and what moves messages through them.
pub struct Engine {
    /// What it was told.
    pub options: Options,
    /// The data directory.
    pub store: Arc<Store>,
    /// The queues.
    pub shards: Shards,
    /// Where content is written.
    pub chunks: Chunks,
    /// The clock that all that waits goes by.
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
    /// Who watches what happens to messages.
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
    pub fn append(&self, records: &mut RecordBatch) -> Option<JournalPosition> {
        (!records.is_empty()).then(|| self.store.append(records))
    }

    /// Appends one definition.
    pub fn put(&self, key: &[u8], value: &[u8]) -> JournalPosition {
        let mut records = RecordBatch::new();
        records.put(key, value);
        self.store.append(&mut records)
    }

    /// The topology.
    #[must_use]
    pub fn router(&self) -> &Arc<dyn Router> {
        &self.router
    }

    /// Whether other nodes have what this one's store has: then nothing that was answered may be gone with this node.
    #[must_use]
    pub fn is_replicated(&self) -> bool {
        self.is_replicated
    }

    /// Where all that has been changed so far will be durable. A request that is answered "already so" waits for it, since the one that
    /// made it so may wait still.
    pub fn journal_end(&self) -> JournalPosition {
        self.store.appended()
    }

    /// Waits until the journal is durable up to `position`, if there is one, or never will be.
    pub async fn until_durable(&self, position: Option<JournalPosition>) -> bool {
        let Some(position) = position else { return true };
        let durable = poll_fn(|cx| {
            if self.store.failure().is_some() {
                return Poll::Ready(position <= self.store.durable());
            }
            if position <= self.store.durable() {
                return Poll::Ready(true);
            }
            self.store.when_durable(position, Arc::new(cx.waker().clone()));
            // It may have become so between the two.
            if position <= self.store.durable() { Poll::Ready(true) } else { Poll::Pending }
        });
        waiting(if self.is_replicated { JOURNALS } else { JOURNAL }, durable).await
    }

    /// Waits until the journal has failed for good, which may be for ever. Nothing will be confirmed any more then: the
    /// owner has to end the process and to start again.
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
