//! Messages that are read from segments without their queue's knowing: for callers that look at them, or look for one.

use std::sync::Arc;

use model::ids::{QueueId, QueueSeq};
use parking_lot::Mutex;
use queue::Load;
use store::{LoadAnswer, Store};
use telemetry::trace::{WaitKind, WaitReason, waiting};
use tokio::sync::oneshot;

use crate::queue_handle::QueueHandle;
use crate::queued_message::QueuedMessage;

/// The callers that wait for messages that are being read.
pub struct PendingReads {
    store: Arc<Store>,
    lookers: Mutex<Vec<Looker>>,
}

#[derive(Debug)]
struct Looker {
    queue: QueueId,
    load: Load,
    answer: oneshot::Sender<LoadAnswer>,
}

/// What was read.
#[derive(Debug)]
pub struct Read {
    /// Messages with their places, by rising seq.
    pub messages: Vec<(QueueSeq, QueuedMessage)>,
    /// Slots before this one have been looked at; the load's first: they could not be read, or lie elsewhere by now.
    pub next_slot: u32,
}

/// What a caller waits for.
pub const READING: WaitReason =
    WaitReason { kind: WaitKind::Disk, name: "messages in segments", threads: &[store::READER_THREAD] };

impl PendingReads {
    /// None, of messages that this store has.
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, lookers: Mutex::default() }
    }

    /// Reads messages of a queue.
    pub async fn read(&self, queue: &QueueHandle, load: Load) -> Read {
        let (answer, answered) = oneshot::channel();
        self.lookers.lock().push(Looker { queue: queue.id(), load: load.clone(), answer });
        let is_journaled = !load.segment.is_transient();
        let nothing = load.first_slot;
        self.store.load(queue.id(), load);
        let Ok(loaded) = waiting(READING, answered).await else {
            return Read { messages: Vec::new(), next_slot: nothing };
        };
        if let Some(error) = &loaded.error {
            tracing::error!(queue = queue.name(), %error, "messages could not be read from a segment");
        }
        let restored = loaded.entries.into_iter().filter_map(|entry| {
            let held = QueuedMessage::restored(entry.content, is_journaled, Some(entry.place), queue.priorities)?;
            Some((entry.seq, held))
        });
        Read { messages: restored.collect(), next_slot: loaded.next_slot }
    }

    /// Answers the caller that waits for this. Given back if none does: then it is for the queue.
    pub fn answer(&self, queue: QueueId, loaded: LoadAnswer) -> Option<LoadAnswer> {
        if !loaded.load.is_look() {
            return Some(loaded);
        }
        let mut lookers = self.lookers.lock();
        let Some(at) = lookers.iter().position(|looker| looker.queue == queue && looker.load == loaded.load) else {
            return Some(loaded);
        };
        let looker = lookers.swap_remove(at);
        drop(lookers);
        // A caller that has left meanwhile is no failure.
        let _ = looker.answer.send(loaded);
        None
    }
}
