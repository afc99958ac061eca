//! Orders that are sent to other nodes, and their outcomes. An order may end the very link by which it came: a node that is reset is
//! another one afterwards. So where an answer is lost, what it would have reported is seen by what has become of the cluster.

use std::time::{Duration, Instant};

use super::NodeTask;
use super::orders::ORDER_TIMEOUT;
use crate::control::ControlError;
use crate::node::inbox::{Event, PassedOrder, Reply};
use crate::node::pending_orders::Goal;
use crate::node::report::{CALL_ORDER, RemoteOrder, decode_outcome};
use crate::peers::CallError;
use crate::wire::NodeName;

/// How long it may take until an order whose answer was lost is seen to be done.
const SEEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one that is done may take until this node sees it, too.
const KNOWN_TIMEOUT: Duration = Duration::from_secs(5);

impl NodeTask {
    /// Gives an order to the node whose it is.
    pub(super) fn pass_on(&mut self, name: &str, order: RemoteOrder, reply: Reply) {
        if self.membership.roster().is_none() {
            return reply.give(Err(ControlError::NoCluster));
        }
        let Some((to, member)) = self.membership.find(name) else {
            return reply.give(Err(ControlError::UnknownNode(name.to_owned())));
        };
        let leaver = match &order {
            RemoteOrder::Reset { .. } => Some(member),
            RemoteOrder::Leave(member) => Some(*member),
            RemoteOrder::Forget(name) => self.membership.find(name).map(|(_, member)| member),
            _ => None,
        };
        self.pass(PassedOrder { to, order, leaver, is_again: false, reply });
    }

    fn pass(&mut self, passed: PassedOrder) {
        let (to, payload) = (passed.to.clone(), passed.order.encode());
        let event = move |answer| Event::OrderAnswered { passed: Box::new(passed), answer };
        self.io.call(&to, CALL_ORDER, payload, ORDER_TIMEOUT, event);
    }

    /// What became of an order that was passed on.
    pub(super) fn take_order_answer(&mut self, passed: PassedOrder, answer: Result<Vec<u8>, CallError>) {
        let PassedOrder { to, order, leaver, is_again, reply } = passed;
        match answer {
            Ok(bytes) => match (decode_outcome(&to, &bytes), leaver) {
                // The next answer of this node does not list a member that has left.
                (Ok(_), Some(member)) => self.wait_to_see(Goal::SeenRemoved(member), KNOWN_TIMEOUT, reply),
                (outcome, _) => reply.give(outcome),
            },
            // It may have been done.
            Err(CallError::Lost | CallError::Closed | CallError::TimedOut) if !is_again => match (order, leaver) {
                (_, Some(member)) => self.wait_to_see(Goal::Removed(member), SEEN_TIMEOUT, reply),
                (RemoteOrder::Transfer(Some(name)), _) => match NodeName::new(&name) {
                    Some(name) => self.wait_to_see(Goal::Leads(name), SEEN_TIMEOUT, reply),
                    None => reply.give(Err(ControlError::UnknownNode(name))),
                },
                (RemoteOrder::Transfer(None), _) => self.wait_to_see(Goal::LeftBy(to), SEEN_TIMEOUT, reply),
                // Given twice, it does no harm.
                (order, _) => self.pass(PassedOrder { to, order, leaver, is_again: true, reply }),
            },
            Err(error) => reply.give(Err(ControlError::Unreachable { name: to.to_string(), why: error.to_string() })),
        }
    }

    fn wait_to_see(&mut self, goal: Goal, timeout: Duration, reply: Reply) {
        self.orders.wait_for(goal, "the order", Instant::now() + timeout, reply);
    }
}
