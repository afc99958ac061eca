//! Orders that go to other nodes, and what comes of them. An order may end the very link by which it came: a node that is reset is
//! another one afterwards. So where an answer is lost, what it would have said is seen by what has become of the cluster.

use std::time::{Duration, Instant};

use super::inbox::{Event, PassedOrder, Reply};
use super::membership::{Done, WaitingOrder};
use super::orders::ORDER_PATIENCE;
use super::report::{CALL_ORDER, RemoteOrder, decode_outcome};
use super::shell::Shell;
use crate::control::ControlError;
use crate::link::NodeName;
use crate::links::CallError;

/// How long it may take until an order whose answer was lost is seen to be done.
const SEEN_PATIENCE: Duration = Duration::from_secs(10);
/// How long one that is done may take until this node sees it, too.
const KNOWN_PATIENCE: Duration = Duration::from_secs(5);

impl Shell {
    /// Gives an order to the node whose it is.
    pub(super) fn pass_on(&mut self, name: &str, order: RemoteOrder, reply: Reply) {
        let Some(roster) = &self.roster else { return reply.give(Err(ControlError::NoCluster)) };
        let known = NodeName::new(name).and_then(|name| Some((roster.node(&name)?.member, name)));
        let Some((member, to)) = known else { return reply.give(Err(ControlError::UnknownNode(name.to_owned()))) };
        let leaver = match &order {
            RemoteOrder::Reset { .. } => Some(member),
            RemoteOrder::Leave(member) => Some(*member),
            RemoteOrder::Forget(name) => NodeName::new(name).and_then(|name| Some(roster.node(&name)?.member)),
            _ => None,
        };
        self.pass(PassedOrder { to, order, leaver, is_again: false, reply });
    }

    fn pass(&mut self, passed: PassedOrder) {
        let (inbox, to, payload) = (self.inbox.clone(), passed.to.clone(), passed.order.encode());
        let then = move |answer| inbox.put(Event::OrderAnswered { passed: Box::new(passed), answer });
        self.links.call_then(&to, CALL_ORDER, payload, ORDER_PATIENCE, then);
    }

    /// What became of an order that was passed on.
    pub(super) fn order_answered(&mut self, passed: PassedOrder, answer: Result<Vec<u8>, CallError>) {
        let PassedOrder { to, order, leaver, is_again, reply } = passed;
        match answer {
            Ok(bytes) => match (decode_outcome(&to, &bytes), leaver) {
                // The next answer of this node does not list a member that has left.
                (Ok(_), Some(member)) => self.wait_for(Done::KnownGone(member), KNOWN_PATIENCE, reply),
                (outcome, _) => reply.give(outcome),
            },
            // It may have been done.
            Err(CallError::Lost | CallError::Closed | CallError::TimedOut) if !is_again => match (order, leaver) {
                (_, Some(member)) => self.wait_for(Done::Gone(member), SEEN_PATIENCE, reply),
                (RemoteOrder::Transfer(Some(name)), _) => match NodeName::new(&name) {
                    Some(name) => self.wait_for(Done::Leads(name), SEEN_PATIENCE, reply),
                    None => reply.give(Err(ControlError::UnknownNode(name))),
                },
                (RemoteOrder::Transfer(None), _) => self.wait_for(Done::LeftBy(to), SEEN_PATIENCE, reply),
                // Given twice, it does no harm.
                (order, _) => self.pass(PassedOrder { to, order, leaver, is_again: true, reply }),
            },
            Err(error) => reply.give(Err(ControlError::Unreachable { name: to.to_string(), why: error.to_string() })),
        }
    }

    fn wait_for(&mut self, done: Done, patience: Duration, reply: Reply) {
        self.waiting.push(WaitingOrder { what: "the order", until: Instant::now() + patience, done, reply });
    }
}
