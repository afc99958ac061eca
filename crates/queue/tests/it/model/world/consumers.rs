//! Consumers come, go, grant credit, and have room again.

use std::collections::BTreeSet;

use ::queue::{ConsumeError, Consumer, ConsumerId, DrainedCredit, Grant};

use super::World;
use crate::fixture::Door;
use crate::model::expectation::{Model, Taker};

impl Model {
    /// A consumer that can take messages may no longer be able to, or the other way round.
    fn credit_changed(&mut self, id: ConsumerId, had_credit: bool) {
        let is_active = !self.is_single_active || self.active == Some(id);
        let taker = self.consumers.get_mut(&id).unwrap();
        let turns = self.turns.entry(taker.consumer.priority).or_default();
        match (had_credit, taker.has_credit()) {
            (true, false) => {
                taker.is_parked = false;
                turns.retain(|other| *other != id);
            }
            (false, true) if is_active => turns.push(id),
            _ => {}
        }
    }

    /// What a drain of this consumer has to do after a dispatch: to end, to go on, or either.
    fn drain_after_dispatch(&self, id: ConsumerId, is_loading: bool) -> Option<bool> {
        let taker = &self.consumers[&id];
        let is_served = !self.is_single_active || self.active == Some(id);
        if !taker.has_credit() || !is_served || self.ready.is_empty() {
            return Some(true);
        }
        let mut usable = self.ready.iter().filter(|seq| self.header.is_none() || self.is_for(**seq, id));
        // Those that waited when the process ended are found to wait on when it is their turn.
        if usable.clone().any(|seq| !self.waits_again.contains_key(seq)) {
            return Some(false);
        }
        match usable.next() {
            None if taker.is_parked => Some(false),
            None if !is_loading => Some(true),
            _ => None,
        }
    }
}

impl World {
    /// After a dispatch drains have ended, each with all that was left.
    pub(super) fn end_drains(&mut self, mut drained: Vec<DrainedCredit>, is_loading: bool) {
        self.model.tidy_groups();
        let before: Vec<_> = drained.drain(..self.model.drained.len()).collect();
        assert_eq!(before, std::mem::take(&mut self.model.drained));
        let ended: BTreeSet<_> = drained.iter().map(|drained| drained.consumer).collect();
        assert_eq!(ended.len(), drained.len(), "a drain ended twice");
        for (id, taker) in self.model.consumers.iter().filter(|(_, taker)| taker.is_draining()) {
            let expected = self.model.drain_after_dispatch(*id, is_loading);
            let has_ended = ended.contains(id);
            assert!(expected.is_none_or(|expected| expected == has_ended), "{id:?} ended: {has_ended}, {taker:?}");
        }
        for drained in drained {
            let taker = self.model.consumers.get_mut(&drained.consumer).unwrap();
            let had_credit = taker.has_credit();
            assert_eq!(drained, taker.end_drain(drained.consumer));
            self.model.credit_changed(drained.consumer, had_credit);
        }
    }

    pub(super) fn consume(&mut self, consumer: Consumer<Door>, times: u32) {
        let taken = self.model.consumers.values().any(|taker| taker.consumer.exclusive);
        let is_first = self.model.consumers.is_empty() && !self.model.is_single_active;
        let is_refused = taken || consumer.exclusive && !is_first;
        match self.queue.consume(Consumer { gate: consumer.gate.clone(), ..consumer }) {
            Ok(id) => {
                assert!(!is_refused);
                let priority = consumer.priority;
                let taker = Taker::new(consumer, times);
                let has_credit = taker.has_credit();
                assert!(self.model.consumers.insert(id, taker).is_none(), "an id was given out twice");
                self.model.arrivals.push(id);
                if self.model.is_single_active {
                    self.model.choose_active();
                } else if has_credit {
                    self.model.turns.entry(priority).or_default().push(id);
                }
            }
            Err(ConsumeError::InExclusiveUse) => assert!(is_refused),
        }
    }

    fn which_consumer(&self, which: u8) -> Option<ConsumerId> {
        let mut ids: Vec<_> = self.model.consumers.keys().copied().collect();
        ids.sort_unstable();
        (!ids.is_empty()).then(|| ids[usize::from(which) % ids.len()])
    }

    pub(super) fn grant(&mut self, which: u8, ahead: i64, is_draining: bool) {
        let Some(id) = self.which_consumer(which) else { return };
        let taker = self.model.consumers.get_mut(&id).unwrap();
        let had_credit = taker.has_credit();
        let Some(count) = taker.grants.as_ref().map(|grants| taker.delivered + grants.drained) else {
            assert!(!self.queue.grant(id, Grant { limit: 1, is_draining }));
            return;
        };
        let limit = taker.count(count.wrapping_add_signed(ahead));
        assert!(self.queue.grant(id, Grant { limit, is_draining }));
        if let Some(grants) = &mut taker.grants {
            grants.granted = count + ahead.max(0).cast_unsigned();
            grants.is_draining = is_draining;
        }
        let is_served = !self.model.is_single_active || self.model.active == Some(id);
        let is_over = is_draining && (!taker.has_credit() || !is_served);
        self.model.drained.extend(is_over.then(|| taker.end_drain(id)));
        self.model.credit_changed(id, had_credit);
    }

    pub(super) fn cancel(&mut self, which: u8) {
        let Some(id) = self.which_consumer(which) else { return };
        assert!(self.queue.cancel(id).is_some());
        assert!(self.queue.cancel(id).is_none());
        self.model.consumers.remove(&id);
        self.model.drained.retain(|drained| drained.consumer != id);
        self.model.turns.values_mut().for_each(|turns| turns.retain(|other| *other != id));
        self.model.arrivals.retain(|other| *other != id);
        if self.model.active == Some(id) {
            self.model.active = None;
            self.model.choose_active();
        }
        assert_eq!(self.queue.active_consumer(), self.model.active);
        if self.model.consumers.is_empty() {
            self.give_up_loads(|_| true);
        }
    }

    pub(super) fn open(&mut self, which: u8, times: u32) {
        let Some(id) = self.which_consumer(which) else { return };
        let taker = self.model.consumers.get_mut(&id).unwrap();
        taker.door.set(times);
        taker.times = times;
        self.queue.resume(id);
        if std::mem::take(&mut taker.is_parked) {
            self.model.turns.entry(taker.consumer.priority).or_default().push(id);
        }
    }
}
