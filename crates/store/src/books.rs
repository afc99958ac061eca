//! What was appended to the journal since the last checkpoint that the store itself must know: definitions and deleted queues.

use std::collections::BTreeMap;

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
pub(crate) struct Books {
    changes: Mutex<Changes>,
}

impl Books {
    /// Appends the batch, and notes what in it concerns the store.
    pub(crate) fn append(&self, journal: &Journal, batch: &mut RecordBatch) -> JournalPosition {
        if !batch.has_definitions() {
            return journal.append(batch);
        }
        // Held over the append: two batches must not be noted in another order than they are in the journal.
        let mut changes = self.changes.lock();
        changes.note(batch);
        journal.append(batch)
    }

    /// Takes what has gathered. All of it was appended before this returns.
    pub(crate) fn take(&self) -> Changes {
        std::mem::take(&mut *self.changes.lock())
    }
}

impl Changes {
    fn note(&mut self, batch: &RecordBatch) {
        let definitions = batch.definitions();
        self.definitions.extend(definitions.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))));
        self.dropped_queues.extend(batch.dropped_queues());
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
