//! What members tell each other: who they are and where, twice a second and when a link stands. And who is let in.
//!
//! A member is listened to once it has said how far it is, and has found this one to be what it was: one that comes back with less than it
//! has said before has lost what it had acknowledged, and must not vote or acknowledge again. Nor may it hear what others take for granted
//! that it has.

use std::time::{Duration, Instant};

use consensus::MemberId;

use super::NodeAlarms;
use super::inbox::Event;
use super::report::{CALL_NODE, JoinReply, NodeReply, Report, Unwelcome};
use super::shell::{Phase, Shell, clock_ms};
use super::starts::{is_older_start, start_count};
use crate::formation::Listed;
use crate::link::{ClusterId, Identity, Lane, NodeName};
use crate::links::{CallAnswer, CallError};
use crate::plan::{Aim, MembershipPlan};
use crate::roster::{Heard, Roster, Stranger};

/// How often peers are asked.
const INTERVAL: Duration = Duration::from_millis(500);
/// How often a member that is written to says so by its seal.
const SEAL_INTERVAL: Duration = Duration::from_secs(1);
/// How long a node that was taken out is still talked to: it may wait for an answer.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long they may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a member has said.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) report: Report,
}

impl Shell {
    /// Asks all peers, when it is time to.
    pub(super) fn exchange(&mut self) {
        let now = Instant::now();
        if now < self.next_exchange {
            return;
        }
        self.next_exchange = now + INTERVAL;
        self.alarms = self.host.alarms();
        self.tell_alarms();
        self.remember();
        let known = self.roster.iter().flat_map(Roster::iter).map(|(name, _)| name);
        let names: Vec<_> = known.chain(self.listed.iter().map(|listed| &listed.name)).cloned().collect();
        names.iter().for_each(|name| self.ask_node(name));
        if self.report().is_new {
            // It has a place among them once it has been told of them. Until then it asks for it.
            let nodes = self.roster.iter().flat_map(Roster::iter);
            let others = nodes.filter(|(name, _)| **name != self.setup.name);
            let others: Vec<_> =
                others.map(|(name, node)| Listed { name: name.clone(), address: node.address.clone() }).collect();
            others.iter().for_each(|peer| self.ask_to_join(peer, self.own.member));
        }
    }

    /// Remembers what others have, and says of this member's directory that it works.
    fn remember(&mut self) {
        let Some(driver) = self.driver() else { return };
        let (status, peers) = (driver.status(), driver.peers());
        for peer in &peers {
            // What is not committed may be taken back.
            self.memory.note(peer.member, peer.upto.min(status.committed).0);
        }
        self.memory.keep();
        let (at, last) = self.sealed_at;
        if last != status.last.index.0 && at.elapsed() >= SEAL_INTERVAL {
            self.sealed_at = (Instant::now(), status.last.index.0);
            self.files.touch_seal(status.last.index.0);
        }
    }

    /// Publishers wait for all nodes: who serves them is told what the others are short of. A node that is not there is short of nothing.
    fn tell_alarms(&mut self) {
        if self.leading().is_none() {
            self.peer_alarms.clear();
            return;
        }
        let told = self.told.iter().filter(|(name, told)| {
            told.report.alarms != NodeAlarms::default() && told.report.name == **name && self.is_connected(name)
        });
        let alarms: Vec<_> = told.map(|(name, told)| (name.clone(), told.report.alarms)).collect();
        if alarms != self.peer_alarms {
            self.host.peer_alarms(&alarms);
            self.peer_alarms = alarms;
        }
    }

    /// Tells a peer who this is, and asks the same.
    pub(super) fn ask_node(&mut self, peer: &NodeName) {
        if self.driver().is_none() || *peer == self.setup.name || !self.asked.insert(peer.clone()) {
            return;
        }
        let (inbox, asked) = (self.inbox.clone(), peer.clone());
        let then = move |answer| inbox.put(Event::NodeAnswered { peer: asked, answer });
        let report = self.report();
        self.links.call_then(peer, CALL_NODE, report.encode(), PATIENCE, then);
    }

    pub(super) fn answer_node(&mut self, from: &Identity, payload: &[u8], answer: CallAnswer) {
        let Ok(report) = Report::decode(payload) else { return };
        let is_itself = from.name == report.name && from.incarnation == report.incarnation;
        if !is_itself || from.member != Some(report.member) {
            return;
        }
        let own = self.report();
        let heard = self.roster.is_some().then(|| self.hear(&report, from.cluster));
        let reply = match (heard, &self.roster) {
            (Some(Ok(())), Some(roster)) => NodeReply::Known(Box::new(own), roster.clone()),
            (Some(Err(unwelcome)), _) => NodeReply::Unknown(unwelcome),
            _ => NodeReply::NoCluster,
        };
        answer.give(&reply.encode());
    }

    pub(super) fn node_answered(&mut self, peer: &NodeName, answer: Result<Vec<u8>, CallError>) {
        self.asked.remove(peer);
        let Ok(reply) = answer.map(|bytes| NodeReply::decode(&bytes)) else { return };
        match reply {
            Ok(NodeReply::Known(report, roster)) if report.name == *peer => {
                self.removed = None;
                self.merge(&roster);
                match self.hear(&report, Some(roster.cluster())) {
                    // Both have looked at each other. Before the peer has, what it sends may be more than this node can bear.
                    Ok(()) => self.board.admit(report.member, report.incarnation),
                    Err(Unwelcome::Lost(why) | Unwelcome::Stranger(why)) => {
                        tracing::warn!(peer = peer.as_str(), "{why}");
                    }
                }
            }
            Ok(NodeReply::Unknown(Unwelcome::Lost(why))) => {
                // However often it is started from now on.
                if let Err(error) = self.files.write_lost(&why) {
                    tracing::warn!(%error, "what was lost is not kept");
                }
                self.fail(&why);
            }
            // Where another one knows better, that one leads, or knows who does.
            Ok(NodeReply::Unknown(Unwelcome::Stranger(why))) => self.be_removed(why),
            _ => {}
        }
    }

    /// A node has said who it is, and how far: an error says why it cannot be listened to.
    fn hear(&mut self, report: &Report, cluster: Option<ClusterId>) -> Result<(), Unwelcome> {
        let stranger = |why: Stranger| Unwelcome::Stranger(why.to_string());
        let members = self.members();
        let is_new = members.voters.is_empty();
        let Some(roster) = &mut self.roster else {
            return Err(Unwelcome::Stranger(format!("{} belongs to no cluster", self.setup.name)));
        };
        let is_expected = self.plans.iter().any(|plan| joins(plan) == Some(report.member));
        if !is_new && !members.has(report.member) && !is_expected {
            return Err(Unwelcome::Stranger(format!(
                "{} does not belong to this cluster any more: reset it (warren ctl force_reset), and it may join as a new one",
                report.name
            )));
        }
        let mut is_changed = false;
        match roster.node(&report.name) {
            Some(node) if node.member == report.member && node.address == report.address => {}
            Some(node) if node.member != report.member && members.has(report.member) && !members.has(node.member) => {
                roster.replace(&report.name, report.member).map_err(stranger)?;
                is_changed = true;
            }
            _ => {
                is_changed |=
                    roster.add(&report.name, report.member, report.address.clone()).map_err(stranger)? == Heard::Changed
            }
        }
        let before = self.told.get(&report.name).filter(|told| told.report.member == report.member);
        if before.is_some_and(|told| is_later(&told.report, report)) {
            return Ok(());
        }
        let known = roster.node(&report.name).map_or(0, |node| node.incarnation);
        let promised = self.memory.of(report.member);
        // What is refused changes nothing of what is known: it is refused as often as it comes.
        if is_older_start(report.incarnation, &report.earlier, known) || lacks_promised(report, known, promised) {
            return Err(Unwelcome::Lost(lost(report, known, promised)));
        }
        let identity = Identity {
            cluster,
            name: report.name.clone(),
            member: Some(report.member),
            incarnation: report.incarnation,
            level: report.level,
        };
        let heard = roster.hear(&identity, Some(&report.version), clock_ms(), |_| true).map_err(stranger)?;
        is_changed |= heard == Heard::Changed;
        self.memory.note(report.member, report.applied);
        self.told.insert(report.name.clone(), Told { report: report.clone() });
        if is_changed {
            self.roster_changed();
        }
        Ok(())
    }

    /// Learns where others are that belong to the group.
    fn merge(&mut self, other: &Roster) {
        let members = self.members();
        let is_new = members.voters.is_empty();
        let Some(roster) = &mut self.roster else { return };
        if other.cluster() != roster.cluster() {
            return;
        }
        let mut is_changed = false;
        for (name, node) in other.iter() {
            let is_other = *name != self.setup.name && node.member != self.own.member;
            if !is_other || !(is_new || members.has(node.member)) {
                continue;
            }
            match roster.node(name) {
                // What a node says of itself counts for more.
                Some(known) if known.member == node.member => {}
                Some(known) if members.has(known.member) => {}
                Some(_) => {
                    is_changed |= roster.replace(name, node.member).is_ok();
                    is_changed |= roster.add(name, node.member, node.address.clone()).is_ok();
                }
                None => is_changed |= roster.add(name, node.member, node.address.clone()).is_ok(),
            }
        }
        if is_changed {
            self.roster_changed();
        }
    }

    /// Takes those out that do not belong to the group any more.
    pub(super) fn prune(&mut self) {
        let members = self.members();
        if members.voters.is_empty() {
            return;
        }
        let expected: Vec<_> = self.plans.iter().filter_map(joins).collect();
        let Some(roster) = &mut self.roster else { return };
        let is_gone =
            |member: MemberId| !members.has(member) && !expected.contains(&member) && member != self.own.member;
        let gone: Vec<_> = roster.iter().map(|(_, node)| node.member).filter(|member| is_gone(*member)).collect();
        self.gone.retain(|member, _| gone.contains(member));
        let now = Instant::now();
        for member in &gone {
            self.gone.entry(*member).or_insert(now);
        }
        let is_told = |member: &MemberId| self.gone.get(member).is_some_and(|since| now - *since >= FAREWELL);
        let gone: Vec<_> = gone.into_iter().filter(is_told).collect();
        for member in &gone {
            if let Some(name) = roster.remove(*member) {
                tracing::info!(node = name.as_str(), "a node has left the cluster");
                self.told.remove(&name);
            }
        }
        if !gone.is_empty() {
            self.memory.forget(&gone);
            self.listed.clear();
            self.roster_changed();
        }
    }

    pub(super) fn answer_join(&mut self, from: &Identity, payload: &[u8], answer: CallAnswer) {
        let Ok(report) = Report::decode(payload) else { return };
        if from.name == report.name {
            let reply = match &self.phase {
                Phase::Member(_) => self.admit(&report),
                _ => self.admission_without_cluster(from),
            };
            answer.give(&reply.encode());
        }
    }

    /// What becomes of a node that wants to be a member.
    fn admit(&mut self, report: &Report) -> JoinReply {
        if self.leading().is_none() {
            let leader = self.leader.as_ref().filter(|leader| **leader != self.setup.name);
            let node = leader.and_then(|leader| Some((leader, self.roster.as_ref()?.node(leader)?)));
            return match node {
                Some((name, node)) => JoinReply::Elsewhere(name.clone(), node.address.clone()),
                None => JoinReply::Later("no node leads at the moment".to_owned()),
            };
        }
        let members = self.members();
        let is_connected = self.is_connected(&report.name);
        let Some(roster) = &mut self.roster else { return JoinReply::Later("it forms a cluster".to_owned()) };
        if report.level < roster.level() {
            let (name, level) = (&report.name, roster.level());
            return JoinReply::Never(format!(
                "{name} knows formats up to level {}, and {level} is in use",
                report.level
            ));
        }
        if !members.has(report.member) && !report.is_new {
            let name = &report.name;
            return JoinReply::Never(format!(
                "{name} was taken out of the cluster: reset it (warren ctl force_reset), and it may join as a new one"
            ));
        }
        let (aim, added) = match roster.node(&report.name).map(|node| node.member) {
            Some(old) if old != report.member && is_connected && members.has(old) => {
                let name = report.name.clone();
                return JoinReply::Never(Stranger::Taken { name, known: old, told: report.member }.to_string());
            }
            Some(old) if old != report.member => {
                (Aim::Replace { old, new: report.member }, roster.replace(&report.name, report.member))
            }
            _ => (Aim::Join(report.member), Ok(())),
        };
        let added = added.and_then(|()| roster.add(&report.name, report.member, report.address.clone()));
        if let Err(why) = added {
            return JoinReply::Never(why.to_string());
        }
        let is_planned = self.plans.iter().any(|plan| joins(plan) == Some(report.member));
        if !is_planned && !members.voters.contains(&report.member) {
            tracing::info!(node = report.name.as_str(), member = report.member.get(), "a node joins the cluster");
            self.plans.push(MembershipPlan::new(aim));
        }
        self.roster_changed();
        self.roster.clone().map_or_else(|| JoinReply::Later(String::new()), JoinReply::Open)
    }

    /// Whether a peer can be reached.
    pub(super) fn is_connected(&self, name: &NodeName) -> bool {
        let statistics = self.links.statistics();
        let of_peer = statistics.iter().find(|peer| peer.name == *name);
        of_peer.is_some_and(|peer| peer.is_connected(Lane::Votes))
    }
}

/// Whether one report was made after another one of the same start.
fn is_later(one: &Report, other: &Report) -> bool {
    one.incarnation == other.incarnation && one.number > other.number
}

/// Who joins by a plan.
pub(super) fn joins(plan: &MembershipPlan) -> Option<MemberId> {
    match plan.aim() {
        Aim::Join(new) | Aim::Replace { new, .. } => Some(new),
        Aim::Leave(_) => None,
    }
}

/// Whether a start has less than an earlier one had promised. One that is known has lost nothing since: where its log ends was looked at
/// before it took and acknowledged what has come to be known meanwhile.
fn lacks_promised(report: &Report, known: u64, promised: u64) -> bool {
    report.incarnation != known && promised > report.last
}

/// What is said to a node that comes back with less than it had.
fn lost(report: &Report, known: u64, promised: u64) -> String {
    let Report { name, incarnation, last, earlier, .. } = report;
    let what = if is_older_start(*incarnation, earlier, known) {
        let (count, known) = (start_count(*incarnation), start_count(known));
        format!("of which this is start {count}, after start {known} of the directory that it had was seen")
    } else {
        format!("whose log ends at entry {last}, after it had entry {promised}")
    };
    format!(
        "{name} has come back with an older directory, {what}: what it lost it had promised to the others to have. Empty the directory, \
         and it joins anew"
    )
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[track_caller]
    fn check_lacks(incarnation: u64, last: u64, expected: bool) {
        const KNOWN: u64 = 7;
        const PROMISED: u64 = 100;
        let report = Report { incarnation, last, ..report() };
        assert_eq!(lacks_promised(&report, KNOWN, PROMISED), expected);
    }

    #[test]
    fn a_new_start_lacks_what_an_earlier_one_has_promised() {
        check_lacks(8, 99, true);
        check_lacks(8, 100, false);
    }

    /// A leader that was cut off takes the next leader's entries so quickly that its report, made before, comes after its acknowledgement.
    #[test]
    fn a_start_that_is_known_may_have_said_less_than_it_has_by_now() {
        check_lacks(7, 99, false);
    }
}
