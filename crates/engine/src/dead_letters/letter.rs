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
