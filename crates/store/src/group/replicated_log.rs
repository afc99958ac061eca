//! The log of a group, as the directory of its member and the store of its leader see it: what drives consensus is not known here.

use std::sync::Arc;

use consensus::{Base, Index, LogId};
use model::ids::JournalPosition;

use super::announcement::Announcement;
use crate::journal::Replication;

/// The log that a majority of nodes has. Threads of the store call these, and may hold the lock of its checkpoints meanwhile: so they call
/// nothing of [`Store`](crate::Store), and only [`ReplicatedLog::wait_for_base`] waits for anything but a lock that is held for a moment.
pub trait ReplicatedLog: Send + Sync {
    /// What the writer of this member's journal asks and reports to: the writer of a leader's store, or of a follower's journal. It must
    /// not keep the log alive, which keeps the journal.
    fn replication(self: Arc<Self>, is_leaders: bool) -> Arc<dyn Replication>;

    /// The last committed entry and where it ends, which a checkpoint may reach.
    fn committed(&self) -> (LogId, JournalPosition);

    /// The entry after which the log begins.
    fn base_index(&self) -> Index;

    /// What a manifest says beside the position at which that entry ends. Waits until the entry is applied here. `None`: this member does
    /// not lead any more.
    fn wait_for_base(&self, index: Index) -> Option<Base>;

    /// Whether a checkpoint of all that is committed is wanted, to be shipped.
    fn is_checkpoint_wanted(&self) -> bool;

    /// A checkpoint is in force: the log begins behind it.
    fn checkpointed(&self, announcement: Announcement);

    /// The journal of this member has failed.
    fn journal_failed(&self);

    /// Bytes of memory of commits that are kept for other members, without chunks.
    fn tail_memory_len(&self) -> usize;
}
