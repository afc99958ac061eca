//! Until there is a cluster: what the formation wants done, and the two ways in.

use std::sync::Arc;
use std::time::Duration;

use consensus::MemberId;
use store::Store;
use store::member::Member;

use super::files::draw;
use super::handle::enter;
use super::inbox::Event;
use super::report::{CALL_JOIN, JoinReply, Report};
use super::shell::{MemberOwner, Phase, Shell};
use super::{NodeError, Standing};
use crate::driver::{Driver, DriverSetup};
use crate::formation::{self, Admission, GaveUp, Listed, NodeState, Order, Question, Reply};
use crate::link::{ClusterId, Identity};
use crate::links::{CallAnswer, CallError};
use crate::roster::Roster;

/// How long a peer may take to answer, a connection to it included.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(3);

/// In that time peers have noticed that a node which was reset is not the member that it was.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(20);

/// What clients are told whose node becomes one of several.
const FORMS: &str = "this node forms a cluster and serves again in a moment";

impl Shell {
    /// Does what the formation wants.
    pub(super) fn form(&mut self) {
        let mut orders = Vec::new();
        self.formation.run(self.now_ms(), &mut orders);
        for order in orders {
            self.obey(order);
            if matches!(self.phase, Phase::Over) {
                return;
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Discover => self.look_names_up(),
            Order::Keep(consent) => {
                if let Err(error) = self.files.write_consent(&consent) {
                    self.fail(&error.to_string());
                }
            }
            Order::Ask { number, peer, question } => self.ask(number, &peer, &question),
            Order::Found(cluster) => {
                if let Err(error) = self.found(cluster) {
                    self.fail(&error.to_string());
                }
            }
            Order::Join(peer) => self.ask_to_join(&peer, self.own.member),
            Order::GoOn => {}
            Order::StayAlone => self.stay_alone(),
            Order::Wait(waiting) => tracing::info!("waits to be in a cluster: {waiting}"),
            Order::GiveUp(why) => self.fail(&why.to_string()),
        }
    }

    fn look_names_up(&mut self) {
        let (names, inbox) = (self.setup.names.clone(), self.inbox.clone());
        let look_up = move || inbox.put(Event::Discovered(names.look_up()));
        if let Err(error) = std::thread::Builder::new().name("cluster names".to_owned()).spawn(look_up) {
            self.formation.not_discovered(&error.to_string(), self.now_ms());
        }
    }

    pub(super) fn discovered(&mut self, found: Result<Vec<Listed>, String>) {
        match found {
            Ok(names) => {
                self.listed.clone_from(&names);
                self.set_peers();
                self.formation.discovered(names);
            }
            Err(why) => self.formation.not_discovered(&why, self.now_ms()),
        }
    }

    fn ask(&mut self, number: u64, peer: &Listed, question: &Question) {
        self.reach(peer);
        let inbox = self.inbox.clone();
        let then = move |answer| inbox.put(Event::Answered { number, answer });
        self.links.call_then(&peer.name, formation::CALL, question.encode(), ANSWER_PATIENCE, then);
    }

    pub(super) fn answered(&mut self, number: u64, answer: Result<Vec<u8>, CallError>) {
        match answer.map(|bytes| Reply::decode(&bytes)) {
            Ok(Ok(reply)) => self.formation.answered(number, reply),
            Ok(Err(error)) => self.formation.unanswered(number, &error.to_string()),
            Err(error) => self.formation.unanswered(number, &error.to_string()),
        }
    }

    pub(super) fn answer_question(&mut self, payload: &[u8], answer: CallAnswer) {
        let Ok(question) = Question::decode(payload) else { return };
        let leader =
            self.leader.as_ref().and_then(|leader| Some((leader.clone(), self.roster.as_ref()?.node(leader)?)));
        let leader = leader.map(|(name, node)| (name, node.address.clone()));
        let own = || (self.setup.name.clone(), self.address.clone());
        self.formation.set_leader(if self.leading().is_some() { Some(own()) } else { leader });
        let (consent, reply) = self.formation.asked(&question);
        if let Some(consent) = consent
            && let Err(error) = self.files.write_consent(&consent)
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
            None => Store::open(self.setup.store.clone(), self.setup.disk.clone()),
        };
        let (store, recovered) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.fail(&error.to_string()),
        };
        match self.host.serve(store, recovered, None) {
            Ok(()) => self.phase = Phase::Alone,
            Err(error) => self.fail(&error),
        }
    }

    /// What is served is served no more, all of it durable.
    pub(super) fn stop_alone(&mut self, reason: &str) {
        if matches!(self.phase, Phase::Alone) {
            self.host.pause();
            self.host.stop(reason);
        }
        self.phase = Phase::Forming(None);
        self.standing = None;
    }

    fn found(&mut self, cluster: ClusterId) -> Result<(), NodeError> {
        self.stop_alone(FORMS);
        let (store, disk) = (self.setup.store.clone(), &self.setup.disk);
        Member::found(store, disk, cluster.get(), self.own.member, self.setup.name.to_string())?;
        let mut roster = Roster::new(cluster);
        enter(&mut roster, &self.setup, self.own, &self.address);
        self.files.write_roster(&roster)?;
        self.files.seal()?;
        tracing::info!(%cluster, "this node has founded a cluster");
        self.roster = Some(roster);
        self.start_member()
    }

    /// Asks a peer to let a member in, which this node is or would be.
    pub(super) fn ask_to_join(&mut self, peer: &Listed, member: MemberId) {
        self.reach(peer);
        let report = Report { member, is_new: true, applied: 0, last: 0, end: 0, ..self.report() };
        let (inbox, asked) = (self.inbox.clone(), peer.clone());
        let then = move |answer| inbox.put(Event::JoinAnswered { peer: asked, member, answer });
        self.links.call_then(&peer.name, CALL_JOIN, report.encode(), ANSWER_PATIENCE, then);
    }

    pub(super) fn join_answered(&mut self, peer: &Listed, member: MemberId, answer: Result<Vec<u8>, CallError>) {
        let reply = match answer.map(|bytes| JoinReply::decode(&bytes)) {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => JoinReply::Later(error.to_string()),
            Err(error) => JoinReply::Later(error.to_string()),
        };
        if self.joining.is_some() {
            return self.operators_join_answered(peer, member, reply);
        }
        if let Phase::Member(_) = self.phase {
            if let JoinReply::Never(why) = reply {
                self.be_removed(why);
            }
            return;
        }
        match reply {
            JoinReply::Open(roster) => {
                if let Err(error) = self.join(roster) {
                    self.fail(&error.to_string());
                }
            }
            JoinReply::Later(why) => self.formation.not_joined(&why, false, self.now_ms()),
            JoinReply::Never(why) => {
                let is_final = self.emptied_at.is_none_or(|at| at.elapsed() >= FORGOTTEN_AFTER);
                self.formation.not_joined(&why, is_final, self.now_ms());
            }
            JoinReply::Elsewhere(name, _) => {
                self.formation.not_joined(&format!("{name} is to be asked"), false, self.now_ms());
            }
        }
    }

    /// Becomes a member that is to be told all.
    pub(super) fn join(&mut self, mut roster: Roster) -> Result<(), NodeError> {
        enter(&mut roster, &self.setup, self.own, &self.address);
        let (store, disk) = (self.setup.store.clone(), &self.setup.disk);
        let cluster = roster.cluster();
        self.files.write_roster(&roster)?;
        self.files.seal()?;
        Member::join(store, disk, cluster.get(), self.own.member, self.setup.name.to_string())?;
        tracing::info!(%cluster, "this node joins a cluster");
        self.roster = Some(roster);
        self.start_member()
    }

    /// Runs as the member that the directory is.
    pub(super) fn start_member(&mut self) -> Result<(), NodeError> {
        let roster = self.roster.as_ref().map(Roster::cluster);
        self.introduce();
        self.set_peers();
        let seed = u64::from_le_bytes(draw()?);
        let setup = DriverSetup {
            store: self.setup.store.clone(),
            disk: self.setup.disk.clone(),
            timing: self.setup.timing(),
            seed,
        };
        let owner =
            Arc::new(MemberOwner { inbox: self.inbox.clone(), host: self.host.clone(), time: self.time.clone() });
        self.board.admit(self.own.member, self.own.incarnation);
        let driver = Driver::start(setup, self.links.clone(), self.board.clone(), owner)?;
        self.phase = Phase::Member(driver);
        self.standing = None;
        self.removed = None;
        self.host.stand(Standing::Waiting);
        if let Some(cluster) = roster {
            self.formation.set_state(NodeState::Member(cluster));
        }
        self.leader_lost();
        // Whose list of peers is lost finds them as it did at first.
        if self.roster.as_ref().is_some_and(|roster| roster.iter().count() < 2) && self.setup.names.discovery.is_some()
        {
            self.look_names_up();
        }
        Ok(())
    }

    /// Before there is a cluster: what becomes of a node that wants into one.
    pub(super) fn admission_without_cluster(&mut self, from: &Identity) -> JoinReply {
        match self.formation.asked_to_let_join(&from.name, self.now_ms()) {
            Admission::Open(_) => JoinReply::Later("it is about to form a cluster".to_owned()),
            Admission::Later(why) => JoinReply::Later(why),
        }
    }

    /// Why there is no cluster, in words.
    pub(super) fn waits_for(&self) -> Option<String> {
        let gave_up = self.formation.gave_up().map(GaveUp::to_string);
        gave_up.or_else(|| self.formation.waiting().map(ToString::to_string))
    }

    /// What this node says of itself.
    pub(super) fn report(&mut self) -> Report {
        self.report_number += 1;
        let status = self.driver().map(Driver::status);
        Report {
            name: self.setup.name.clone(),
            member: self.own.member,
            address: self.address.clone(),
            version: self.setup.version.clone(),
            level: self.setup.level,
            incarnation: self.own.incarnation,
            earlier: self.earlier.0.clone(),
            number: self.report_number,
            is_draining: self.is_draining,
            alarms: self.alarms,
            is_new: status.as_ref().is_none_or(|status| status.members.voters.is_empty()),
            applied: status.as_ref().map_or(0, |status| status.applied.0),
            last: status.as_ref().map_or(0, |status| status.last.index.0),
            end: self.driver().map_or(0, Driver::end),
        }
    }
}
