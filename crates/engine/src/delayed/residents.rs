//! The store's questions about waiting messages: what is alive, where it has moved, what was read.

use std::sync::Arc;

use model::ids::{QueueId, SegmentId};
use queue::{MovedMessage, PlacedMessage};
use store::{CollectedResidents, Content, LaneResidents, LoadAnswer, Resident};

use super::DelaySet;
use crate::engine::Engine;
use crate::queued_message::{Priorities, QueuedMessage};

/// The old messages of a set.
pub fn collect(set: &DelaySet, is_old: &dyn Fn(&Content) -> bool, out: &mut CollectedResidents) {
    let first_lane = out.lanes.len();
    set.with(|state| {
        let mut lane = first_lane;
        let delays = &state.delays;
        delays.in_memory(&mut |held| is_old(held.content()), &mut |id, held| {
            let is_journaled = queue::Message::is_journaled(held);
            let is_of = |lane: &LaneResidents| lane.queue == id.generation && lane.is_journaled == is_journaled;
            // Most are in the same one as the message before.
            if !out.lanes.get(lane).is_some_and(is_of) {
                let known = out.lanes[first_lane..].iter().position(is_of).map(|at| first_lane + at);
                lane = known.unwrap_or(out.lanes.len());
            }
            if lane == out.lanes.len() {
                // A vector of millions is not grown step by step.
                let is_first = lane == first_lane;
                let capacity = if is_first { usize::try_from(delays.unplaced_count()).unwrap_or_default() } else { 0 };
                let residents = Vec::with_capacity(capacity);
                out.lanes.push(LaneResidents { queue: id.generation, lane: 0, is_journaled, residents });
            }
            let (content, body_len) = (held.content().clone(), queue::Message::len(held));
            out.lanes[lane].residents.push(Resident { seq: id.seq, content, body_len });
        });
    });
    out.lanes[first_lane..].iter_mut().for_each(|lane| lane.residents.sort_by_key(|resident| resident.seq));
}

/// These messages of a generation lie in segments now.
pub(crate) fn relocate(engine: &Engine, set: &DelaySet, generation: QueueId, placed: &[PlacedMessage]) {
    set.with(|state| {
        let mut dead = Vec::new();
        state.delays.relocate(generation, placed, &mut dead);
        engine.store.settle_slots(&dead);
    });
}

/// The answer to a load.
pub fn loaded(engine: &Engine, set: &Arc<DelaySet>, loaded: LoadAnswer) {
    if let Some(error) = &loaded.error {
        let lost: u32 = loaded.lost.iter().map(|(first, end)| end - first).sum();
        tracing::error!(exchange = %set.name(), lost, %error, "delayed messages cannot be read from a segment");
    }
    let is_journaled = !loaded.load.segment.is_transient();
    let entries = loaded.entries.into_iter().filter_map(|entry| {
        let held = QueuedMessage::restored(entry.content, is_journaled, Some(entry.place), Priorities::default())?;
        Some((entry.seq, held))
    });
    let entries = entries.collect();
    let mut asks = Vec::new();
    engine.with_work(|work| {
        set.with(|state| {
            let answered = state.delays.loaded(&loaded.load, entries, loaded.next_slot, &mut asks);
            report_lost(set, answered.lost_count);
            state.answer(set, work, answered);
            state.forget_ended(set, engine, &mut work.section_effects.records);
            state.set_timer(set, work);
            work.commit();
        });
    });
    asks.drain(..).for_each(|ask| engine.store.load(ask.generation, ask.load));
}

/// Lets go of what lies in segments too.
pub fn unload(engine: &Engine, set: &Arc<DelaySet>) {
    engine.with_work(|work| {
        set.with(|state| {
            state.delays.unload();
            state.set_timer(set, work);
        });
    });
}

/// Messages of a generation have been copied from these segments to another.
pub fn moved(engine: &Engine, set: &Arc<DelaySet>, generation: QueueId, from: &[SegmentId], moved: &[MovedMessage]) {
    engine.with_work(|work| {
        set.with(|state| {
            let mut dead = Vec::new();
            let alive = engine.store.settle_moved(moved);
            let lost_count = state.delays.move_ranges(generation, from, &alive, &mut dead);
            report_lost(set, lost_count);
            engine.store.settle_slots(&dead);
            state.forget_ended(set, engine, &mut work.section_effects.records);
            state.set_timer(set, work);
            work.commit();
        });
    });
}

fn report_lost(set: &DelaySet, count: u64) {
    if count > 0 {
        tracing::error!(exchange = %set.name(), count, "delayed messages were lost to a damaged segment");
    }
}

impl DelaySet {
    /// The vhost of its exchange.
    pub fn vhost(&self) -> &str {
        &self.site.vhost
    }

    /// The name of its exchange, to be read by people.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.site.exchange)
    }
}
