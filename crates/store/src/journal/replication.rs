//! What a journal asks of the member that replicates it, and reports to it. A journal that is not replicated has none of this.

use std::sync::Arc;
use std::time::Instant;

use consensus::LogId;
use model::ids::JournalPosition;

use super::entry::SharedCommit;
use super::format::Layout;
use super::watch::{DiskOperation, DiskWatch, Watched};

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

/// The member that numbers commits and reports what is committed; nothing if the node is alone.
pub(crate) struct Replicator(Option<Arc<dyn Replication>>);

impl Replicator {
    pub(crate) fn new(replication: Option<Arc<dyn Replication>>) -> Replicator {
        Replicator(replication)
    }

    pub(crate) fn get(&self) -> Option<&dyn Replication> {
        self.0.as_deref()
    }

    /// How what is written is laid out.
    pub(crate) fn layout(&self) -> Layout {
        if self.0.is_some() { Layout::Replicated } else { Layout::Alone }
    }

    /// Whether commits are appended here, and others have them, too.
    pub(crate) fn is_leaders(&self) -> bool {
        self.get().is_some_and(Replication::is_leaders)
    }

    /// Whether the next commit has to wait until others have more. They may wait for what is not synced here.
    pub(crate) fn must_wait(&self) -> bool {
        self.get().is_some_and(Replication::must_wait)
    }

    /// An operation begins for which the member's promises wait, and ends when this is dropped.
    pub(crate) fn watch(&self, operation: DiskOperation) -> Option<Watched<'_>> {
        Some(self.get()?.watch()?.begin(operation, Instant::now()))
    }
}
