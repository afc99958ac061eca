//! Reports between members, twice a second and when a link stands; and nodes that ask to join.

use std::time::{Duration, Instant};

use super::NodeTask;
use crate::formation::SeedNode;
use crate::node::inbox::Event;
use crate::node::io;
use crate::node::membership::{ReportFacts, ReportOutcome};
use crate::node::own::ReportState;
use crate::node::phase::LogExtent;
use crate::node::report::{CALL_NODE, JoinReply, NodeReply, PeerRejection, Report};
use crate::node::time::clock_ms;
use crate::peers::{CallAnswer, CallError};
use crate::roster::{Roster, RosterUpdate};
use crate::wire::{ClusterId, Identity, NodeName};

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

impl NodeTask {
    /// Asks all peers, when it is time to.
    pub(super) fn exchange_reports(&mut self) {
        let now = Instant::now();
        if !self.exchange.is_due(now) {
            return;
        }
        let own_alarms = self.io.host().alarms();
        self.exchange.alarms().set_own(own_alarms);
        self.report_alarms();
        if let Some(driver) = self.phase.driver() {
            self.durable.remember(&driver.status(), &driver.peers(), now);
        }
        let known = self.membership.nodes().map(|(name, _)| name);
        let names: Vec<_> = known.chain(self.formation.seeds().iter().map(|seed| &seed.name)).cloned().collect();
        names.iter().for_each(|name| self.ask_node(name));
        if self.phase.log_extent().is_new {
            // It has a place among them once they are reported to it. Until then it asks for it.
            for peer in self.other_nodes() {
                self.ask_to_join(&peer, self.own.member());
            }
        }
    }

    fn other_nodes(&self) -> Vec<SeedNode> {
        let others = self.membership.nodes().filter(|(name, _)| *name != self.own.name());
        others.map(|(name, node)| SeedNode { name: name.clone(), address: node.address.clone() }).collect()
    }

    /// Reports to the host what the others are short of, if it serves. A node that is not there is short of nothing.
    fn report_alarms(&mut self) {
        if !self.phase.is_leading() {
            return self.exchange.alarms().forget_peers();
        }
        let statistics = self.io.statistics();
        if let Some(alarms) = self.exchange.peer_alarms(|name| io::is_connected(&statistics, name)) {
            self.io.host().peer_alarms(alarms);
        }
    }

    /// The next report of this node, whose log reaches as far as that.
    pub(super) fn report(&mut self, log: LogExtent) -> Report {
        self.own.report(ReportState {
            number: self.exchange.next_number(),
            is_draining: self.clients.is_draining(),
            alarms: self.exchange.alarms().own(),
            log,
        })
    }

    /// Reports to a peer, and asks it to do the same.
    pub(super) fn ask_node(&mut self, peer: &NodeName) {
        if !self.phase.is_member() || peer == self.own.name() || !self.exchange.ask(peer) {
            return;
        }
        let report = self.report(self.phase.log_extent());
        let asked = peer.clone();
        let event = move |answer| Event::NodeAnswered { peer: asked, answer };
        self.io.call(peer, CALL_NODE, report.encode(), ANSWER_TIMEOUT, event);
    }

    pub(super) fn answer_node(&mut self, from: &Identity, payload: &[u8], answer: CallAnswer) {
        let Ok(report) = Report::decode(payload) else { return };
        let is_itself = from.name == report.name && from.incarnation == report.incarnation;
        if !is_itself || from.member != Some(report.member) {
            return;
        }
        let own = self.report(self.phase.log_extent());
        let outcome = self.membership.roster().is_some().then(|| self.take_report(&report, from.cluster));
        let reply = match (outcome, self.membership.roster()) {
            (Some(Ok(())), Some(roster)) => NodeReply::Known(Box::new(own), roster.clone()),
            (Some(Err(unwelcome)), _) => NodeReply::Unknown(unwelcome),
            _ => NodeReply::NoCluster,
        };
        answer.give(&reply.encode());
    }

    pub(super) fn take_node_answer(&mut self, peer: &NodeName, answer: Result<Vec<u8>, CallError>) {
        self.exchange.answered(peer);
        let Ok(reply) = answer.map(|bytes| NodeReply::decode(&bytes)) else { return };
        match reply {
            Ok(NodeReply::Known(report, roster)) if report.name == *peer => {
                self.membership.forget_own_removal();
                self.merge(&roster);
                match self.take_report(&report, Some(roster.cluster())) {
                    // Both have looked at each other. Before the peer has, what it sends may be more than this node can bear.
                    Ok(()) => self.io.admit(report.member, report.incarnation),
                    Err(PeerRejection::Lost(why) | PeerRejection::Stranger(why)) => {
                        tracing::warn!(peer = peer.as_str(), "{why}");
                    }
                }
            }
            Ok(NodeReply::Unknown(PeerRejection::Lost(why))) => {
                // However often it is started from now on.
                if let Err(error) = self.durable.files().write_lost(&why) {
                    tracing::warn!(%error, "the reason why this directory must not be used was not written");
                }
                self.fail(&why);
            }
            // Where another one knows better, that one leads, or knows which node does.
            Ok(NodeReply::Unknown(PeerRejection::Stranger(why))) => self.note_own_removal(why),
            _ => {}
        }
    }

    /// A node has reported its identity and progress: an error is why the report cannot be used.
    fn take_report(&mut self, report: &Report, cluster: Option<ClusterId>) -> Result<(), PeerRejection> {
        let facts = ReportFacts {
            own: self.own.name(),
            members: &self.phase.members(),
            last_report: self.exchange.report(&report.name),
            promised: self.durable.promised(report.member),
            now_ms: clock_ms(),
        };
        let ReportOutcome::Taken(update) = self.membership.take_report(report, cluster, &facts)? else { return Ok(()) };
        self.durable.note_promise(report.member, report.applied);
        self.exchange.keep(report.clone());
        if update == RosterUpdate::Changed {
            self.keep_roster();
        }
        Ok(())
    }

    /// Learns from a peer's roster where others are that belong to the group.
    fn merge(&mut self, other: &Roster) {
        let own = (self.own.name(), self.own.member());
        if self.membership.merge(other, own, &self.phase.members()) == RosterUpdate::Changed {
            self.keep_roster();
        }
    }

    /// Peers report that this node is no longer a member.
    pub(super) fn note_own_removal(&mut self, why: String) {
        if self.membership.own_removal() != Some(&why) {
            tracing::warn!("{why}");
            self.membership.set_own_removal(why);
        }
    }

    pub(super) fn answer_join(&mut self, from: &Identity, payload: &[u8], answer: CallAnswer) {
        let Ok(report) = Report::decode(payload) else { return };
        if from.name == report.name {
            let reply = match self.phase.is_member() {
                true => self.admit(&report),
                false => self.formation.answer_join(&from.name, Instant::now()),
            };
            answer.give(&reply.encode());
        }
    }

    /// What becomes of a node that wants to be a member.
    fn admit(&mut self, report: &Report) -> JoinReply {
        if !self.phase.is_leading() {
            let leader = self.leadership.other_leader(self.own.name());
            let node = leader.and_then(|leader| Some((leader, self.membership.node(leader)?)));
            return match node {
                Some((name, node)) => JoinReply::Elsewhere(name.clone(), node.address.clone()),
                None => JoinReply::Later("no node leads at the moment".to_owned()),
            };
        }
        let is_connected = self.io.is_connected(&report.name);
        let reply = self.membership.admit(report, &self.phase.members(), is_connected);
        if matches!(reply, JoinReply::Open(_)) {
            self.keep_roster();
        }
        reply
    }
}
