//! The keys of an exchange: in a shard, like a queue, under an id that only this process knows.

use std::sync::Arc;

use model::features::Deduplication;
use store::RecordBatch;
use telemetry::Counter;

use super::ExchangeKeys;
use super::key_work::KeyWork;
use super::set::{KeySet, Site};
use crate::engine::Engine;
use crate::shard_number::shard_of;

impl ExchangeKeys {
    /// Puts an empty set in place.
    pub fn new(engine: &Engine, deduplication: &Deduplication, site: Site, is_durable: bool) -> Arc<Self> {
        let set = KeySet::new(deduplication, site, is_durable);
        let id = engine.queue_ids.take();
        let keys = Self { id, header: set.header.clone(), deduplicated: Counter::default() };
        engine.shards.with(shard_of(id), |shard| shard.key_sets.insert(id, Box::new(set)));
        Arc::new(keys)
    }

    /// Continues with other limits. False: keys mean something else from now on, so that these are of no use.
    pub fn set_rules(&self, engine: &Engine, deduplication: &Deduplication) -> bool {
        let mut work = KeyWork::default();
        let is_alike = engine.shards.with(self.shard(), |shard| {
            let set = shard.key_sets.get_mut(&self.id).filter(|set| set.is_alike(deduplication))?;
            set.set_rules(deduplication, &mut work);
            Some(())
        });
        work.sweep(&engine.store);
        is_alike.is_some()
    }

    /// The exchange is deleted, or no longer drops duplicates.
    pub fn forget(&self, engine: &Engine) {
        let (mut work, mut records) = (KeyWork::default(), RecordBatch::new());
        engine.shards.with(self.shard(), |shard| {
            if let Some(mut set) = shard.key_sets.remove(&self.id) {
                set.forget_all(&mut work, &mut records);
            }
            // Under the lock: no publish that is at work comes after it.
            engine.append(&mut records);
        });
        work.sweep(&engine.store);
    }

    /// Forgets what has expired. `timer_at_ms`: which timer it was; one that an earlier has replaced does nothing.
    pub(crate) fn look_after(self: &Arc<Self>, engine: &Engine, timer_at_ms: u64) {
        engine.with_work(|work| {
            let now_ms = work.now_ms();
            engine.shards.with(self.shard(), |shard| {
                let Some(set) = shard.key_sets.get_mut(&self.id) else { return };
                if set.timer_at_ms != timer_at_ms {
                    return;
                }
                set.timer_at_ms = 0;
                let section_effects = &mut *work.section_effects;
                set.forget_expired(now_ms, &mut section_effects.keys, &mut section_effects.records);
                work.set_key_timer(self, set);
                work.commit();
            });
        });
    }

    /// Takes back what recovery found, if it is this exchange's.
    pub(super) fn restore(
        self: &Arc<Self>,
        engine: &Engine,
        restore: impl FnOnce(&mut KeySet, &mut KeyWork, &mut RecordBatch) -> bool,
    ) -> bool {
        engine.with_work(|work| {
            engine.shards.with(self.shard(), |shard| {
                let Some(set) = shard.key_sets.get_mut(&self.id) else { return false };
                let is_restored = {
                    let section_effects = &mut *work.section_effects;
                    restore(set, &mut section_effects.keys, &mut section_effects.records)
                };
                work.set_key_timer(self, set);
                work.commit();
                is_restored
            })
        })
    }
}
