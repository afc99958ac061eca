//! Until there is a cluster: what the formation wants done, and the two ways in.

use std::time::{Duration, Instant};

use consensus::MemberId;
use member::Member;
use store::Store;

use super::NodeTask;
use crate::driver::DriverSetup;
use crate::formation::{self, Order, Question, SeedNode};
use crate::node::files::draw;
use crate::node::formation::JoinRefusal;
use crate::node::inbox::Event;
use crate::node::phase::{LogExtent, Phase};
use crate::node::report::{CALL_JOIN, JoinReply, Report};
use crate::node::{NodeError, Situation};
use crate::peers::{CallAnswer, CallError};
use crate::roster::Roster;
use crate::wire::ClusterId;

/// How long a peer may take to answer, a connection to it included.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The reason that clients get of a node that becomes one of several.
const FORMS: &str = "this node forms a cluster and serves again in a moment";

impl NodeTask {
    /// Does what the formation wants.
    pub(super) fn form(&mut self) {
        for order in self.formation.run(Instant::now()) {
            self.obey(order);
            if matches!(self.phase, Phase::Failed) {
                return;
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Discover => self.look_names_up(),
            Order::Keep(consent) => {
                if let Err(error) = self.durable.files().write_consent(&consent) {
                    self.fail(&error.to_string());
                }
            }
            Order::Ask { number, peer, question } => self.ask(number, &peer, &question),
            Order::Found(cluster) => {
                if let Err(error) = self.found(cluster) {
                    self.fail(&error.to_string());
                }
            }
            Order::Join(peer) => self.ask_to_join(&peer, self.own.member()),
            Order::GoOn => {}
            Order::StayAlone => self.stay_alone(),
            Order::Wait(waiting) => tracing::info!("waits to be in a cluster: {waiting}"),
            Order::GiveUp(why) => self.fail(&why.to_string()),
        }
    }

    fn look_names_up(&mut self) {
        if let Err(error) = self.io.look_names_up(self.own.setup().names.clone()) {
            self.formation.not_discovered(&error.to_string(), Instant::now());
        }
    }

    pub(super) fn take_discovered(&mut self, found: Result<Vec<SeedNode>, String>) {
        match found {
            Ok(names) => {
                self.formation.discovered(names);
                self.set_peers();
            }
            Err(why) => self.formation.not_discovered(&why, Instant::now()),
        }
    }

    /// A peer is talked to though it may not be in the roster.
    fn talk_to(&mut self, peer: &SeedNode) {
        if self.formation.add_seed(peer) {
            self.set_peers();
        }
    }

    fn ask(&mut self, number: u64, peer: &SeedNode, question: &Question) {
        self.talk_to(peer);
        let event = move |answer| Event::Answered { number, answer };
        self.io.call(&peer.name, formation::CALL, question.encode(), ANSWER_TIMEOUT, event);
    }

    pub(super) fn answer_question(&mut self, payload: &[u8], answer: CallAnswer) {
        let Ok(question) = Question::decode(payload) else { return };
        let leader = if self.phase.is_leading() {
            Some((self.own.name().clone(), self.own.address().clone()))
        } else {
            let leader = self.leadership.leader();
            leader.and_then(|name| Some((name.clone(), self.membership.node(name)?.address.clone())))
        };
        let (consent, reply) = self.formation.answer(&question, leader);
        if let Some(consent) = consent
            && let Err(error) = self.durable.files().write_consent(&consent)
        {
            // Nothing was promised that is not kept.
            return self.fail(&error.to_string());
        }
        answer.give(&reply.encode());
    }

    fn stay_alone(&mut self) {
        let Phase::Forming(opened) = &mut self.phase else { return };
        let opened = match opened.take() {
            Some(opened) => Ok(opened),
            None => Store::open(self.own.setup().store.clone(), self.own.setup().disk.clone()),
        };
        let (store, recovered) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.fail(&error.to_string()),
        };
        match self.io.host().serve(store, recovered, None) {
            Ok(()) => self.phase = Phase::Alone,
            Err(error) => self.fail(&error),
        }
    }

    /// Stops serving, if this node serves alone, with all of it durable.
    pub(super) fn stop_alone(&mut self, reason: &str) {
        if matches!(self.phase, Phase::Alone) {
            self.io.host().pause();
            self.io.host().stop(reason);
        }
        self.phase = Phase::Forming(None);
        self.clients.forget_situation();
    }

    fn found(&mut self, cluster: ClusterId) -> Result<(), NodeError> {
        self.stop_alone(FORMS);
        let setup = self.own.setup();
        Member::found(setup.store.clone(), &setup.disk, cluster.get(), self.own.member(), setup.name.to_string())?;
        let mut roster = Roster::new(cluster);
        self.own.enter(&mut roster);
        self.durable.files().write_roster(&roster)?;
        self.durable.files().seal()?;
        tracing::info!(%cluster, "this node has founded a cluster");
        self.membership.enter(roster);
        self.start_member()
    }

    /// Asks a peer to let a member in, which this node is or would be.
    pub(super) fn ask_to_join(&mut self, peer: &SeedNode, member: MemberId) {
        self.talk_to(peer);
        let report = Report { member, ..self.report(LogExtent::NONE) };
        let asked = peer.clone();
        let event = move |answer| Event::JoinAnswered { peer: asked, member, answer };
        self.io.call(&peer.name, CALL_JOIN, report.encode(), ANSWER_TIMEOUT, event);
    }

    pub(super) fn take_join_answer(&mut self, peer: &SeedNode, member: MemberId, answer: Result<Vec<u8>, CallError>) {
        let reply = match answer.map(|bytes| JoinReply::decode(&bytes)) {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => JoinReply::Later(error.to_string()),
            Err(error) => JoinReply::Later(error.to_string()),
        };
        if self.orders.is_joining() {
            return self.take_operators_join_answer(peer, member, reply);
        }
        if self.phase.is_member() {
            if let JoinReply::Never(why) = reply {
                self.note_own_removal(why);
            }
            return;
        }
        let not_joined = match reply {
            JoinReply::Open(roster) => {
                if let Err(error) = self.join(roster) {
                    self.fail(&error.to_string());
                }
                return;
            }
            JoinReply::Later(why) => JoinRefusal::Later(why),
            JoinReply::Never(why) => JoinRefusal::Never(why),
            JoinReply::Elsewhere(name, _) => JoinRefusal::Later(format!("{name} is to be asked")),
        };
        self.formation.not_joined(not_joined, Instant::now());
    }

    /// Becomes a member that has nothing of the log yet.
    pub(super) fn join(&mut self, mut roster: Roster) -> Result<(), NodeError> {
        self.own.enter(&mut roster);
        let setup = self.own.setup();
        let cluster = roster.cluster();
        self.durable.files().write_roster(&roster)?;
        self.durable.files().seal()?;
        Member::join(setup.store.clone(), &setup.disk, cluster.get(), self.own.member(), setup.name.to_string())?;
        tracing::info!(%cluster, "this node joins a cluster");
        self.membership.enter(roster);
        self.start_member()
    }

    /// Runs as the member that the directory is.
    pub(super) fn start_member(&mut self) -> Result<(), NodeError> {
        self.introduce();
        self.set_peers();
        let seed = u64::from_le_bytes(draw()?);
        let own = self.own.setup();
        let setup = DriverSetup { store: own.store.clone(), disk: own.disk.clone(), timing: own.timing(), seed };
        self.io.admit(self.own.member(), self.own.incarnation());
        self.phase = Phase::Member(self.io.start_driver(setup, self.vitals.time().clone())?);
        self.clients.forget_situation();
        self.membership.forget_own_removal();
        self.io.host().set_situation(Situation::Waiting);
        if let Some(cluster) = self.membership.cluster() {
            self.formation.set_member(cluster);
        }
        self.leadership.set_leader(None, Instant::now());
        // A node whose list of peers is lost finds them as it did at first.
        let is_listed_alone = self.membership.roster().is_some_and(|roster| roster.iter().count() < 2);
        if is_listed_alone && self.own.setup().names.discovery.is_some() {
            self.look_names_up();
        }
        Ok(())
    }
}
