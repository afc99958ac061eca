//! What a journal that rests gives back.
//!
//! Journal files are kept for what comes next as long as something comes. When hardly anything does, those that hold nothing of use are
//! retired before the journal is full, and of those that are ready only as many stay as always must.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::ids::JournalPosition;

use crate::shared::Shared;

/// What is alive may be so much of the files that are retired for its sake: it has to be written to a segment.
const ALIVE_SHARE: u64 = 8;

/// Whether the journal rests.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    appended_then: AtomicU64,
    is_resting: AtomicBool,
}

impl Rest {
    /// Looks how much has been appended since the last look: little, if it was less than `len`. Two looks in a row are needed.
    fn look(&self, appended: JournalPosition, len: u64) -> bool {
        let before = self.appended_then.swap(appended.0, Ordering::Relaxed);
        let is_resting = appended.0 - before < len;
        self.is_resting.store(is_resting, Ordering::Relaxed);
        is_resting
    }
}

impl Shared {
    /// Looks whether the journal rests, and has given back what it does not need then. Called from time to time.
    pub(crate) fn trim_disk(&self) {
        let is_resting = self.rest.look(self.journal.appended(), self.options.journal.file_len);
        // As long as a checkpoint is being made there is no need to ask for one.
        let Some(checkpointer) = self.checkpointer.try_lock() else { return };
        let retired_to = checkpointer.current().position;
        drop(checkpointer);
        if is_resting && (self.journal.has_surplus() || self.retirable_at_rest(retired_to).is_some()) {
            self.signals.retire.raise();
        }
    }

    /// Where the journal, which is retired to a position, may be retired to because it rests.
    pub(crate) fn retirable_at_rest(&self, retired_to: JournalPosition) -> Option<JournalPosition> {
        if !self.rest.is_resting.load(Ordering::Relaxed) {
            return None;
        }
        let files = self.journal.closed_files();
        let end = files.last()?.end;
        let used_len: u64 = files.iter().map(|file| file.used_len).sum();
        (end > retired_to && self.memory.budget().movable_len() < used_len / ALIVE_SHARE).then_some(end)
    }

    /// Lets go of files that are ready and not needed while the journal rests.
    pub(crate) fn remove_surplus_at_rest(&self) {
        if self.rest.is_resting.load(Ordering::Relaxed) {
            self.journal.remove_surplus();
        }
    }
}
