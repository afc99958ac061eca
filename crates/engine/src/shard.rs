//! Queues under locks: a fixed number of shards, each a set of queues behind one mutex.
//!
//! Critical sections are short, closed (a closure, so that no lock lives across an await) and do no I/O. A caller that needs
//! several shards takes them in the order of their numbers. A panic inside would leave a queue half changed, so it ends
//! the process: the journal knows better than damaged memory.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::ids::QueueId;
use parking_lot::MutexGuard;
use rustc_hash::FxBuildHasher;
use telemetry::Gauge;
use telemetry::trace::locks::Mutex;
use tokio::sync::watch;

use crate::abort::AbortOnPanic;
use crate::clock::Clock;
use crate::dead_letters::{Line, StuckLetter};
use crate::deduplication::{ExchangeKeys, KeySet};
use crate::delayed::{DelaySet, LockedSets};
use crate::gate::ConsumerGate;
use crate::limits::SHARD_COUNT;
use crate::outbox::Outbox;
use crate::position::Positions;
use crate::probe::QueueProbes;
use crate::queue_handle::QueueHandle;
use crate::queued_message::QueuedMessage;
use crate::statistics::Statistics;
use crate::watermark::Watermark;

/// A queue in its shard.
#[derive(Debug)]
pub struct QueueEntry {
    /// What is known of it without its lock.
    pub handle: Arc<QueueHandle>,
    /// Its state machine.
    pub queue: queue::Queue<QueuedMessage, ConsumerGate>,
    pub(crate) watermark: Watermark,
    /// In a cluster: where all is durable that has arrived together with other things, or not at all.
    pub(crate) whole_by: Positions,
    /// Messages that are timed.
    pub(crate) probes: QueueProbes,
    /// Connections whose `basic.get` waits for the head to be read from a segment.
    pub load_waiters: Vec<Arc<Outbox>>,
    /// Whether the batch at work has it on its list.
    pub(crate) is_touched: bool,
    /// When a timer looks after it, in milliseconds since 1970; 0: never.
    pub timer_at_ms: u64,
    /// What it has given up and is not on its way yet.
    pub(crate) line: Line,
    /// Dead letters that found no place, the one first that is tried again first.
    pub(crate) stuck: VecDeque<StuckLetter>,
    /// Keys of messages, where duplicates are dropped.
    pub key_set: Option<Box<KeySet>>,
    /// Reports to its followers whether it needs messages. None where it never had any.
    need: Option<Box<watch::Sender<bool>>>,
}

impl QueueEntry {
    /// One that nothing is due in.
    pub fn new(
        handle: Arc<QueueHandle>,
        queue: queue::Queue<QueuedMessage, ConsumerGate>,
        watermark: Watermark,
    ) -> Self {
        Self {
            handle,
            queue,
            watermark,
            whole_by: Positions::NONE,
            probes: QueueProbes::default(),
            load_waiters: Vec::new(),
            is_touched: false,
            timer_at_ms: 0,
            line: Line::default(),
            stuck: VecDeque::new(),
            key_set: None,
            need: None,
        }
    }

    /// Bytes that it takes, without the contents of messages and without what its handle takes.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        size_of::<Self>() + self.queue.memory_len() + self.load_waiters.capacity() * size_of::<Arc<Outbox>>()
    }

    /// Writes down how things stand, for listings.
    #[inline]
    pub fn report(&self, statistics: &Statistics, clock: &Clock) {
        self.handle.capacity.note(self.queue.has_room(), || clock.now_ms());
        self.report_counts(self.queue.ready_count(), self.queue.unacked_count(), self.queue.consumer_count());
        if let Some(need) = &self.need {
            self.report_need(need);
        }
        statistics.queues.note(&self.handle);
        let gauges = &self.handle.gauges;
        gauges.ready_bytes.set(self.queue.ready_bytes().cast_signed());
        gauges.unacked_bytes.set(self.queue.unacked_bytes().cast_signed());
    }

    /// Whether it needs messages, from now on.
    pub fn follow_need(&mut self) -> watch::Receiver<bool> {
        let is_needed = self.queue.needs_messages();
        let need = self.need.get_or_insert_with(|| Box::new(watch::Sender::new(is_needed)));
        need.send_replace(is_needed);
        need.subscribe()
    }

    fn report_need(&self, need: &watch::Sender<bool>) {
        let is_needed = self.queue.needs_messages();
        need.send_if_modified(|known| std::mem::replace(known, is_needed) != is_needed);
    }

    /// Reports to the vhost what has changed.
    #[inline(always)]
    fn report_counts(&self, ready_count: u64, unacked_count: u64, consumer_count: u32) {
        let (gauges, vhost) = (&self.handle.gauges, self.handle.vhost.stripe());
        let report = |gauge: &Gauge, of_vhost: &Gauge, count: i64| {
            let change = count - gauge.get();
            if change != 0 {
                gauge.set(count);
                of_vhost.add(change);
            }
        };
        report(&gauges.ready_count, &vhost.ready_count, ready_count.cast_signed());
        report(&gauges.unacked_count, &vhost.unacked_count, unacked_count.cast_signed());
        report(&gauges.consumer_count, &vhost.consumer_count, consumer_count.into());
    }

    /// The queue is deleted: what was in it is in the vhost no more.
    pub fn leave(&self) {
        self.report_counts(0, 0, 0);
    }

    /// When something is due, in milliseconds since 1970.
    pub fn next_due(&self) -> Option<u64> {
        let stuck_until_ms = self.stuck.front().map(|stuck| stuck.until_ms.max(1));
        let forgotten_at_ms = self.key_set.as_ref().and_then(|set| set.next_due());
        [self.queue.next_due(), stuck_until_ms, self.line.held_until(), forgotten_at_ms].into_iter().flatten().min()
    }

    /// Whether it matters what time it is.
    pub(crate) fn is_timed(&self) -> bool {
        self.queue.is_timed() || self.key_set.as_ref().is_some_and(|set| set.next_due().is_some())
    }

    /// Marks the queue as touched by a batch. True the first time.
    #[inline]
    pub fn touch(&mut self) -> bool {
        !std::mem::replace(&mut self.is_touched, true)
    }
}

/// The queues of one shard, by slot.
#[derive(Debug, Default)]
pub struct Shard {
    entries: Vec<Option<Box<QueueEntry>>>,
    free: Vec<u32>,
    by_id: HashMap<QueueId, u32, FxBuildHasher>,
    /// Keys of exchanges that drop duplicates.
    pub(crate) key_sets: HashMap<QueueId, Box<KeySet>, FxBuildHasher>,
}

impl Shard {
    /// The queue, unless it has been deleted.
    #[inline]
    pub fn get(&mut self, handle: &QueueHandle) -> Option<&mut QueueEntry> {
        let entry = self.entries.get_mut(handle.slot as usize)?.as_deref_mut()?;
        (entry.handle.id() == handle.id()).then_some(entry)
    }

    /// The queue of this id, for callers without a handle.
    pub fn by_id(&mut self, id: QueueId) -> Option<&mut QueueEntry> {
        let slot = *self.by_id.get(&id)?;
        self.entries[slot as usize].as_deref_mut()
    }

    /// All queues.
    pub fn entries(&mut self) -> impl Iterator<Item = &mut QueueEntry> {
        self.entries.iter_mut().filter_map(|entry| entry.as_deref_mut())
    }

    /// Puts a queue in; `make` gets its slot.
    pub fn insert(&mut self, make: impl FnOnce(u32) -> QueueEntry) -> &mut QueueEntry {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 queues")
        });
        let place = &mut self.entries[slot as usize];
        assert!(place.is_none(), "a free slot is empty");
        let entry = place.insert(Box::new(make(slot)));
        self.by_id.insert(entry.handle.id(), slot);
        entry
    }

    /// Takes the queue out, unless it has been already.
    pub fn remove(&mut self, handle: &QueueHandle) -> Option<Box<QueueEntry>> {
        self.get(handle)?;
        let entry = self.entries[handle.slot as usize].take();
        self.by_id.remove(&handle.id());
        self.free.push(handle.slot);
        entry
    }
}

/// All shards.
#[derive(Debug)]
pub struct Shards([Mutex<Shard>; SHARD_COUNT]);

impl Shards {
    /// All of them, empty.
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Mutex::new("a shard of queues", Shard::default())))
    }

    /// Runs `act` on one shard.
    pub fn with<T>(&self, number: usize, act: impl FnOnce(&mut Shard) -> T) -> T {
        let mut shard = self.0[number].lock();
        let _guard = AbortOnPanic;
        act(&mut shard)
    }

    /// Runs `act` on the queue behind `handle`; `None` when it is deleted.
    pub fn with_queue<T>(&self, handle: &QueueHandle, act: impl FnOnce(&mut QueueEntry) -> T) -> Option<T> {
        self.with(handle.shard(), |shard| shard.get(handle).map(act))
    }
}

/// Several shards, locked, and sets of delayed messages.
#[derive(Debug)]
pub struct Locked<'a> {
    pub(crate) sets: LockedSets<'a>,
    guards: [Option<MutexGuard<'a, Shard>>; SHARD_COUNT],
}

impl<'a> Locked<'a> {
    /// Locks sets, and no shard yet: sets come first.
    pub fn of(sets: &'a mut Vec<Arc<DelaySet>>) -> Self {
        Locked { sets: LockedSets::of(sets), guards: [const { None }; SHARD_COUNT] }
    }

    /// Locks the shards whose bits are set, in the order of their numbers.
    pub fn lock(&mut self, shards: &'a Shards, numbers: u64) {
        for number in (0..SHARD_COUNT).filter(|number| numbers & (1 << number) != 0) {
            self.guards[number] = Some(shards.0[number].lock());
        }
    }

    /// The queue behind `handle`, whose shard is among the locked ones; `None` when it is deleted.
    #[inline]
    pub fn get(&mut self, handle: &QueueHandle) -> Option<&mut QueueEntry> {
        let guard = self.guards[handle.shard()].as_mut();
        guard.expect("the shard was named when locking").get(handle)
    }

    /// The keys of an exchange, whose shard is among the locked ones; `None` when they are forgotten.
    pub fn key_set(&mut self, keys: &ExchangeKeys) -> Option<&mut KeySet> {
        let guard = self.guards[keys.shard()].as_mut();
        guard.expect("the shard was named when locking").key_sets.get_mut(&keys.id).map(|set| &mut **set)
    }
}

/// Shared so that a parked consumer's flag outlives neither side.
pub type Parked = Arc<AtomicBool>;
