//! What a journal asks of the member that replicates it, and tells it. A journal that is not replicated has none of this.

use std::sync::Arc;

use consensus::LogId;
use model::ids::JournalPosition;

use super::entry::SharedCommit;

/// The member, as its journal's writer sees it. Both are called by the thread that writes, which holds no lock.
pub trait Replication: Send + Sync {
    /// The writer is about to write this commit, which was appended here: its place in the log, directly behind the commit before. A
    /// commit is asked for once, however often it is written. `None`: this member does not lead, and the journal fails.
    fn propose(&self, commit: Arc<SharedCommit>) -> Option<LogId>;

    /// Everything before is on this disk.
    fn flushed(&self, position: JournalPosition);
}
