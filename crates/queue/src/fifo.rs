//! Messages in memory, in the order of their seqs: appended at the back, taken from the front.
//!
//! A deque of blocks rather than one deque: a backlog that grows to millions under a shard's lock must not copy what it
//! already holds, and a drained one gives its memory back block by block.

use std::collections::VecDeque;

use model::ids::QueueSeq;

use crate::limits::{FIFO_BLOCK_LEN, FIFO_KEPT_LEN};

/// A ready message in memory.
#[derive(Debug)]
pub(crate) struct FifoEntry<M> {
    pub(crate) seq: QueueSeq,
    pub(crate) message: M,
}

/// Invariant: no block of `rest` is empty, and `front` is empty only if `rest` is.
#[derive(Debug)]
pub(crate) struct Fifo<M> {
    front: VecDeque<FifoEntry<M>>,
    rest: VecDeque<VecDeque<FifoEntry<M>>>,
}

impl<M> Fifo<M> {
    pub(crate) fn new() -> Self {
        Fifo { front: VecDeque::new(), rest: VecDeque::new() }
    }

    /// Bytes that it takes beside itself.
    pub(crate) fn memory_len(&self) -> usize {
        let blocks = self.front.capacity() + self.rest.iter().map(VecDeque::capacity).sum::<usize>();
        blocks * size_of::<FifoEntry<M>>() + self.rest.capacity() * size_of::<VecDeque<FifoEntry<M>>>()
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&FifoEntry<M>> {
        self.front.front()
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, entry: FifoEntry<M>) {
        // The entry itself is not passed on: it is then written once, where it belongs.
        let block = if self.front.len() < FIFO_BLOCK_LEN && self.rest.is_empty() {
            &mut self.front
        } else if let Some(block) = self.rest.back_mut().filter(|block| block.len() < FIFO_BLOCK_LEN) {
            block
        } else {
            self.open_block()
        };
        block.push_back(entry);
    }

    #[inline(always)]
    pub(crate) fn pop_front(&mut self) -> Option<FifoEntry<M>> {
        let entry = self.front.pop_front();
        if self.front.is_empty() {
            self.refill();
        }
        entry
    }

    /// Takes one message out, usually the front or near it.
    pub(crate) fn remove(&mut self, seq: QueueSeq) -> Option<M> {
        if self.front()?.seq == seq {
            return self.pop_front().map(|entry| entry.message);
        }
        if self.front.back()?.seq >= seq {
            let found = self.front.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
            return self.front.remove(found).map(|entry| entry.message);
        }
        let at = self.block_of(seq)?;
        let block = &mut self.rest[at];
        let found = block.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
        let entry = block.remove(found)?;
        if block.is_empty() {
            self.rest.remove(at);
        }
        Some(entry.message)
    }

    /// One message, wherever it is.
    pub(crate) fn get(&self, seq: QueueSeq) -> Option<&M> {
        self.after(QueueSeq(seq.0.checked_sub(1)?)).filter(|entry| entry.seq == seq).map(|entry| &entry.message)
    }

    /// The first message after this one.
    pub(crate) fn after(&self, seq: QueueSeq) -> Option<&FifoEntry<M>> {
        let first = self.front.front()?;
        if first.seq > seq {
            return Some(first);
        }
        let ends_after = |block: &VecDeque<FifoEntry<M>>| block.back().is_some_and(|entry| entry.seq > seq);
        let block = if ends_after(&self.front) {
            &self.front
        } else {
            self.rest.get(self.rest.partition_point(|block| !ends_after(block)))?
        };
        block.get(block.partition_point(|entry| entry.seq <= seq))
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &FifoEntry<M>> {
        self.front.iter().chain(self.rest.iter().flatten())
    }

    /// Those from a seq on.
    pub(crate) fn iter_from(&self, from: QueueSeq) -> impl Iterator<Item = &FifoEntry<M>> {
        let at = self.block_of(from);
        let rest = self.rest.range(at.unwrap_or(0)..).flatten();
        let front = if at.is_some() { self.front.range(..0) } else { self.front.range(..) };
        front.chain(rest).skip_while(move |entry| entry.seq < from)
    }

    /// Empties the fifo into `out`.
    pub(crate) fn drain_into(&mut self, out: &mut Vec<(QueueSeq, M)>) {
        let drained = std::mem::replace(self, Fifo::new());
        let entries = drained.front.into_iter().chain(drained.rest.into_iter().flatten());
        out.extend(entries.map(|entry| (entry.seq, entry.message)));
    }

    /// The block of `rest` that holds `seq` if any does.
    fn block_of(&self, seq: QueueSeq) -> Option<usize> {
        self.rest.partition_point(|block| block.front().is_some_and(|entry| entry.seq <= seq)).checked_sub(1)
    }

    #[cold]
    fn open_block(&mut self) -> &mut VecDeque<FifoEntry<M>> {
        self.rest.push_back(VecDeque::with_capacity(FIFO_BLOCK_LEN));
        self.rest.back_mut().expect("a block was just added")
    }

    /// The front block has become empty.
    fn refill(&mut self) {
        if let Some(block) = self.rest.pop_front() {
            self.front = block;
            if self.rest.len() * 8 < self.rest.capacity() {
                self.rest.shrink_to(self.rest.len() * 2);
            }
        } else if self.front.capacity() > FIFO_KEPT_LEN {
            *self = Fifo::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fifo of the seqs 1, 3, 5 … and so many of them.
    fn odd(count: u64) -> Fifo<()> {
        let mut fifo = Fifo::new();
        (0..count).for_each(|n| fifo.push_back(FifoEntry { seq: QueueSeq(2 * n + 1), message: () }));
        fifo
    }

    fn seqs(fifo: &Fifo<()>) -> Vec<u64> {
        fifo.iter().map(|entry| entry.seq.0).collect()
    }

    #[test]
    fn an_entry_costs_eight_bytes_beside_its_message() {
        assert_eq!(size_of::<FifoEntry<[u64; 3]>>(), 32);
    }

    #[test]
    fn entries_come_out_in_order_over_all_blocks() {
        let mut fifo = odd(1000);
        for seq in 0..1000 {
            assert_eq!(fifo.front().map(|entry| entry.seq), Some(QueueSeq(2 * seq + 1)));
            assert_eq!(fifo.pop_front().map(|entry| entry.seq), Some(QueueSeq(2 * seq + 1)));
        }
        assert!(fifo.pop_front().is_none());
    }

    #[test]
    fn any_entry_can_be_removed() {
        let mut fifo = odd(1000);
        let mut expected = seqs(&fifo);
        for seq in [1, 3, 1999, 255, 257, 259, 1001] {
            assert!(fifo.remove(QueueSeq(seq)).is_some());
            assert!(fifo.remove(QueueSeq(seq)).is_none());
            assert!(fifo.remove(QueueSeq(seq + 1)).is_none());
            expected.retain(|other| *other != seq);
            assert_eq!(seqs(&fifo), expected);
        }
        for seq in expected.into_iter().rev() {
            assert!(fifo.remove(QueueSeq(seq)).is_some());
        }
        assert!(fifo.front().is_none() && fifo.rest.is_empty());
    }

    #[test]
    fn a_drained_fifo_gives_its_memory_back() {
        let mut fifo = Fifo::new();
        for seq in 0..100_000 {
            fifo.push_back(FifoEntry { seq: QueueSeq(seq), message: [0_u64; 3] });
        }
        while fifo.rest.len() > 1 {
            fifo.pop_front();
        }
        assert!(fifo.rest.capacity() <= 16, "blocks: {}", fifo.rest.capacity());
        while fifo.pop_front().is_some() {}
        assert_eq!((fifo.front.capacity(), fifo.rest.capacity()), (0, 0));
    }

    #[test]
    fn a_trickle_needs_no_allocation() {
        let mut fifo = Fifo::new();
        for seq in 0..100 {
            fifo.push_back(FifoEntry { seq: QueueSeq(seq), message: [0_u64; 3] });
            fifo.pop_front();
            assert!((1..=FIFO_KEPT_LEN).contains(&fifo.front.capacity()));
        }
    }
}
