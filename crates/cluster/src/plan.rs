//! What has to become of a group's members, as single changes, one after the other, each when the one before has taken effect.
//!
//! ```text
//!  join     AddLearner new ─► it has caught up ─► AddVoter new
//!  leave    Remove old;  of the leader itself: hand over, and the next leader continues
//!  replace  Remove old ─► AddLearner new ─► it has caught up ─► AddVoter new
//! ```
//!
//! A plan holds no state of the group: it looks at the members and returns what is missing. So it continues where it was after a change of
//! leaders, and proposing the same change again does no harm.

use std::fmt;

pub use consensus::CAUGHT_UP_ENTRIES;
use consensus::{Index, MemberId, MemberStep, Members, PeerStatus};

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// A new member that votes in the end.
    Join(MemberId),
    /// A member less.
    Leave(MemberId),
    /// A member whose directory was replaced.
    Replace {
        /// The id that is no more.
        old: MemberId,
        /// The one that comes for it.
        new: MemberId,
    },
}

/// What the leader knows.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The leader: the member that asks.
    pub own: MemberId,
    /// The members, as far as changes of them have taken effect.
    pub members: &'a Members,
    /// How far the others are.
    pub peers: &'a [PeerStatus],
    /// Up to where all is committed.
    pub committed: Index,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// This change is proposed, if none runs.
    Propose(MemberStep),
    /// Leadership passes to that member, which continues the plan: a leader cannot remove itself.
    HandOver(MemberId),
    /// Nothing: it waits.
    Wait(PlanWaits),
    /// All is as it is to be.
    Done,
    /// It cannot be done.
    Refuse(PlanRefusal),
}

/// What a plan waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanWaits {
    /// Another change.
    Change,
    /// The new member, which is behind.
    CatchUp {
        /// So many entries, as far as is known.
        entries: u64,
    },
    /// The new member, which cannot be reached.
    Reach,
    /// A voter that could lead.
    Successor,
}

/// Why a plan cannot be carried out. Each is one sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanRefusal {
    /// The group would have no voter.
    LastVoter,
    /// Those that are left and reachable are no majority of those that would be left.
    NoMajority {
        /// Those that can be reached.
        reachable: usize,
        /// The voters there would be.
        of: usize,
    },
}

impl fmt::Display for PlanRefusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanRefusal::LastVoter => to.write_str("it is the only voting member of the cluster: reset it instead"),
            PlanRefusal::NoMajority { reachable, of } => {
                write!(to, "of the {of} nodes that would be left, {reachable} can be reached, which is no majority")
            }
        }
    }
}

impl fmt::Display for PlanWaits {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanWaits::Change => to.write_str("another change of members runs"),
            PlanWaits::CatchUp { entries } => write!(to, "the new member is {entries} entries behind"),
            PlanWaits::Reach => to.write_str("the new member cannot be reached"),
            PlanWaits::Successor => to.write_str("no other member could lead"),
        }
    }
}

/// A plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MembershipPlan {
    aim: Aim,
}

impl MembershipPlan {
    /// For that aim.
    #[must_use]
    pub fn new(aim: Aim) -> Self {
        MembershipPlan { aim }
    }

    /// What it is for.
    #[must_use]
    pub fn aim(&self) -> Aim {
        self.aim
    }

    /// What is to be done now, by a leader.
    #[must_use]
    pub fn next(&self, facts: &Facts<'_>) -> Action {
        if facts.members.is_joint() {
            return Action::Wait(PlanWaits::Change);
        }
        match self.aim {
            Aim::Join(new) => join(new, facts),
            Aim::Leave(old) => leave(old, facts),
            Aim::Replace { old, new } => match leave(old, facts) {
                Action::Done => join(new, facts),
                action => action,
            },
        }
    }
}

fn join(new: MemberId, facts: &Facts<'_>) -> Action {
    if facts.members.voters.contains(&new) {
        return Action::Done;
    }
    if !facts.members.learners.contains(&new) {
        return Action::Propose(MemberStep::AddLearner(new));
    }
    let Some(peer) = facts.peers.iter().find(|peer| peer.member == new).filter(|peer| peer.is_active) else {
        return Action::Wait(PlanWaits::Reach);
    };
    if !peer.has_caught_up(facts.committed) {
        return Action::Wait(PlanWaits::CatchUp { entries: peer.behind(facts.committed) });
    }
    Action::Propose(MemberStep::AddVoter(new))
}

fn leave(old: MemberId, facts: &Facts<'_>) -> Action {
    if !facts.members.has(old) {
        return Action::Done;
    }
    if facts.members.learners.contains(&old) {
        return Action::Propose(MemberStep::Remove(old));
    }
    let left = || facts.members.voters.iter().copied().filter(|voter| *voter != old);
    let is_reachable = |voter: &MemberId| {
        *voter == facts.own || facts.peers.iter().any(|peer| peer.member == *voter && peer.is_active)
    };
    let (reachable, of) = (left().filter(is_reachable).count(), left().count());
    if of == 0 {
        return Action::Refuse(PlanRefusal::LastVoter);
    }
    if reachable <= of / 2 {
        return Action::Refuse(PlanRefusal::NoMajority { reachable, of });
    }
    if old != facts.own {
        return Action::Propose(MemberStep::Remove(old));
    }
    let peers = facts.peers.iter().filter(|peer| peer.is_active && facts.members.voters.contains(&peer.member));
    match peers.filter(|peer| peer.has_caught_up(facts.committed)).max_by_key(|peer| peer.upto) {
        Some(peer) => Action::HandOver(peer.member),
        None => Action::Wait(PlanWaits::Successor),
    }
}
