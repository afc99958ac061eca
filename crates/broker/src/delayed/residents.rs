//! The store's questions about waiting messages: what is alive, where it has gone, what was read.

use std::sync::Arc;

use model::ids::{QueueId, SegmentId};
use queue::{DelayId, Moved, Placed};
use store::{Collected, Content, LaneResidents, Loaded, Resident};

use super::DelaySet;
use crate::batch;
use crate::broker::Broker;
use crate::message::{Held, Priorities};

/// The old messages of a set. `found` is only room.
pub(crate) fn collect(
    set: &DelaySet,
    is_old: &dyn Fn(&Content) -> bool,
    found: &mut Vec<(DelayId, Held)>,
    out: &mut Collected,
) {
    set.with(|state| state.delays.in_memory(&mut |held| is_old(held.content()), found));
    // Sorted by generation and seq they come, and so they stay in each lane.
    found.sort_by_key(|(id, held)| (id.generation, queue::Message::is_journalled(held)));
    let lane_of = |(id, held): &(DelayId, Held)| (id.generation, queue::Message::is_journalled(held));
    let lane_lens: Vec<_> =
        found.chunk_by(|a, b| lane_of(a) == lane_of(b)).map(|lane| (lane_of(&lane[0]), lane.len())).collect();
    let mut found = found.drain(..);
    for ((queue, is_journalled), len) in lane_lens {
        let resident = |(id, held): (DelayId, Held)| {
            let body_len = queue::Message::len(&held);
            Resident { seq: id.seq, content: held.into_content(), body_len }
        };
        // Their number is known: a vector of millions is not grown step by step.
        let mut residents = Vec::with_capacity(len);
        residents.extend(found.by_ref().take(len).map(resident));
        out.lanes.push(LaneResidents { queue, lane: 0, is_journalled, residents });
    }
}

/// These messages of a generation lie in segments now.
pub(crate) fn relocate(broker: &Broker, set: &DelaySet, generation: QueueId, placed: &[Placed]) {
    set.with(|state| {
        let mut dead = Vec::new();
        state.delays.relocate(generation, placed, &mut dead);
        broker.store.settle_slots(&dead);
    });
}

/// The answer to a load.
pub(crate) fn loaded(broker: &Broker, set: &Arc<DelaySet>, loaded: Loaded) {
    if let Some(error) = &loaded.error {
        tracing::error!(exchange = %set.name(), %error, "delayed messages could not be read from a segment");
    }
    let is_journalled = !loaded.load.segment.is_transient();
    let entries = loaded.entries.into_iter().filter_map(|entry| {
        let held = Held::restored(entry.content, is_journalled, Some(entry.place), Priorities::default())?;
        Some((entry.seq, held))
    });
    let entries = entries.collect();
    let mut asks = Vec::new();
    batch::with_scratch(broker, |work, _, _| {
        set.with(|state| {
            let answered = state.delays.loaded(&loaded.load, entries, loaded.next_slot, &mut asks);
            tell_lost(set, answered.lost_count);
            state.answer(set, work, broker, answered);
            state.forget_ended(set, broker, &mut work.records);
            state.set_timer(set, work, broker);
            work.commit(broker);
        });
    });
    asks.drain(..).for_each(|ask| broker.store.load(ask.generation, ask.load));
}

/// Lets go of what lies in segments too.
pub(crate) fn unload(broker: &Broker, set: &Arc<DelaySet>) {
    batch::with_scratch(broker, |work, _, _| {
        set.with(|state| {
            state.delays.unload();
            state.set_timer(set, work, broker);
        });
    });
}

/// Messages of a generation have been copied from these segments to another.
pub(crate) fn moved(broker: &Broker, set: &Arc<DelaySet>, generation: QueueId, from: &[SegmentId], moved: &[Moved]) {
    batch::with_scratch(broker, |work, _, _| {
        set.with(|state| {
            let mut dead = Vec::new();
            let alive = broker.store.settle_moved(moved);
            let lost_count = state.delays.move_ranges(generation, from, &alive, &mut dead);
            tell_lost(set, lost_count);
            broker.store.settle_slots(&dead);
            state.forget_ended(set, broker, &mut work.records);
            state.set_timer(set, work, broker);
            work.commit(broker);
        });
    });
}

fn tell_lost(set: &DelaySet, count: u64) {
    if count > 0 {
        tracing::error!(exchange = %set.name(), count, "delayed messages were lost to a damaged segment");
    }
}

impl DelaySet {
    /// The name of its exchange, to be read by people.
    pub(crate) fn name(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.site.exchange)
    }
}
