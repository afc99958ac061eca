//! What operators order, of this node or of the cluster that it leads.

use std::time::{Duration, Instant};

use consensus::MemberId;

use super::NodeTask;
use crate::control::ControlError;
use crate::node::inbox::{Order, Reply};
use crate::node::leadership::why_unfit;
use crate::node::pending_orders::{Goal, LeaveStep, PostponedStep};
use crate::node::report::RemoteOrder;
use crate::node::situation::Reach;
use crate::peers::CallAnswer;
use crate::wire::Identity;

/// How long an order may take.
pub(super) const ORDER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an order that only a leader can carry out waits until there is one.
const LEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take until another node leads.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(10);

impl NodeTask {
    /// Carries out an order, or passes it on to the node whose it is.
    pub(super) fn carry_out(&mut self, order: Order, reply: Reply) {
        match order {
            Order::Join { seed, force } => self.begin_joining(&seed, force, reply),
            Order::Forget { name } => self.forget(&name, reply),
            Order::Leave { member } => self.let_leave(member, reply),
            Order::Reset { node, force } => match self.other_node(node) {
                Some(name) => self.pass_on(&name, RemoteOrder::Reset { force }, reply),
                None => self.reset(force, reply),
            },
            Order::Drain { node } => match self.other_node(node) {
                Some(name) => self.pass_on(&name, RemoteOrder::Drain, reply),
                None => self.drain(reply),
            },
            Order::Revive { node } => match self.other_node(node) {
                Some(name) => self.pass_on(&name, RemoteOrder::Revive, reply),
                None => self.revive(reply),
            },
            Order::App { node, runs } => match self.other_node(node) {
                Some(name) => self.pass_on(&name, RemoteOrder::App { runs }, reply),
                None if runs => self.accept_clients(reply),
                None => self.stop_app(reply),
            },
            Order::Transfer { to } => self.transfer(to, reply),
        }
    }

    /// An order that comes from another node.
    pub(super) fn answer_order(&mut self, from: &Identity, payload: &[u8], answer: CallAnswer) {
        // From strangers with the secret nothing is taken but the wish to join.
        match RemoteOrder::decode(payload) {
            Ok(order) if self.membership.is_peer(from) => self.carry_out(as_order(order), Reply::ToPeer(answer)),
            _ => drop(answer),
        }
    }

    /// The node that the order names, if it is another one.
    fn other_node(&self, node: Option<String>) -> Option<String> {
        node.filter(|node| node != self.own.name().as_str())
    }

    /// Gives an order to the leader; where none is known, as soon as one is, if that is soon.
    fn pass_to_leader(&mut self, order: RemoteOrder, reply: Reply) {
        match self.leadership.other_leader(self.own.name()).cloned() {
            Some(leader) => self.pass_on(leader.as_str(), order, reply),
            None if self.phase.is_member() => self.orders.postpone(order, reply, Instant::now() + LEADER_TIMEOUT),
            None => reply.give(Err(ControlError::NoCluster)),
        }
    }

    /// Goes on with orders that there was no leader for.
    pub(super) fn advance_postponed(&mut self) {
        let is_leading = self.phase.is_leading();
        let has_leader = is_leading || self.leadership.other_leader(self.own.name()).is_some();
        for step in self.orders.take_postponed(has_leader, Instant::now()) {
            match step {
                PostponedStep::Give(order, reply) => self.carry_out(as_order(order), reply),
                PostponedStep::Refuse(reply) => reply.give(Err(self.no_majority())),
            }
        }
    }

    fn no_majority(&self) -> ControlError {
        if !self.phase.is_member() {
            return ControlError::NoCluster;
        }
        let Reach { reachable, of } = self.reach();
        ControlError::NoMajority { reachable, of }
    }

    fn forget(&mut self, name: &str, reply: Reply) {
        if !self.phase.is_member() {
            return reply.give(Err(ControlError::NoCluster));
        }
        if name == self.own.name().as_str() {
            return reply.give(Err(ControlError::Itself));
        }
        if !self.phase.is_leading() {
            return self.pass_to_leader(RemoteOrder::Forget(name.to_owned()), reply);
        }
        let Some((name, member)) = self.membership.find(name) else {
            return reply.give(Err(ControlError::UnknownNode(name.to_owned())));
        };
        if self.io.is_connected(&name) {
            return reply.give(Err(ControlError::StillRunning(name.to_string())));
        }
        self.let_leave(member, reply);
    }

    /// A member leaves: this node leads, or passes it on.
    pub(super) fn let_leave(&mut self, member: MemberId, reply: Reply) {
        if !self.phase.is_leading() {
            return self.pass_to_leader(RemoteOrder::Leave(member), reply);
        }
        let until = Instant::now() + ORDER_TIMEOUT;
        if member == self.own.member() {
            // A leader cannot remove itself: the next one does.
            return self.orders.leave(reply, until);
        }
        self.membership.plans().add_leave(member);
        self.orders.wait_for(Goal::Removed(member), "taking a node out of the cluster", until, reply);
    }

    /// Hands over, and asks the next leader to remove this node.
    pub(super) fn advance_leave(&mut self) {
        if !self.orders.is_leaving() {
            return;
        }
        let successor = self.phase.leading().map(|driver| self.successor(driver));
        let has_other_leader = self.leadership.other_leader(self.own.name()).is_some();
        match self.orders.advance_leave(successor, has_other_leader, Instant::now()) {
            None => {}
            Some(LeaveStep::Ask(reply)) => self.pass_to_leader(RemoteOrder::Leave(self.own.member()), reply),
            Some(LeaveStep::HandOver(to)) => self.hand_over(to),
        }
    }

    fn transfer(&mut self, to: Option<String>, reply: Reply) {
        let Some(driver) = self.phase.leading() else {
            return self.pass_to_leader(RemoteOrder::Transfer(to), reply);
        };
        let status = driver.status();
        let member = match &to {
            Some(name) if name == self.own.name().as_str() => return reply.give(Ok(name.clone())),
            Some(name) => match self.membership.find(name) {
                None => return reply.give(Err(ControlError::UnknownNode(name.clone()))),
                Some((_, member)) if !status.members.voters.contains(&member) => {
                    return reply.give(Err(ControlError::NotAVoter(name.clone())));
                }
                Some((_, member)) => member,
            },
            None => match self.successor(driver) {
                Some(member) => member,
                None => {
                    let sentence = "there is no other node that could lead".to_owned();
                    return reply.give(Err(ControlError::Impossible(sentence)));
                }
            },
        };
        let Some(name) = self.membership.name_of(member).cloned() else {
            return reply.give(Err(ControlError::UnknownNode(to.unwrap_or_default())));
        };
        if !self.io.is_connected(&name) {
            let why = "there is no connection to it".to_owned();
            return reply.give(Err(ControlError::Unreachable { name: name.to_string(), why }));
        }
        let peers = driver.peers();
        if let Some(why) = why_unfit(peers.iter().find(|peer| peer.member == member), driver.status().committed) {
            return reply.give(Err(ControlError::NotFit { name: name.to_string(), why }));
        }
        driver.hand_over(member);
        let until = Instant::now() + TRANSFER_TIMEOUT;
        self.orders.wait_for(Goal::Leads(name), "the transfer of leadership", until, reply);
    }

    fn revive(&mut self, reply: Reply) {
        if self.clients.is_app_stopped() {
            let sentence = "its clients were sent away by stop_app: start_app has it serve them again";
            return reply.give(Err(ControlError::Impossible(sentence.to_owned())));
        }
        self.accept_clients(reply);
    }

    fn accept_clients(&mut self, reply: Reply) {
        self.clients.accept();
        self.io.host().refuse_own(None);
        tracing::info!("this node takes clients again");
        reply.give(Ok(String::new()));
    }

    /// As RabbitMQ stops its application in a process that keeps running.
    fn stop_app(&mut self, reply: Reply) {
        self.clients.stop_app();
        self.send_clients_away(
            "this node serves no clients until its application is started (warren ctl start_app)",
            reply,
        );
    }

    fn drain(&mut self, reply: Reply) {
        self.clients.drain();
        self.send_clients_away("this node is drained: connect to another node of the cluster", reply);
    }

    fn send_clients_away(&mut self, why: &str, reply: Reply) {
        self.io.host().refuse_own(Some(why));
        tracing::info!("this node no longer takes clients: {why}");
        match self.phase.leading().and_then(|driver| self.successor(driver)) {
            // It leads on, or is alone: no other node will close its clients.
            None => {
                self.io.host().close_clients(why);
                reply.give(Ok(String::new()));
            }
            Some(_) => {
                self.orders.wait_for(Goal::Drained, "handing over", Instant::now() + ORDER_TIMEOUT, reply);
            }
        }
    }
}

/// An order that came by a call, as one that an operator here could give.
fn as_order(order: RemoteOrder) -> Order {
    match order {
        RemoteOrder::Forget(name) => Order::Forget { name },
        RemoteOrder::Leave(member) => Order::Leave { member },
        RemoteOrder::Transfer(to) => Order::Transfer { to },
        RemoteOrder::Drain => Order::Drain { node: None },
        RemoteOrder::Revive => Order::Revive { node: None },
        RemoteOrder::Reset { force } => Order::Reset { node: None, force },
        RemoteOrder::App { runs } => Order::App { node: None, runs },
    }
}
