//! Changes of members, by the leader, and orders that wait for what comes of them.

use std::time::{Duration, Instant};

use consensus::{Index, MemberChange, MemberId, PeerStatus, Status};

use super::exchange::joins;
use super::inbox::Reply;
use super::shell::Shell;
use crate::control::ControlError;
use crate::driver::Driver;
use crate::link::NodeName;
use crate::plan::{Action, Aim, Facts, MembershipPlan};

/// Between two tries to hand over.
const HAND_OVER_INTERVAL: Duration = Duration::from_secs(3);

/// Why a voter cannot take over now, if it cannot: nothing could be appended until it has all.
fn why_unfit(peer: Option<&PeerStatus>, committed: Index) -> Option<String> {
    match peer {
        None => Some("it has not said yet how far it is".to_owned()),
        Some(peer) if peer.has_caught_up(committed) => None,
        Some(peer) if peer.is_shipped_to => Some("it is so far behind that it is sent files".to_owned()),
        Some(peer) if peer.upto.0 == 0 => Some("it has not said yet how far it is".to_owned()),
        Some(peer) => {
            Some(format!("it lacks {} of the {} entries that are committed", peer.behind(committed), committed.0))
        }
    }
}

/// An order that is done when something has come to be.
pub(super) struct WaitingOrder {
    pub(super) what: &'static str,
    pub(super) until: Instant,
    pub(super) done: Done,
    pub(super) reply: Reply,
}

/// What has to come to be.
pub(super) enum Done {
    /// It is no member any more.
    Gone(MemberId),
    /// It is no member any more, and this node is about to know it.
    KnownGone(MemberId),
    /// It leads.
    Leads(NodeName),
    /// Another one leads than that.
    LeftBy(NodeName),
    /// Another node leads, and this one serves no clients of its own.
    Drained,
}

impl Shell {
    /// Goes on with what is planned, if this node leads.
    pub(super) fn plan(&mut self) {
        self.prune();
        let Some(driver) = self.leading() else {
            // A node that wanted it asks the next leader, which looks at the members as they are.
            return self.plans.clear();
        };
        let (status, peers) = (driver.status(), driver.peers());
        let is_planned = |member: MemberId| self.plans.iter().any(|plan| joins(plan) == Some(member));
        let learners = status.members.learners.iter().copied().filter(|learner| !is_planned(*learner));
        let of_learners: Vec<_> = learners.map(|learner| MembershipPlan::new(Aim::Join(learner))).collect();
        self.plans.extend(of_learners);
        let facts = Facts { own: status.member, members: &status.members, peers: &peers, committed: status.committed };
        let mut plans = std::mem::take(&mut self.plans);
        plans.retain(|plan| self.go_on(plan, &facts));
        self.plans = plans;
        self.drain_leader(&status);
    }

    /// One step of a plan. Says whether there is more to do.
    fn go_on(&mut self, plan: &MembershipPlan, facts: &Facts<'_>) -> bool {
        let Some(driver) = self.leading() else { return false };
        match plan.next(facts) {
            Action::Done => return false,
            Action::Wait(_) => {}
            Action::Propose(step) => {
                // Refused while another change runs: it is tried again.
                if driver.change(&MemberChange::of(step)).is_ok() {
                    tracing::info!(?step, "the members of the cluster change");
                }
            }
            Action::HandOver(to) => self.hand_over(to),
            Action::Refuse(why) => {
                if let Aim::Leave(old) | Aim::Replace { old, .. } = plan.aim() {
                    self.refuse_waiting(old, &why.to_string());
                }
                tracing::warn!("a change of the cluster's members was refused: {why}");
                return false;
            }
        }
        true
    }

    pub(super) fn hand_over(&mut self, to: MemberId) {
        let now = Instant::now();
        if now >= self.next_hand_over
            && let Some(driver) = self.leading()
        {
            driver.hand_over(to);
            self.next_hand_over = now + HAND_OVER_INTERVAL;
        }
    }

    /// Whom a leader would best hand over to.
    pub(super) fn successor(&self, driver: &Driver) -> Option<MemberId> {
        let status = driver.status();
        let is_draining =
            |member: MemberId| self.told.values().any(|told| told.report.member == member && told.report.is_draining);
        let peers = driver.peers();
        let fit = peers.iter().filter(|peer| {
            peer.is_active
                && !peer.is_shipped_to
                && status.members.voters.contains(&peer.member)
                && !is_draining(peer.member)
        });
        fit.max_by_key(|peer| peer.upto).map(|peer| peer.member)
    }

    /// Why leadership cannot go to a voter now, if it cannot.
    pub(super) fn why_not_to(&self, driver: &Driver, member: MemberId) -> Option<String> {
        why_unfit(driver.peers().iter().find(|peer| peer.member == member), driver.status().committed)
    }

    /// A node that is drained does not lead, if another can.
    fn drain_leader(&mut self, status: &Status) {
        if self.is_draining && status.handing_over_to.is_none() {
            let successor = self.leading().and_then(|driver| self.successor(driver));
            if let Some(successor) = successor {
                self.hand_over(successor);
            }
        }
    }

    /// Answers orders whose outcome is there, or does not come.
    pub(super) fn settle_waiting(&mut self) {
        let members = self.members();
        // Before, another majority than today's might have to start without this leader, and not know itself as one.
        let is_settled = self.driver().is_none_or(|driver| driver.status().is_settled);
        let now = Instant::now();
        let (leader, is_leading) = (self.leader_name(), self.leading().is_some());
        for waiting in std::mem::take(&mut self.waiting) {
            let is_done = match &waiting.done {
                Done::Gone(member) => !members.has(*member) && is_settled,
                Done::KnownGone(member) => (!members.has(*member) && is_settled) || now >= waiting.until,
                Done::Leads(name) => leader.as_ref() == Some(name),
                Done::LeftBy(name) => leader.as_ref().is_some_and(|leader| leader != name),
                Done::Drained => !is_leading,
            };
            if is_done {
                let text = match &waiting.done {
                    Done::Leads(name) => name.to_string(),
                    Done::LeftBy(_) => leader.as_ref().map(ToString::to_string).unwrap_or_default(),
                    _ => String::new(),
                };
                waiting.reply.give(Ok(text));
            } else if now >= waiting.until {
                waiting.reply.give(Err(ControlError::TimedOut { what: waiting.what }));
            } else {
                self.waiting.push(waiting);
            }
        }
    }

    fn refuse_waiting(&mut self, member: MemberId, why: &str) {
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting.done {
                Done::Gone(gone) if gone == member => {
                    waiting.reply.give(Err(ControlError::Impossible(why.to_owned())));
                }
                _ => self.waiting.push(waiting),
            }
        }
    }

    /// Who leads, as far as is known.
    pub(super) fn leader_name(&self) -> Option<NodeName> {
        if self.leading().is_some() { Some(self.setup.name.clone()) } else { self.leader.clone() }
    }

    pub(super) fn leader_lost(&mut self) {
        self.leader = None;
        self.leaderless_since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_behind_is_told_why_it_cannot_lead() {
        let peer = |upto, is_shipped_to| PeerStatus {
            member: MemberId::new(2).unwrap(),
            upto: Index(upto),
            is_shipped_to,
            is_active: true,
        };
        let why = |peer: Option<PeerStatus>| why_unfit(peer.as_ref(), Index(1_000_000));
        assert_eq!(why(Some(peer(1_000_000, false))), None);
        assert_eq!(why(Some(peer(999_999, false))), None);
        assert_eq!(
            why(Some(peer(400_000, false))).unwrap(),
            "it lacks 600000 of the 1000000 entries that are committed"
        );
        assert_eq!(why(Some(peer(999_999, true))).unwrap(), "it is so far behind that it is sent files");
        assert_eq!(why(Some(peer(0, false))).unwrap(), "it has not said yet how far it is");
        assert_eq!(why(None).unwrap(), "it has not said yet how far it is");
    }
}
