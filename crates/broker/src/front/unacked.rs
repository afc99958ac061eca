//! Deliveries of a lane that the client has not settled.

use std::collections::VecDeque;

use model::ids::QueueSeq;

/// Deliveries that the client has not settled, in the order of their tags.
///
/// A settled one leaves a tombstone until it reaches the front, or until tombstones are the majority.
#[derive(Debug, Default)]
pub(super) struct Unacked {
    deliveries: VecDeque<UnackedDelivery>,
    dead_count: usize,
}

/// One of them. `slot` is the connection's number of the consumer or getter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnackedDelivery {
    pub(super) tag: u64,
    pub(super) seq: QueueSeq,
    pub(super) slot: u32,
}

const DEAD: u32 = u32::MAX;
const _: () = assert!(size_of::<UnackedDelivery>() == 24);

impl Unacked {
    pub(super) fn push(&mut self, delivery: UnackedDelivery) {
        debug_assert!(self.deliveries.back().is_none_or(|last| last.tag < delivery.tag));
        self.deliveries.push_back(delivery);
    }

    /// How many there is room for.
    pub(super) fn capacity(&self) -> usize {
        self.deliveries.capacity()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.deliveries.len() - self.dead_count
    }

    /// Takes the delivery with this tag.
    pub(super) fn take(&mut self, tag: u64) -> Option<UnackedDelivery> {
        let index = match self.deliveries.front() {
            Some(first) if first.tag == tag => 0,
            _ => self.deliveries.binary_search_by_key(&tag, |delivery| delivery.tag).ok()?,
        };
        let delivery = self.deliveries[index];
        if delivery.slot == DEAD {
            return None;
        }
        self.deliveries[index].slot = DEAD;
        self.dead_count += 1;
        self.tidy();
        Some(delivery)
    }

    /// Takes all up to and including `tag`, all there are for 0. False when `tag` is not among them.
    pub(super) fn take_up_to(&mut self, tag: u64, taken: &mut Vec<UnackedDelivery>) -> bool {
        let end = if tag == 0 {
            self.deliveries.len()
        } else {
            match self.deliveries.binary_search_by_key(&tag, |delivery| delivery.tag) {
                Ok(index) if self.deliveries[index].slot != DEAD => index + 1,
                _ => return false,
            }
        };
        for delivery in self.deliveries.drain(..end) {
            match delivery.slot {
                DEAD => self.dead_count -= 1,
                _ => taken.push(delivery),
            }
        }
        self.tidy();
        true
    }

    fn tidy(&mut self) {
        while self.deliveries.front().is_some_and(|first| first.slot == DEAD) {
            self.deliveries.pop_front();
            self.dead_count -= 1;
        }
        if self.dead_count > 32 && self.dead_count > self.deliveries.len() / 2 {
            self.deliveries.retain(|delivery| delivery.slot != DEAD);
            self.dead_count = 0;
        }
        if self.deliveries.is_empty() && self.deliveries.capacity() > 1024 {
            self.deliveries = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(tag: u64) -> UnackedDelivery {
        UnackedDelivery { tag, seq: QueueSeq(tag), slot: 0 }
    }

    #[test]
    fn unacked_are_taken_once_in_any_order() {
        let mut unacked = Unacked::default();
        (1..=100).for_each(|tag| unacked.push(delivery(tag)));
        for tag in (2..=100).rev() {
            assert_eq!(unacked.take(tag), Some(delivery(tag)));
            assert_eq!(unacked.take(tag), None);
        }
        assert_eq!(unacked.deliveries.len() - unacked.dead_count, 1);
        assert_eq!(unacked.take(1), Some(delivery(1)));
        assert_eq!(unacked.deliveries.len() - unacked.dead_count, 0);
    }

    #[test]
    fn multiple_takes_what_is_left_up_to_the_tag() {
        let mut unacked = Unacked::default();
        (1..=5).for_each(|tag| unacked.push(delivery(tag)));
        unacked.take(2);
        let mut taken = Vec::new();
        assert!(!unacked.take_up_to(9, &mut taken));
        assert!(!unacked.take_up_to(2, &mut taken));
        assert!(unacked.take_up_to(3, &mut taken));
        assert_eq!(taken, [delivery(1), delivery(3)]);
        taken.clear();
        assert!(unacked.take_up_to(0, &mut taken));
        assert_eq!(taken, [delivery(4), delivery(5)]);
    }
}
