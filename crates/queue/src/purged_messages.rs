//! What a purge takes out of a queue.

use model::ids::QueueSeq;

use crate::ranges::PagedRange;

/// Messages that a purge took out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgedMessages<M> {
    /// Those that were in memory, in no order.
    pub messages: Vec<(QueueSeq, M)>,
    /// Those that were only in segments: all that is alive in these slots.
    pub ranges: Vec<PagedRange>,
    /// What the queue still has, by rising seq: the ranges' seqs may go around it.
    pub kept: Vec<QueueSeq>,
}

impl<M> Default for PurgedMessages<M> {
    fn default() -> Self {
        PurgedMessages { messages: Vec::new(), ranges: Vec::new(), kept: Vec::new() }
    }
}
