//! The part of a set that lies in segments: runs of slots, not messages.
//!
//! A run is what is waiting in consecutive slots of one segment, of one generation, by rising seq; so each is sorted by due time, and
//! many of them overlap. Slots between may be dead, but none holds a message that is in memory or leaving.

use std::collections::{BTreeMap, BTreeSet};

use model::ids::{Place, QueueId, SegmentId};

use super::key::Key;
use crate::ranges::PagedRange;

/// Names a run as long as it is there.
pub(super) type RunId = u64;

#[derive(Debug)]
pub(super) struct Run {
    pub(super) generation: QueueId,
    /// What is not in memory.
    pub(super) range: PagedRange,
    /// The load that is on its way.
    pub(super) flight: Option<u32>,
}

impl Run {
    /// No message of it comes before this.
    pub(super) fn bound(&self) -> Key {
        Key::new(self.generation, self.range.first_seq)
    }

    fn place(&self) -> Place {
        Place { segment: self.range.segment, slot: self.range.first_slot }
    }

    pub(super) fn holds(&self, id: super::DelayId, place: Place) -> bool {
        self.generation == id.generation
            && self.range.segment == place.segment
            && (self.range.first_slot..self.range.end_slot).contains(&place.slot)
            && (self.range.first_seq..=self.range.last_seq).contains(&id.seq)
    }

    fn is_followed_by(&self, generation: QueueId, next: &PagedRange) -> bool {
        self.generation == generation && self.range.is_followed_by(next)
    }
}

#[derive(Debug, Default)]
pub(super) struct Runs {
    all: BTreeMap<RunId, Run>,
    /// By where it begins.
    by_place: BTreeMap<Place, RunId>,
    /// By what it begins with.
    heads: BTreeSet<(Key, RunId)>,
    next_id: RunId,
    count: u64,
    bytes: u64,
}

impl Runs {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// No message of any run comes before this.
    #[inline]
    pub(super) fn first_bound(&self) -> Option<Key> {
        self.heads.first().map(|(key, _)| *key)
    }

    /// By what they begin with.
    pub(super) fn by_bound(&self) -> impl Iterator<Item = (Key, RunId, &Run)> {
        self.heads.iter().filter_map(|(key, id)| Some((*key, *id, self.all.get(id)?)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (RunId, &Run)> {
        self.all.iter().map(|(id, run)| (*id, run))
    }

    /// The run in one of whose slots the place is.
    pub(super) fn at(&self, place: Place) -> Option<(RunId, &Run)> {
        let (_, id) = self.by_place.range(..=place).next_back()?;
        let run = self.all.get(id)?;
        (run.range.segment == place.segment && place.slot < run.range.end_slot).then_some((*id, run))
    }

    /// Adds what waits in these slots, as part of its neighbours where that is possible.
    pub(super) fn insert(&mut self, generation: QueueId, range: PagedRange) {
        let mut range = range;
        let segment = range.segment;
        let place = |slot| Place { segment, slot };
        let next = self.by_place.get(&place(range.end_slot)).and_then(|id| Some((*id, self.all.get(id)?)));
        let joined = next.filter(|(_, next)| {
            // The answer to a load would no longer fit a run that begins elsewhere.
            next.flight.is_none()
                && next.generation == generation
                && range.last_seq < next.range.first_seq
                && range.is_followed_by(&next.range)
        });
        if let Some((id, _)) = joined {
            let next = self.remove(id).expect("it was just seen");
            range.append(&next.range);
        }
        let before = self.by_place.range(..place(range.first_slot)).next_back().map(|(_, id)| *id);
        match before {
            Some(id) if self.all[&id].is_followed_by(generation, &range) => {
                // Neither where it begins nor what it begins with changes.
                let run = self.all.get_mut(&id).expect("it was just seen");
                run.range.append(&range);
                self.count += u64::from(range.count);
                self.bytes += range.bytes;
            }
            _ => self.add(Run { generation, range, flight: None }),
        }
    }

    fn add(&mut self, run: Run) {
        let id = self.next_id;
        self.next_id += 1;
        self.put(id, run);
    }

    fn put(&mut self, id: RunId, run: Run) {
        self.count += u64::from(run.range.count);
        self.bytes += run.range.bytes;
        self.heads.insert((run.bound(), id));
        self.by_place.insert(run.place(), id);
        self.all.insert(id, run);
    }

    pub(super) fn get(&self, id: RunId) -> Option<&Run> {
        self.all.get(&id)
    }

    /// Changes a run. Removes one in which nothing is left, or no slot. Returns how many messages are removed with it.
    pub(super) fn change(&mut self, id: RunId, change: impl FnOnce(&mut Run)) -> u64 {
        let Some(mut run) = self.remove(id) else { return 0 };
        change(&mut run);
        if run.range.count == 0 || run.range.first_slot >= run.range.end_slot {
            return u64::from(run.range.count);
        }
        self.put(id, run);
        0
    }

    /// Only notes the load that is on its way.
    pub(super) fn set_flight(&mut self, id: RunId, flight: Option<u32>) {
        if let Some(run) = self.all.get_mut(&id) {
            run.flight = flight;
        }
    }

    fn remove(&mut self, id: RunId) -> Option<Run> {
        let run = self.all.remove(&id)?;
        self.count -= u64::from(run.range.count);
        self.bytes -= run.range.bytes;
        self.heads.remove(&(run.bound(), id));
        self.by_place.remove(&run.place());
        Some(run)
    }

    /// Takes out the runs of one generation in these segments, sorted by place.
    pub(super) fn take_in(&mut self, generation: QueueId, segments: &[SegmentId]) -> Vec<Run> {
        let mut ids = Vec::new();
        for &segment in segments {
            let span = Place { segment, slot: 0 }..=Place { segment, slot: u32::MAX };
            ids.extend(self.by_place.range(span).map(|(place, id)| (*place, *id)));
        }
        ids.sort_unstable();
        ids.retain(|(_, id)| self.all[id].generation == generation);
        ids.into_iter().filter_map(|(_, id)| self.remove(id)).collect()
    }

    /// Empties it.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Run> + use<> {
        let next_id = self.next_id;
        let drained = std::mem::replace(self, Runs { next_id, ..Runs::default() });
        drained.all.into_values()
    }
}
