//! A connection's consumers and getters: what a delivery's tag leads back to.

use std::sync::Arc;

use queue::ConsumerId;

use crate::statistics::ConsumerCounters;
use engine::queue_handle::QueueHandle;
use engine::shard::Parked;

/// One consumer, or the `basic.get`s of one channel on one queue.
#[derive(Debug)]
pub(crate) struct ConsumerSlot {
    pub(crate) channel: u16,
    pub(crate) queue: Arc<QueueHandle>,
    /// `None` for `basic.get`.
    pub(crate) consumer: Option<ConsumerId>,
    pub(crate) tag: Box<[u8]>,
    pub(crate) no_ack: bool,
    /// False once it was cancelled; it stays for its unacked deliveries.
    pub(crate) is_live: bool,
    /// Its queue has taken back what it holds: settling that means nothing.
    pub(crate) is_void: bool,
    pub(crate) unacked_count: u32,
    pub(crate) is_parked: Parked,
    pub(crate) counters: Arc<ConsumerCounters>,
}

/// All of them, by a number that is reused only when nothing refers to it any more.
#[derive(Debug, Default)]
pub(crate) struct ConsumerSlots {
    slots: Vec<Option<ConsumerSlot>>,
    free: Vec<u32>,
}

impl ConsumerSlots {
    /// Puts a link in and gives its number.
    pub(crate) fn insert(&mut self, link: ConsumerSlot) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = Some(link);
                number
            }
            None => {
                self.slots.push(Some(link));
                (self.slots.len() - 1) as u32
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&ConsumerSlot> {
        self.slots.get(number as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut ConsumerSlot> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    /// Forgets the link if it is neither live nor has unacked deliveries.
    pub(crate) fn tidy(&mut self, number: u32) {
        let is_done = self.get(number).is_some_and(|link| !link.is_live && link.unacked_count == 0);
        if is_done {
            self.slots[number as usize] = None;
            self.free.push(number);
        }
    }

    /// All links with their numbers, those from `start` on first.
    pub(crate) fn from(&self, start: usize) -> impl Iterator<Item = (u32, &ConsumerSlot)> {
        let (before, after) = self.slots.split_at(start.min(self.slots.len()));
        let numbers = (before.len() as u32..).zip(after).chain((0..).zip(before));
        numbers.filter_map(|(number, link)| Some((number, link.as_ref()?)))
    }

    /// All links with their numbers.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut ConsumerSlot)> {
        self.slots.iter_mut().enumerate().filter_map(|(number, link)| Some((number as u32, link.as_mut()?)))
    }
}
