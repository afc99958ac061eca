//! What a transactional lane has done since its last commit.

use std::sync::Arc;

use super::disposition::Disposition;
use super::unacked::UnackedDelivery;
use crate::permissions::Permitted;
use engine::publish::PublishOptions;
use engine::targets::Targets;
use message::Parts;

/// What a transactional lane has done since its last commit.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) publishes: Vec<PendingPublish>,
    /// Settled deliveries.
    pub(super) settled: Vec<(UnackedDelivery, Disposition)>,
}

/// A publish that waits. Its content lies in no chunk: a client that never commits must not keep one from being freed.
#[derive(Debug)]
pub(super) struct PendingPublish {
    pub(super) content: Box<[u8]>,
    pub(super) is_mandatory: bool,
    pub(super) target: PendingTarget,
    pub(super) options: PublishOptions,
}

/// The destination of a publish that waits.
#[derive(Debug)]
pub(super) enum PendingTarget {
    Queues(Arc<Targets>),
    /// A direct reply.
    Reply(Permitted),
}

impl Transaction {
    /// Bytes of its messages.
    pub(super) fn content_len(&self) -> usize {
        self.publishes.iter().map(|publish| publish.content.len()).sum()
    }

    /// How many publishes, and how many settlements.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.publishes.len(), self.settled.len())
    }

    pub(super) fn publish(
        &mut self,
        parts: &Parts<'_>,
        is_mandatory: bool,
        target: PendingTarget,
        options: PublishOptions,
    ) {
        let mut content = vec![0; parts.len()].into_boxed_slice();
        parts.write(&mut content);
        self.publishes.push(PendingPublish { content, is_mandatory, target, options });
    }

    pub(super) fn settle(&mut self, deliveries: &[UnackedDelivery], disposition: Disposition) {
        self.settled.extend(deliveries.iter().map(|&delivery| (delivery, disposition)));
    }

    /// The deliveries that were to be settled: the lane has ended, so they were not.
    pub(super) fn into_settled(self) -> impl Iterator<Item = UnackedDelivery> {
        self.settled.into_iter().map(|(delivery, _)| delivery)
    }
}
