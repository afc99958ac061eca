//! Which changes of members are planned, on the node that leads, and the next step of each.

use consensus::{MemberId, MemberStep, Members};

use crate::plan::{Action, Aim, Facts, MembershipPlan, PlanRefusal};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Plans(Vec<MembershipPlan>);

/// What is to be done for a plan now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanStep {
    /// This change is proposed. Refused while another one runs, it is proposed again.
    Propose(MemberStep),
    /// Leadership passes to that member.
    HandOver(MemberId),
    /// The plan has ended: it cannot be. `old`: which member was to be removed by it.
    Refused { old: Option<MemberId>, why: PlanRefusal },
}

impl Plans {
    /// Whether a member is to join, or to vote.
    pub(super) fn expects(&self, member: MemberId) -> bool {
        self.0.iter().any(|plan| joins(plan) == Some(member))
    }

    /// Plans that a member joins, if need be in the place of another one.
    pub(super) fn add(&mut self, aim: Aim) {
        self.0.push(MembershipPlan::new(aim));
    }

    /// Plans that a member leaves; that it was to join is forgotten.
    pub(super) fn add_leave(&mut self, member: MemberId) {
        self.0.retain(|plan| joins(plan) != Some(member));
        self.add(Aim::Leave(member));
    }

    /// Learners that no plan is for are to vote, too: the leader before had plans for them.
    pub(super) fn adopt_learners(&mut self, members: &Members) {
        for learner in &members.learners {
            if !self.expects(*learner) {
                self.add(Aim::Join(*learner));
            }
        }
    }

    /// The next step of each plan. Plans that are done, or cannot be, end.
    pub(super) fn next_steps(&mut self, facts: &Facts<'_>) -> Vec<PlanStep> {
        let mut steps = Vec::new();
        self.0.retain(|plan| {
            match plan.next(facts) {
                Action::Done => return false,
                Action::Wait(_) => {}
                Action::Propose(step) => steps.push(PlanStep::Propose(step)),
                Action::HandOver(to) => steps.push(PlanStep::HandOver(to)),
                Action::Refuse(why) => {
                    let old = match plan.aim() {
                        Aim::Leave(old) | Aim::Replace { old, .. } => Some(old),
                        Aim::Join(_) => None,
                    };
                    steps.push(PlanStep::Refused { old, why });
                    return false;
                }
            }
            true
        });
        steps
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Which member joins by a plan.
fn joins(plan: &MembershipPlan) -> Option<MemberId> {
    match plan.aim() {
        Aim::Join(new) | Aim::Replace { new, .. } => Some(new),
        Aim::Leave(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use consensus::Index;

    use super::*;

    fn id(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn next_steps(plans: &mut Plans, members: &Members) -> Vec<PlanStep> {
        plans.next_steps(&Facts { own: id(1), members, peers: &[], committed: Index(9) })
    }

    #[test]
    fn a_member_that_leaves_no_longer_joins() {
        let mut plans = Plans::default();
        plans.add(Aim::Join(id(2)));
        assert!(plans.expects(id(2)));
        plans.add_leave(id(2));
        assert!(!plans.expects(id(2)));
    }

    #[test]
    fn a_learner_without_a_plan_is_to_vote_and_is_planned_once() {
        let members = Members { voters: vec![id(1)], learners: vec![id(2)], ..Members::default() };
        let mut plans = Plans::default();
        plans.adopt_learners(&members);
        plans.adopt_learners(&members);
        assert_eq!(plans.0, [MembershipPlan::new(Aim::Join(id(2)))]);
        assert_eq!(next_steps(&mut plans, &members), [], "it cannot be reached yet");
        let members = Members { voters: vec![id(1), id(2)], ..Members::default() };
        assert_eq!(next_steps(&mut plans, &members), []);
        assert!(plans.0.is_empty(), "it votes");
    }

    #[test]
    fn a_plan_that_cannot_be_ends_with_its_reason() {
        let members = Members { voters: vec![id(1)], ..Members::default() };
        let mut plans = Plans::default();
        plans.add_leave(id(1));
        let refused = PlanStep::Refused { old: Some(id(1)), why: PlanRefusal::LastVoter };
        assert_eq!(next_steps(&mut plans, &members), [refused]);
        assert_eq!(next_steps(&mut plans, &members), []);
    }
}
