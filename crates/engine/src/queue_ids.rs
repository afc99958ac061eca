//! Numbers for queues, never given twice, not even over restarts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::ids::QueueId;
use store::{RecordBatch, Store};

/// Numbers are promised to the journal in blocks: one record for so many declarations.
const BLOCK_COUNT: u64 = 1024;

/// The key, among the definitions, under which the end of the promised block is kept. Sorts after all definitions.
pub const KEY: &[u8] = b"\xffqueue-id";

/// The next number.
pub struct QueueIds {
    store: Arc<Store>,
    next: AtomicU64,
}

impl QueueIds {
    /// Numbers that are promised to the journal of this store.
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, next: AtomicU64::new(0) }
    }

    /// Continues after a restart, above everything that was promised.
    pub fn resume(&self, stored: Option<&[u8]>) {
        let end = stored.and_then(|value| value.try_into().ok()).map_or(0, u64::from_be_bytes);
        self.next.fetch_max(end, Ordering::Relaxed);
    }

    /// Continues above a number that is in use, should the promise have been lost with a damaged file.
    pub fn note_used(&self, id: QueueId) {
        self.next.fetch_max((id.0 + 1).next_multiple_of(BLOCK_COUNT), Ordering::Relaxed);
    }

    /// A number that was never given out.
    pub fn take(&self) -> QueueId {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if id.is_multiple_of(BLOCK_COUNT) {
            let mut records = RecordBatch::new();
            records.put(KEY, &(id + BLOCK_COUNT).to_be_bytes());
            self.store.append(&mut records);
        }
        QueueId(id)
    }
}
