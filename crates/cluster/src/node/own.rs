//! This node's identity: its settings, where peers reach it, and as which directory and start it runs.

use consensus::MemberId;

use super::alarms::NodeAlarms;
use super::error::NodeError;
use super::files::{NodeFiles, draw};
use super::phase::LogExtent;
use super::report::Report;
use super::setup::NodeSetup;
use super::starts::{EarlierStarts, OwnId, draw_member, next_incarnation};
use super::time::clock_ms;
use crate::address::Address;
use crate::formation::{Consent, Formation, NodeState, OwnIdentity, Settings};
use crate::roster::Roster;
use crate::wire::{ClusterId, Identity, Local, NodeName, Secret};

/// See the module.
pub(super) struct OwnNode {
    setup: NodeSetup,
    address: Address,
    id: OwnId,
    earlier: EarlierStarts,
}

/// What of a node's report changes while it runs.
pub(super) struct ReportState {
    /// Which report of this start it is.
    pub(super) number: u64,
    pub(super) is_draining: bool,
    pub(super) alarms: NodeAlarms,
    pub(super) log: LogExtent,
}

impl OwnNode {
    /// `address`: where its peers reach it. `earlier`: which starts the directory had before.
    pub(super) fn new(setup: NodeSetup, address: Address, id: OwnId, earlier: EarlierStarts) -> Self {
        OwnNode { setup, address, id, earlier }
    }

    pub(super) fn setup(&self) -> &NodeSetup {
        &self.setup
    }

    pub(super) fn name(&self) -> &NodeName {
        &self.setup.name
    }

    pub(super) fn member(&self) -> MemberId {
        self.id.member
    }

    pub(super) fn incarnation(&self) -> u64 {
        self.id.incarnation
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// As what its links introduce it.
    pub(super) fn local(&self, cluster: Option<ClusterId>) -> Local {
        local(&self.setup, self.id, cluster)
    }

    /// Its next report of itself.
    pub(super) fn report(&self, state: ReportState) -> Report {
        let ReportState { number, is_draining, alarms, log } = state;
        Report {
            name: self.setup.name.clone(),
            member: self.id.member,
            address: self.address.clone(),
            version: self.setup.version.clone(),
            level: self.setup.level,
            incarnation: self.id.incarnation,
            earlier: self.earlier.0.clone(),
            number,
            is_draining,
            alarms,
            is_new: log.is_new,
            applied: log.applied,
            last: log.last,
            end: log.end,
        }
    }

    /// Puts this node into a roster of its own.
    pub(super) fn enter(&self, roster: &mut Roster) {
        let identity = identity(&self.setup, self.id, Some(roster.cluster()));
        // It cannot be another's: then the roster would be another node's.
        let _ = roster.add(&self.setup.name, self.id.member, self.address.clone());
        let _ = roster.update(&identity, Some(&self.setup.version), clock_ms(), |_| true);
    }

    /// The nodes that this directory knows, with this node where it is now.
    pub(super) fn roster(&self, files: &NodeFiles, cluster: ClusterId) -> Roster {
        let kept = files.roster().inspect_err(|error| tracing::warn!(%error, "the list of nodes is made anew"));
        let kept = kept.ok().flatten().filter(|roster| roster.cluster() == cluster);
        let mut roster = kept.unwrap_or_else(|| Roster::new(cluster));
        if roster.node(&self.setup.name).is_some_and(|node| node.member != self.id.member) {
            let _ = roster.replace(&self.setup.name, self.id.member);
        }
        self.enter(&mut roster);
        roster
    }

    /// The emptied directory becomes another one: this member, or one that no other directory has.
    pub(super) fn renew(&mut self, member: Option<MemberId>, files: &NodeFiles) -> Result<(), NodeError> {
        let member = match member {
            Some(member) => member,
            None => draw_member()?,
        };
        self.id = OwnId { member, incarnation: next_incarnation(0)? };
        self.earlier = EarlierStarts::default();
        files.write_own(self.id, &self.earlier)?;
        Ok(())
    }

    /// A formation that begins anew.
    pub(super) fn formation(
        &self,
        state: NodeState,
        settings: Settings,
        consent: Consent,
    ) -> Result<Formation, NodeError> {
        let NodeSetup { name, level, version, .. } = &self.setup;
        let own = OwnIdentity { name: name.clone(), member: self.id.member, level: *level, version: version.clone() };
        Ok(Formation::new(own, state, settings, consent, draw_cluster()?))
    }
}

/// As what the links of a node introduce it.
pub(super) fn local(setup: &NodeSetup, id: OwnId, cluster: Option<ClusterId>) -> Local {
    Local::new(identity(setup, id, cluster), setup.secret.clone().unwrap_or_else(Secret::absent))
}

fn identity(setup: &NodeSetup, id: OwnId, cluster: Option<ClusterId>) -> Identity {
    Identity {
        cluster,
        name: setup.name.clone(),
        member: Some(id.member),
        incarnation: id.incarnation,
        level: setup.level,
    }
}

/// The id of a cluster that there might be.
fn draw_cluster() -> Result<ClusterId, NodeError> {
    loop {
        if let Some(cluster) = ClusterId::new(u128::from_le_bytes(draw()?)) {
            return Ok(cluster);
        }
    }
}
