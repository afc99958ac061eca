//! What was appended to the journal since the last checkpoint that the store itself must know: definitions and deleted queues.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use model::ids::{JournalPosition, QueueId};
use parking_lot::Mutex;

use crate::RecordBatch;
use crate::journal::Journal;

/// Changes in journal order.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    definitions: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    dropped_queues: Vec<QueueId>,
}

/// Gathers [`Changes`] while records are appended.
#[derive(Debug, Default)]
pub(crate) struct CheckpointDelta {
    changes: Mutex<Changes>,
    /// Deleted queues whose messages in segments are not settled yet.
    dropped: Mutex<Vec<QueueId>>,
    has_dropped: AtomicBool,
}

impl CheckpointDelta {
    /// Appends the batch, and notes what in it concerns the store.
    pub(crate) fn append(&self, journal: &Journal, batch: &mut RecordBatch) -> JournalPosition {
        if !batch.has_definitions() {
            return journal.append(batch);
        }
        // Held over the append: two batches must not be noted in another order than they are in the journal.
        let mut changes = self.changes.lock();
        let dropped = changes.note(batch);
        let position = journal.append(batch);
        drop(changes);
        if !dropped.is_empty() {
            let mut all = self.dropped.lock();
            all.extend(dropped);
            self.has_dropped.store(true, Ordering::Release);
        }
        position
    }

    /// Whether [`CheckpointDelta::take_dropped`] has something to give.
    #[inline]
    pub(crate) fn has_dropped(&self) -> bool {
        self.has_dropped.load(Ordering::Acquire)
    }

    /// Queues that were deleted since this was called last, sorted. Their records were appended before this returns.
    pub(crate) fn take_dropped(&self) -> Vec<QueueId> {
        if !self.has_dropped() {
            return Vec::new();
        }
        let mut dropped = self.dropped.lock();
        self.has_dropped.store(false, Ordering::Release);
        let mut dropped = std::mem::take(&mut *dropped);
        dropped.sort_unstable();
        dropped
    }

    /// Takes what has gathered. All of it was appended before this returns.
    pub(crate) fn take(&self) -> Changes {
        std::mem::take(&mut *self.changes.lock())
    }
}

impl Changes {
    /// Notes the batch; returns the queues that it drops.
    fn note(&mut self, batch: &RecordBatch) -> Vec<QueueId> {
        let definitions = batch.definitions();
        self.definitions.extend(definitions.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))));
        let dropped: Vec<_> = batch.dropped_queues().collect();
        self.dropped_queues.extend(&dropped);
        dropped
    }

    /// Carries the changes out; returns the deleted queues, sorted.
    pub(crate) fn apply(self, definitions: &mut BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<QueueId> {
        for (key, value) in self.definitions {
            match value {
                Some(value) => definitions.insert(key, value),
                None => definitions.remove(&key),
            };
        }
        let mut dropped = self.dropped_queues;
        dropped.sort_unstable();
        dropped.dedup();
        dropped
    }
}
