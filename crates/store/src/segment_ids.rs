//! Numbers for new segments.
//!
//! In a group a segment is the same file on all members, so no two leaders may ever give one number twice. Before a leader uses numbers it
//! puts into the journal up to which it may, as a definition of the store's own, and waits until that is committed. Its successor continues
//! behind that. A store that is alone just counts.

use std::collections::BTreeMap;

use model::ids::{JournalPosition, SegmentId};
use parking_lot::Mutex;

use crate::RecordBatch;
use crate::shared::Shared;
use crate::work_error::WorkError;

/// The definition that says up to where numbers are taken; no definition of a broker begins like this.
const KEY: &[u8] = b"\0segments";
/// So many numbers are taken at once.
const BLOCK_LEN: u32 = 1024;

/// The numbers of a store.
pub(crate) struct SegmentIds {
    next: Mutex<Next>,
    is_of_member: bool,
}

struct Next {
    lasting: u32,
    transient: u32,
    /// Lasting numbers below this may be used once all before `reserved_at` is committed; a member's only.
    reserved: u32,
    reserved_at: JournalPosition,
}

impl SegmentIds {
    /// Continues behind the numbers used: `next` by the existing files, and those that definitions say are taken, which are left out of
    /// them.
    pub(crate) fn resume(next: u32, definitions: &mut BTreeMap<Vec<u8>, Vec<u8>>, is_of_member: bool) -> SegmentIds {
        let taken = definitions.remove(KEY);
        let taken = taken.and_then(|value| value.first_chunk().map(|value| u32::from_le_bytes(*value))).unwrap_or(0);
        let lasting = next.max(taken);
        let next = Next { lasting, transient: 1, reserved: lasting, reserved_at: JournalPosition::START };
        SegmentIds { next: Mutex::new(next), is_of_member }
    }

    /// A number above all that have been given.
    pub(crate) fn next(&self) -> u32 {
        self.next.lock().lasting
    }
}

impl Shared {
    /// The id of a new segment. Of a member's, it may have to wait for the group.
    pub(crate) fn take_id(&self, is_journaled: bool) -> Result<SegmentId, WorkError> {
        let mut next = self.segment_ids.next.lock();
        if !is_journaled {
            next.transient += 1;
            return Ok(SegmentId::transient(next.transient - 1));
        }
        if self.segment_ids.is_of_member && next.lasting >= next.reserved {
            next.reserved = next.lasting + BLOCK_LEN;
            let mut batch = RecordBatch::new();
            batch.put(KEY, &next.reserved.to_le_bytes());
            next.reserved_at = self.checkpoint_delta.append(&self.journal, &mut batch);
        }
        let number = next.lasting;
        next.lasting += 1;
        assert!(number & SegmentId::TRANSIENT_BIT == 0, "segment numbers fit in 31 bits");
        let reserved_at = next.reserved_at;
        drop(next);
        if self.segment_ids.is_of_member {
            self.wait_synced(reserved_at)?;
        }
        Ok(SegmentId(number))
    }
}
