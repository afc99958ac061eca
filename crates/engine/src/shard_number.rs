//! Which shard a queue, or what is locked like one, lives in.

use model::ids::QueueId;

use crate::limits::SHARD_COUNT;

/// The number of the shard, for ever.
#[inline]
pub fn shard_of(id: QueueId) -> usize {
    // Ids are given out in sequence: neighbours go to different shards.
    id.0 as usize & (SHARD_COUNT - 1)
}

/// Its bit, for locking several.
#[inline]
pub(crate) fn shard_bit(id: QueueId) -> u64 {
    1 << shard_of(id)
}
