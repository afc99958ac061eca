//! What a transactional channel has done since its last commit.

use std::sync::Arc;

use queue::Return;

use super::unacked::UnackedDelivery;
use crate::permissions::Permitted;
use engine::message::Parts;
use engine::publish::PublishOptions;
use engine::targets::Targets;

/// What a transactional channel has done since its last commit.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) publishes: Vec<PendingPublish>,
    /// Settled deliveries.
    pub(super) settled: Vec<(UnackedDelivery, TxSettlement)>,
}

/// A publish that waits. Its content lies in no chunk: who never commits must not keep one from being freed.
#[derive(Debug)]
pub(super) struct PendingPublish {
    pub(super) content: Box<[u8]>,
    pub(super) is_mandatory: bool,
    pub(super) target: PendingTarget,
    pub(super) terms: PublishOptions,
}

/// Where a publish that waits goes.
#[derive(Debug)]
pub(super) enum PendingTarget {
    Queues(Arc<Targets>),
    /// A direct reply.
    Reply(Permitted),
}

/// What a client has decided about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TxSettlement {
    Ack,
    /// No consumer is to get it again; `has_failed` if that was said with `basic.reject`, which RabbitMQ counts as a failure.
    Reject {
        has_failed: bool,
    },
    Requeue(Return),
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
        terms: PublishOptions,
    ) {
        let mut content = vec![0; parts.len()].into_boxed_slice();
        parts.write(&mut content);
        self.publishes.push(PendingPublish { content, is_mandatory, target, terms });
    }

    pub(super) fn settle(&mut self, deliveries: &[UnackedDelivery], settlement: TxSettlement) {
        self.settled.extend(deliveries.iter().map(|&delivery| (delivery, settlement)));
    }

    /// The deliveries that were to be settled: the channel is gone, so they were not.
    pub(super) fn into_settled(self) -> impl Iterator<Item = UnackedDelivery> {
        self.settled.into_iter().map(|(delivery, _)| delivery)
    }
}
