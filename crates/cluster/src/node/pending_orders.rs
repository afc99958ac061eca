//! Orders of operators that are not answered yet: each waits for what is to come of it, for a leader, or for its time to be over.

use std::time::Instant;

use consensus::{MemberId, Members};

use super::inbox::Reply;
use super::operator_join::OperatorJoin;
use super::report::RemoteOrder;
use crate::control::ControlError;
use crate::wire::NodeName;

/// What is ordered of a node that is reset, or leaves.
pub(super) const LEAVING: &str = "leaving the cluster";

/// See the module.
#[derive(Default)]
pub(super) struct PendingOrders {
    awaited: Vec<AwaitedOutcome>,
    postponed: Vec<PostponedOrder>,
    leave: Option<OwnLeave>,
    join: OperatorJoin,
}

/// An order that is done when something has come to be.
struct AwaitedOutcome {
    what: &'static str,
    until: Instant,
    goal: Goal,
    reply: Reply,
}

/// What has to come to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Goal {
    /// It is no longer a member.
    Removed(MemberId),
    /// It is no longer a member, and this node is about to know it.
    SeenRemoved(MemberId),
    /// It leads.
    Leads(NodeName),
    /// Another node leads than that.
    LeftBy(NodeName),
    /// Another node leads, and this one serves no clients of its own.
    Drained,
}

/// An order that only a leader can carry out, and that there was none for.
struct PostponedOrder {
    order: RemoteOrder,
    reply: Reply,
    until: Instant,
}

/// This node leads, and is to leave: it hands over first, since a leader cannot remove itself.
struct OwnLeave {
    reply: Reply,
    until: Instant,
}

/// What orders wait for, as it is now.
pub(super) struct OutcomeFacts {
    pub(super) members: Members,
    /// Of these members any majority knows itself as one. Before, another majority than today's might have to start without this leader.
    pub(super) is_settled: bool,
    pub(super) leader: Option<NodeName>,
    /// This node leads and serves.
    pub(super) is_leading: bool,
}

/// What becomes of an order that was postponed.
pub(super) enum PostponedStep {
    /// There is a leader: it is given again.
    Give(RemoteOrder, Reply),
    /// There was none in time.
    Refuse(Reply),
}

/// What a node does on its way out of its cluster.
pub(super) enum LeaveStep {
    /// Its successor is asked to remove it.
    Ask(Reply),
    HandOver(MemberId),
}

impl PendingOrders {
    /// The join that an operator has ordered.
    pub(super) fn join(&mut self) -> &mut OperatorJoin {
        &mut self.join
    }

    /// Whether an operator has ordered a join that is not done.
    pub(super) fn is_joining(&self) -> bool {
        self.join.is_under_way()
    }

    /// Answers the order when that has come to be. `what`: what was ordered, for the error when it takes too long.
    pub(super) fn wait_for(&mut self, goal: Goal, what: &'static str, until: Instant, reply: Reply) {
        self.awaited.push(AwaitedOutcome { what, until, goal, reply });
    }

    /// Answers orders whose outcome is there, or does not come.
    pub(super) fn settle(&mut self, now: Instant, facts: impl FnOnce() -> OutcomeFacts) {
        if self.awaited.is_empty() {
            return;
        }
        let facts = facts();
        for awaited in std::mem::take(&mut self.awaited) {
            if let Some(text) = awaited.goal.outcome(&facts, now >= awaited.until) {
                awaited.reply.give(Ok(text));
            } else if now >= awaited.until {
                awaited.reply.give(Err(ControlError::TimedOut { what: awaited.what }));
            } else {
                self.awaited.push(awaited);
            }
        }
    }

    /// Those that wait for a member's removal are refused: it cannot be.
    pub(super) fn refuse_removal(&mut self, member: MemberId, why: &str) {
        for awaited in std::mem::take(&mut self.awaited) {
            if awaited.goal == Goal::Removed(member) {
                awaited.reply.give(Err(ControlError::Impossible(why.to_owned())));
            } else {
                self.awaited.push(awaited);
            }
        }
    }

    /// Keeps an order until there is a leader.
    pub(super) fn postpone(&mut self, order: RemoteOrder, reply: Reply, until: Instant) {
        self.postponed.push(PostponedOrder { order, reply, until });
    }

    /// What becomes of postponed orders now.
    pub(super) fn take_postponed(&mut self, has_leader: bool, now: Instant) -> Vec<PostponedStep> {
        let mut steps = Vec::new();
        for postponed in std::mem::take(&mut self.postponed) {
            if has_leader {
                steps.push(PostponedStep::Give(postponed.order, postponed.reply));
            } else if now >= postponed.until {
                steps.push(PostponedStep::Refuse(postponed.reply));
            } else {
                self.postponed.push(postponed);
            }
        }
        steps
    }

    /// This node, which leads, is to leave.
    pub(super) fn leave(&mut self, reply: Reply, until: Instant) {
        self.leave = Some(OwnLeave { reply, until });
    }

    /// Whether this node leads, and is to leave.
    pub(super) fn is_leaving(&self) -> bool {
        self.leave.is_some()
    }

    /// The next step of this node's leaving. `successor`: to which node it could hand over; None: it does not lead.
    pub(super) fn advance_leave(
        &mut self,
        successor: Option<Option<MemberId>>,
        has_other_leader: bool,
        now: Instant,
    ) -> Option<LeaveStep> {
        let leave = self.leave.take()?;
        match successor {
            None if has_other_leader => return Some(LeaveStep::Ask(leave.reply)),
            _ if now >= leave.until => {
                leave.reply.give(Err(ControlError::TimedOut { what: LEAVING }));
                return None;
            }
            _ => {}
        }
        self.leave = Some(leave);
        successor.flatten().map(LeaveStep::HandOver)
    }
}

impl Goal {
    /// The text by which an order is answered whose goal is reached. `is_over`: its time is.
    fn outcome(&self, facts: &OutcomeFacts, is_over: bool) -> Option<String> {
        let is_removed = |member: MemberId| !facts.members.has(member) && facts.is_settled;
        let (is_reached, text) = match self {
            Goal::Removed(member) => (is_removed(*member), None),
            Goal::SeenRemoved(member) => (is_removed(*member) || is_over, None),
            Goal::Leads(name) => (facts.leader.as_ref() == Some(name), Some(name)),
            Goal::LeftBy(name) => (facts.leader.as_ref().is_some_and(|leader| leader != name), facts.leader.as_ref()),
            Goal::Drained => (!facts.is_leading, None),
        };
        is_reached.then(|| text.map(NodeName::to_string).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot::{self, Receiver};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn reply() -> (Reply, Receiver<Result<String, ControlError>>) {
        let (tx, rx) = oneshot::channel();
        (Reply::Here(tx), rx)
    }

    fn name(letter: char) -> NodeName {
        NodeName::new(&format!("rabbit@{letter}")).unwrap()
    }

    fn id(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn facts(voters: &[u64], is_settled: bool, leader: Option<char>) -> OutcomeFacts {
        let members = Members { voters: voters.iter().copied().map(id).collect(), ..Members::default() };
        OutcomeFacts { members, is_settled, leader: leader.map(name), is_leading: leader == Some('a') }
    }

    /// What an order is answered with that waits for a goal, at the end of its time or before.
    fn outcome(goal: Goal, facts: OutcomeFacts, is_over: bool) -> Option<Result<String, String>> {
        let (mut orders, start, (reply, mut rx)) = (PendingOrders::default(), Instant::now(), reply());
        orders.wait_for(goal, "the order", start + TIMEOUT, reply);
        orders.settle(if is_over { start + TIMEOUT } else { start }, || facts);
        rx.try_recv().ok().map(|outcome| outcome.map_err(|error| error.to_string()))
    }

    #[test]
    fn a_removal_is_done_when_any_majority_of_the_rest_knows_of_it() {
        assert_eq!(outcome(Goal::Removed(id(2)), facts(&[1, 2], true, None), false), None);
        assert_eq!(outcome(Goal::Removed(id(2)), facts(&[1], false, None), false), None);
        assert_eq!(outcome(Goal::Removed(id(2)), facts(&[1], true, None), false), Some(Ok(String::new())));
    }

    #[test]
    fn what_does_not_come_in_time_is_an_error_unless_it_is_known_to_be_done() {
        let error = "the order has taken too long, and may still happen".to_owned();
        assert_eq!(outcome(Goal::Removed(id(2)), facts(&[1, 2], true, None), true), Some(Err(error)));
        assert_eq!(outcome(Goal::SeenRemoved(id(2)), facts(&[1, 2], true, None), true), Some(Ok(String::new())));
    }

    #[test]
    fn a_transfer_is_answered_with_the_node_that_leads() {
        assert_eq!(outcome(Goal::Leads(name('b')), facts(&[1], true, Some('a')), false), None);
        let by_b = || facts(&[1], true, Some('b'));
        assert_eq!(outcome(Goal::Leads(name('b')), by_b(), false), Some(Ok("rabbit@b".to_owned())));
        assert_eq!(outcome(Goal::LeftBy(name('a')), by_b(), false), Some(Ok("rabbit@b".to_owned())));
        assert_eq!(outcome(Goal::LeftBy(name('a')), facts(&[1], true, None), false), None, "none leads yet");
        assert_eq!(outcome(Goal::Drained, by_b(), false), Some(Ok(String::new())));
    }

    #[test]
    fn only_those_that_wait_for_this_removal_are_refused() {
        let (mut orders, start) = (PendingOrders::default(), Instant::now());
        let ((first, mut refused), (second, mut waiting)) = (reply(), reply());
        orders.wait_for(Goal::Removed(id(2)), "the order", start + TIMEOUT, first);
        orders.wait_for(Goal::Removed(id(3)), "the order", start + TIMEOUT, second);
        orders.refuse_removal(id(2), "it is the last one");
        assert_eq!(refused.try_recv().unwrap().unwrap_err().to_string(), "it is the last one");
        assert!(waiting.try_recv().is_err());
    }

    #[test]
    fn a_postponed_order_is_given_to_the_first_leader_or_refused_in_time() {
        let (mut orders, start) = (PendingOrders::default(), Instant::now());
        orders.postpone(RemoteOrder::Drain, reply().0, start + TIMEOUT);
        assert!(orders.take_postponed(false, start).is_empty());
        assert!(matches!(orders.take_postponed(true, start)[..], [PostponedStep::Give(RemoteOrder::Drain, _)]));
        orders.postpone(RemoteOrder::Drain, reply().0, start + TIMEOUT);
        assert!(matches!(orders.take_postponed(false, start + TIMEOUT)[..], [PostponedStep::Refuse(_)]));
        assert!(orders.take_postponed(true, start).is_empty());
    }

    #[test]
    fn a_leader_that_leaves_hands_over_and_then_asks_its_successor() {
        let (mut orders, start) = (PendingOrders::default(), Instant::now());
        orders.leave(reply().0, start + TIMEOUT);
        assert!(orders.advance_leave(Some(None), false, start).is_none(), "no other node could lead");
        assert!(matches!(orders.advance_leave(Some(Some(id(2))), false, start), Some(LeaveStep::HandOver(_))));
        assert!(orders.advance_leave(None, false, start).is_none(), "no node leads");
        assert!(matches!(orders.advance_leave(None, true, start), Some(LeaveStep::Ask(_))));
        assert!(!orders.is_leaving());
    }
}
