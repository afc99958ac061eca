//! Operators who wait for messages of a set that are being read from segments.

use model::ids::QueueId;
use queue::{DelayId, Page, PageNumber};
use tokio::sync::oneshot;

use crate::position::Positions;
use crate::queued_message::QueuedMessage;

/// What becomes of a message that is taken out of its place.
#[derive(Debug)]
pub(super) enum Change {
    Cancel,
    /// It is to be due at another time, with this content.
    Replace {
        due_ms: u64,
        held: QueuedMessage,
    },
}

/// Operators who wait for messages that are being read.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    pub(super) pages: Vec<(PageNumber, oneshot::Sender<Page<QueuedMessage>>)>,
    pub(super) seekers: Vec<Seeker>,
    /// Generations that have ended meanwhile: answers to what is being read of them still come by their ids.
    lingering: Vec<QueueId>,
}

#[derive(Debug)]
pub(super) struct Seeker {
    pub(super) id: DelayId,
    /// None: it is only to be seen.
    pub(super) change: Option<Change>,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// What a search has come to.
#[derive(Debug)]
pub(super) enum Answer {
    Seen(QueuedMessage),
    /// Where that is durable, and what it has become.
    Changed(Positions, Option<DelayId>),
    Missing,
    Interrupted,
}

impl Waiters {
    fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.seekers.is_empty()
    }

    /// Whether the id of an ended generation has to be known a little longer.
    pub(super) fn keeps(&mut self, id: QueueId) -> bool {
        if !self.is_empty() {
            self.lingering.push(id);
        }
        !self.is_empty()
    }

    /// Ids that need no longer be known.
    pub(super) fn take_unneeded(&mut self) -> Vec<QueueId> {
        if self.is_empty() { std::mem::take(&mut self.lingering) } else { Vec::new() }
    }

    /// No operator will be answered any longer. Returns the ids that were kept for them.
    pub(super) fn give_up(&mut self) -> Vec<QueueId> {
        std::mem::take(self).lingering
    }
}
