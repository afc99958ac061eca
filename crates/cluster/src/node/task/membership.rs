//! Changes of members, by the leader, and orders that wait for their outcome.

use std::time::Instant;

use consensus::{MemberChange, MemberId};

use super::NodeTask;
use crate::driver::Driver;
use crate::node::leadership;
use crate::node::pending_orders::OutcomeFacts;
use crate::node::plans::PlanStep;
use crate::plan::Facts;

impl NodeTask {
    /// Goes on with what is planned, if this node leads.
    pub(super) fn advance_plans(&mut self) {
        self.prune();
        let Some(driver) = self.phase.leading() else {
            // A node that wanted it asks the next leader, which looks at the members as they are.
            return self.membership.plans().clear();
        };
        let (status, peers) = (driver.status(), driver.peers());
        let plans = self.membership.plans();
        plans.adopt_learners(&status.members);
        let facts = Facts { own: status.member, members: &status.members, peers: &peers, committed: status.committed };
        for step in plans.next_steps(&facts) {
            self.take_plan_step(step);
        }
        // A node that is drained does not lead, if another can.
        if self.clients.is_draining() && status.handing_over_to.is_none() {
            let successor = self.phase.leading().and_then(|driver| self.successor(driver));
            if let Some(successor) = successor {
                self.hand_over(successor);
            }
        }
    }

    fn take_plan_step(&mut self, step: PlanStep) {
        match step {
            PlanStep::Propose(step) => {
                if let Some(driver) = self.phase.leading()
                    && driver.change(&MemberChange::of(step)).is_ok()
                {
                    tracing::info!(?step, "the members of the cluster change");
                }
            }
            PlanStep::HandOver(to) => self.hand_over(to),
            PlanStep::Refused { old, why } => {
                if let Some(old) = old {
                    self.orders.refuse_removal(old, &why.to_string());
                }
                tracing::warn!("a change of the cluster's members was refused: {why}");
            }
        }
    }

    /// Hands over, if this node leads and has not tried to a moment ago.
    pub(super) fn hand_over(&mut self, to: MemberId) {
        if let Some(driver) = self.phase.leading()
            && self.leadership.may_hand_over(Instant::now())
        {
            driver.hand_over(to);
        }
    }

    /// To which voter this leader would best hand over.
    pub(super) fn successor(&self, driver: &Driver) -> Option<MemberId> {
        let is_draining = |member| self.exchange.is_draining(member);
        leadership::successor(&driver.status().members, &driver.peers(), is_draining)
    }

    /// Takes nodes out of the roster that no longer belong to the group.
    fn prune(&mut self) {
        let removed = self.membership.prune(self.own.member(), &self.phase.members(), Instant::now());
        if removed.is_empty() {
            return;
        }
        for node in &removed {
            tracing::info!(node = node.name.as_str(), "a node has left the cluster");
            self.exchange.forget(&node.name);
        }
        let members: Vec<_> = removed.iter().map(|node| node.member).collect();
        self.durable.forget_members(&members);
        self.formation.forget_seeds();
        self.keep_roster();
    }

    /// Answers orders whose outcome is there, or does not come.
    pub(super) fn settle_orders(&mut self) {
        let (phase, leader) = (&self.phase, self.leader().cloned());
        self.orders.settle(Instant::now(), || OutcomeFacts {
            members: phase.members(),
            is_settled: phase.driver().is_none_or(|driver| driver.status().is_settled),
            leader,
            is_leading: phase.is_leading(),
        });
    }
}
