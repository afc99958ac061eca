//! What checkpoints are made from; `make_checkpoint` makes them.

use std::collections::BTreeMap;

use consensus::LogId;
use model::ids::{JournalPosition, QueueId, QueueSeq, SegmentId};

use crate::manifest::ManifestFile;
use crate::queue_owner::{QueueState, Returns};

/// What checkpoints are made from, besides the catalog.
pub(crate) struct Checkpointer {
    pub(crate) manifest: ManifestFile,
    pub(crate) definitions: BTreeMap<Vec<u8>, Vec<u8>>,
    /// As of the last collection, whose records all lie behind the manifest's position.
    pub(crate) queues: Vec<QueueState>,
    pub(crate) returned: Vec<(QueueId, QueueSeq, Returns)>,
    pub(crate) next_number: u64,
    /// Checkpoint files that are not in force, or may not be.
    pub(crate) stale: Vec<u64>,
    /// Segments that are no longer in the catalog; the manifest's checkpoint may still name them.
    pub(crate) doomed: Vec<SegmentId>,
    /// The segments that the manifest's checkpoint names, and their lengths.
    pub(crate) named: Vec<(SegmentId, u64)>,
    pub(crate) pinned: PinnedFiles,
}

/// Files that are being copied: they are not removed, even if nothing names them any more.
#[derive(Default)]
pub(crate) struct PinnedFiles {
    pub(crate) checkpoint: Option<u64>,
    /// Sorted.
    pub(crate) segments: Vec<SegmentId>,
}

impl PinnedFiles {
    pub(crate) fn has_segment(&self, id: SegmentId) -> bool {
        self.segments.binary_search(&id).is_ok()
    }
}

/// The state of the queues, collected after a position was chosen below which everything is in segments.
pub(crate) struct Collection {
    pub(crate) position: JournalPosition,
    /// Of a member's: the entry that ends there.
    pub(crate) entry: Option<LogId>,
    pub(crate) queues: Vec<QueueState>,
    pub(crate) returned: Vec<(QueueId, QueueSeq, Returns)>,
}
