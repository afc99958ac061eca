//! What nodes of tests serve: a store that no broker has.

use model::ids::{QueueId, SegmentId};
use store::{CollectedResidents, Content, LoadAnswer, QueueOwner};

/// A store without queues.
pub(crate) struct NoQueues;

impl QueueOwner for NoQueues {
    fn collect(&self, _: &dyn Fn(&Content) -> bool, _: &mut CollectedResidents) {}
    fn relocate(&self, _: QueueId, _: u8, _: &[queue::PlacedMessage]) {}
    fn loaded(&self, _: QueueId, _: LoadAnswer) {}
    fn moved(&self, _: QueueId, _: &[SegmentId], _: &[queue::MovedMessage]) {}
}
