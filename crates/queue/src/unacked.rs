//! Messages that were handed out and wait for their settlement.
//!
//! ```text
//! blocks   │ first seq, live │ slot slot slot … │   of first deliveries: appended in seq order, settled in any
//! again    seq → message                            of redeliveries: few, in any order
//! ```
//!
//! A settled slot is left empty in its block. A block is removed when its last slot is settled; one in the middle leaves a shell (its first
//! seq, without slots), so that random settlements never move the table. Shells are removed when they are the majority.

use std::collections::{BTreeMap, VecDeque};

use model::ids::QueueSeq;

use crate::consumers::ConsumerId;
use crate::limits::{GAP_LOOKS_MAX, UNACKED_BLOCK_LEN, UNACKED_KEPT_LEN};
use crate::message::Message;
use crate::tree_len::tree_len;

/// The holder of a message: a consumer, or a client that took it with get.
pub(crate) type Holder = Option<ConsumerId>;

#[derive(Debug)]
pub(crate) struct Unacked<M> {
    blocks: VecDeque<Block<M>>,
    shell_count: usize,
    again: BTreeMap<QueueSeq, (M, Holder)>,
    /// The highest seq in `blocks`, ever.
    last: QueueSeq,
    count: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Block<M> {
    first: QueueSeq,
    live: usize,
    slots: Vec<Slot<M>>,
}

#[derive(Debug)]
struct Slot<M> {
    seq: QueueSeq,
    message: Option<M>,
    holder: Holder,
}

impl<M: Message> Unacked<M> {
    /// Bytes that it takes beside itself.
    pub(crate) fn memory_len(&self) -> usize {
        let slots = self.blocks.iter().map(|block| block.slots.capacity()).sum::<usize>();
        slots * size_of::<Slot<M>>()
            + self.blocks.capacity() * size_of::<Block<M>>()
            + tree_len::<QueueSeq, (M, Holder)>(self.again.len())
    }

    pub(crate) fn new() -> Self {
        Unacked {
            blocks: VecDeque::new(),
            shell_count: 0,
            again: BTreeMap::new(),
            last: QueueSeq(0),
            count: 0,
            bytes: 0,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) fn insert(&mut self, seq: QueueSeq, message: M, holder: Holder) {
        self.count += 1;
        self.bytes += u64::from(message.len());
        if seq <= self.last {
            self.again.insert(seq, (message, holder));
            return;
        }
        self.last = seq;
        let slot = Slot { seq, message: Some(message), holder };
        match self.blocks.back_mut() {
            Some(block) if block.slots.len() < UNACKED_BLOCK_LEN => {
                if block.slots.is_empty() {
                    block.first = seq;
                }
                block.slots.push(slot);
                block.live += 1;
            }
            _ => self.push_block(slot),
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, seq: QueueSeq) -> Option<(M, Holder)> {
        let removed = match self.take_from_block(seq) {
            None if self.again.is_empty() => None,
            None => self.again.remove(&seq),
            found => found,
        };
        if let Some((message, _)) = &removed {
            self.count -= 1;
            self.bytes -= u64::from(message.len());
            if self.count == 0 {
                self.last = QueueSeq(0);
            }
        }
        removed
    }

    pub(crate) fn get(&self, seq: QueueSeq) -> Option<&M> {
        match self.find(seq) {
            Some((block, slot)) if self.blocks[block].slots[slot].message.is_some() => {
                self.blocks[block].slots[slot].message.as_ref()
            }
            _ => self.again.get(&seq).map(|(message, _)| message),
        }
    }

    pub(crate) fn get_mut(&mut self, seq: QueueSeq) -> Option<&mut M> {
        if let Some((block, slot)) = self.find(seq)
            && self.blocks[block].slots[slot].message.is_some()
        {
            return self.blocks[block].slots[slot].message.as_mut();
        }
        self.again.get_mut(&seq).map(|(message, _)| message)
    }

    /// The holder of a message; `None` if it is not unacked.
    pub(crate) fn holder_of(&self, seq: QueueSeq) -> Option<Holder> {
        if let Some((block, slot)) = self.find(seq)
            && self.blocks[block].slots[slot].message.is_some()
        {
            return Some(self.blocks[block].slots[slot].holder);
        }
        self.again.get(&seq).map(|(_, holder)| *holder)
    }

    /// Whether there is certainly none of the messages that `is_counted` between these two seqs.
    pub(crate) fn is_clear(&self, after: QueueSeq, before: QueueSeq, is_counted: impl Fn(&M) -> bool) -> bool {
        if self.count == 0 || after.next() >= before {
            return true;
        }
        let start = self.block_of(after).unwrap_or(0);
        let in_blocks = self.blocks.range(start.min(self.blocks.len())..).flat_map(|block| {
            let skipped = block.slots.partition_point(|slot| slot.seq <= after);
            block.slots[skipped..].iter().map(|slot| (slot.seq, slot.message.as_ref()))
        });
        let again = self.again.range(after.next()..before).map(|(seq, (message, _))| (*seq, Some(message)));
        let mut looks = 0;
        for (seq, message) in again.chain(in_blocks) {
            if seq >= before {
                break;
            }
            looks += 1;
            if looks > GAP_LOOKS_MAX || message.is_some_and(&is_counted) {
                return false;
            }
        }
        true
    }

    /// All of them, first deliveries before redeliveries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (QueueSeq, &M, Holder)> {
        let first = self.blocks.iter().flat_map(|block| &block.slots);
        first
            .filter_map(|slot| slot.message.as_ref().map(|message| (slot.seq, message, slot.holder)))
            .chain(self.again.iter().map(|(seq, (message, holder))| (*seq, message, *holder)))
    }

    /// The first of those that `is_counted`, of as many as are worth a look.
    pub(crate) fn first(&self, is_counted: impl Fn(QueueSeq) -> bool) -> Option<(QueueSeq, &M)> {
        let in_blocks = self.blocks.iter().filter(|block| block.live > 0).flat_map(|block| &block.slots);
        let in_blocks = in_blocks.filter_map(|slot| Some((slot.seq, slot.message.as_ref()?)));
        let again = self.again.iter().map(|(seq, (message, _))| (*seq, message));
        let first = in_blocks.take(GAP_LOOKS_MAX).find(|(seq, _)| is_counted(*seq));
        let again = again.take(GAP_LOOKS_MAX).find(|(seq, _)| is_counted(*seq));
        first.into_iter().chain(again).min_by_key(|(seq, _)| *seq)
    }

    /// Empties the table into `out`.
    pub(crate) fn drain_into(&mut self, out: &mut Vec<(QueueSeq, M)>) {
        let drained = std::mem::replace(self, Unacked::new());
        let slots = drained.blocks.into_iter().flat_map(|block| block.slots);
        out.extend(slots.filter_map(|slot| slot.message.map(|message| (slot.seq, message))));
        out.extend(drained.again.into_iter().map(|(seq, (message, _))| (seq, message)));
    }

    fn take_from_block(&mut self, seq: QueueSeq) -> Option<(M, Holder)> {
        let (at, slot) = self.find(seq)?;
        let is_inner = at > 0 && at + 1 < self.blocks.len();
        let block = &mut self.blocks[at];
        let slot = &mut block.slots[slot];
        let taken = (slot.message.take()?, slot.holder);
        block.live -= 1;
        if block.live == 0 {
            self.drop_dead_block(at);
        } else if is_inner && block.live * 4 <= block.slots.len() {
            // The front block is about to die anyway. Others must not keep a whole block for one message.
            block.slots.retain(|slot| slot.message.is_some());
            block.slots.shrink_to_fit();
        }
        Some(taken)
    }

    #[inline]
    fn find(&self, seq: QueueSeq) -> Option<(usize, usize)> {
        let at = self.block_of(seq)?;
        let block = &self.blocks[at];
        // Seqs ascend by at least one, so a slot is never further than this.
        let furthest = usize::try_from(seq.0 - block.first.0).unwrap_or(usize::MAX);
        if block.slots.get(furthest).is_some_and(|slot| slot.seq == seq) {
            return Some((at, furthest));
        }
        let slots = &block.slots[..furthest.min(block.slots.len())];
        slots.binary_search_by_key(&seq, |slot| slot.seq).ok().map(|slot| (at, slot))
    }

    /// The block that holds `seq` if any does.
    #[inline]
    fn block_of(&self, seq: QueueSeq) -> Option<usize> {
        if self.blocks.front()?.first > seq {
            return None;
        }
        if self.blocks.get(1).is_none_or(|second| second.first > seq) {
            return Some(0);
        }
        Some(self.blocks.partition_point(|block| block.first <= seq) - 1)
    }

    #[cold]
    fn push_block(&mut self, slot: Slot<M>) {
        // The first block starts small; a consumer that fills it will fill the next one too.
        let capacity = if self.blocks.is_empty() { 1 } else { UNACKED_BLOCK_LEN };
        let mut slots = Vec::with_capacity(capacity);
        let first = slot.seq;
        slots.push(slot);
        self.blocks.push_back(Block { first, live: 1, slots });
    }

    fn drop_dead_block(&mut self, at: usize) {
        if at > 0 && at + 1 < self.blocks.len() {
            self.blocks[at].slots = Vec::new();
            self.shell_count += 1;
            if self.shell_count * 2 > self.blocks.len() {
                self.blocks.retain(|block| block.live > 0);
                self.shell_count = 0;
            }
            return;
        }
        while self.blocks.len() > 1 && self.blocks.front().is_some_and(|block| block.live == 0) {
            let block = self.blocks.pop_front();
            self.shell_count -= usize::from(block.is_some_and(|block| block.slots.is_empty()));
        }
        while self.blocks.len() > 1 && self.blocks.back().is_some_and(|block| block.live == 0) {
            let block = self.blocks.pop_back();
            self.shell_count -= usize::from(block.is_some_and(|block| block.slots.is_empty()));
        }
        let [block] = self.blocks.make_contiguous() else { return };
        if block.live == 0 && block.slots.capacity() > UNACKED_KEPT_LEN {
            self.blocks = VecDeque::new();
        } else if block.live == 0 {
            block.slots.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use model::ids::Place;
    use proptest::prelude::*;

    use super::*;

    /// A message that is its own length.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Sized(u32);

    impl Message for Sized {
        fn len(&self) -> u32 {
            self.0
        }

        fn is_journaled(&self) -> bool {
            self.0.is_multiple_of(2)
        }

        fn place(&self) -> Option<Place> {
            None
        }

        fn set_place(&mut self, _place: Place) {}
    }

    fn table(seqs: impl IntoIterator<Item = u64>) -> Unacked<Sized> {
        let mut unacked = Unacked::new();
        for seq in seqs {
            unacked.insert(QueueSeq(seq), Sized(u32::try_from(seq).unwrap()), None);
        }
        unacked
    }

    fn remove_all(unacked: &mut Unacked<Sized>, seqs: impl IntoIterator<Item = u64>) {
        for seq in seqs {
            assert!(unacked.remove(QueueSeq(seq)).is_some());
        }
    }

    /// Slots that fit without another allocation, and blocks.
    fn capacity(unacked: &Unacked<Sized>) -> (usize, usize) {
        (unacked.blocks.iter().map(|block| block.slots.capacity()).sum(), unacked.blocks.capacity())
    }

    #[test]
    fn a_slot_costs_sixteen_bytes_beside_its_message() {
        assert_eq!(size_of::<Slot<(Box<u64>, [u64; 2])>>(), 40);
    }

    #[test]
    fn an_empty_table_gives_its_memory_back() {
        let mut unacked = table(1..=10_000);
        remove_all(&mut unacked, 1..=10_000);
        assert_eq!(capacity(&unacked), (0, 0));
        let mut unacked = table(1..=10_000);
        remove_all(&mut unacked, (1..=10_000).rev());
        assert_eq!(capacity(&unacked), (0, 0));
    }

    #[test]
    fn a_small_prefetch_needs_no_allocation() {
        let mut unacked = table([]);
        for seq in 1..100 {
            unacked.insert(QueueSeq(seq), Sized(1), None);
            assert!(unacked.remove(QueueSeq(seq)).is_some());
            assert!((1..=UNACKED_KEPT_LEN).contains(&capacity(&unacked).0));
        }
    }

    #[test]
    fn an_empty_table_takes_redeliveries_in_blocks_again() {
        let mut unacked = table(1..=10);
        remove_all(&mut unacked, 1..=9);
        unacked.insert(QueueSeq(1), Sized(1), None);
        assert_eq!(unacked.again.len(), 1);
        remove_all(&mut unacked, [1, 10]);
        unacked.insert(QueueSeq(1), Sized(1), None);
        assert_eq!((unacked.again.len(), unacked.blocks.len()), (0, 1));
    }

    #[test]
    fn one_stuck_message_keeps_no_memory_for_those_that_went() {
        let mut unacked = table(1..=100_000);
        remove_all(&mut unacked, 2..=100_000);
        assert!(capacity(&unacked).0 <= 2 * UNACKED_BLOCK_LEN, "{:?}", capacity(&unacked));
        assert!(unacked.blocks.len() <= 3, "{} blocks", unacked.blocks.len());
    }

    #[test]
    fn few_survivors_of_many_take_space_for_few() {
        let mut unacked = table(1..=64_000);
        remove_all(&mut unacked, (1..=64_000).filter(|seq| seq % 64 != 0));
        assert_eq!(unacked.count(), 1000);
        assert!(capacity(&unacked).0 < 8_000, "{:?}", capacity(&unacked));
    }

    #[test]
    fn random_settlements_leave_few_shells() {
        let mut unacked = table(1..=64_000);
        // Whole blocks in the middle, one after the other.
        remove_all(&mut unacked, 6_401..=57_600);
        let live = unacked.blocks.iter().filter(|block| block.live > 0).count();
        assert!(unacked.blocks.len() <= 2 * live + 1, "{} blocks, {live} of them alive", unacked.blocks.len());
    }

    #[test]
    fn a_gap_is_clear_when_all_between_is_settled() {
        let mut unacked = table(1..=300);
        remove_all(&mut unacked, 101..=120);
        let is_clear =
            |unacked: &Unacked<Sized>, after, before| unacked.is_clear(QueueSeq(after), QueueSeq(before), |_| true);
        assert!(is_clear(&unacked, 100, 121));
        assert!(is_clear(&unacked, 7, 8));
        assert!(is_clear(&unacked, 300, 1_000));
        assert!(!is_clear(&unacked, 99, 121));
        assert!(!is_clear(&unacked, 100, 122));
        unacked.insert(QueueSeq(110), Sized(110), None);
        assert!(!is_clear(&unacked, 100, 121));
        assert!(unacked.is_clear(QueueSeq(100), QueueSeq(121), |message| !message.is_journaled()));
    }

    #[test]
    fn a_gap_that_is_long_to_search_counts_as_taken() {
        let unacked = table(1..=1_000);
        assert!(!unacked.is_clear(QueueSeq(1), QueueSeq(1_000), |_| false));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

        /// Against a map: first deliveries append, settlements and redeliveries come in any order.
        #[test]
        fn a_table_does_what_a_map_does(steps in prop::collection::vec((0..4_u8, 0..1_000_u64, 1..200_u64), 1..60)) {
            let mut unacked = table([]);
            let mut expected = BTreeMap::new();
            let mut returned = Vec::new();
            let mut next = 1;
            for (what, at, count) in steps {
                match what {
                    0 | 1 => {
                        for seq in next..next + count {
                            unacked.insert(QueueSeq(seq), Sized(1), None);
                            expected.insert(QueueSeq(seq), Sized(1));
                        }
                        next += count + at % 3;
                    }
                    2 => {
                        let stride = 1 + at % 5;
                        for seq in (at..at + count * stride).step_by(usize::try_from(stride).unwrap()).map(QueueSeq) {
                            let removed = unacked.remove(seq).map(|(message, _)| message);
                            prop_assert_eq!(removed, expected.remove(&seq));
                            returned.extend(removed.map(|_| seq));
                        }
                    }
                    _ => {
                        for seq in returned.drain(..).rev() {
                            unacked.insert(seq, Sized(2), None);
                            expected.insert(seq, Sized(2));
                        }
                    }
                }
                prop_assert_eq!(unacked.count(), expected.len() as u64);
                prop_assert_eq!(unacked.bytes(), expected.values().map(|message| u64::from(message.0)).sum::<u64>());
                let mut found: Vec<_> = unacked.iter().map(|(seq, message, _)| (seq, *message)).collect();
                found.sort_unstable_by_key(|(seq, _)| *seq);
                prop_assert_eq!(found, expected.iter().map(|(seq, message)| (*seq, *message)).collect::<Vec<_>>());
                for seq in (1..next + 2).step_by(7).map(QueueSeq) {
                    prop_assert_eq!(unacked.get_mut(seq).map(|message| *message), expected.get(&seq).copied());
                }
            }
        }
    }
}
