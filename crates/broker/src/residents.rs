//! The store's questions about queues: what is still alive, where it has gone, what was read.

use std::sync::{Arc, Weak};

use model::ids::{QueueId, QueueSeq, SegmentId};
use queue::{Message, Moved, Placed};
use store::{Collected, Content, LaneResidents, Loaded, QueueState, ReadError, Resident, Residents, Returns};

use crate::batch;
use crate::broker::Broker;
use crate::delayed::{DelaySet, residents as delayed};
use crate::limits::SHARD_COUNT;
use crate::message::Held;
use crate::queue_handle::QueueHandle;
use crate::shard::{Cell, Shards, Watermark};

/// The broker, as its store knows it.
pub(crate) struct BrokerResidents(pub(crate) Weak<Broker>);

impl BrokerResidents {
    /// Runs `act` on a queue. `None` when it, or the broker, is gone.
    fn with_queue<T>(&self, id: QueueId, act: impl FnOnce(&Arc<Broker>, &mut Cell) -> T) -> Option<T> {
        let broker = self.0.upgrade()?;
        broker.shards.with(Shards::number_of(id), |shard| {
            let cell = shard.by_id(id)?;
            Some(act(&broker, cell))
        })
    }
}

impl BrokerResidents {
    /// The set of delayed messages of which this is a generation.
    fn delays_of(&self, generation: QueueId) -> Option<(Arc<Broker>, Arc<DelaySet>)> {
        let broker = self.0.upgrade()?;
        let set = broker.delays.of(generation)?;
        Some((broker, set))
    }
}

impl Residents for BrokerResidents {
    fn collect(&self, is_old: &dyn Fn(&Content) -> bool, out: &mut Collected) {
        let Some(broker) = self.0.upgrade() else { return };
        let mut found: Vec<(QueueSeq, Held)> = Vec::new();
        for_each_queue(&broker, |handle| {
            broker.shards.with_queue(handle, |cell| collect_from(cell, is_old, &mut found, out));
        });
        for set in broker.delays.all() {
            delayed::collect(&set, is_old, out);
        }
    }

    fn relocate(&self, queue: QueueId, lane: u8, placed: &[Placed]) {
        // In parts, so that others get at the shard in between.
        for placed in placed.chunks(RELOCATED_COUNT) {
            let found = self.with_queue(queue, |broker, cell| {
                let mut dead = Vec::new();
                cell.queue.relocate(lane, placed, &mut dead);
                broker.store.settle_slots(&dead);
            });
            if found.is_some() {
                continue;
            }
            if let Some((broker, set)) = self.delays_of(queue) {
                delayed::relocate(&broker, &set, queue, placed);
            } else if let Some(broker) = self.0.upgrade() {
                let dead: Vec<_> = placed.iter().map(|placed| placed.place).collect();
                broker.store.settle_slots(&dead);
            }
        }
    }

    fn loaded(&self, queue: QueueId, loaded: Loaded) {
        let Some(broker) = self.0.upgrade() else { return };
        let Some(loaded) = broker.looks.answer(queue, loaded) else { return };
        let handle = self.with_queue(queue, |_, cell| cell.handle.clone());
        let Some(handle) = handle else {
            if let Some(set) = broker.delays.of(queue) {
                delayed::loaded(&broker, &set, loaded);
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
        let is_journalled = !loaded.load.segment.is_transient();
        let entries = loaded
            .entries
            .into_iter()
            .filter_map(|entry| {
                let held = Held::restored(entry.content, is_journalled, Some(entry.place), handle.priorities)?;
                Some((entry.seq, held))
            })
            .collect::<Vec<_>>();
        if loaded.load.is_look() {
            batch::with_queue(&broker, &handle, |cell, work| {
                work.take_found_replaced(cell, &broker, &entries);
                work.dispatch(cell, &broker);
            });
            return;
        }
        batch::with_queue(&broker, &handle, |cell, work| {
            let lost_count = work.loaded(cell, &loaded.load, entries, loaded.next_slot, &loaded.lost);
            tell_lost(&cell.handle, lost_count, loaded.error.as_ref());
            work.take_read_replaced(cell);
            work.dispatch(cell, &broker);
            for waiter in cell.load_waiters.drain(..) {
                waiter.nudge();
            }
        });
    }

    fn unload(&self) {
        let Some(broker) = self.0.upgrade() else { return };
        for_each_queue(&broker, |handle| {
            // What is being read now is for somebody who waits; it is let go the next time.
            batch::with_queue(&broker, handle, |cell, work| {
                if !cell.queue.is_loading() {
                    cell.queue.unload();
                    work.dispatch(cell, &broker);
                }
            });
        });
        for set in broker.delays.all() {
            delayed::unload(&broker, &set);
        }
        // What waits for clients that do not read keeps memory, too.
        broker.connections.nudge_all();
    }

    fn moved(&self, queue: QueueId, from: &[SegmentId], moved: &[Moved]) {
        let found = self.with_queue(queue, |broker, cell| {
            let mut dead = Vec::new();
            // Operators take messages out of the middle of ranges.
            let alive = broker.store.settle_moved(moved);
            let lost_count = cell.queue.move_ranges(from, &alive, &mut dead);
            tell_lost(&cell.handle, lost_count, None);
            broker.store.settle_slots(&dead);
        });
        if found.is_some() {
            return;
        }
        if let Some((broker, set)) = self.delays_of(queue) {
            delayed::moved(&broker, &set, queue, from, moved);
        } else if let Some(broker) = self.0.upgrade() {
            let dead: Vec<_> = moved.iter().map(|moved| moved.to).collect();
            broker.store.settle_slots(&dead);
        }
    }
}

/// The error says which file, and where.
fn tell_lost(queue: &QueueHandle, count: u64, error: Option<&ReadError>) {
    if count > 0 {
        let error = error.map(tracing::field::display);
        let (vhost, queue) = (queue.definition.vhost.as_str(), queue.name());
        tracing::error!(vhost, queue, count, error, "messages were lost to a damaged segment");
    }
}

/// Messages of one queue that are told their new places under one lock.
const RELOCATED_COUNT: usize = 4096;

/// Visits every queue that is there now, without holding a lock meanwhile; after every shard's lock has been taken once.
fn for_each_queue(broker: &Broker, mut visit: impl FnMut(&QueueHandle)) {
    for number in 0..SHARD_COUNT {
        let handles: Vec<_> =
            broker.shards.with(number, |shard| shard.cells().map(|cell| cell.handle.clone()).collect());
        handles.iter().for_each(|handle| visit(handle));
    }
}

/// What a checkpoint has to know of a queue, and its old messages. `found` is only room.
fn collect_from(
    cell: &mut Cell,
    is_old: &dyn Fn(&Content) -> bool,
    found: &mut Vec<(QueueSeq, Held)>,
    out: &mut Collected,
) {
    let queue = cell.handle.id();
    if cell.handle.is_journalled() {
        let watermark = match cell.watermark {
            Watermark::Closed(mark) => Some(mark),
            Watermark::Open(_) | Watermark::None => None,
        };
        let (next_seq, may_expire) = (cell.queue.next_seq(), cell.queue.may_expire());
        out.queues.push(QueueState { queue, next_seq, watermark, may_expire });
        let returned = cell.queue.returned();
        out.returned
            .extend(returned.map(|(seq, counts, waits_until_ms)| (queue, seq, Returns { counts, waits_until_ms })));
    }
    cell.queue.in_memory(&mut |held| is_old(held.content()), found);
    // Sorted by seq they come, and so they stay in each lane.
    found.sort_by_key(|(_, held)| (held.priority(), held.is_journalled()));
    let mut lane_before = None;
    for (seq, held) in found.drain(..) {
        let (lane, is_journalled, body_len) = (held.priority(), held.is_journalled(), held.len());
        if lane_before.replace((lane, is_journalled)) != Some((lane, is_journalled)) {
            out.lanes.push(LaneResidents { queue, lane, is_journalled, residents: Vec::new() });
        }
        let residents = &mut out.lanes.last_mut().expect("pushed just now").residents;
        residents.push(Resident { seq, content: held.into_content(), body_len });
    }
}
