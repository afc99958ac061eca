//! The messages that wait at one exchange, behind one lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::ids::QueueId;
use parking_lot::{Mutex, MutexGuard};
use queue::{Delays, RestoredGeneration, SettledDelays};
use store::RecordBatch;
use telemetry::{Counter, Gauge};

use super::definition::{Site, key_of};
use super::flow::Flow;
use super::operators::Waiters;
use super::pace::Pace;
use crate::engine::Engine;
use crate::message::Held;
use crate::shard::AbortOnPanic;
use crate::work::Work;

/// The messages that wait at one exchange.
#[derive(Debug)]
pub struct DelaySet {
    /// Locks are taken in the order of these.
    pub(crate) number: u64,
    /// The exchange.
    pub site: Site,
    /// Whether persistent messages last: the exchange does.
    pub(crate) is_durable: bool,
    /// The most that are released in a second; 0: no limit.
    release_rate_max_per_s: AtomicU64,
    /// Messages that wait.
    pub(crate) count: Gauge,
    /// Bytes of their bodies.
    pub bytes: Gauge,
    /// Messages that have been released.
    pub released: Counter,
    state: Mutex<State>,
}

/// What a set's lock guards.
#[derive(Debug, Default)]
pub struct State {
    pub(crate) delays: Delays<Held>,
    pub(super) pace: Pace,
    /// When a timer looks after it, in milliseconds since 1970; 0: never.
    pub(super) timer_at_ms: u64,
    pub(super) flow: Flow,
    /// When it released more than consumers could take, if that was the last time that it released anything, in milliseconds since
    /// 1970; else 0.
    pub(super) lagged_at_ms: u64,
    /// Its exchange is deleted: nothing comes in any more.
    pub(super) is_gone: bool,
    /// Operators who wait for messages that are being read.
    pub(super) waiters: Waiters,
}

/// Where a message is to wait.
#[derive(Debug)]
pub struct Delay {
    /// At these exchanges.
    pub sets: Box<[Arc<DelaySet>]>,
    /// Its publisher is told that no queue would take it, should it want to know.
    pub is_returned: bool,
}

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

    /// Sets how many are released in a second at most.
    pub fn set_release_rate(&self, rate_max_per_s: Option<u64>) {
        self.release_rate_max_per_s.store(rate_max_per_s.unwrap_or(0), Ordering::Relaxed);
    }

    pub(super) fn release_rate(&self) -> Option<u64> {
        Some(self.release_rate_max_per_s.load(Ordering::Relaxed)).filter(|rate| *rate > 0)
    }

    /// Runs `act` under the lock, and writes down how things stand.
    pub fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let _guard = AbortOnPanic;
        let result = act(&mut state);
        self.report(&state);
        result
    }

    /// How many messages wait, without asking for the lock.
    pub fn waiting_count(&self) -> u64 {
        self.count.get().cast_unsigned()
    }

    /// When the first message is due, in milliseconds since 1970, or a little earlier if that is not in memory.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.state.lock().delays.next_due_ms()
    }

    fn report(&self, state: &State) {
        self.count.set(state.delays.count().cast_signed());
        self.bytes.set(state.delays.bytes().cast_signed());
    }

    /// Puts what recovery found of it where it was. Records what is to be forgotten.
    pub fn restore(
        self: &Arc<Self>,
        engine: &Engine,
        generations: Vec<RestoredGeneration<Held>>,
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

    /// Its exchange is gone, and all that waits with it.
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
            // Under the lock: no checkpoint may find the messages gone before the journal says so.
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
    /// Whether a message can be added: the exchange is not deleted.
    pub(crate) fn takes_messages(&self) -> bool {
        !self.is_gone
    }

    /// Adds a message. `None`: the exchange is deleted.
    pub fn insert(
        &mut self,
        set: &Arc<DelaySet>,
        work: &mut Work<'_>,
        due_ms: u64,
        held: Held,
    ) -> Option<queue::DelayId> {
        if self.is_gone {
            return None;
        }
        if self.delays.is_behind(due_ms) {
            self.delays.set_back(work.now_ms());
        }
        let (engine, records) = (work.engine, &mut work.gathered.records);
        let id = self.delays.insert(due_ms, held, || {
            let id = engine.queue_ids.take(engine);
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
    ) -> SettledDelays<Held> {
        let mut settled = SettledDelays::default();
        self.delays.settle(ids, &mut settled);
        work.settle_delayed(&settled.records, settled.messages.iter().map(|(_, held)| held));
        self.forget_ended(set, work.engine, &mut work.gathered.records);
        settled
    }

    /// Generations that have ended are nobody's any more.
    pub(super) fn forget_ended(&mut self, set: &DelaySet, engine: &Engine, records: &mut RecordBatch) {
        for id in self.delays.take_ended() {
            set.drop_generation(id, records);
            if !self.waiters.keeps(id) {
                engine.delays.remove(id);
            }
        }
        self.waiters.take_unneeded().into_iter().for_each(|id| engine.delays.remove(id));
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

/// Several sets, locked.
#[derive(Debug)]
pub struct LockedSets<'a>(Vec<(&'a DelaySet, MutexGuard<'a, State>)>);

impl<'a> LockedSets<'a> {
    /// Locks these sets in the order of their numbers: before any shard is.
    pub fn of(sets: &'a mut Vec<Arc<DelaySet>>) -> Self {
        sets.sort_unstable_by_key(|set| set.number);
        sets.dedup_by_key(|set| set.number);
        LockedSets(sets.iter().map(|set| (&**set, set.state.lock())).collect())
    }

    /// What a set holds, which is among the locked.
    pub fn get(&mut self, set: &DelaySet) -> &mut State {
        let found = self.0.binary_search_by_key(&set.number, |(set, _)| set.number);
        &mut self.0[found.expect("the set was named when locking")].1
    }

    /// Whether messages come into one of them faster than they leave, though others are late.
    pub(crate) fn needs_backpressure(&self) -> bool {
        self.0.iter().any(|(_, state)| state.flow.needs_backpressure())
    }

    /// Writes down how things stand.
    pub fn report(&self) {
        self.0.iter().for_each(|(set, state)| set.report(state));
    }
}
