//! A dead letter.

use std::sync::Arc;

use model::ids::QueueSeq;
use queue::{Counts, DropReason};
use store::Content;

use crate::queue_handle::QueueHandle;

/// A message that a queue has given up.
#[derive(Debug)]
pub(crate) struct DeadLetter {
    pub(crate) queue: Arc<QueueHandle>,
    /// Its position, where it is set aside. `None`: it never was in the queue.
    pub(crate) seq: Option<QueueSeq>,
    pub(crate) content: Content,
    pub(crate) reason: DropReason,
    /// How often it had come back to this queue.
    pub(crate) counts: Counts,
}

/// A dead letter that has found no queue, and stays where it is for a while.
#[derive(Debug)]
pub(crate) struct StuckLetter {
    pub(crate) seq: QueueSeq,
    /// When it is tried again, in milliseconds since 1970.
    pub(crate) until_ms: u64,
}
