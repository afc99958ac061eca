//! The member as the directory of its store sees it, and as the writer of its journal does.

use std::sync::{Arc, Weak};
use std::time::Instant;

use consensus::{Base, Index, LogId};
use model::ids::JournalPosition;
use store::group::{Announcement, ReplicatedLog};
use store::journal::{DiskWatch, Replication, SharedCommit};

use super::MemberShared;
use crate::core::Core;

impl ReplicatedLog for MemberShared {
    fn replication(self: Arc<Self>, is_leaders: bool) -> Arc<dyn Replication> {
        let watch = self.disk_worker.watch.clone();
        Arc::new(WeakMember { member: Arc::downgrade(&self), is_leaders, watch })
    }

    fn committed(&self) -> (LogId, JournalPosition) {
        let core = self.core.lock();
        let (index, end) = core.ends().committed();
        (LogId { term: core.log().term(index).unwrap_or_default(), index }, end)
    }

    fn base_index(&self) -> Index {
        self.core.lock().log().base().id.index
    }

    fn wait_for_base(&self, index: Index) -> Option<Base> {
        let mut core = self.core.lock();
        loop {
            if let Some(base) = core.base_at(index) {
                return Some(base);
            }
            if !core.is_leading() || self.is_stepped {
                return None;
            }
            self.changed.wait(&mut core);
        }
    }

    fn is_checkpoint_wanted(&self) -> bool {
        self.core.lock().is_checkpoint_wanted()
    }

    fn checkpointed(&self, announcement: Announcement) {
        self.with_core(|core| core.checkpointed(announcement));
    }

    fn journal_failed(&self) {
        self.with_core(Core::journal_failed);
    }

    fn tail_memory_len(&self) -> usize {
        self.core.lock().tail_memory_len()
    }
}

/// The member as its journal's writer sees it. Weak: the member keeps the journal.
struct WeakMember {
    member: Weak<MemberShared>,
    is_leaders: bool,
    watch: Arc<DiskWatch>,
}

impl Replication for WeakMember {
    fn propose(&self, commit: Arc<SharedCommit>) -> Option<LogId> {
        let member = self.member.upgrade()?;
        if !member.is_stepped {
            member.wait_until_less_is_ahead();
        }
        let id = member.with_core(|core| core.propose(commit))?;
        member.watch.lock().proposed(id.index, Instant::now());
        Some(id)
    }

    fn must_wait(&self) -> bool {
        self.member.upgrade().is_some_and(|member| member.core.lock().is_far_ahead())
    }

    fn flushed(&self, position: JournalPosition) {
        if let Some(member) = self.member.upgrade() {
            member.with_core(|core| core.flushed(position));
        }
    }

    fn is_leaders(&self) -> bool {
        self.is_leaders
    }

    fn watch(&self) -> Option<&DiskWatch> {
        Some(&self.watch)
    }
}

impl MemberShared {
    /// What is written and not committed is bounded: what gathers meanwhile makes publishers wait.
    fn wait_until_less_is_ahead(&self) {
        let mut core = self.core.lock();
        while core.is_far_ahead() {
            self.changed.wait(&mut core);
        }
    }
}
