//! What a member has to say to others, in order.
//!
//! ```text
//!  push ──► outbox ─────────────────► next             sent at once
//!    └────► to_read ──► next_to_read ──► end_reading   sent when its commits have been read, for one member at a time
//! ```
//!
//! What names commits that are in files only waits until they have been read, and what follows it to the same member does, too: out of
//! order it would be refused. A leader whose disk hangs is silent: nothing leaves.

use std::collections::VecDeque;

use consensus::{Body, MemberId};

use crate::outgoing::Outgoing;

/// Messages that have not left.
#[derive(Default)]
pub(super) struct SendQueue {
    outbox: VecDeque<Outgoing>,
    /// Those that name commits which have to be read, and those behind them.
    to_read: VecDeque<Outgoing>,
    /// The receiver of the message whose commits are being read.
    reading_for: Option<MemberId>,
    is_silent: bool,
}

impl SendQueue {
    /// A message is to leave, unless this member is silent.
    pub(super) fn push(&mut self, outgoing: Outgoing) {
        if self.is_silent {
            return;
        }
        let to = outgoing.message.to;
        let is_behind = || self.reading_for == Some(to) || self.to_read.iter().any(|other| other.message.to == to);
        let is_append = matches!(outgoing.message.body, Body::Append { .. });
        let must_wait = is_append && (outgoing.commits.iter().any(Option::is_none) || is_behind());
        if must_wait { self.to_read.push_back(outgoing) } else { self.outbox.push_back(outgoing) }
    }

    /// The next one to send.
    pub(super) fn next(&mut self) -> Option<Outgoing> {
        self.outbox.pop_front()
    }

    /// The next one whose commits are to be read. It is being read until [`SendQueue::end_reading`].
    pub(super) fn next_to_read(&mut self) -> Option<Outgoing> {
        let outgoing = self.to_read.pop_front()?;
        self.reading_for = Some(outgoing.message.to);
        Some(outgoing)
    }

    /// The message whose commits were read has left, or never will. Returns its receiver.
    pub(super) fn end_reading(&mut self) -> Option<MemberId> {
        self.reading_for.take()
    }

    pub(super) fn has_outgoing(&self) -> bool {
        !self.outbox.is_empty()
    }

    pub(super) fn has_to_read(&self) -> bool {
        !self.to_read.is_empty()
    }

    /// What has not left will not.
    pub(super) fn clear(&mut self) {
        self.outbox.clear();
        self.to_read.clear();
    }

    /// What would have to be read will not leave.
    pub(super) fn clear_to_read(&mut self) {
        self.to_read.clear();
    }

    /// Says whether it was silent before. What has not left when this member falls silent will not.
    pub(super) fn set_silent(&mut self, is_silent: bool) -> bool {
        if is_silent {
            self.clear();
        }
        std::mem::replace(&mut self.is_silent, is_silent)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use consensus::{Index, LogId, Message, Term};
    use model::ids::JournalPosition;
    use store::journal::{CommitKind, SharedCommit};

    use super::*;

    fn member(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    /// An append to a member that names one commit, which is in memory or is not.
    fn append(to: u64, is_in_memory: bool) -> Outgoing {
        let body = Body::Append { previous: LogId::new(1, 1), committed: Index(1), entries: Vec::new() };
        let commit = || SharedCommit::of_payload(CommitKind::Records, JournalPosition(0), 1, vec![0]);
        Outgoing {
            message: Message { from: member(9), to: member(to), term: Term(1), body },
            commits: vec![is_in_memory.then(|| Arc::new(commit()))],
        }
    }

    /// Checks the receivers of the messages that leave now, in order.
    #[track_caller]
    fn check_sent(queue: &mut SendQueue, to: &[u64]) {
        let sent: Vec<_> = std::iter::from_fn(|| queue.next()).map(|outgoing| outgoing.message.to.get()).collect();
        assert_eq!(sent, to);
    }

    #[test]
    fn what_follows_one_that_is_read_for_waits_behind_it() {
        let mut queue = SendQueue::default();
        for (to, is_in_memory) in [(1, true), (1, false), (1, true), (2, true)] {
            queue.push(append(to, is_in_memory));
        }
        check_sent(&mut queue, &[1, 2]);
        assert!(queue.next_to_read().is_some());
        // It is being read, and another is behind it already.
        queue.push(append(1, true));
        check_sent(&mut queue, &[]);
        assert_eq!(queue.end_reading(), Some(member(1)));
        while queue.next_to_read().is_some() {}
        queue.end_reading();
        queue.push(append(1, true));
        check_sent(&mut queue, &[1]);
        assert!(!queue.has_outgoing() && !queue.has_to_read());
    }

    #[test]
    fn one_that_is_silent_says_nothing_of_all_that_it_had_to_say() {
        let mut queue = SendQueue::default();
        queue.push(append(1, true));
        queue.push(append(1, false));
        assert!(!queue.set_silent(true));
        queue.push(append(2, true));
        assert!(!queue.has_outgoing() && !queue.has_to_read());
        assert!(queue.set_silent(false));
        queue.push(append(2, true));
        check_sent(&mut queue, &[2]);
    }
}
