//! One node: a disk, and the member that runs on it while it is up.

use std::sync::Arc;

use consensus::MemberId;
use model::ids::JournalPosition;
use store::file::SimDisk;

use super::fetch::Fetch;
use super::network::Wire;
use crate::{Member, Situation};

/// One node of a [`super::Group`].
pub struct Node {
    /// Which member of the group it is.
    pub id: MemberId,
    /// Its disk.
    pub disk: SimDisk,
    /// What runs; nothing while the node is down.
    pub member: Option<Member>,
    pub(super) wire: Arc<Wire>,
    /// What it fetches from the leader.
    pub fetch: Option<Fetch>,
    /// What was shipped to it may be of records up to here.
    pub reached: JournalPosition,
    /// Steps between its ticks.
    pub tick: u64,
    /// It is as if its processor stood still.
    pub frozen_until: u64,
    hang: Option<Hang>,
    /// How often files that others fetch may have been removed.
    lease_ends: u64,
}

/// A disk that does nothing for a while.
#[derive(Debug, Clone, Copy)]
pub struct Hang {
    since: u64,
    until: u64,
    /// Writes reach the page cache meanwhile: only syncs hang.
    pub takes_writes: bool,
}

impl Node {
    pub(super) fn new(id: MemberId, disk: SimDisk, tick: u64) -> Node {
        Node {
            id,
            disk,
            member: None,
            wire: Arc::default(),
            fetch: None,
            reached: JournalPosition::START,
            tick,
            frozen_until: 0,
            hang: None,
            lease_ends: 0,
        }
    }

    /// Whether it is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.member.is_some()
    }

    /// What its owner has to do; `None`: it is down.
    #[must_use]
    pub fn situation(&self) -> Option<Situation> {
        self.member.as_ref().map(Member::situation)
    }

    /// Its disk hangs from now on until then.
    pub fn hang(&mut self, since: u64, until: u64, takes_writes: bool) {
        self.hang = Some(Hang { since, until, takes_writes });
    }

    /// Its disk no longer hangs.
    pub fn end_hang(&mut self) {
        self.hang = None;
    }

    /// Whether its disk hangs.
    #[must_use]
    pub fn hang_at(&self, now: u64) -> Option<Hang> {
        self.hang.filter(|hang| now < hang.until)
    }

    /// For how many steps its disk has hung.
    pub(super) fn hung_for(&self, now: u64) -> u64 {
        self.hang_at(now).map_or(0, |hang| now - hang.since)
    }

    /// What others fetch from it may be removed from now on.
    pub fn end_leases(&mut self) {
        if let Some(member) = &self.member {
            member.end_leases();
        }
        self.lease_ends += 1;
    }

    /// Which of its leases those are that it gives now; `None`: it removes nothing.
    pub(super) fn lease(&self) -> Option<u64> {
        self.is_leading().then_some(self.lease_ends)
    }

    /// Whether it leads, with a store that is open.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.situation() == Some(Situation::Leading)
    }

    /// The power fails at one of its next operations.
    pub fn cut_power_in(&self, operation_count: u64) {
        self.disk.cut_power_at(self.disk.operation_count() + operation_count);
    }
}
