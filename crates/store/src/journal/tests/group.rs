//! A member of a group as the journal's tests need it, and tests that run for both layouts.

use std::cell::Cell;
use std::sync::{OnceLock, Weak};

use consensus::{Index, LogId, Term};

use super::*;
use crate::journal::shared::Shared;

thread_local! {
    static IS_TESTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether journals that this thread opens are replicated.
pub(super) fn is_tested() -> bool {
    IS_TESTED.get()
}

/// From now on journals that this thread opens are replicated, or not.
pub(super) fn test_replicated(is_replicated: bool) {
    IS_TESTED.set(is_replicated);
}

/// Runs a test for the journal of a node that is alone, then for that of a group.
pub(super) fn in_both_layouts(test: impl Fn()) {
    for is_replicated in [false, true] {
        test_replicated(is_replicated);
        test();
    }
    test_replicated(false);
}

/// Numbers commits, and calls committed what is flushed, unless it is to wait.
pub(super) struct Group {
    last: Mutex<LogId>,
    pub(super) leads: Mutex<bool>,
    pub(super) commits_at_once: Mutex<bool>,
    pub(super) must_wait: Mutex<bool>,
    pub(super) proposed: Mutex<Vec<Arc<SharedCommit>>>,
    pub(super) flushed: Mutex<Vec<JournalPosition>>,
    journal: OnceLock<Weak<Shared>>,
}

impl Group {
    /// A leader that continues behind what was found.
    pub(super) fn after(recovery: &Recovery) -> Arc<Group> {
        let unproven = recovery.end.iter().flat_map(|end| &end.unproven).filter_map(|(_, commit)| commit.id()).max();
        let proven = recovery.files.iter().filter_map(|file| file.last).max();
        let last = unproven.max(proven).unwrap_or(LogId::new(1, 1));
        Arc::new(Group {
            last: Mutex::new(last),
            leads: Mutex::new(true),
            commits_at_once: Mutex::new(true),
            must_wait: Mutex::new(false),
            proposed: Mutex::default(),
            flushed: Mutex::default(),
            journal: OnceLock::new(),
        })
    }

    pub(super) fn join(&self, writer: &Writer) {
        assert!(self.journal.set(Arc::downgrade(writer.shared())).is_ok());
    }

    pub(super) fn last(&self) -> LogId {
        *self.last.lock()
    }

    /// The next entry of a leader, if it is in that term or a later one.
    pub(super) fn next(&self, term: u64) -> LogId {
        let mut last = self.last.lock();
        *last = LogId { term: last.term.max(Term(term)), index: last.index.next() };
        *last
    }

    pub(super) fn set_last(&self, term: u64, index: u64) {
        *self.last.lock() = LogId { term: Term(term), index: Index(index) };
    }
}

impl Replication for Group {
    fn propose(&self, commit: Arc<SharedCommit>) -> Option<LogId> {
        if !*self.leads.lock() {
            return None;
        }
        self.proposed.lock().push(commit);
        Some(self.next(0))
    }

    fn must_wait(&self) -> bool {
        *self.must_wait.lock()
    }

    fn is_leaders(&self) -> bool {
        true
    }

    fn flushed(&self, position: JournalPosition) {
        self.flushed.lock().push(position);
        let Some(shared) = self.journal.get().and_then(Weak::upgrade) else { return };
        // Called outside of all locks: each of these takes one.
        shared.files.lock().spans();
        assert!(shared.work.lock().gathering.held_len() < u64::MAX);
        if *self.commits_at_once.lock() {
            shared.positions.advance_committed(position);
        }
    }
}

/// A commit as the leader would send it, with one message.
pub(super) fn received(world: &mut World, id: LogId, body: &str) -> ReceivedCommit {
    let content = world.contents.copy(&[body.as_bytes()]);
    world.batch.publish(&content, &[(QueueId(1), QueueSeq(1))]);
    let metas = world.batch.metas().to_vec();
    world.batch.clear();
    let head = EntryHead { id, kind: CommitKind::Records };
    let metas_len = metas.len() as u64;
    ReceivedCommit { head, first: world.journal.appended(), metas_len, payload: [&metas, body.as_bytes()].concat() }
}
