//! What a member's owner has to do, and the wait until that changes. Messages and commits, of which there are thousands a second, are none
//! of its business: it is not woken for them.

use std::sync::Arc;
use std::time::Duration;

use consensus::{Engine, MemberId};

use super::core::{Core, Slot};
use super::{Member, MemberShared};

/// What its owner has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Situation {
    /// It follows, or waits for a leader.
    Following {
        /// Whom.
        leader: Option<MemberId>,
    },
    /// It was elected: [`Member::take_over`] is to be called.
    Elected,
    /// Its store is being opened, or is open.
    Leading,
    /// It does not lead any more: the store is to be dropped, and then [`Member::step_back`] to be called.
    Lost,
    /// It cannot go on; the reason. All of it is to be dropped.
    Failed(Arc<str>),
}

/// All that there may be to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    situation: Situation,
    is_to_be_rebuilt: bool,
    has_shipments: bool,
}

/// What was last reported to the owner.
#[derive(Debug, Default)]
pub(super) struct LastReported {
    notice: Option<Notice>,
    /// It has not looked since.
    is_unseen: bool,
}

impl Core {
    fn situation(&self) -> Situation {
        if let Some(failure) = &self.failure {
            return Situation::Failed(failure.clone());
        }
        match &self.slot {
            Slot::Lost => Situation::Lost,
            Slot::Leading(_) => Situation::Leading,
            Slot::Following(_) if self.is_elected() => Situation::Elected,
            Slot::Following(_) | Slot::Closed => Situation::Following { leader: self.engine.leader() },
        }
    }

    fn is_to_be_rebuilt(&self) -> bool {
        self.failure.is_none() && matches!(self.slot, Slot::Closed)
    }

    /// Whether there is something for the owner to look at that was not there when this was last called.
    pub(super) fn note_notice(&mut self) -> bool {
        let notice = Notice {
            situation: self.situation(),
            is_to_be_rebuilt: self.is_to_be_rebuilt(),
            has_shipments: !self.shipments.is_empty(),
        };
        let is_new = self.last_reported.notice.as_ref() != Some(&notice);
        if is_new {
            self.last_reported = LastReported { notice: Some(notice), is_unseen: true };
        }
        is_new
    }
}

impl MemberShared {
    pub(super) fn situation(&self) -> Situation {
        self.core.lock().situation()
    }
}

impl Member {
    /// What its owner has to do.
    #[must_use]
    pub fn situation(&self) -> Situation {
        self.shared.situation()
    }

    /// Whether [`Member::rebuild`] has to be called.
    #[must_use]
    pub fn is_to_be_rebuilt(&self) -> bool {
        self.shared.core.lock().is_to_be_rebuilt()
    }

    /// Waits until the owner has something else to do than when this was last called, for a while at most.
    pub fn wait_for_change(&self, time: Duration) {
        let mut core = self.shared.core.lock();
        if !core.last_reported.is_unseen {
            let _ = self.shared.has_notice.wait_for(&mut core, time);
        }
        core.last_reported.is_unseen = false;
    }
}
