//! Whose turn it is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which publisher is to be asked when.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Time, number, publisher: the number keeps those of the same time in turn.
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    count: u64,
}

impl Turns {
    pub(super) fn push(&mut self, at: u64, index: usize) {
        self.heap.push(Reverse((at, self.count, index)));
        self.count += 1;
    }

    pub(super) fn next_at(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<usize> {
        self.heap.pop().map(|Reverse((_, _, index))| index)
    }
}
