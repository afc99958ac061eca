//! What a journal asks of the member that replicates it, and tells it. A journal that is not replicated has none of this.

use std::sync::Arc;

use consensus::LogId;
use model::ids::JournalPosition;

use super::entry::SharedCommit;
use super::watch::DiskWatch;

/// The member, as its journal's writer sees it. All are called by threads of the journal, which hold no lock.
pub trait Replication: Send + Sync {
    /// The writer is about to write this commit, which was appended here: its place in the log, directly behind the commit before. A
    /// commit is asked for once, however often it is written. `None`: this member does not lead, and the journal fails. Waits while much
    /// that was proposed before is not committed.
    fn propose(&self, commit: Arc<SharedCommit>) -> Option<LogId>;

    /// Whether [`Replication::propose`] would wait now. What is written must be synced before: others may wait for just that.
    fn must_wait(&self) -> bool {
        false
    }

    /// Everything before is on this disk.
    fn flushed(&self, position: JournalPosition);

    /// Whether commits are appended here: they are begun at a pace then, and synced by a thread that does nothing else. Asked once.
    fn is_leaders(&self) -> bool {
        false
    }

    /// Where it is noted since when the disk is at work.
    fn watch(&self) -> Option<&DiskWatch> {
        None
    }
}
