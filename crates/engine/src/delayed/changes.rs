//! The life of a set, and the messages that come into it and leave it in sections.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use model::ids::QueueId;
use parking_lot::Mutex;
use queue::{Delays, RestoredGeneration, SettledDelays};
use store::RecordBatch;
use telemetry::{Counter, Gauge};

use super::DelaySet;
use super::definition::{Site, key_of};
use super::set::State;
use crate::engine::Engine;
use crate::queued_message::QueuedMessage;
use crate::work::Work;

impl DelaySet {
    /// An empty one.
    pub fn new(engine: &Engine, site: Site, is_durable: bool) -> Arc<Self> {
        Arc::new(Self {
            number: engine.delays.next_number(),
            site,
            is_durable,
            release_rate_max_per_s: AtomicU64::new(0),
            count: Gauge::default(),
            bytes: Gauge::default(),
            released: Counter::default(),
            state: Mutex::default(),
        })
    }

    /// Puts what recovery found of it where it was. Records what is to be forgotten.
    pub fn restore(
        self: &Arc<Self>,
        engine: &Engine,
        generations: Vec<RestoredGeneration<QueuedMessage>>,
        records: &mut RecordBatch,
    ) {
        generations.iter().for_each(|restored| engine.delays.add(restored.generation, self));
        let wake_at_ms = self.with(|state| {
            state.delays = Delays::restore(generations);
            state.forget_ended(self, engine, records);
            state.timer_at_ms = state.delays.wake_at_ms().unwrap_or(0);
            state.delays.wake_at_ms()
        });
        if let Some(due_ms) = wake_at_ms {
            engine.timers.set([(due_ms, self.clone().into())].into_iter());
        }
    }

    /// Its exchange is deleted, and all that waits with it.
    pub fn forget(&self, engine: &Engine) {
        let forgotten = self.with(|state| {
            state.is_gone = true;
            let mut records = RecordBatch::new();
            let ended = state.delays.take_ended().into_iter();
            let ids: Vec<QueueId> = ended.chain(state.delays.generations().map(|(id, _)| id)).collect();
            for id in ids {
                self.drop_generation(id, &mut records);
                engine.delays.remove(id);
            }
            state.waiters.give_up().into_iter().for_each(|id| engine.delays.remove(id));
            // Under the lock: no checkpoint may find the messages deleted before the journal has that.
            engine.append(&mut records);
            std::mem::take(&mut state.delays)
        });
        drop(forgotten);
    }

    fn drop_generation(&self, id: QueueId, records: &mut RecordBatch) {
        records.drop_queue(id);
        if self.is_durable {
            records.delete(&key_of(id));
        }
    }
}

impl State {
    /// Generations that have ended no longer belong to any set.
    pub(super) fn forget_ended(&mut self, set: &DelaySet, engine: &Engine, records: &mut RecordBatch) {
        for id in self.delays.take_ended() {
            set.drop_generation(id, records);
            if !self.waiters.keeps(id) {
                engine.delays.remove(id);
            }
        }
        self.waiters.take_unneeded().into_iter().for_each(|id| engine.delays.remove(id));
    }

    /// Adds a message. `None`: the exchange is deleted.
    pub fn insert(
        &mut self,
        set: &Arc<DelaySet>,
        work: &mut Work<'_>,
        due_ms: u64,
        held: QueuedMessage,
    ) -> Option<queue::DelayId> {
        if self.is_gone {
            return None;
        }
        if self.delays.is_behind(due_ms) {
            self.delays.set_back(work.now_ms());
        }
        let (engine, records) = (work.engine, &mut work.section_effects.records);
        let id = self.delays.insert(due_ms, held, || {
            let id = engine.queue_ids.take();
            engine.delays.add(id, set);
            if set.is_durable {
                records.put(&key_of(id), &set.site.encode());
            }
            id
        });
        self.flow.note_arrived();
        if self.timer_at_ms == 0 || due_ms < self.timer_at_ms {
            self.set_timer(set, work);
        }
        Some(id)
    }

    /// Takes released messages out for good, and records it. They are given back, to be freed without the lock.
    pub(super) fn settle(
        &mut self,
        set: &DelaySet,
        work: &mut Work<'_>,
        ids: impl Iterator<Item = queue::DelayId>,
    ) -> SettledDelays<QueuedMessage> {
        let mut settled = SettledDelays::default();
        self.delays.settle(ids, &mut settled);
        work.settle_delayed(&settled.records, settled.messages.iter().map(|(_, held)| held));
        self.forget_ended(set, work.engine, &mut work.section_effects.records);
        settled
    }

    /// Has the set looked after at this time, in place of its timer that is due.
    pub(super) fn put_off(&mut self, set: &Arc<DelaySet>, engine: &Engine, timer_at_ms: u64, until_ms: u64) {
        if self.timer_at_ms == timer_at_ms {
            self.timer_at_ms = until_ms;
            engine.timers.set([(until_ms, set.clone().into())].into_iter());
        }
    }

    /// Has the set looked after when something is due, unless it is already by then. Not before others that are due by now, and not as
    /// long as its release rate or consumers that are behind hold it up.
    pub(super) fn set_timer(&mut self, set: &Arc<DelaySet>, work: &mut Work<'_>) {
        let Some(due_ms) = self.delays.wake_at_ms() else { return };
        let held_until_ms = match self.lagged_at_ms {
            0 => 0,
            // Should the clock be set back, it is not waited for until it is there again.
            lagged_at_ms => lagged_at_ms.min(work.now_ms()) + 1,
        };
        let due_ms = due_ms.max(self.pace.next_at_ms(set.release_rate())).max(held_until_ms);
        if !self.is_gone && (self.timer_at_ms == 0 || due_ms < self.timer_at_ms) {
            self.timer_at_ms = due_ms.max(work.now_ms());
            work.look_after_later(self.timer_at_ms, set.clone().into());
        }
    }
}
