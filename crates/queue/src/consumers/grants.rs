//! Consumers grant credit, and drain it.

use std::collections::BTreeSet;

use super::{Activity, ConsumerId, Consumers, Gate};
use crate::credit::{Credit, Grant};

/// A drain has ended: all that its consumer had granted is used or given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainedCredit {
    /// The consumer.
    pub consumer: ConsumerId,
    /// How much is given back; 0: all of it was used.
    pub count: u32,
    /// The delivery count after it. What is given back counts as delivered, so `count` less were.
    pub delivery_count: u32,
}

/// The drains of a queue's consumers.
#[derive(Debug, Default)]
pub(super) struct Drains {
    going_on: BTreeSet<ConsumerId>,
    /// Those that have ended since the last dispatch.
    ended: Vec<DrainedCredit>,
}

impl<G: Gate> Consumers<G> {
    /// A consumer that was not to get anything is to get messages from now on, if it has credit. It is not counted as idle.
    pub(super) fn admit(&mut self, id: ConsumerId) {
        let Some(entry) = self.entry_mut(id) else { return };
        if entry.consumer.credit.has_room() {
            self.enter_ring(id);
        } else {
            entry.activity = Activity::OutOfCredit;
            self.idle_count += 1;
        }
    }

    /// A consumer grants credit. False if it is not one that does.
    pub(crate) fn grant(&mut self, id: ConsumerId, grant: Grant) -> bool {
        let Some(entry) = self.entry_mut(id).filter(|entry| entry.consumer.credit.is_granted()) else { return false };
        entry.consumer.credit.grant(grant);
        let (activity, has_room) = (entry.activity, entry.consumer.credit.has_room());
        match activity {
            Activity::OutOfCredit if has_room => {
                self.idle_count -= 1;
                self.enter_ring(id);
            }
            Activity::InRing | Activity::GateClosed if !has_room => self.exhaust(id.index),
            _ => {}
        }
        if grant.is_draining {
            self.drains.get_or_insert_default().going_on.insert(id);
            self.end_drain_if(id, |credit| !credit.has_room() || activity == Activity::Waiting);
        } else if let Some(drains) = &mut self.drains {
            drains.going_on.remove(&id);
        }
        true
    }

    /// A consumer no longer has credit, but for being handed a message.
    fn exhaust(&mut self, index: u32) {
        let before = std::mem::replace(&mut self.link(index).activity, Activity::OutOfCredit);
        self.idle_count += 1;
        if before == Activity::InRing {
            self.leave_ring(index);
        }
    }

    /// Ends the running drains of those consumers for which `is_over` holds, by whether they are in turn.
    pub(crate) fn end_drains(&mut self, is_over: impl Fn(bool) -> bool) {
        let Some(drains) = &self.drains else { return };
        let is_in_turn = |id: &ConsumerId| self.entry(*id).is_some_and(|entry| entry.activity == Activity::InRing);
        let over: Vec<ConsumerId> = drains.going_on.iter().copied().filter(|id| is_over(is_in_turn(id))).collect();
        over.into_iter().for_each(|id| self.end_drain(id.index));
    }

    /// Appends the drains that have ended to `ended`. Says whether others go on.
    pub(crate) fn report_drains(&mut self, ended: &mut Vec<DrainedCredit>) -> bool {
        let Some(drains) = &mut self.drains else { return false };
        ended.append(&mut drains.ended);
        if drains.going_on.is_empty() {
            self.drains = None;
        }
        self.drains.is_some()
    }

    /// Ends the drain of a consumer, if there is one and nothing is left.
    pub(crate) fn end_drain_if_used_up(&mut self, id: ConsumerId) {
        self.end_drain_if(id, |credit| !credit.has_room());
    }

    /// Ends the drain of a consumer, if there is one and this holds.
    pub(super) fn end_drain_if(&mut self, id: ConsumerId, is_over: impl FnOnce(&Credit) -> bool) {
        let credit = self.entry(id).map(|entry| &entry.consumer.credit);
        if credit.is_some_and(|credit| credit.is_draining() && is_over(credit)) {
            self.end_drain(id.index);
        }
    }

    /// What is left of a consumer's credit is given back.
    #[cold]
    fn end_drain(&mut self, index: u32) {
        if matches!(self.link(index).activity, Activity::InRing | Activity::GateClosed) {
            self.exhaust(index);
        }
        let entry = self.link(index);
        let (consumer, credit) = (entry.id, &mut entry.consumer.credit);
        let count = credit.end_drain();
        let delivery_count = credit.delivery_count();
        let drains = self.drains.get_or_insert_default();
        drains.going_on.remove(&consumer);
        drains.ended.push(DrainedCredit { consumer, count, delivery_count });
    }

    /// A consumer leaves.
    pub(super) fn forget_drain(&mut self, id: ConsumerId) {
        if let Some(drains) = &mut self.drains {
            drains.going_on.remove(&id);
            drains.ended.retain(|ended| ended.consumer != id);
        }
    }
}
