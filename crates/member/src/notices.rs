//! What a member's owner has to do, and the wait until that changes. Messages and commits, of which there are thousands a second, are none
//! of its business: it is not woken for them.

use std::sync::Arc;

use consensus::MemberId;

/// What its owner has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Situation {
    /// It follows, or waits for a leader.
    Following {
        /// The member that it follows.
        leader: Option<MemberId>,
    },
    /// It was elected: [`Member::take_over`](crate::Member::take_over) is to be called.
    Elected,
    /// Its store is being opened, or is open.
    Leading,
    /// It no longer leads: the store is to be dropped, and then [`Member::step_back`](crate::Member::step_back) to be called.
    Lost,
    /// It cannot go on; the reason. All of it is to be dropped.
    Failed(Arc<str>),
}

/// All that there may be to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    situation: Situation,
    is_to_be_rebuilt: bool,
    has_shipments: bool,
}

/// What was last reported to the owner.
#[derive(Debug, Default)]
pub(crate) struct LastReported {
    notice: Option<Notice>,
    /// It has not looked since.
    is_unseen: bool,
}

impl Notice {
    pub(crate) fn new(situation: Situation, is_to_be_rebuilt: bool, has_shipments: bool) -> Notice {
        Notice { situation, is_to_be_rebuilt, has_shipments }
    }
}

impl LastReported {
    /// Whether there is something for the owner to look at that was not there when this was last called.
    pub(crate) fn report(&mut self, notice: Notice) -> bool {
        let is_new = self.notice.as_ref() != Some(&notice);
        if is_new {
            *self = LastReported { notice: Some(notice), is_unseen: true };
        }
        is_new
    }

    /// Whether the owner has not looked since there was something new.
    pub(crate) fn is_unseen(&self) -> bool {
        self.is_unseen
    }

    /// The owner looks.
    pub(crate) fn seen(&mut self) {
        self.is_unseen = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_woken_for_what_is_new_and_once() {
        let mut last = LastReported::default();
        let notice = |has_shipments| Notice::new(Situation::Leading, false, has_shipments);
        assert!(last.report(notice(false)) && last.is_unseen());
        assert!(!last.report(notice(false)) && last.is_unseen(), "it has not looked yet");
        last.seen();
        assert!(!last.report(notice(false)) && !last.is_unseen());
        assert!(last.report(notice(true)) && last.is_unseen());
    }
}
