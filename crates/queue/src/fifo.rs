//! Messages in memory, in the order of their seqs: appended at the back, taken from the front.
//!
//! A deque of blocks rather than one deque: a backlog that grows to millions under a shard's lock must not copy what it
//! already holds, and a drained one gives its memory back block by block.

use std::collections::VecDeque;

use model::ids::QueueSeq;

use crate::limits::{FIFO_BLOCK_LEN, FIFO_KEPT_LEN};

/// A ready message in memory.
#[derive(Debug)]
pub(crate) struct Entry<M> {
    pub(crate) seq: QueueSeq,
    pub(crate) message: M,
}

/// No block but the last may be empty, and the last only when it is the only one.
#[derive(Debug)]
pub(crate) struct Fifo<M> {
    blocks: VecDeque<VecDeque<Entry<M>>>,
}

impl<M> Fifo<M> {
    pub(crate) fn new() -> Self {
        Fifo { blocks: VecDeque::new() }
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Entry<M>> {
        self.blocks.front()?.front()
    }

    #[inline]
    pub(crate) fn push_back(&mut self, entry: Entry<M>) {
        match self.blocks.back_mut() {
            Some(block) if block.len() < FIFO_BLOCK_LEN => block.push_back(entry),
            _ => self.push_block(entry),
        }
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<Entry<M>> {
        let block = self.blocks.front_mut()?;
        let entry = block.pop_front();
        if block.is_empty() {
            self.drop_empty_block(0);
        }
        entry
    }

    /// Takes one message out, usually the front or near it.
    pub(crate) fn remove(&mut self, seq: QueueSeq) -> Option<M> {
        if self.front()?.seq == seq {
            return self.pop_front().map(|entry| entry.message);
        }
        let at = self.block_of(seq)?;
        let block = &mut self.blocks[at];
        let found = block.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
        let entry = block.remove(found)?;
        if block.is_empty() {
            self.drop_empty_block(at);
        }
        Some(entry.message)
    }

    /// The first seq greater than `seq`.
    pub(crate) fn first_after(&self, seq: QueueSeq) -> Option<QueueSeq> {
        let at = self.block_of(seq).unwrap_or(0);
        self.blocks.range(at.min(self.blocks.len())..).take(2).find_map(|block| {
            let found = block.partition_point(|entry| entry.seq <= seq);
            block.get(found).map(|entry| entry.seq)
        })
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry<M>> {
        self.blocks.iter().flatten()
    }

    /// Empties the fifo into `out`.
    pub(crate) fn drain_into(&mut self, out: &mut Vec<(QueueSeq, M)>) {
        out.extend(std::mem::take(&mut self.blocks).into_iter().flatten().map(|entry| (entry.seq, entry.message)));
    }

    /// The block that holds `seq` if any does.
    fn block_of(&self, seq: QueueSeq) -> Option<usize> {
        self.blocks.partition_point(|block| block.front().is_some_and(|entry| entry.seq <= seq)).checked_sub(1)
    }

    #[cold]
    fn push_block(&mut self, entry: Entry<M>) {
        // The first block starts small; whoever fills it will fill the next one too.
        let mut block = if self.blocks.is_empty() { VecDeque::new() } else { VecDeque::with_capacity(FIFO_BLOCK_LEN) };
        block.push_back(entry);
        self.blocks.push_back(block);
    }

    fn drop_empty_block(&mut self, at: usize) {
        if self.blocks.len() > 1 {
            self.blocks.remove(at);
            if self.blocks.len() * 8 < self.blocks.capacity() {
                self.blocks.shrink_to(self.blocks.len() * 2);
            }
            return;
        }
        if self.blocks[0].capacity() > FIFO_KEPT_LEN {
            self.blocks = VecDeque::new();
        }
    }
}
