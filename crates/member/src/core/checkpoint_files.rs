//! The files of checkpoints, as a member has them: in force, and fetched.
//!
//! ```text
//!              offer             restore                     restored
//!  Nothing ────────────► Offered ───────► Restoring ───────────────────► Nothing
//!     ▲                     │             nothing else lasts, nothing
//!     └──── begin_pull ─────┘             else is fetched
//! ```
//!
//! Fetched files are *offered* to the engine, which begins with them at the leader's request; from then on they are to come into force in
//! place of all that is here. A checkpoint whose records this member has comes into force without any of this.

use std::sync::Arc;

use consensus::{Index, LogId, ReadyNumber};
use model::ids::JournalPosition;
use store::group::{Announcement, Pulled};

/// Which files are in force, and which may be next.
#[derive(Default)]
pub(super) struct CheckpointFiles {
    fetched: Fetched,
    /// Counts how often files that nothing names were removed: what was fetched before may be among them.
    sweeps: u64,
    in_force: Option<Announcement>,
}

#[derive(Default)]
enum Fetched {
    #[default]
    Nothing,
    Offered(Arc<Pulled>),
    Restoring {
        /// To be acknowledged when they are in force.
        number: ReadyNumber,
        files: Arc<Pulled>,
    },
}

impl CheckpointFiles {
    /// The checkpoint that is in force, for others to fetch.
    pub(super) fn in_force(&self) -> Option<&Announcement> {
        self.in_force.as_ref()
    }

    pub(super) fn set_in_force(&mut self, announcement: Option<Announcement>) {
        self.in_force = announcement;
    }

    /// This member leads, and its log ends there: the checkpoint in force has nothing of what is behind that. How far exactly it reaches is
    /// written down nowhere; a journal that began with it may have ended before when it was opened.
    pub(super) fn note_elected(&mut self, end: JournalPosition) {
        if let Some(announcement) = &mut self.in_force {
            announcement.reached = announcement.reached.max(end);
        }
    }

    /// Files are about to be fetched: what was before is given up. Returns how often files were removed by now. `None`: what was fetched is
    /// about to come into force.
    pub(super) fn begin_pull(&mut self) -> Option<u64> {
        if self.is_restoring() {
            return None;
        }
        self.fetched = Fetched::Nothing;
        Some(self.sweeps)
    }

    /// Files have been fetched. While others are about to come into force the engine would not begin with them.
    pub(super) fn offer(&mut self, files: Arc<Pulled>) {
        if !self.is_restoring() {
            self.fetched = Fetched::Offered(files);
        }
    }

    /// Whether there is something that the engine may begin with.
    pub(super) fn has_offer(&self) -> bool {
        matches!(&self.fetched, Fetched::Offered(files) if self.is_there(files))
    }

    /// Whether what was fetched is still here.
    pub(super) fn is_there(&self, files: &Pulled) -> bool {
        files.sweeps() == self.sweeps
    }

    /// Files that nothing names are about to be removed.
    pub(super) fn note_sweep(&mut self) {
        self.sweeps += 1;
    }

    /// What was offered is to come into force, if it is what the engine begins with: the files.
    pub(super) fn restore(&mut self, number: ReadyNumber, id: &LogId) -> Option<Arc<Pulled>> {
        let Fetched::Offered(files) = &self.fetched else { return None };
        let files = files.clone();
        if files.base().id != *id {
            return None;
        }
        self.fetched = Fetched::Restoring { number, files: files.clone() };
        Some(files)
    }

    pub(super) fn is_restoring(&self) -> bool {
        self.restoring().is_some()
    }

    /// The files that are to come into force.
    pub(super) fn restoring(&self) -> Option<&Arc<Pulled>> {
        if let Fetched::Restoring { files, .. } = &self.fetched { Some(files) } else { None }
    }

    /// They are in force: what to acknowledge, and up to which entry they reach.
    pub(super) fn restored(&mut self) -> Option<(ReadyNumber, Index)> {
        match std::mem::take(&mut self.fetched) {
            Fetched::Restoring { number, files } => Some((number, files.base().id.index)),
            other => {
                self.fetched = other;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;
    use super::*;

    fn offered(files: &mut CheckpointFiles) -> Arc<Pulled> {
        let sweeps = files.begin_pull().expect("nothing comes into force");
        let pulled = Arc::new(Pulled::empty(LogId::new(1, 5), sweeps));
        files.offer(pulled.clone());
        assert!(files.has_offer());
        pulled
    }

    #[test]
    fn what_was_offered_comes_into_force_once() {
        let (mut files, number) = (CheckpointFiles::default(), numbers(1)[0]);
        let pulled = offered(&mut files);
        assert!(files.restore(number, &LogId::new(1, 6)).is_none(), "that is another");
        assert!(files.restore(number, &pulled.base().id).is_some() && files.is_restoring());
        assert_eq!(files.begin_pull(), None);
        files.offer(Arc::new(Pulled::empty(LogId::new(1, 7), 0)));
        assert!(!files.has_offer());
        assert_eq!(files.restored(), Some((number, Index(5))));
        assert_eq!(files.restored(), None);
        assert_eq!(files.begin_pull(), Some(0));
    }

    #[test]
    fn what_was_fetched_before_files_were_removed_is_not_there() {
        let mut files = CheckpointFiles::default();
        let pulled = offered(&mut files);
        files.note_sweep();
        assert!(!files.has_offer() && !files.is_there(&pulled));
        offered(&mut files);
        files.begin_pull();
        assert!(!files.has_offer(), "it is given up");
    }
}
