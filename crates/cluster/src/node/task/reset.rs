//! Orders by which this node loses what it has: a reset, and a join to another cluster.

use std::time::Instant;

use consensus::MemberId;
use tokio::sync::oneshot;

use super::NodeTask;
use super::forming::ANSWER_TIMEOUT;
use super::orders::ORDER_TIMEOUT;
use crate::control::ControlError;
use crate::formation::{Consent, NodeState, SeedNode, Settings};
use crate::node::discovery::JoinTarget;
use crate::node::inbox::{Event, Reply};
use crate::node::operator_join::{JoinPermit, JoinStep};
use crate::node::pending_orders::LEAVING;
use crate::node::report::JoinReply;
use crate::node::starts::draw_member;
use crate::node::{Contents, NodeError};
use crate::roster::Roster;

/// The reason that clients get of a node that loses what it has.
const LEAVES: &str = "this node loses what it has: it joins a cluster, or leaves one";

impl NodeTask {
    /// This node leaves its cluster, and loses what it has.
    pub(super) fn reset(&mut self, force: bool, reply: Reply) {
        let own = self.own.member();
        let Some(driver) = self.phase.driver() else {
            return reply.give(outcome(self.become_empty(None)));
        };
        let members = driver.status().members;
        let is_only = members.voters == [own] && members.learners.is_empty();
        if force || is_only || members.voters.is_empty() {
            return self.finish_leaving(Ok(String::new()), reply);
        }
        let inbox = self.io.inbox();
        let (tx, rx) = oneshot::channel();
        // The outcome comes back as an event: only then all is removed here.
        let wait = move || {
            let outcome = rx.blocking_recv().unwrap_or(Err(ControlError::TimedOut { what: LEAVING }));
            inbox.put(Event::Left { outcome, reply });
        };
        match std::thread::Builder::new().name("cluster reset".to_owned()).spawn(wait) {
            Ok(_) => self.let_leave(own, Reply::Here(tx)),
            Err(error) => tracing::warn!(%error, "a reset was not begun"),
        }
    }

    /// The others have removed this member, or have not.
    pub(super) fn finish_leaving(&mut self, left: Result<String, ControlError>, reply: Reply) {
        let outcome = left.and_then(|_| outcome(self.become_empty(None)));
        if let Err(error) = &outcome {
            tracing::warn!(%error, "this node was not reset");
        }
        // An operator that has the answer sees it.
        self.update_view();
        reply.give(outcome);
    }

    /// All that this node has is removed; then it is alone, or joins that cluster.
    fn become_empty(&mut self, joined: Option<(MemberId, Roster)>) -> Result<(), NodeError> {
        self.stop_alone(LEAVES);
        self.membership.leave();
        self.leadership.set_leader(None, Instant::now());
        self.exchange.forget_all();
        self.vitals.forget_all();
        self.formation.forget_seeds();
        if self.clients.reset() {
            self.io.host().refuse_own(None);
        }
        let setup = self.own.setup();
        store::group::empty(&*setup.disk, &setup.store.dir)?;
        // A node that looks for its peers again must not agree to another founder than before.
        let looks_again = joined.is_none() && setup.formation.is_configured;
        self.durable.forget_all(looks_again)?;
        self.own.renew(joined.as_ref().map(|(member, _)| *member), self.durable.files())?;
        self.introduce();
        self.set_peers();
        // As at a first start: it asks the peers of its list, if it has one.
        let settings = if looks_again { self.own.setup().formation } else { Settings::alone() };
        let consent = if looks_again { self.durable.files().consent()? } else { Consent::default() };
        let formation = self.own.formation(NodeState::Empty, settings, consent)?;
        self.formation.restart(formation, Instant::now());
        tracing::info!("the data of this node has been removed");
        match joined {
            Some((_, roster)) => self.join(roster),
            None => Ok(()),
        }
    }

    /// An operator has this node join the cluster of another one.
    pub(super) fn begin_joining(&mut self, seed: &str, force: bool, reply: Reply) {
        match self.joinable(seed, force) {
            Ok((target, member)) => self.orders.join().begin(target, member, reply, ORDER_TIMEOUT, Instant::now()),
            Err(error) => reply.give(Err(error)),
        }
    }

    /// Which node is to be asked, and as which member this one would join.
    fn joinable(&self, seed: &str, force: bool) -> Result<(JoinTarget, MemberId), ControlError> {
        if let Some(cluster) = self.membership.cluster() {
            return Err(ControlError::AlreadyMember(cluster));
        }
        if self.orders.is_joining() {
            return Err(ControlError::ChangeRuns);
        }
        if let (Some(Contents { queues, messages }), false) = (self.io.host().contents(), force) {
            return Err(ControlError::NotEmpty { queues, messages });
        }
        let target = self.own.setup().names.find(seed).map_err(ControlError::Impossible)?;
        if matches!(&target, JoinTarget::Node(node) if node.name == *self.own.name()) {
            return Err(ControlError::Impossible("a node cannot join itself".to_owned()));
        }
        let member = draw_member().map_err(|error| ControlError::Impossible(error.to_string()))?;
        Ok((target, member))
    }

    /// Asks again to be let in, if it is time to.
    pub(super) fn advance_join(&mut self) {
        let io = &self.io;
        match self.orders.join().advance(Instant::now(), ANSWER_TIMEOUT, || io.statistics()) {
            None => {}
            Some(JoinStep::Ask(peer, member)) => self.ask_to_join(&peer, member),
            Some(JoinStep::FindName(address)) => self.io.ask_name(address),
        }
    }

    pub(super) fn take_operators_join_answer(&mut self, peer: &SeedNode, member: MemberId, answer: JoinReply) {
        let permit = self.orders.join().answered(peer, member, answer, Instant::now());
        let Some(JoinPermit { member, roster, reply }) = permit else { return };
        match self.become_empty(Some((member, roster))) {
            Ok(()) => {
                self.update_view();
                reply.give(Ok(String::new()));
            }
            Err(error) => {
                reply.give(Err(ControlError::Impossible(error.to_string())));
                self.fail(&error.to_string());
            }
        }
    }
}

/// What an operator gets of a directory that was to be emptied.
fn outcome(emptied: Result<(), NodeError>) -> Result<String, ControlError> {
    emptied.map(|()| String::new()).map_err(|error| ControlError::Impossible(error.to_string()))
}
