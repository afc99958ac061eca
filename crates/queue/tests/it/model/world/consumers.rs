//! Consumers come, go, and have room again.

use ::queue::{ConsumeError, Consumer, ConsumerId};

use super::World;
use crate::fixture::Door;
use crate::model::expectation::Taker;

impl World {
    pub(super) fn consume(&mut self, consumer: Consumer<Door>, times: u32) {
        let taken = self.model.consumers.values().any(|taker| taker.consumer.exclusive);
        let is_first = self.model.consumers.is_empty() && !self.model.is_single_active;
        let is_refused = taken || consumer.exclusive && !is_first;
        match self.queue.consume(Consumer { gate: consumer.gate.clone(), ..consumer }) {
            Ok(id) => {
                assert!(!is_refused);
                let priority = consumer.priority;
                let door = consumer.gate.clone();
                let taker = Taker { consumer, door, times, unacked: 0, is_parked: false };
                assert!(self.model.consumers.insert(id, taker).is_none(), "an id was given out twice");
                self.model.arrivals.push(id);
                if self.model.is_single_active {
                    self.model.choose_active();
                } else {
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

    pub(super) fn cancel(&mut self, which: u8) {
        let Some(id) = self.which_consumer(which) else { return };
        assert!(self.queue.cancel(id).is_some());
        assert!(self.queue.cancel(id).is_none());
        self.model.consumers.remove(&id);
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
