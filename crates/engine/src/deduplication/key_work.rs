//! What a section gathers about keys: what is recorded with the messages, and what is forgotten.

use std::sync::Arc;

use model::ids::QueueId;
use queue::RememberedKey;
use store::{RecordBatch, Store};

use super::definition::{RecordKey, encode_key};
use crate::limits::KEYS_SWEPT_COUNT;
use crate::queue_handle::QueueHandle;

/// What a section gathers about keys. Reused: its vectors keep their room.
#[derive(Debug, Default)]
pub struct KeyWork {
    /// The owners of keys, where they have not been recorded yet.
    pub(super) new_owners: Vec<(QueueId, Vec<u8>)>,
    /// Keys of the message that is being put into its queues.
    pub(super) new_keys: Vec<(QueueId, RememberedKey)>,
    /// Numbers of keys whose records are to go. Only room in between.
    pub(super) forgotten: Vec<u64>,
    /// Those of whose place the message takes that is being put into its queues.
    pub(super) replaced: Vec<(Arc<QueueHandle>, RememberedKey)>,
    /// Records that no longer count, and are removed when the locks are released.
    swept: Vec<(QueueId, Vec<u64>)>,
    /// Whether a duplicate's original may not be durable yet.
    pub(crate) awaits_originals: bool,
}

impl KeyWork {
    /// Records the keys of the message that has just been recorded, or of those that stay.
    pub fn record(&mut self, records: &mut RecordBatch) {
        for (owner, ownership) in self.new_owners.drain(..) {
            records.put(&RecordKey::Owner(owner).encode(), &ownership);
        }
        for (owner, new) in self.new_keys.drain(..) {
            records.put(&RecordKey::Key { owner, number: new.number }.encode(), &encode_key(&new));
        }
    }

    /// Has what is forgotten removed once the locks are released: it no longer counts, even should it be there after a crash.
    pub(super) fn sweep_later(&mut self, owner: QueueId) {
        if !self.forgotten.is_empty() {
            self.swept.push((owner, std::mem::take(&mut self.forgotten)));
        }
    }

    /// Removes records that no longer count. No lock is held.
    pub fn sweep(&mut self, store: &Store) {
        for (owner, numbers) in self.swept.drain(..) {
            sweep(store, owner, &numbers);
        }
    }
}

/// Removes records that no longer count, so many at a time.
pub(super) fn sweep(store: &Store, owner: QueueId, numbers: &[u64]) {
    for part in numbers.chunks(KEYS_SWEPT_COUNT) {
        let mut records = RecordBatch::new();
        part.iter().for_each(|number| records.delete(&RecordKey::Key { owner, number: *number }.encode()));
        store.append(&mut records);
    }
}
