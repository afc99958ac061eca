//! Keys over a restart: returned to their queues and exchanges, or deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::ids::{QueueId, QueueSeq};
use queue::RememberedKey;
use store::{RecordBatch, RecoveredStore};

use super::ExchangeKeys;
use super::definition::{Ownership, RecordKey, Site, UnreadableKey, decode_key};
use super::key_work::sweep;
use crate::engine::Engine;
use crate::queue_handle::QueueHandle;
use crate::shard::QueueEntry;

/// Keys as recovery found them, by owner.
#[derive(Debug, Default)]
pub struct RecoveredKeys {
    by_owner: BTreeMap<QueueId, StoredContent>,
}

/// The keys of one owner, by rising number.
#[derive(Debug, Default)]
struct StoredContent {
    /// None: all of it has been forgotten, and is only still there.
    ownership: Option<Ownership>,
    keys: Vec<RememberedKey>,
}

impl RecoveredKeys {
    /// Takes them out of the definitions. An error comes with the key of what cannot be read.
    pub fn take(recovered: &mut RecoveredStore) -> Result<Self, (Vec<u8>, UnreadableKey)> {
        let mut taken = Self::default();
        let found = recovered.definitions.extract_if(.., |key, _| RecordKey::decode(key).is_some());
        for (key, value) in found {
            let unreadable = |error| (key.clone(), error);
            match RecordKey::decode(&key) {
                Some(RecordKey::Owner(owner)) => {
                    let ownership = Ownership::decode(&value).map_err(unreadable)?;
                    taken.by_owner.entry(owner).or_default().ownership = Some(ownership);
                }
                Some(RecordKey::Key { owner, number }) => {
                    let kept = decode_key(number, &value).map_err(unreadable)?;
                    taken.by_owner.entry(owner).or_default().keys.push(kept);
                }
                None => {}
            }
        }
        Ok(taken)
    }

    /// Gives them back to queues and exchanges that still drop duplicates by them, and forgets the others.
    pub fn restore(
        self,
        engine: &Engine,
        queue_of: impl Fn(QueueId) -> Option<Arc<QueueHandle>>,
        keys_at: impl Fn(&str, &[u8]) -> Option<Arc<ExchangeKeys>>,
    ) {
        for (owner, StoredContent { ownership, keys }) in self.by_owner {
            engine.queue_ids.note_used(owner);
            let is_restored = ownership.is_some_and(|ownership| {
                let found = match &ownership.site {
                    Site::Queue(id) => queue_of(*id).map(Owner::Queue),
                    Site::Exchange { vhost, exchange } => keys_at(vhost, exchange).map(Owner::Exchange),
                };
                found.is_some_and(|found| restore(engine, &found, owner, &ownership, &keys))
            });
            if !is_restored {
                let mut records = RecordBatch::new();
                records.delete(&RecordKey::Owner(owner).encode());
                engine.append(&mut records);
                let numbers: Vec<u64> = keys.iter().map(|key| key.number).collect();
                sweep(&engine.store, owner, &numbers);
            }
        }
    }
}

/// A queue or an exchange that drops duplicates.
enum Owner {
    Queue(Arc<QueueHandle>),
    Exchange(Arc<ExchangeKeys>),
}

fn restore(engine: &Engine, found: &Owner, owner: QueueId, ownership: &Ownership, keys: &[RememberedKey]) -> bool {
    match found {
        Owner::Queue(queue) => {
            let restored = engine.with_queue(queue, |entry, work| {
                let seqs = SeqsThere::of(entry);
                let Some(set) = &mut entry.key_set else { return false };
                let is_there = |key: &&RememberedKey| !ownership.while_waiting || seqs.has(QueueSeq(key.number));
                let stale = keys.iter().filter(|key| !is_there(key)).map(|key| key.number);
                if !set.owns(ownership) {
                    return false;
                }
                let section_effects = &mut *work.section_effects;
                section_effects.keys.forgotten.extend(stale);
                set.restore(
                    owner,
                    keys.iter().filter(is_there).copied(),
                    &mut section_effects.keys,
                    &mut section_effects.records,
                );
                work.take_restored_replaced(entry);
                true
            });
            restored.is_some_and(|(is_restored, _)| is_restored)
        }
        Owner::Exchange(found) => found.restore(engine, |set, work, records| {
            let is_owned = set.owns(ownership);
            if is_owned {
                set.restore(owner, keys.iter().copied(), work, records);
            }
            is_owned
        }),
    }
}

/// The messages of a queue after a restart, as far as that is known without reading segments. Records of keys go with the messages, in one
/// batch; this is for damage.
struct SeqsThere {
    in_memory: Vec<QueueSeq>,
    /// Rising, and apart from each other.
    ranges: Vec<(QueueSeq, QueueSeq)>,
}

impl SeqsThere {
    fn of(entry: &QueueEntry) -> Self {
        let mut found = Vec::new();
        entry.queue.in_memory(&mut |_| true, &mut found);
        let mut in_memory: Vec<QueueSeq> = found.into_iter().map(|(seq, _)| seq).collect();
        in_memory.sort_unstable();
        let mut found: Vec<_> = entry.queue.ranges().map(|range| (range.first_seq, range.last_seq)).collect();
        found.sort_unstable();
        let mut ranges: Vec<(QueueSeq, QueueSeq)> = Vec::new();
        for (first, last) in found {
            match ranges.last_mut() {
                Some(before) if first <= before.1 => before.1 = before.1.max(last),
                _ => ranges.push((first, last)),
            }
        }
        Self { in_memory, ranges }
    }

    fn has(&self, seq: QueueSeq) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= seq);
        let is_in_range = after.checked_sub(1).is_some_and(|at| seq <= self.ranges[at].1);
        is_in_range || self.in_memory.binary_search(&seq).is_ok()
    }
}
