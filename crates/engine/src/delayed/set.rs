//! The messages that wait at one exchange, behind one lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use queue::Delays;
use telemetry::{Counter, Gauge};

use super::definition::Site;
use super::flow::Flow;
use super::pace::Pace;
use super::waiters::Waiters;
use crate::abort::AbortOnPanic;
use crate::durability::Durability;
use crate::queued_message::QueuedMessage;

/// The messages that wait at one exchange.
#[derive(Debug)]
pub struct DelaySet {
    /// Locks are taken in the order of these.
    pub(crate) number: u64,
    /// The exchange.
    pub site: Site,
    /// Whether what waits lasts: the exchange does.
    pub(crate) is_durable: bool,
    /// The most that are released in a second; 0: no limit.
    pub(super) release_rate_max_per_s: AtomicU64,
    /// Messages that wait.
    pub(crate) count: Gauge,
    /// Bytes of their bodies.
    pub bytes: Gauge,
    /// Messages that have been released.
    pub released: Counter,
    pub(super) state: Mutex<State>,
}

/// What a set's lock guards.
#[derive(Debug, Default)]
pub struct State {
    pub(crate) delays: Delays<QueuedMessage>,
    pub(super) pace: Pace,
    /// When a timer looks after it, in milliseconds since 1970; 0: never.
    pub(super) timer_at_ms: u64,
    pub(super) flow: Flow,
    /// When it released more than consumers could take, if that was the last time that it released anything, in milliseconds since
    /// 1970; else 0.
    pub(super) lagged_at_ms: u64,
    /// Its exchange is deleted: it takes no more messages.
    pub(super) is_gone: bool,
    /// Operators who wait for messages that are being read.
    pub(super) waiters: Waiters,
}

/// Where a message is to wait.
#[derive(Debug)]
pub struct Delay {
    /// At these exchanges.
    pub sets: Box<[Arc<DelaySet>]>,
    /// Its publisher is notified that no queue would take it, if it has asked for that.
    pub is_returned: bool,
}

impl DelaySet {
    /// Sets how many are released in a second at most.
    pub fn set_release_rate(&self, rate_max_per_s: Option<u64>) {
        self.release_rate_max_per_s.store(rate_max_per_s.unwrap_or(0), Ordering::Relaxed);
    }

    pub(super) fn release_rate(&self) -> Option<u64> {
        Some(self.release_rate_max_per_s.load(Ordering::Relaxed)).filter(|rate| *rate > 0)
    }

    /// Which messages outlive a restart while they wait: all or none, for some may be on their way to a queue that keeps all.
    pub(crate) fn durability(&self) -> Durability {
        if self.is_durable { Durability::ALL } else { Durability::NONE }
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
}

impl State {
    /// Whether a message can be added: the exchange is not deleted.
    pub(crate) fn takes_messages(&self) -> bool {
        !self.is_gone
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
