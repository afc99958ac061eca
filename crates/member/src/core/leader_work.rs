//! What a leader has under way, beside its log. It is dropped with the lead.

use consensus::{Refusal, Shipment};

/// For members that are new, or too far behind.
#[derive(Default)]
pub(super) struct LeaderWork {
    shipments: Vec<Shipment>,
    is_checkpoint_wanted: bool,
    /// A change of members is in the journal's queue, and not in the log yet.
    has_queued_change: bool,
}

impl LeaderWork {
    pub(super) fn add_shipments(&mut self, shipments: &mut Vec<Shipment>) {
        self.shipments.append(shipments);
    }

    pub(super) fn has_shipments(&self) -> bool {
        !self.shipments.is_empty()
    }

    pub(super) fn take_shipments(&mut self) -> Vec<Shipment> {
        std::mem::take(&mut self.shipments)
    }

    /// Members that are new wait for a checkpoint that knows of them.
    pub(super) fn want_checkpoint(&mut self) {
        self.is_checkpoint_wanted = true;
    }

    pub(super) fn checkpointed(&mut self) {
        self.is_checkpoint_wanted = false;
    }

    pub(super) fn is_checkpoint_wanted(&self) -> bool {
        self.is_checkpoint_wanted
    }

    /// A change of members is about to be put into the journal's queue, where only one may be.
    pub(super) fn queue_change(&mut self) -> Result<(), Refusal> {
        if std::mem::replace(&mut self.has_queued_change, true) { Err(Refusal::ChangeRuns) } else { Ok(()) }
    }

    pub(super) fn has_queued_change(&self) -> bool {
        self.has_queued_change
    }

    /// It has come out of the queue.
    pub(super) fn change_proposed(&mut self) {
        self.has_queued_change = false;
    }
}
