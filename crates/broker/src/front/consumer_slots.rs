//! A connection's consumers and getters: what a delivery's tag leads back to.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use queue::ConsumerId;

use crate::connections::ConsumerHandle;
use crate::statistics::ConsumerCounters;
use engine::lane::LaneNumber;
use engine::queue_handle::QueueHandle;
use engine::shard::Parked;

/// One consumer, or the `basic.get`s of one lane on one queue.
#[derive(Debug)]
pub(super) struct ConsumerSlot {
    pub(super) lane: LaneNumber,
    pub(super) queue: Arc<QueueHandle>,
    /// `None` for `basic.get`.
    pub(super) consumer: Option<ConsumerId>,
    pub(super) tag: Box<[u8]>,
    pub(super) no_ack: bool,
    /// False once it was cancelled; it stays for its unacked deliveries.
    pub(super) is_live: bool,
    /// Its queue has taken back what it holds: settling that means nothing.
    pub(super) is_void: bool,
    pub(super) unacked_count: u32,
    pub(super) is_parked: Parked,
    pub(super) counters: Arc<ConsumerCounters>,
}

/// What each consumer takes beside its place among the others: what listings know of it, its tag, its counters.
const CONSUMER_LEN: usize =
    size_of::<ConsumerHandle>() + size_of::<ConsumerCounters>() + size_of::<ConsumerSlot>() + 64;

/// All of them, by a number that is reused only when nothing refers to it any longer.
#[derive(Debug, Default)]
pub(super) struct ConsumerSlots {
    slots: Vec<Option<ConsumerSlot>>,
    free: Vec<u32>,
    /// Which is the first to be resumed when there is room.
    resume_from: usize,
}

impl ConsumerSlots {
    /// Bytes that they take.
    pub(super) fn memory_len(&self) -> usize {
        self.slots.iter().flatten().count() * CONSUMER_LEN + self.slots.capacity() * size_of::<Option<ConsumerSlot>>()
    }

    /// Puts a slot in and gives its number.
    pub(super) fn insert(&mut self, slot: ConsumerSlot) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = Some(slot);
                number
            }
            None => {
                self.slots.push(Some(slot));
                (self.slots.len() - 1) as u32
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&ConsumerSlot> {
        self.slots.get(number as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut ConsumerSlot> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    /// Forgets the slot if it is neither live nor has unacked deliveries.
    pub(super) fn tidy(&mut self, number: u32) {
        let is_done = self.get(number).is_some_and(|slot| !slot.is_live && slot.unacked_count == 0);
        if is_done {
            self.slots[number as usize] = None;
            self.free.push(number);
        }
    }

    /// Calls `resume` with each consumer that is parked, which it is no longer. The first one takes what it can get: each time it is
    /// another's turn to be the first.
    pub(super) fn resume_parked(&mut self, mut resume: impl FnMut(&QueueHandle, ConsumerId)) {
        let start = std::mem::take(&mut self.resume_from);
        let (before, after) = self.slots.split_at(start.min(self.slots.len()));
        for (index, slot) in (before.len()..).zip(after).chain((0..).zip(before)) {
            let Some(slot) = slot.as_ref().filter(|slot| slot.is_live) else { continue };
            let Some(consumer) = slot.consumer else { continue };
            if !slot.is_parked.swap(false, Ordering::SeqCst) {
                continue;
            }
            if self.resume_from == 0 {
                self.resume_from = index + 1;
            }
            resume(&slot.queue, consumer);
        }
    }

    /// All slots with their numbers.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut ConsumerSlot)> {
        self.slots.iter_mut().enumerate().filter_map(|(number, slot)| Some((number as u32, slot.as_mut()?)))
    }
}
