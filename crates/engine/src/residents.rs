//! The store's questions about queues: what is still alive, where it has moved, what was read.

use std::sync::{Arc, Weak};

use model::ids::{QueueId, QueueSeq, SegmentId};
use queue::{Message, MovedMessage, PlacedMessage};
use store::{
    CollectedResidents, Content, LaneResidents, LoadAnswer, QueueOwner, QueueState, ReadError, Resident, Returns,
};

use crate::delayed::{DelaySet, residents as delayed};
use crate::engine::Engine;
use crate::limits::SHARD_COUNT;
use crate::queue_handle::QueueHandle;
use crate::queued_message::QueuedMessage;
use crate::shard::QueueEntry;
use crate::shard_number::shard_of;

/// The engine, as its store knows it.
pub struct QueueOwnerOfEngine {
    engine: Weak<Engine>,
    /// What else keeps messages in memory: asked to let go of what it can.
    unload: Box<dyn Fn() + Send + Sync>,
}

impl QueueOwnerOfEngine {
    /// What waits for clients that do not read keeps memory, too: `unload` is called when there is too little of it.
    pub fn new(engine: &Arc<Engine>, unload: impl Fn() + Send + Sync + 'static) -> Self {
        Self { engine: Arc::downgrade(engine), unload: Box::new(unload) }
    }

    /// Runs `act` on a queue. `None` when the queue is deleted, or the engine dropped.
    fn with_queue<T>(&self, id: QueueId, act: impl FnOnce(&Arc<Engine>, &mut QueueEntry) -> T) -> Option<T> {
        let engine = self.engine.upgrade()?;
        engine.shards.with(shard_of(id), |shard| {
            let entry = shard.by_id(id)?;
            Some(act(&engine, entry))
        })
    }
}

impl QueueOwnerOfEngine {
    /// The set of delayed messages of which this is a generation.
    fn delays_of(&self, generation: QueueId) -> Option<(Arc<Engine>, Arc<DelaySet>)> {
        let engine = self.engine.upgrade()?;
        let set = engine.delays.of(generation)?;
        Some((engine, set))
    }
}

impl QueueOwner for QueueOwnerOfEngine {
    fn collect(&self, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents) {
        let Some(engine) = self.engine.upgrade() else { return };
        let mut found: Vec<(QueueSeq, QueuedMessage)> = Vec::new();
        for_each_queue(&engine, |handle| {
            engine.shards.with_queue(handle, |entry| collect_from(entry, is_old, &mut found, out));
        });
        for set in engine.delays.all() {
            delayed::collect(&set, is_old, out);
        }
    }

    fn relocate(&self, queue: QueueId, lane: u8, placed: &[PlacedMessage]) {
        // In parts, so that others get at the shard in between.
        for placed in placed.chunks(RELOCATED_COUNT) {
            let found = self.with_queue(queue, |engine, entry| {
                let mut dead = Vec::new();
                entry.queue.relocate(lane, placed, &mut dead);
                engine.store.settle_slots(&dead);
            });
            if found.is_some() {
                continue;
            }
            if let Some((engine, set)) = self.delays_of(queue) {
                delayed::relocate(&engine, &set, queue, placed);
            } else if let Some(engine) = self.engine.upgrade() {
                let dead: Vec<_> = placed.iter().map(|placed| placed.place).collect();
                engine.store.settle_slots(&dead);
            }
        }
    }

    fn loaded(&self, queue: QueueId, loaded: LoadAnswer) {
        let Some(engine) = self.engine.upgrade() else { return };
        let Some(loaded) = engine.pending_reads.answer(queue, loaded) else { return };
        let handle = self.with_queue(queue, |_, entry| entry.handle.clone());
        let Some(handle) = handle else {
            if let Some(set) = engine.delays.of(queue) {
                delayed::loaded(&engine, &set, loaded);
            }
            return;
        };
        if let Some(error) = loaded.error.as_ref().filter(|_| loaded.lost.is_empty()) {
            tracing::warn!(
                vhost = handle.definition.vhost.as_str(),
                queue = handle.name(),
                %error,
                "messages cannot be read from a segment now"
            );
        }
        let is_journaled = !loaded.load.segment.is_transient();
        let entries = loaded
            .entries
            .into_iter()
            .filter_map(|entry| {
                let held = QueuedMessage::restored(entry.content, is_journaled, Some(entry.place), handle.priorities)?;
                Some((entry.seq, held))
            })
            .collect::<Vec<_>>();
        if loaded.load.is_look() {
            engine.with_queue(&handle, |entry, work| {
                work.take_found_replaced(entry, &entries);
                work.dispatch(entry);
            });
            return;
        }
        engine.with_queue(&handle, |entry, work| {
            let lost_count = work.loaded(entry, &loaded.load, entries, loaded.next_slot, &loaded.lost);
            report_lost(&entry.handle, lost_count, loaded.error.as_ref());
            work.take_read_replaced(entry);
            work.dispatch(entry);
            for waiter in entry.load_waiters.drain(..) {
                waiter.wake_up();
            }
        });
    }

    fn unload(&self) {
        let Some(engine) = self.engine.upgrade() else { return };
        for_each_queue(&engine, |handle| {
            // What is being read now is for a client that waits; it is let go the next time.
            engine.with_queue(handle, |entry, work| {
                if !entry.queue.is_loading() {
                    entry.queue.unload();
                    work.dispatch(entry);
                }
            });
        });
        for set in engine.delays.all() {
            delayed::unload(&engine, &set);
        }
        (self.unload)();
    }

    fn moved(&self, queue: QueueId, from: &[SegmentId], moved: &[MovedMessage]) {
        let found = self.with_queue(queue, |engine, entry| {
            let mut dead = Vec::new();
            // Operators take messages out of the middle of ranges.
            let alive = engine.store.settle_moved(moved);
            let lost_count = entry.queue.move_ranges(from, &alive, &mut dead);
            report_lost(&entry.handle, lost_count, None);
            engine.store.settle_slots(&dead);
        });
        if found.is_some() {
            return;
        }
        if let Some((engine, set)) = self.delays_of(queue) {
            delayed::moved(&engine, &set, queue, from, moved);
        } else if let Some(engine) = self.engine.upgrade() {
            let dead: Vec<_> = moved.iter().map(|moved| moved.to).collect();
            engine.store.settle_slots(&dead);
        }
    }
}

/// The error says which file, and where.
fn report_lost(queue: &QueueHandle, count: u64, error: Option<&ReadError>) {
    if count > 0 {
        let error = error.map(tracing::field::display);
        let (vhost, queue) = (queue.definition.vhost.as_str(), queue.name());
        tracing::error!(vhost, queue, count, error, "messages were lost to a damaged segment");
    }
}

/// Messages of one queue that get their new places under one lock.
const RELOCATED_COUNT: usize = 4096;

/// Visits every queue that is there now, without holding a lock meanwhile; after every shard's lock has been taken once.
fn for_each_queue(engine: &Engine, mut visit: impl FnMut(&QueueHandle)) {
    for number in 0..SHARD_COUNT {
        let handles: Vec<_> =
            engine.shards.with(number, |shard| shard.entries().map(|entry| entry.handle.clone()).collect());
        handles.iter().for_each(|handle| visit(handle));
    }
}

/// What a checkpoint has to know of a queue, and its old messages. `found` is only room.
fn collect_from(
    entry: &mut QueueEntry,
    is_old: &dyn Fn(&Content) -> bool,
    found: &mut Vec<(QueueSeq, QueuedMessage)>,
    out: &mut CollectedResidents,
) {
    let queue = entry.handle.id();
    if entry.handle.is_journaled() {
        let watermark = entry.watermark.closed_mark();
        let (next_seq, may_expire) = (entry.queue.next_seq(), entry.queue.may_expire());
        out.queues.push(QueueState { queue, next_seq, watermark, may_expire });
        let returned = entry.queue.returned();
        out.returned
            .extend(returned.map(|(seq, counts, waits_until_ms)| (queue, seq, Returns { counts, waits_until_ms })));
    }
    entry.queue.in_memory(&mut |held| is_old(held.content()), found);
    // Sorted by seq they come, and so they stay in each lane.
    found.sort_by_key(|(_, held)| (held.priority(), held.is_journaled()));
    let mut lane_before = None;
    for (seq, held) in found.drain(..) {
        let (lane, is_journaled, body_len) = (held.priority(), held.is_journaled(), held.len());
        if lane_before.replace((lane, is_journaled)) != Some((lane, is_journaled)) {
            out.lanes.push(LaneResidents { queue, lane, is_journaled, residents: Vec::new() });
        }
        let residents = &mut out.lanes.last_mut().expect("pushed just now").residents;
        residents.push(Resident { seq, content: held.into_content(), body_len });
    }
}
