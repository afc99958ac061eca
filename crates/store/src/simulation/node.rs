//! One node: a disk, and the member that runs on it while it is up.

use std::sync::Arc;

use consensus::MemberId;
use model::ids::JournalPosition;

use super::fetch::Fetch;
use super::network::Wire;
use crate::file::SimDisk;
use crate::member::{Member, Situation};

/// One node of a [`super::Group`].
pub struct Node {
    /// Who it is in the group.
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

    /// Whether it leads, with a store that is open.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.situation() == Some(Situation::Leading)
    }

    /// The power goes at one of its next operations.
    pub fn cut_power_in(&self, operation_count: u64) {
        self.disk.cut_power_at(self.disk.operation_count() + operation_count);
    }
}
