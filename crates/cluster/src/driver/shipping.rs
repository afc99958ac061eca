//! Members that are sent files: each until it says that it has them, or for too long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use consensus::{MemberId, Shipment};

use super::calls::CALL_SHIP;
use super::shared::DriverShared;

/// A member that has not fetched all in this time is ordered again, with a newer checkpoint.
const TIMEOUT: Duration = Duration::from_secs(600);
/// A member that does not answer an order in this time is not there.
const ORDER_TIMEOUT: Duration = Duration::from_secs(5);

/// What is under way.
#[derive(Default)]
pub(super) struct Shipments {
    under_way: Vec<(Shipment, Instant)>,
}

impl Shipments {
    /// A member has the files up to that entry, and has heard its message.
    pub(super) fn arrived(&mut self, member: MemberId, index: u64) {
        self.take(member, index).for_each(Shipment::arrived);
    }

    /// A member could not fetch them, and is to be ordered again.
    pub(super) fn not_arrived(&mut self, member: MemberId, index: u64) {
        self.take(member, index).for_each(drop);
    }

    fn take(&mut self, member: MemberId, index: u64) -> impl Iterator<Item = Shipment> {
        let is_it = move |(shipment, _): &mut (Shipment, Instant)| {
            shipment.to() == member && shipment.base().id.index.0 == index
        };
        self.under_way.extract_if(.., is_it).map(|(shipment, _)| shipment)
    }

    /// What takes too long has failed.
    fn expire(&mut self, now: Instant) {
        self.under_way.retain(|(_, since)| now.duration_since(*since) < TIMEOUT);
    }

    /// One that could not be ordered has failed.
    fn fail(&mut self, member: MemberId) {
        self.under_way.retain(|(shipment, _)| shipment.to() != member);
    }

    pub(super) fn clear(&mut self) {
        self.under_way.clear();
    }
}

impl DriverShared {
    /// Orders members to fetch what the engine wants them to have.
    pub(super) fn ship(self: &Arc<Self>) {
        self.shipments.lock().expire(Instant::now());
        for shipment in self.member.take_shipments() {
            let announcement = self.member.announcement();
            let announcement = announcement.filter(|announcement| announcement.base.id == shipment.base().id);
            let (Some(announcement), Some(peer), Some(links)) =
                (announcement, self.transport.find(shipment.to()), self.transport.links())
            else {
                continue; // dropped, it has failed, and is wanted again
            };
            let order = DriverShared::encode_order(&announcement, shipment.message());
            let member = shipment.to();
            self.shipments.lock().under_way.push((shipment, Instant::now()));
            tracing::info!(peer = peer.as_str(), entry = %announcement.base.id, "a member is sent files");
            if let Err(error) = links.call(&peer, CALL_SHIP, order, ORDER_TIMEOUT).wait() {
                tracing::info!(peer = peer.as_str(), %error, "a member could not be ordered to fetch files");
                self.shipments.lock().fail(member);
            }
        }
        if self.member.is_checkpoint_wanted()
            && let Some(store) = &*self.store.lock()
        {
            store.make_checkpoint_for_members();
        }
    }
}
