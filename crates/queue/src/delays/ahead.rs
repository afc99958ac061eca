//! What is read from segments, and how much of it, before it is due.
//!
//! Many runs may be due at the same time, and then what is loaded of them must be due at the same time, too: what is due later would take
//! the room of what is due first, and keep whole chunks of memory. So there is a horizon: all runs are read up to it, and it is
//! as far as there is room.

use super::Delays;
use super::key::{Key, due_in};
use super::limits::{
    EPOCH_MS, HORIZON_STEPS, LOAD_SLOTS_MIN, LOADED_BYTES_MAX, LOADED_OVERHEAD, LOOK_AHEAD_MS, RUN_LOAD_BYTES_MAX,
    RUN_LOAD_BYTES_MIN,
};
use super::loading::{Ask, Purpose};
use super::runs::Run;
use crate::message::Message;
use crate::ranges::PagedRange;

impl<M: Message> Delays<M> {
    /// Asks for what will be due soon, as far as there is room for it, soonest first; whatever else, for the very first.
    pub(super) fn look_ahead(&mut self, asks: &mut Vec<Ask>) {
        let until = self.now + LOOK_AHEAD_MS;
        let Some((first, ..)) = self.runs.by_bound().next().filter(|(key, ..)| key.due <= until) else { return };
        let mut room = LOADED_BYTES_MAX.saturating_sub(self.calendar.placed_cost() + self.flights.ahead_bytes);
        // Not for every message that leaves: what is read at once costs less.
        let horizon = if room >= LOADED_BYTES_MAX / 4 { self.horizon(until, room) } else { first.due };
        let mut wanted = Vec::new();
        for (index, (key, id, run)) in self.runs.by_bound().enumerate() {
            if index > 0 && (key.due > horizon || room < u64::from(RUN_LOAD_BYTES_MIN)) {
                break;
            }
            if run.flight.is_some() {
                continue;
            }
            let bytes = cost_until(run, horizon).clamp(RUN_LOAD_BYTES_MIN.into(), RUN_LOAD_BYTES_MAX.into());
            room = room.saturating_sub(bytes);
            wanted.push((id, run.generation, window(run, bytes), bytes as u32));
        }
        for (id, generation, range, bytes_max) in wanted {
            let ask = self.flights.start(generation, Purpose::Ahead(id), None, (&range, bytes_max));
            self.runs.set_flight(id, Some(ask.load.number));
            asks.push(ask);
        }
    }

    /// The time up to which everything that is not being read already finds room, or about; `until` at most.
    fn horizon(&self, until: u64, room: u64) -> u64 {
        let near = self.runs.by_bound().take_while(|(key, ..)| key.due <= until).map(|(.., run)| run);
        let idle: Vec<&Run> = near.filter(|run| run.flight.is_none()).collect();
        let fits = |due: u64| idle.iter().map(|run| cost_until(run, due)).sum::<u64>() <= room;
        let Some(first) = idle.first() else { return until };
        if fits(until) {
            return until;
        }
        let (mut low, mut high) = (due_in(first.range.first_seq), until);
        for _ in 0..HORIZON_STEPS {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// When something must be read for which no load is on its way, nor was refused for want of room.
    pub(super) fn next_load_ms(&self) -> Option<u64> {
        let until = self.now + LOOK_AHEAD_MS;
        let (first, _, run) = self.runs.by_bound().next()?;
        let is_wanted = |key: Key| key.due > until;
        let next = if run.flight.is_none() {
            Some(first)
        } else {
            self.runs.by_bound().find(|(key, _, run)| run.flight.is_none() && is_wanted(*key)).map(|(key, ..)| key)
        };
        next.map(|key| key.due.saturating_sub(LOOK_AHEAD_MS) + EPOCH_MS)
    }
}

/// What messages of a run that are due by then take in memory, if they are evenly spread over it.
fn cost_until(run: &Run, due: u64) -> u64 {
    let PagedRange { count, bytes, first_seq, last_seq, .. } = run.range;
    let (first, last) = (due_in(first_seq), due_in(last_seq));
    let cost = bytes + u64::from(count) * LOADED_OVERHEAD;
    if due >= last {
        return cost;
    }
    let Some(span) = (due + 1).checked_sub(first) else { return 0 };
    (u128::from(cost) * u128::from(span) / u128::from(last - first + 1)) as u64
}

/// The slots that the next load of a run is to read: about twice as many as it will find room for.
fn window(run: &Run, bytes_max: u64) -> PagedRange {
    let PagedRange { count, bytes, first_slot, end_slot, .. } = run.range;
    let len = bytes / u64::from(count.max(1));
    let slot_count = (bytes_max * 2 / len.max(1)).max(LOAD_SLOTS_MIN).min(u64::from(u32::MAX));
    PagedRange { end_slot: end_slot.min(first_slot.saturating_add(slot_count as u32)), ..run.range }
}
