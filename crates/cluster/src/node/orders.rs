//! What operators order.

use std::time::{Duration, Instant};

use consensus::MemberId;

use super::discovery::Seed;
use super::forming::ANSWER_PATIENCE;
use super::inbox::{Event, Order, Reply};
use super::membership::{Done, WaitingOrder};
use super::report::{JoinReply, RemoteOrder};
use super::shell::Shell;
use super::starts::{EarlierStarts, OwnId, draw_member, next_incarnation};
use super::{Contents, NodeError, NodeSetup};
use crate::address::Address;
use crate::control::ControlError;
use crate::formation::{Consent, Formation, Listed, NodeState, Own, Settings};
use crate::link::{ClusterId, Identity, Lane, NodeName};
use crate::links::{CallAnswer, NoName};
use crate::plan::{Aim, MembershipPlan};
use crate::roster::Roster;

/// How long an order may take.
pub(super) const ORDER_PATIENCE: Duration = Duration::from_secs(60);
/// How long an order that only a leader can carry out waits until there is one.
const LEADER_PATIENCE: Duration = Duration::from_secs(10);
/// Between two tries to join.
const JOIN_INTERVAL: Duration = Duration::from_millis(300);

/// How long an operator waits for a node that cannot be reached.
const UNREACHABLE_PATIENCE: Duration = Duration::from_secs(5);

/// What clients are told whose node loses what it has.
const LEAVES: &str = "this node loses what it has: it joins a cluster, or leaves one";

/// What a node does that is reset.
const LEAVING: &str = "leaving the cluster";

/// A node that an operator has told to join a cluster.
pub(super) struct OperatorJoin {
    seed: Seed,
    /// Who it will be.
    member: MemberId,
    next_at: Instant,
    begun_at: Instant,
    until: Instant,
    /// Why it was not at once.
    why: Option<String>,
    /// There is a node, which is not ready yet.
    is_reached: bool,
    /// There is one that does not want this one.
    rejected: Option<String>,
    reply: Reply,
}

impl Shell {
    pub(super) fn ordered(&mut self, order: Order, reply: Reply) {
        match order {
            Order::Join { seed, force } => self.begin_joining(&seed, force, reply),
            Order::Forget { name } => self.forget(&name, reply),
            Order::Leave { member } => self.let_leave(member, reply),
            Order::Reset { node, force } => match self.elsewhere(node) {
                Some(name) => self.pass_on(&name, RemoteOrder::Reset { force }, reply),
                None => self.reset(force, reply),
            },
            Order::Drain { node } => match self.elsewhere(node) {
                Some(name) => self.pass_on(&name, RemoteOrder::Drain, reply),
                None => self.drain(reply),
            },
            Order::Revive { node } => match self.elsewhere(node) {
                Some(name) => self.pass_on(&name, RemoteOrder::Revive, reply),
                None if self.is_app_stopped => {
                    let sentence = "its clients were sent away by stop_app: start_app has it serve them again";
                    reply.give(Err(ControlError::Impossible(sentence.to_owned())));
                }
                None => self.take_clients(reply),
            },
            Order::App { node, runs } => match self.elsewhere(node) {
                Some(name) => self.pass_on(&name, RemoteOrder::App { runs }, reply),
                None => self.run_app(runs, reply),
            },
            Order::Transfer { to } => self.transfer(to, reply),
        }
    }

    /// An order that comes from another node.
    pub(super) fn answer_order(&mut self, from: &Identity, payload: &[u8], answer: CallAnswer) {
        // From strangers with the secret nothing is taken but the wish to join.
        let is_peer = from.cluster.is_some() && from.cluster == self.roster.as_ref().map(Roster::cluster);
        match RemoteOrder::decode(payload) {
            Ok(order) if is_peer => self.ordered(as_order(order), Reply::ToPeer(answer)),
            _ => drop(answer),
        }
    }

    /// The node that is meant, if it is another one.
    fn elsewhere(&self, node: Option<String>) -> Option<String> {
        node.filter(|node| node != self.setup.name.as_str())
    }

    /// Gives an order to the leader; where none is known, as soon as one is, if that is soon.
    fn pass_to_leader(&mut self, order: RemoteOrder, reply: Reply) {
        match self.leader.clone().filter(|leader| *leader != self.setup.name) {
            Some(leader) => self.pass_on(leader.as_str(), order, reply),
            None if self.driver().is_some() => {
                self.postponed.push((order, reply, Instant::now() + LEADER_PATIENCE));
            }
            None => reply.give(Err(ControlError::NoCluster)),
        }
    }

    /// Goes on with orders that no leader was there for.
    pub(super) fn go_on_with_postponed(&mut self) {
        let has_leader = self.leader_name().is_some_and(|leader| leader != self.setup.name || self.leading().is_some());
        for (order, reply, until) in std::mem::take(&mut self.postponed) {
            if has_leader {
                self.ordered(as_order(order), reply);
            } else if Instant::now() >= until {
                reply.give(Err(self.no_majority()));
            } else {
                self.postponed.push((order, reply, until));
            }
        }
    }

    fn no_majority(&self) -> ControlError {
        if self.driver().is_none() {
            return ControlError::NoCluster;
        }
        let (reachable, of) = self.reachable_voters();
        ControlError::NoMajority { reachable, of }
    }

    fn forget(&mut self, name: &str, reply: Reply) {
        if self.driver().is_none() {
            return reply.give(Err(ControlError::NoCluster));
        }
        if name == self.setup.name.as_str() {
            return reply.give(Err(ControlError::Itself));
        }
        if self.leading().is_none() {
            return self.pass_to_leader(RemoteOrder::Forget(name.to_owned()), reply);
        }
        let node = NodeName::new(name).and_then(|name| Some((name.clone(), self.roster.as_ref()?.node(&name)?.member)));
        let Some((name, member)) = node else {
            return reply.give(Err(ControlError::UnknownNode(name.to_owned())));
        };
        if self.is_connected(&name) {
            return reply.give(Err(ControlError::StillRunning(name.to_string())));
        }
        self.let_leave(member, reply);
    }

    /// A member leaves: this node leads, or passes it on.
    fn let_leave(&mut self, member: MemberId, reply: Reply) {
        if self.leading().is_none() {
            return self.pass_to_leader(RemoteOrder::Leave(member), reply);
        }
        if member == self.own.member {
            // A leader cannot remove itself: the next one does.
            self.leaving = Some((reply, Instant::now() + ORDER_PATIENCE));
            return;
        }
        self.plans.retain(|plan| super::exchange::joins(plan) != Some(member));
        self.plans.push(MembershipPlan::new(Aim::Leave(member)));
        self.wait("taking a node out of the cluster", Done::Gone(member), reply);
    }

    /// Hands over, and asks the next leader to be let go.
    pub(super) fn go_on_leaving(&mut self) {
        let Some((reply, until)) = self.leaving.take() else { return };
        let successor = self.leading().map(|driver| self.successor(driver));
        match successor {
            None if self.leader.as_ref().is_some_and(|leader| *leader != self.setup.name) => {
                self.pass_to_leader(RemoteOrder::Leave(self.own.member), reply);
            }
            _ if Instant::now() >= until => reply.give(Err(ControlError::TimedOut { what: LEAVING })),
            Some(Some(successor)) => {
                self.hand_over(successor);
                self.leaving = Some((reply, until));
            }
            _ => self.leaving = Some((reply, until)),
        }
    }

    fn wait(&mut self, what: &'static str, done: Done, reply: Reply) {
        self.waiting.push(WaitingOrder { what, until: Instant::now() + ORDER_PATIENCE, done, reply });
    }

    fn transfer(&mut self, to: Option<String>, reply: Reply) {
        let Some(driver) = self.leading() else {
            return self.pass_to_leader(RemoteOrder::Transfer(to), reply);
        };
        let status = driver.status();
        let member = match &to {
            Some(name) if name == self.setup.name.as_str() => return reply.give(Ok(name.clone())),
            Some(name) => {
                let node = NodeName::new(name).and_then(|name| self.roster.as_ref()?.node(&name));
                match node.map(|node| node.member) {
                    None => return reply.give(Err(ControlError::UnknownNode(name.clone()))),
                    Some(member) if !status.members.voters.contains(&member) => {
                        return reply.give(Err(ControlError::NotAVoter(name.clone())));
                    }
                    Some(member) => member,
                }
            }
            None => match self.successor(driver) {
                Some(member) => member,
                None => {
                    let sentence = "there is no other node that could lead".to_owned();
                    return reply.give(Err(ControlError::Impossible(sentence)));
                }
            },
        };
        let Some((name, _)) = self.roster.as_ref().and_then(|roster| roster.of_member(member)) else {
            return reply.give(Err(ControlError::UnknownNode(to.unwrap_or_default())));
        };
        let name = name.clone();
        if !self.is_connected(&name) {
            let why = "there is no connection to it".to_owned();
            return reply.give(Err(ControlError::Unreachable { name: name.to_string(), why }));
        }
        if let Some(why) = self.why_not_to(driver, member) {
            return reply.give(Err(ControlError::NotFit { name: name.to_string(), why }));
        }
        driver.hand_over(member);
        self.waiting.push(WaitingOrder {
            what: "the transfer of leadership",
            until: Instant::now() + Duration::from_secs(10),
            done: Done::Leads(name),
            reply,
        });
    }

    fn take_clients(&mut self, reply: Reply) {
        (self.is_draining, self.is_app_stopped) = (false, false);
        self.host.refuse_own(None);
        tracing::info!("this node takes clients again");
        reply.give(Ok(String::new()));
    }

    /// As RabbitMQ stops and starts its application in a process that goes on.
    fn run_app(&mut self, runs: bool, reply: Reply) {
        if runs {
            return self.take_clients(reply);
        }
        self.is_app_stopped = true;
        self.send_clients_away("this node serves no clients until it is told to (warren ctl start_app)", reply);
    }

    fn drain(&mut self, reply: Reply) {
        self.send_clients_away("this node is drained: connect to another node of the cluster", reply);
    }

    fn send_clients_away(&mut self, why: &str, reply: Reply) {
        self.is_draining = true;
        self.host.refuse_own(Some(why));
        tracing::info!("this node takes no clients any more: {why}");
        let successor = self.leading().and_then(|driver| self.successor(driver));
        match successor {
            // It leads on, or is alone: there is no other that would tell its clients.
            None => {
                self.host.close_clients(why);
                reply.give(Ok(String::new()));
            }
            Some(_) => self.wait("handing over", Done::Drained, reply),
        }
    }

    /// This node leaves its cluster, and loses what it has.
    fn reset(&mut self, force: bool, reply: Reply) {
        let Some(driver) = self.driver() else {
            let emptied = self.become_empty(None);
            return reply
                .give(emptied.map(|()| String::new()).map_err(|error| ControlError::Impossible(error.to_string())));
        };
        let status = driver.status();
        let is_only = status.members.voters == [self.own.member] && status.members.learners.is_empty();
        if force || is_only || status.members.voters.is_empty() {
            return self.left(Ok(String::new()), reply);
        }
        let (inbox, own) = (self.inbox.clone(), self.own.member);
        let (tx, rx) = tokio::sync::oneshot::channel();
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

    /// The others have let this member go.
    pub(super) fn left(&mut self, outcome: Result<String, ControlError>, reply: Reply) {
        let outcome =
            outcome.and_then(|_| self.become_empty(None).map_err(|error| ControlError::Impossible(error.to_string())));
        if let Err(error) = &outcome {
            tracing::warn!(%error, "this node was not reset");
        }
        // Who is answered sees it.
        self.show();
        reply.give(outcome.map(|()| String::new()));
    }

    /// All that this node has is removed; then it is alone, or joins that cluster.
    fn become_empty(&mut self, joined: Option<(MemberId, Roster)>) -> Result<(), NodeError> {
        self.stop_alone(LEAVES);
        self.roster = None;
        self.leader = None;
        self.removed = None;
        self.told.clear();
        self.vitals.clear();
        self.time.forget();
        self.gone.clear();
        self.plans.clear();
        self.listed.clear();
        self.is_draining = self.is_app_stopped;
        if !self.is_app_stopped {
            self.host.refuse_own(None);
        }
        let (disk, dir) = (&*self.setup.disk, &self.setup.store.dir);
        store::member::empty(disk, dir)?;
        // Who looks for its peers again must not agree to another founder than before.
        let looks_again = joined.is_none() && self.setup.formation.is_configured;
        self.files.forget(looks_again)?;
        self.memory.clear();
        let member = match &joined {
            Some((member, _)) => *member,
            None => draw_member()?,
        };
        self.own = OwnId { member, incarnation: next_incarnation(0)? };
        self.earlier = EarlierStarts::default();
        self.files.write_own(self.own, &self.earlier)?;
        self.introduce();
        self.set_peers();
        // As at a first start: it asks the peers of its list, if it has one.
        let settings = if looks_again { self.setup.formation } else { Settings::alone() };
        let consent = if looks_again { self.files.consent()? } else { Consent::default() };
        self.formation = formation(&self.setup, self.own, NodeState::Empty, settings, consent)?;
        self.emptied_at = Some(Instant::now());
        tracing::info!("this node has nothing any more");
        match joined {
            Some((_, roster)) => self.join(roster),
            None => Ok(()),
        }
    }

    fn begin_joining(&mut self, seed: &str, force: bool, reply: Reply) {
        if let Some(roster) = &self.roster {
            return reply.give(Err(ControlError::AlreadyMember(roster.cluster())));
        }
        if self.joining.is_some() {
            return reply.give(Err(ControlError::ChangeRuns));
        }
        if let (Some(Contents { queues, messages }), false) = (self.host.contents(), force) {
            return reply.give(Err(ControlError::NotEmpty { queues, messages }));
        }
        let seed = match self.setup.names.find(seed) {
            Ok(Seed::Node(seed)) if seed.name == self.setup.name => {
                return reply.give(Err(ControlError::Impossible("a node cannot join itself".to_owned())));
            }
            Ok(seed) => seed,
            Err(why) => return reply.give(Err(ControlError::Impossible(why))),
        };
        let member = match draw_member() {
            Ok(member) => member,
            Err(error) => return reply.give(Err(ControlError::Impossible(error.to_string()))),
        };
        let now = Instant::now();
        self.joining = Some(OperatorJoin {
            seed,
            member,
            next_at: now,
            begun_at: now,
            until: now + ORDER_PATIENCE,
            why: None,
            is_reached: false,
            rejected: None,
            reply,
        });
    }

    /// Asks again to be let in, if it is time to.
    pub(super) fn go_on_joining(&mut self) {
        let now = Instant::now();
        if let Some(error) = self.joining.as_ref().and_then(|joining| self.why_no_answer(joining, now)) {
            let Some(joining) = self.joining.take() else { return };
            return joining.reply.give(Err(error));
        }
        let Some(joining) = &mut self.joining else { return };
        if now >= joining.until {
            let OperatorJoin { seed, why, reply, .. } = self.joining.take().expect("it is there");
            let why = why.unwrap_or_else(|| "no answer".to_owned());
            return reply.give(Err(ControlError::Refused { by: seed.to_string(), why }));
        }
        if now >= joining.next_at {
            joining.next_at = now + JOIN_INTERVAL + ANSWER_PATIENCE;
            let member = joining.member;
            match joining.seed.clone() {
                Seed::Node(peer) => self.ask_to_join(&peer, member),
                Seed::At(address) => {
                    let (inbox, asked) = (self.inbox.clone(), address.clone());
                    self.links.name_then(address, move |name| inbox.put(Event::Named { address: asked, name }));
                }
            }
        }
    }

    /// Why the node that the operator named does not answer, once it had time enough.
    fn why_no_answer(&self, joining: &OperatorJoin, now: Instant) -> Option<ControlError> {
        let Seed::Node(peer) = &joining.seed else { return None };
        if joining.is_reached || now < joining.begun_at + UNREACHABLE_PATIENCE {
            return None;
        }
        let statistics = self.links.statistics();
        let of_peer = statistics.iter().find(|of| of.name == peer.name)?;
        if of_peer.is_connected(Lane::Calls) {
            return None;
        }
        let name = joining.seed.to_string();
        let unreachable = || Some(ControlError::Unreachable { name, why: of_peer.last_failure.clone()? });
        joining.rejected.clone().map(ControlError::Impossible).or_else(unreachable)
    }

    /// A peer does not want this one, for ever or for now.
    pub(super) fn rejected(&mut self, peer: &NodeName, sentence: Option<String>) {
        let Some(joining) = &mut self.joining else { return };
        if matches!(&joining.seed, Seed::Node(seed) if seed.name == *peer) {
            joining.is_reached = sentence.is_none();
            joining.rejected = sentence;
        }
    }

    /// It is known who is at the address that the operator gave, or why it is not.
    pub(super) fn operators_seed_named(&mut self, address: Address, name: Result<NodeName, NoName>) {
        let Some(joining) = &mut self.joining else { return };
        if joining.seed != Seed::At(address.clone()) {
            return;
        }
        match name {
            Ok(name) => {
                joining.seed = Seed::Node(Listed { name, address });
                joining.next_at = Instant::now();
            }
            Err(NoName { sentence, is_final: true, .. }) => {
                let OperatorJoin { reply, .. } = self.joining.take().expect("it is there");
                reply.give(Err(ControlError::Impossible(sentence)));
            }
            Err(NoName { sentence, is_reached: false, .. }) if joining.begun_at.elapsed() >= UNREACHABLE_PATIENCE => {
                let OperatorJoin { seed, reply, .. } = self.joining.take().expect("it is there");
                reply.give(Err(ControlError::Unreachable { name: seed.to_string(), why: sentence }));
            }
            Err(NoName { sentence, .. }) => {
                joining.next_at = Instant::now() + JOIN_INTERVAL;
                joining.why = Some(sentence);
            }
        }
    }

    pub(super) fn operators_join_answered(&mut self, peer: &Listed, member: MemberId, answer: JoinReply) {
        let Some(joining) = &mut self.joining else { return };
        if joining.member != member || joining.seed != Seed::Node(peer.clone()) {
            return;
        }
        joining.next_at = Instant::now() + JOIN_INTERVAL;
        match answer {
            JoinReply::Later(why) => joining.why = Some(why),
            JoinReply::Elsewhere(name, address) => {
                joining.seed = Seed::Node(Listed { name, address });
                joining.next_at = Instant::now();
            }
            JoinReply::Never(why) => {
                let OperatorJoin { seed, reply, .. } = self.joining.take().expect("it is there");
                reply.give(Err(ControlError::Refused { by: seed.to_string(), why }));
            }
            JoinReply::Open(roster) => {
                let OperatorJoin { member, reply, .. } = self.joining.take().expect("it is there");
                match self.become_empty(Some((member, roster))) {
                    Ok(()) => {
                        self.show();
                        reply.give(Ok(String::new()));
                    }
                    Err(error) => {
                        reply.give(Err(ControlError::Impossible(error.to_string())));
                        self.fail(&error.to_string());
                    }
                }
            }
        }
    }

    /// The others say that this node is no member any more.
    pub(super) fn be_removed(&mut self, why: String) {
        if self.removed.as_ref() != Some(&why) {
            tracing::warn!("{why}");
            self.removed = Some(why);
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

/// A formation that begins anew.
pub(super) fn formation(
    setup: &NodeSetup,
    own: OwnId,
    state: NodeState,
    settings: Settings,
    consent: Consent,
) -> Result<Formation, NodeError> {
    let own = Own { name: setup.name.clone(), member: own.member, level: setup.level, version: setup.version.clone() };
    Ok(Formation::new(own, state, settings, consent, draw_cluster()?))
}

/// The id of a cluster that there might be.
pub(super) fn draw_cluster() -> Result<ClusterId, NodeError> {
    loop {
        if let Some(cluster) = ClusterId::new(u128::from_le_bytes(super::files::draw()?)) {
            return Ok(cluster);
        }
    }
}
