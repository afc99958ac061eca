//! The thread that decides what a node is: forming, alone, a member. Each event, and each beat, is given to the parts of the node, which
//! decide; what they return is done here, by the host, the links and the member's driver.
//!
//! Files: `forming`: until there is a cluster; `exchange`: reports, and nodes that ask to join; `vitals`: how peers are; `membership`:
//! changes of members; `orders`: those of operators, `reset`: those by which this node leaves or joins, `passing`: those for other nodes;
//! `situation`: where clients go; `view`: what operators see.

mod exchange;
mod forming;
mod membership;
mod orders;
mod passing;
mod reset;
mod situation;
mod view;
mod vitals;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::clients::ClientAccess;
use super::durable::DurableState;
use super::error::NodeError;
use super::exchange::ReportExchange;
use super::files::NodeFiles;
use super::formation::NodeFormation;
use super::inbox::Event;
use super::io::NodeIo;
use super::leadership::Leadership;
use super::membership::Membership;
use super::own::OwnNode;
use super::pending_orders::PendingOrders;
use super::phase::{OpenedStore, Phase};
use super::report::{CALL_JOIN, CALL_NODE, CALL_ORDER};
use super::time::GroupTime;
use super::view::NodeView;
use super::vitals::{CALL_VITALS, VitalsTable};
use crate::formation::{self, Formation};
use crate::peers::CallAnswer;
use crate::roster::Roster;
use crate::wire::{Identity, NodeName};

/// How often a member looks at how everything is.
const BEAT: Duration = Duration::from_millis(100);
/// How often a node does that is alone and waits for nothing.
const IDLE_BEAT: Duration = Duration::from_secs(1);
/// How long a node that ends waits for another one to take over.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(4);

/// See the module.
pub(super) struct NodeTask {
    own: OwnNode,
    io: NodeIo,
    durable: DurableState,
    phase: Phase,
    formation: NodeFormation,
    membership: Membership,
    exchange: ReportExchange,
    vitals: VitalsTable,
    orders: PendingOrders,
    leadership: Leadership,
    clients: ClientAccess,
    view: Arc<NodeView>,
}

/// What a node has found in its directory.
pub(super) struct FoundDirectory {
    pub(super) files: NodeFiles,
    /// Its store, if the node may stay alone.
    pub(super) opened: Option<OpenedStore>,
    /// That of the cluster that it belongs to.
    pub(super) roster: Option<Roster>,
    /// What time it is in that cluster, as far as the directory says.
    pub(super) time: Arc<GroupTime>,
}

impl NodeTask {
    /// Begins. The directory of a member runs as that at once.
    pub(super) fn start(
        own: OwnNode,
        io: NodeIo,
        found: FoundDirectory,
        formation: Formation,
        view: Arc<NodeView>,
    ) -> Result<Self, NodeError> {
        let FoundDirectory { files, opened, roster, time } = found;
        let is_member = roster.is_some();
        let now = Instant::now();
        let mut task = NodeTask {
            own,
            io,
            durable: DurableState::open(files, now),
            phase: Phase::Forming(opened),
            formation: NodeFormation::new(formation, now),
            membership: Membership::new(roster),
            exchange: ReportExchange::new(now),
            vitals: VitalsTable::new(time, now),
            orders: PendingOrders::default(),
            leadership: Leadership::new(now),
            clients: ClientAccess::default(),
            view,
        };
        if is_member {
            task.start_member()?;
        }
        task.update_view();
        Ok(task)
    }

    /// Runs until it is ordered to stop.
    pub(super) fn run(mut self, events: &Receiver<Event>) {
        loop {
            self.step();
            match events.recv_timeout(self.wait_time()) {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout) => {}
            }
            // All that is there, before what may take longer.
            loop {
                match events.try_recv() {
                    Ok(Event::Stop) => return self.end(),
                    Ok(event) => self.handle(event),
                    Err(_) => break,
                }
            }
        }
        self.end();
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Called { from, name, payload, answer } => self.answer_call(&from, &name, &payload, answer),
            Event::Discovered(found) => self.take_discovered(found),
            Event::Answered { number, answer } => self.formation.answered(number, answer),
            Event::JoinAnswered { peer, member, answer } => self.take_join_answer(&peer, member, answer),
            Event::Named { address, name } => self.orders.join().named(address, name, Instant::now()),
            Event::NodeAnswered { peer, answer } => self.take_node_answer(&peer, answer),
            Event::VitalsAnswered { peer, asked_at, answered_at, answer } => {
                self.take_vitals_answer(&peer, (asked_at, answered_at), answer);
            }
            Event::OrderAnswered { passed, answer } => self.take_order_answer(*passed, answer),
            Event::Rejected { peer, sentence } => self.orders.join().rejected(&peer, sentence),
            Event::Left { outcome, reply } => self.finish_leaving(outcome, reply),
            Event::Connected(peer) => {
                self.ask_node(&peer);
                self.vitals.hasten(Instant::now());
            }
            Event::LeaderChanged(leader) => self.set_leader(leader),
            Event::Failed(reason) => self.fail(&reason),
            Event::Ordered { order, reply } => self.carry_out(order, reply),
            Event::Stop => {}
        }
    }

    fn step(&mut self) {
        match &self.phase {
            Phase::Forming(_) | Phase::Alone => self.form(),
            Phase::Member(_) => {
                self.exchange_reports();
                self.advance_plans();
            }
            Phase::Failed => {}
        }
        self.exchange_vitals();
        self.advance_join();
        self.advance_leave();
        self.advance_postponed();
        self.settle_orders();
        self.update_situation();
        self.update_view();
    }

    fn wait_time(&self) -> Duration {
        let is_idle = matches!(self.phase, Phase::Alone | Phase::Failed) && !self.orders.is_joining();
        let beat = if is_idle { IDLE_BEAT } else { BEAT };
        match self.formation.wait_time(Instant::now()) {
            Some(time) if !self.phase.is_member() => beat.min(time),
            _ => beat,
        }
    }

    fn answer_call(&mut self, from: &Identity, name: &str, payload: &[u8], answer: CallAnswer) {
        match name {
            formation::CALL => self.answer_question(payload, answer),
            CALL_NODE => self.answer_node(from, payload, answer),
            CALL_JOIN => self.answer_join(from, payload, answer),
            CALL_ORDER => self.answer_order(from, payload, answer),
            CALL_VITALS => self.answer_vitals(from, payload, answer),
            // Of a later version: no answer.
            _ => {}
        }
    }

    fn set_leader(&mut self, leader: Option<NodeName>) {
        let now = Instant::now();
        let is_news = self.leadership.set_leader(leader, now);
        if let (true, Some(leader)) = (is_news, self.leadership.other_leader(self.own.name())) {
            tracing::info!(leader = leader.as_str(), "another node leads");
        }
        self.vitals.hasten(now);
    }

    /// The node that leads, as far as is known.
    fn leader(&self) -> Option<&NodeName> {
        if self.phase.is_leading() { Some(self.own.name()) } else { self.leadership.leader() }
    }

    /// The links of this node introduce it as what it is now.
    fn introduce(&self) {
        self.io.introduce(self.own.local(self.membership.cluster()));
    }

    /// Connects this node's links to all nodes that it knows.
    fn set_peers(&self) {
        self.io.set_peers(self.membership.peer_addresses(self.own.name(), self.formation.seeds()));
    }

    /// Writes the roster, and connects the links by it.
    fn keep_roster(&self) {
        if let Some(roster) = self.membership.roster()
            && let Err(error) = self.durable.files().write_roster(roster)
        {
            // The next start asks its peers again.
            tracing::warn!(%error, "the list of nodes is not kept");
        }
        self.set_peers();
    }

    /// It cannot go on.
    fn fail(&mut self, reason: &str) {
        tracing::error!(reason, "this node cannot go on");
        self.phase = Phase::Failed;
        self.io.host().failed(reason);
    }

    /// Hands over if there is another that could lead, and ends.
    fn end(&mut self) {
        if let Some(driver) = self.phase.leading()
            && let Some(successor) = self.successor(driver)
        {
            driver.hand_over(successor);
            driver.wait_until_not_serving(HAND_OVER_TIMEOUT);
        }
        self.phase = Phase::Failed;
        self.io.close();
        self.durable.end();
    }
}
