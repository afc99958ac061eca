//! What a node fetches from the leader.

use std::sync::Arc;

use consensus::Shipment;
use store::group::{Pull, PullError, Pulled};

use super::group::Group;
use crate::{Installed, Member};

/// A checkpoint that a node fetches.
pub enum Fetch {
    /// It is on its way.
    Pulling(Box<Pulling>),
    /// It is here, and is to come into force.
    Pulled(Arc<Pulled>),
}

/// A checkpoint that is on its way.
pub struct Pulling {
    pull: Pull,
    from: usize,
    shipment: Option<Shipment>,
    /// What it fetches stays as long as this is the leader's.
    lease: Option<u64>,
}

impl Group {
    /// A node begins to fetch what the leader has in force.
    pub(super) fn begin_fetch(&mut self, to: usize, from: usize, shipment: Option<Shipment>) {
        if self.network.is_cut_between(from, to) {
            return;
        }
        let Some(announcement) = self.nodes[from].member.as_ref().map(Member::announcement) else { return };
        let node = &mut self.nodes[to];
        let (Some(announcement), Some(member)) = (announcement, &node.member) else { return };
        let is_wanted = match &shipment {
            Some(shipment) => shipment.base().id == announcement.base.id,
            None => member.wants(&announcement) && node.fetch.is_none(),
        };
        if !is_wanted {
            return;
        }
        match member.pull(announcement) {
            Ok(pull) => node.fetch = Some(Fetch::Pulling(Box::new(Pulling { pull, from, shipment, lease: None }))),
            // What it has fetched before is about to come into force.
            Err(PullError::Busy) => {}
            Err(error) => assert!(node.disk.is_cut(), "{error}"),
        }
    }

    /// A follower continues what it fetches.
    pub(super) fn fetch(&mut self, number: usize) {
        match self.nodes[number].fetch.take() {
            None => {
                if let Some(leader) = self.leader().filter(|leader| *leader != number) {
                    self.begin_fetch(number, leader, None);
                }
            }
            Some(Fetch::Pulled(pulled)) => {
                let node = &self.nodes[number];
                match node.member.as_ref().expect("it is up").install(&pulled) {
                    Ok(Installed::Done) => self.seen.installs += 1,
                    // For ever, perhaps: then it is given up.
                    Ok(Installed::NotYet) if self.random.percent(95) => {
                        self.nodes[number].fetch = Some(Fetch::Pulled(pulled));
                    }
                    Ok(Installed::NotYet) => {}
                    Err(error) => assert!(node.disk.is_cut(), "{error}"),
                }
            }
            Some(Fetch::Pulling(pulling)) => self.pull(number, pulling),
        }
    }

    fn pull(&mut self, number: usize, mut pulling: Box<Pulling>) {
        let from = pulling.from;
        let Some((name, offset)) = pulling.pull.next() else { return self.end_pull(number, *pulling) };
        let is_cut = self.network.is_cut_between(from, number);
        let len_max = self.random.range(1..20_000) as usize;
        let Some(leader) = self.nodes[from].member.as_ref().filter(|_| !is_cut) else { return };
        let lease = self.nodes[from].lease();
        let is_leased = pulling.lease.is_some() && pulling.lease == lease;
        let Ok(Some(piece)) = leader.file_reader().read(name, offset, len_max) else {
            let is_over = !is_leased || self.nodes[from].disk.is_cut();
            return assert!(is_over, "{name:?} is gone while node {number} fetches it");
        };
        if leader.announcement().is_some_and(|announcement| announcement.name() == name) {
            pulling.lease = lease;
        }
        match pulling.pull.take(&piece) {
            Ok(()) => self.nodes[number].fetch = Some(Fetch::Pulling(pulling)),
            Err(error) => {
                let is_over = self.nodes[number].disk.is_cut() || self.nodes[from].disk.is_cut();
                assert!(is_over, "node {number} cannot fetch: {error}");
            }
        }
    }

    fn end_pull(&mut self, number: usize, pulling: Pulling) {
        let Pulling { pull, from, shipment, .. } = pulling;
        let Ok(pulled) = pull.finish() else { return assert!(self.nodes[number].disk.is_cut()) };
        let pulled = Arc::new(pulled);
        let reached = pulled.announcement().reached;
        let Some(shipment) = shipment else {
            self.nodes[number].fetch = Some(Fetch::Pulled(pulled));
            return;
        };
        let member = self.nodes[number].member.as_ref().expect("it is up");
        member.offer(pulled);
        member.receive(shipment.message().clone(), Vec::new());
        if member.is_to_be_rebuilt() {
            self.seen.restores += 1;
            self.nodes[number].reached = reached;
        }
        // What it answers may be lost.
        let is_cut = self.network.cuts[number][from];
        if !is_cut && !self.random.percent(self.network.lost_percent) {
            shipment.arrived();
        }
    }

    /// Members to which the leader is to ship what it has in force begin to fetch it.
    pub fn ship(&mut self, leader: usize) {
        let Some(member) = &self.nodes[leader].member else { return };
        for shipment in member.take_shipments() {
            if let Some(to) = self.node_of(shipment.to()) {
                self.begin_fetch(to, leader, Some(shipment));
            }
        }
    }
}
