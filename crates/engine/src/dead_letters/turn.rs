//! How much one thread republishes before it returns to its own work.

use crate::limits::{TURN_BATCH_COUNT, TURN_LEN, TURN_MESSAGE_COUNT};

/// What a thread may still republish at the end of its work.
#[derive(Debug)]
pub(crate) struct Turn {
    left_batch_count: usize,
    left_message_count: usize,
    left_len: u64,
}

impl Turn {
    pub(crate) fn begin() -> Self {
        Self { left_batch_count: TURN_BATCH_COUNT, left_message_count: TURN_MESSAGE_COUNT, left_len: TURN_LEN }
    }

    /// So many messages, of so many bytes, are republished together.
    pub(super) fn spend(&mut self, message_count: usize, len: u64) {
        self.left_batch_count = self.left_batch_count.saturating_sub(1);
        self.left_message_count = self.left_message_count.saturating_sub(message_count);
        self.left_len = self.left_len.saturating_sub(len);
    }

    pub(super) fn is_over(&self) -> bool {
        self.left_batch_count == 0 || self.left_message_count == 0 || self.left_len == 0
    }
}
