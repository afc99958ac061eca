//! What is known of an exchange's keys without their lock.

use std::sync::Arc;

use model::ids::QueueId;
use telemetry::Counter;

use crate::shard_number::{shard_bit, shard_of};

/// The keys of an exchange that drops duplicates. It may outlive them.
#[derive(Debug)]
pub struct ExchangeKeys {
    /// Which shard they are in, and where there.
    pub(crate) id: QueueId,
    /// Which header holds a message's key.
    pub(crate) header: Arc<str>,
    /// Messages that were dropped.
    pub deduplicated: Counter,
}

impl ExchangeKeys {
    /// The number of its shard.
    #[inline]
    pub(crate) fn shard(&self) -> usize {
        shard_of(self.id)
    }

    /// The bit of its shard, for locking several.
    #[inline]
    pub fn shard_bit(&self) -> u64 {
        shard_bit(self.id)
    }
}
