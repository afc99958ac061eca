//! The thread that decides what a node is, and what it keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use consensus::{MemberId, Members};
use store::{RecoveredStore, Store};

use super::exchange::Told;
use super::files::NodeFiles;
use super::inbox::{Event, Inbox, Reply};
use super::membership::WaitingOrder;
use super::memory::Memory;
use super::orders::OperatorJoin;
use super::peer_vitals::PeerVitals;
use super::starts::{EarlierStarts, OwnId};
use super::time::GroupTime;
use super::view::Shown;
use super::{Host, NodeAlarms, NodeSetup, Standing};
use crate::address::Address;
use crate::driver::{Driver, NodeOwner};
use crate::formation::{Formation, Listed};
use crate::link::{Expected, Identity, Local, NodeName, Refusal, Secret};
use crate::links::{CallAnswer, ForwardedClient, Links, PeerAddress, PeerEvent};
use crate::plan::MembershipPlan;
use crate::roster::Roster;
use crate::switchboard::{NodeCalls, Switchboard};

/// How often a member looks at how things stand.
const BEAT: Duration = Duration::from_millis(100);
/// How long a node that ends waits for another one to take over.
const HAND_OVER_PATIENCE: Duration = Duration::from_secs(4);
/// How often a node does that is alone and waits for nothing.
const IDLE_BEAT: Duration = Duration::from_secs(1);

/// What a node is.
pub(super) enum Phase {
    /// On its way into a cluster. What was found in its directory, if it may stay alone.
    Forming(Option<(Arc<Store>, RecoveredStore)>),
    /// It serves on its own.
    Alone,
    /// It belongs to a cluster.
    Member(Driver),
    /// It has failed.
    Over,
}

/// See the module.
pub(super) struct Shell {
    pub(super) setup: NodeSetup,
    pub(super) address: Address,
    pub(super) host: Arc<dyn Host>,
    pub(super) links: Arc<Links>,
    pub(super) board: Arc<Switchboard>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) files: NodeFiles,
    pub(super) own: OwnId,
    /// Which starts this directory had before.
    pub(super) earlier: EarlierStarts,
    /// What others have promised.
    pub(super) memory: Memory,
    /// What was last said of this member by its seal.
    pub(super) sealed_at: (Instant, u64),
    pub(super) phase: Phase,
    pub(super) formation: Formation,
    /// Whom a node on its way talks to, and one that an operator named.
    pub(super) listed: Vec<Listed>,
    pub(super) roster: Option<Roster>,
    /// What members have said of themselves.
    pub(super) told: BTreeMap<NodeName, Told>,
    /// How often this node has told of itself.
    pub(super) report_number: u64,
    /// Peers whose answer is waited for.
    pub(super) asked: BTreeSet<NodeName>,
    /// Nodes that were taken out, and since when.
    pub(super) gone: BTreeMap<MemberId, Instant>,
    pub(super) next_exchange: Instant,
    /// How peers are.
    pub(super) vitals: BTreeMap<NodeName, PeerVitals>,
    pub(super) next_vitals: Instant,
    /// What time it is in the cluster.
    pub(super) time: Arc<GroupTime>,
    pub(super) plans: Vec<MembershipPlan>,
    pub(super) next_hand_over: Instant,
    pub(super) waiting: Vec<WaitingOrder>,
    pub(super) joining: Option<OperatorJoin>,
    /// Orders that wait for a leader, and until when.
    pub(super) postponed: Vec<(super::report::RemoteOrder, Reply, Instant)>,
    /// This node leads, and is to leave.
    pub(super) leaving: Option<(Reply, Instant)>,
    pub(super) leader: Option<NodeName>,
    pub(super) leaderless_since: Instant,
    pub(super) leader_changes: u64,
    pub(super) standing: Option<Standing>,
    pub(super) is_draining: bool,
    /// It serves no clients until it is told to, whatever it becomes meanwhile.
    pub(super) is_app_stopped: bool,
    /// What this node is short of.
    pub(super) alarms: NodeAlarms,
    /// What others were last said to be short of.
    pub(super) peer_alarms: Vec<(NodeName, NodeAlarms)>,
    /// Since when it has nothing any more: until its peers know that, they may take it for a second node of its name.
    pub(super) emptied_at: Option<Instant>,
    /// Why it is no member any more, if its peers say so.
    pub(super) removed: Option<String>,
    pub(super) shown: Arc<Shown>,
    pub(super) started_at: Instant,
}

impl Shell {
    /// Runs until it is told to stop.
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
            Event::Called { from, name, payload, answer } => self.called(&from, &name, &payload, answer),
            Event::Discovered(found) => self.discovered(found),
            Event::Answered { number, answer } => self.answered(number, answer),
            Event::JoinAnswered { peer, member, answer } => self.join_answered(&peer, member, answer),
            Event::Named { address, name } => self.operators_seed_named(address, name),
            Event::NodeAnswered { peer, answer } => self.node_answered(&peer, answer),
            Event::VitalsAnswered { peer, asked_at, answered_at, answer } => {
                self.vitals_answered(&peer, (asked_at, answered_at), answer);
            }
            Event::OrderAnswered { passed, answer } => self.order_answered(*passed, answer),
            Event::Rejected { peer, sentence } => self.rejected(&peer, sentence),
            Event::Left { outcome, reply } => self.left(outcome, reply),
            Event::Connected(peer) => {
                self.ask_node(&peer);
                self.next_vitals = Instant::now();
            }
            Event::LeaderChanged(leader) => self.leader_changed(leader),
            Event::Failed(reason) => self.fail(&reason),
            Event::Ordered { order, reply } => self.ordered(order, reply),
            Event::Stop => {}
        }
    }

    fn step(&mut self) {
        match &self.phase {
            Phase::Forming(_) | Phase::Alone => self.form(),
            Phase::Member(_) => {
                self.exchange();
                self.plan();
            }
            Phase::Over => {}
        }
        self.look_at_vitals();
        self.go_on_joining();
        self.go_on_leaving();
        self.go_on_with_postponed();
        self.settle_waiting();
        self.stand();
        self.show();
    }

    fn wait_time(&self) -> Duration {
        let is_idle = matches!(self.phase, Phase::Alone | Phase::Over) && self.joining.is_none();
        let beat = if is_idle { IDLE_BEAT } else { BEAT };
        match self.formation.next_at() {
            Some(at) if !matches!(self.phase, Phase::Member(_)) => {
                beat.min(Duration::from_millis(at.saturating_sub(self.now_ms())))
            }
            _ => beat,
        }
    }

    /// Milliseconds since the start: the formation's clock.
    pub(super) fn now_ms(&self) -> u64 {
        self.started_at.elapsed().as_millis() as u64
    }

    pub(super) fn driver(&self) -> Option<&Driver> {
        match &self.phase {
            Phase::Member(driver) => Some(driver),
            _ => None,
        }
    }

    /// The member, if it leads and serves.
    pub(super) fn leading(&self) -> Option<&Driver> {
        self.driver().filter(|driver| driver.is_serving())
    }

    /// The members as far as this node knows; none where it is new, or no member.
    pub(super) fn members(&self) -> Members {
        self.driver().map(|driver| driver.status().members).unwrap_or_default()
    }

    /// Who this node is on links.
    pub(super) fn identity(&self) -> Identity {
        Identity {
            cluster: self.roster.as_ref().map(Roster::cluster),
            name: self.setup.name.clone(),
            member: Some(self.own.member),
            incarnation: self.own.incarnation,
            level: self.setup.level,
        }
    }

    /// Its links say from now on who it is.
    pub(super) fn introduce(&self) {
        self.links.set_local(local(self.identity(), self.setup.secret.as_ref()));
    }

    /// Its links go to all that it knows.
    pub(super) fn set_peers(&self) {
        let mut peers: Vec<PeerAddress> = Vec::new();
        for (name, node) in self.roster.iter().flat_map(Roster::iter) {
            peers.push(peer_address(name, &node.address, Some(node.member)));
        }
        for Listed { name, address } in &self.listed {
            if peers.iter().all(|peer| peer.node.name != *name) {
                peers.push(peer_address(name, address, None));
            }
        }
        peers.retain(|peer| peer.node.name != self.setup.name);
        self.links.set_peers(peers);
    }

    /// A peer that is talked to before it is in the roster.
    pub(super) fn reach(&mut self, peer: &Listed) {
        if !self.listed.contains(peer) {
            self.listed.retain(|listed| listed.name != peer.name);
            self.listed.push(peer.clone());
            self.set_peers();
        }
    }

    /// Keeps the roster, and has the links go by it.
    pub(super) fn roster_changed(&mut self) {
        if let Some(roster) = &self.roster
            && let Err(error) = self.files.write_roster(roster)
        {
            // The next start asks its peers again.
            tracing::warn!(%error, "the list of nodes is not kept");
        }
        self.set_peers();
    }

    fn leader_changed(&mut self, leader: Option<NodeName>) {
        if let Some(leader) = &leader
            && self.leader.as_ref() != Some(leader)
        {
            self.leader_changes += 1;
            if *leader != self.setup.name {
                tracing::info!(leader = leader.as_str(), "another node leads");
            }
        }
        self.leader = leader;
        self.next_vitals = Instant::now();
        if self.leader.is_none() {
            self.leaderless_since = Instant::now();
        }
    }

    /// It cannot go on.
    pub(super) fn fail(&mut self, reason: &str) {
        tracing::error!(reason, "this node cannot go on");
        self.phase = Phase::Over;
        self.host.failed(reason);
    }

    /// Hands over if there is another that could lead, and ends.
    fn end(&mut self) {
        if let Some(driver) = self.leading()
            && let Some(successor) = self.successor(driver)
        {
            driver.hand_over(successor);
            driver.wait_until_not_serving(HAND_OVER_PATIENCE);
        }
        self.phase = Phase::Over;
        self.links.close();
        self.memory.end();
    }

    fn called(&mut self, from: &Identity, name: &str, payload: &[u8], answer: CallAnswer) {
        match name {
            crate::formation::CALL => self.answer_question(payload, answer),
            super::report::CALL_NODE => self.answer_node(from, payload, answer),
            super::report::CALL_JOIN => self.answer_join(from, payload, answer),
            super::report::CALL_ORDER => self.answer_order(from, payload, answer),
            super::vitals::CALL_VITALS => self.answer_vitals(from, payload, answer),
            // Of a later version: no answer.
            _ => {}
        }
    }
}

/// Who a node is on links, and what its peers have to know.
pub(super) fn local(identity: Identity, secret: Option<&Secret>) -> Local {
    Local::new(identity, secret.cloned().unwrap_or_else(Secret::absent))
}

fn peer_address(name: &NodeName, address: &Address, member: Option<MemberId>) -> PeerAddress {
    PeerAddress { node: Expected { name: name.clone(), member }, host: address.host().to_owned(), port: address.port() }
}

/// Milliseconds since 1970.
pub(super) fn clock_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Brings what comes by links to the shell.
pub(super) struct Door {
    pub(super) inbox: Arc<Inbox>,
    pub(super) host: Arc<dyn Host>,
}

impl NodeCalls for Door {
    fn called(&self, from: &Identity, name: &str, payload: &[u8], answer: CallAnswer) {
        let (from, name, payload) = (from.clone(), name.to_owned(), payload.to_vec());
        self.inbox.put(Event::Called { from, name, payload, answer });
    }

    fn peer_changed(&self, peer: &NodeName, event: &PeerEvent) {
        match event {
            PeerEvent::Connected { lane: crate::link::Lane::Calls, .. } => {
                self.inbox.put(Event::Connected(peer.clone()));
            }
            PeerEvent::Rejected { sentence, refusal: Some(refusal) } => {
                // Who is no peer yet may ask, and one that is not ready will be.
                let is_final = !matches!(refusal, Refusal::NoPeer { .. } | Refusal::NotReady);
                let sentence = is_final.then(|| sentence.clone());
                self.inbox.put(Event::Rejected { peer: peer.clone(), sentence });
            }
            _ => {}
        }
    }

    fn forwarded(&self, client: ForwardedClient) {
        self.host.forwarded(client);
    }
}

/// Brings what the member's driver says to the shell and to the host.
pub(super) struct MemberOwner {
    pub(super) inbox: Arc<Inbox>,
    pub(super) host: Arc<dyn Host>,
    pub(super) time: Arc<GroupTime>,
}

/// What clients are told that a node served which does not lead any more.
const NOT_LEADING: &str = "this node does not lead the cluster any more";

impl NodeOwner for MemberOwner {
    fn serve(&self, store: Arc<Store>, recovered: RecoveredStore) -> Result<(), String> {
        self.host.serve(store, recovered, self.time.ahead_ms(clock_ms()))
    }

    fn pause(&self) {
        self.host.pause();
    }

    fn stop(&self) {
        self.host.stop(NOT_LEADING);
    }

    fn leader_changed(&self, leader: Option<NodeName>) {
        self.inbox.put(Event::LeaderChanged(leader));
    }

    fn failed(&self, reason: &str) {
        self.inbox.put(Event::Failed(reason.to_owned()));
    }
}
