//! How a cluster stands, as one of its nodes knows it.

use std::sync::Arc;

use super::figures::NodeFigures;
use crate::address::Address;
use crate::wire::{ClusterId, Lane, NodeName};
use consensus::MemberId;

/// How things stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterView {
    /// Whose view it is.
    pub own: NodeName,
    /// The cluster; None: this node is in none.
    pub cluster: Option<ClusterId>,
    /// The term, as far as is known; 0 without a cluster.
    pub term: u64,
    /// The node that leads, if that is known.
    pub leader: Option<NodeName>,
    /// Which level of formats is in use.
    pub level: u32,
    /// Whether this node reaches a majority.
    pub has_majority: bool,
    /// Why there is no cluster yet, if this node is on its way into one.
    pub waiting: Option<String>,
    /// All its nodes by name, this one included; without a cluster this one alone.
    pub members: Vec<MemberView>,
}

/// What a node does in the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It leads.
    Leader,
    /// It follows, and votes.
    Follower,
    /// It follows without a vote: it is catching up, or about to leave.
    Learner,
}

impl Role {
    /// In one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Leader => "leader",
            Role::Follower => "follower",
            Role::Learner => "learner",
        }
    }
}

/// A node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberView {
    /// Its name.
    pub name: NodeName,
    /// Its id.
    pub member: MemberId,
    /// What it does; for a node that does not run: what it did, or would.
    pub role: Role,
    /// Whether it can be reached.
    pub is_running: bool,
    /// Whether it was ordered to take no clients.
    pub is_draining: bool,
    /// Where its peers reach it.
    pub address: Option<Address>,
    /// Which Warren it is; empty if it has not said so yet.
    pub version: String,
    /// Up to which level it knows formats.
    pub level: u32,
    /// For how long it has not answered, in milliseconds: it is asked once a second. None: it is this node, or is not asked.
    pub silent_ms: Option<u64>,
    /// How far its clock is ahead of this node's, in milliseconds, if that is known.
    pub clock_ahead_ms: Option<i64>,
    /// What its process and its machine are at, as it said last.
    pub figures: Option<Arc<NodeFigures>>,
    /// When it was heard last, in milliseconds since 1970; 0 never.
    pub last_seen_ms: u64,
    /// Where its log is. A leader knows it of all; the others know it of those that have said so, as of the last half second.
    pub log: Option<LogView>,
    /// The links to it; empty for this node itself.
    pub links: Vec<LinkView>,
}

/// Where a node's log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogView {
    /// The last entry.
    pub last: u64,
    /// The last one that its disk has.
    pub written: u64,
    /// The last one that is committed, as far as it knows.
    pub committed: u64,
    /// The last one that has taken effect.
    pub applied: u64,
    /// Where the log begins: what comes before is in files.
    pub base: u64,
    /// Entries that it is behind the leader.
    pub lag_entries: u64,
    /// Bytes of the log that it is behind the leader.
    pub lag_bytes: u64,
    /// How long the oldest entry waits that it has not acknowledged; None: there is none.
    pub unacknowledged_ms: Option<u64>,
}

/// A lane of the link to another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkView {
    /// Which.
    pub lane: Lane,
    /// Whether it stands.
    pub is_up: bool,
    /// How long an answer takes, in microseconds, where there are answers.
    pub round_trip_us: Option<u64>,
    /// Bytes that were sent since the start.
    pub sent: u64,
    /// Bytes that have come since the start.
    pub received: u64,
}

impl ClusterView {
    /// By its name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&MemberView> {
        self.members.iter().find(|member| member.name.as_str() == name)
    }

    /// Whether this node leads.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.leader.as_ref() == Some(&self.own)
    }

    fn voters(&self) -> impl Iterator<Item = &MemberView> {
        self.members.iter().filter(|member| member.role != Role::Learner)
    }

    /// Voters, and how many of them run.
    #[must_use]
    pub fn voter_count(&self) -> (usize, usize) {
        (self.voters().count(), self.voters().filter(|voter| voter.is_running).count())
    }

    /// Whether there would no longer be a majority without that node. Alone it is not: there is nothing that others could go on with.
    #[must_use]
    pub fn is_critical(&self, name: &str) -> bool {
        let (voters, running) = self.voter_count();
        let is_running_voter = self.voters().any(|voter| voter.is_running && voter.name.as_str() == name);
        voters > 1 && is_running_voter && running.saturating_sub(1) <= voters / 2
    }
}
