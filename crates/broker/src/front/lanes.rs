//! A connection's lanes by number.

use engine::Positions;
use engine::lane::LaneNumber;
use engine::position::{Earliest, Marks};

use super::confirms::{Confirm, ConfirmState};
use super::lane::Lane;
use crate::statistics::{ChannelNumber, VhostCounters};

/// Looked up by index: numbers are small, and clients count from one.
#[derive(Debug)]
pub(super) struct Lanes<S> {
    slots: Vec<Option<Box<Lane<S>>>>,
    /// Those that may have changed since the last [`Lanes::report`].
    changed: Vec<LaneNumber>,
    /// Those whose confirms have something to write or to wait for. Nearly always one: most connections publish on one at a time.
    confirming: Vec<LaneNumber>,
}

impl<S> Default for Lanes<S> {
    fn default() -> Self {
        Self { slots: Vec::new(), changed: Vec::new(), confirming: Vec::new() }
    }
}

impl<S> Lanes<S> {
    #[inline]
    pub(super) fn get_mut(&mut self, number: LaneNumber) -> Option<&mut Lane<S>> {
        let lane = self.slots.get_mut(usize::from(number.0))?.as_deref_mut()?;
        note(&mut self.changed, lane);
        Some(lane)
    }

    /// Bytes that they take.
    pub(super) fn memory_len(&self) -> usize {
        let lanes = self.slots.iter().flatten().map(|lane| lane.memory_len()).sum::<usize>();
        lanes + self.slots.capacity() * size_of::<Option<Box<Lane<S>>>>()
    }

    pub(super) fn is_open(&self, number: LaneNumber) -> bool {
        self.slots.get(usize::from(number.0)).is_some_and(|slot| slot.is_some())
    }

    /// Takes a lane out, to work on it beside the rest of the session; [`Lanes::put`] brings it back.
    #[inline]
    pub(super) fn take(&mut self, number: LaneNumber) -> Option<Box<Lane<S>>> {
        self.slots.get_mut(usize::from(number.0))?.take()
    }

    #[inline(always)]
    pub(super) fn put(&mut self, mut lane: Box<Lane<S>>) {
        note(&mut self.changed, &mut lane);
        match self.slots.get_mut(usize::from(lane.number.0)) {
            Some(slot @ None) => *slot = Some(lane),
            _ => self.put_first(lane),
        }
    }

    fn put_first(&mut self, lane: Box<Lane<S>>) {
        let index = usize::from(lane.number.0);
        assert!(index >= self.slots.len(), "a lane is opened once");
        self.slots.resize_with(index + 1, || None);
        self.slots[index] = Some(lane);
    }

    /// A publish that is to be confirmed has been refused by a queue, or is done once the journal is durable up to `position`.
    // Always: it has two callers, and one of them calls it for each message.
    #[inline(always)]
    pub(super) fn complete(&mut self, number: LaneNumber, seq: u64, is_refused: bool, position: Positions) {
        let Some(lane) = self.get_mut(number) else { return };
        let Some(confirms) = &mut lane.confirms else { return };
        if is_refused {
            confirms.refuse(seq);
        } else {
            confirms.complete(seq, position);
        }
        if self.confirming.last() != Some(&number) && !self.confirming.contains(&number) {
            self.confirming.push(number);
        }
    }

    /// What has become of a publish that is to be confirmed.
    pub(super) fn confirm_state(&self, number: LaneNumber, seq: u64) -> ConfirmState {
        let lane = self.slots.get(usize::from(number.0)).and_then(|slot| slot.as_deref());
        let confirms = lane.and_then(|lane| lane.confirms.as_ref());
        confirms.map_or(ConfirmState::Closed, |confirms| confirms.state(seq))
    }

    /// Whether there are confirms to write or to wait for.
    #[inline]
    pub(super) fn are_confirming(&self) -> bool {
        !self.confirming.is_empty()
    }

    /// Hands the confirms that may leave to `put`. Gives how many publishes were confirmed, and the earliest positions that
    /// others wait for.
    pub(super) fn write_confirms(
        &mut self,
        durable: Marks,
        vhost: &VhostCounters,
        mut put: impl FnMut(LaneNumber, Confirm),
    ) -> (u64, Earliest) {
        let (mut confirmed, mut waits_for) = (0, Earliest::default());
        let mut confirming = std::mem::take(&mut self.confirming);
        confirming.retain(|&number| {
            let Some(lane) = self.get_mut(number) else { return false };
            let Some(confirms) = &mut lane.confirms else { return false };
            for seq in confirms.take_refused() {
                vhost.stripe().refused.add(1);
                put(number, Confirm::Refused { seq });
            }
            let count = confirms.write(durable, |seq, is_multiple| {
                put(number, Confirm::Accepted { seq, is_multiple });
            });
            lane.counts.add(ChannelNumber::Confirmed, count);
            confirmed += count;
            let position = confirms.waits_for();
            waits_for.add(position.unwrap_or_default());
            position.is_some()
        });
        self.confirming = confirming;
        (confirmed, waits_for)
    }

    /// Forgets where messages went last: it has to be looked up again.
    pub(super) fn forget_routes(&mut self) {
        self.slots.iter_mut().flatten().for_each(|lane| lane.last_route = None);
    }

    /// Writes down how things stand on the lanes that may have changed, for listings.
    pub(super) fn report(&mut self) {
        for number in std::mem::take(&mut self.changed) {
            if let Some(lane) = self.slots.get_mut(usize::from(number.0)).and_then(|slot| slot.as_deref_mut()) {
                lane.report();
            }
        }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Lane<S>> {
        self.slots.iter().flatten().map(|lane| &**lane)
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Box<Lane<S>>> + use<S> {
        self.confirming.clear();
        std::mem::take(&mut self.slots).into_iter().flatten()
    }
}

#[inline]
fn note<S>(changed: &mut Vec<LaneNumber>, lane: &mut Lane<S>) {
    if !std::mem::replace(&mut lane.is_changed, true) {
        changed.push(lane.number);
    }
}
