//! Which set a generation belongs to: the store knows waiting messages by the ids of generations.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::ids::QueueId;
use parking_lot::Mutex;

use super::DelaySet;

/// All sets, by their generations. Its lock is the innermost of all.
#[derive(Debug, Default)]
pub struct DelaySets {
    by_generation: Mutex<BTreeMap<QueueId, Arc<DelaySet>>>,
    last_number: AtomicU64,
}

impl DelaySets {
    /// A number for a set, by which locks are ordered.
    pub(super) fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn add(&self, generation: QueueId, set: &Arc<DelaySet>) {
        self.by_generation.lock().insert(generation, set.clone());
    }

    pub(super) fn remove(&self, generation: QueueId) {
        self.by_generation.lock().remove(&generation);
    }

    /// The set that a generation belongs to.
    pub fn of(&self, generation: QueueId) -> Option<Arc<DelaySet>> {
        self.by_generation.lock().get(&generation).cloned()
    }

    /// All sets that have generations, each once.
    pub fn all(&self) -> Vec<Arc<DelaySet>> {
        let mut all: Vec<_> = self.by_generation.lock().values().cloned().collect();
        all.sort_unstable_by_key(|set| set.number);
        all.dedup_by_key(|set| set.number);
        all
    }
}
