//! What operators and metrics see of this node.

use std::time::Instant;

use consensus::{MemberId, PeerStatus, Status};

use super::NodeTask;
use crate::control::{ClusterMetrics, ClusterView, LaneBytes, LinkView, LogView, MemberMetrics, MemberView, Role};
use crate::driver::Driver;
use crate::node::io::is_connected;
use crate::node::phase::Phase;
use crate::node::report::Report;
use crate::node::time::clock_ms;
use crate::node::vitals::PeerVitals;
use crate::peers::{LaneStatistics, PeerStatistics};
use crate::roster::{Node, Roster};
use crate::wire::{Lane, NodeName};

/// What a member knows at one moment.
struct MemberFacts<'a> {
    driver: &'a Driver,
    status: Status,
    peers: Vec<PeerStatus>,
    statistics: Vec<PeerStatistics>,
    leader: Option<&'a NodeName>,
    is_leading: bool,
}

impl NodeTask {
    /// Makes the view of this node anew, if it is time to.
    pub(super) fn update_view(&self) {
        let (leader, now) = (self.leader(), Instant::now());
        if !self.view.is_due(leader, self.membership.cluster(), now) {
            return;
        }
        let statistics = self.io.statistics();
        let (view, metrics) = match self.phase.driver() {
            Some(driver) => {
                let facts = MemberFacts {
                    driver,
                    status: driver.status(),
                    peers: driver.peers(),
                    statistics,
                    leader,
                    is_leading: self.phase.is_leading(),
                };
                (self.member_view(&facts), self.member_metrics(&facts))
            }
            None => (self.lone_view(&statistics), ClusterMetrics::default()),
        };
        self.view.set(view, metrics, now);
    }

    fn lone_view(&self, statistics: &[PeerStatistics]) -> ClusterView {
        let is_serving = matches!(self.phase, Phase::Alone);
        ClusterView {
            own: self.own.name().clone(),
            cluster: None,
            term: 0,
            leader: is_serving.then(|| self.own.name().clone()),
            level: self.own.setup().level,
            has_majority: is_serving,
            waiting: self.formation.waits_for().map(|why| match failures(statistics) {
                Some(failures) => format!("{why}; {failures}"),
                None => why,
            }),
            members: vec![self.own_view(None, if is_serving { Role::Leader } else { Role::Learner })],
        }
    }

    fn member_view(&self, facts: &MemberFacts<'_>) -> ClusterView {
        let is_majority = self.reach().is_majority();
        let failures = || failures(&facts.statistics).filter(|_| !is_majority);
        ClusterView {
            own: self.own.name().clone(),
            cluster: self.membership.cluster(),
            term: facts.status.term().0,
            leader: facts.leader.cloned(),
            level: self.membership.roster().map_or(self.own.setup().level, Roster::level).max(1),
            has_majority: is_majority,
            waiting: self.membership.own_removal().map(str::to_owned).or_else(failures),
            members: self.member_views(facts),
        }
    }

    /// All members, this one included, by name.
    fn member_views(&self, facts: &MemberFacts<'_>) -> Vec<MemberView> {
        let MemberFacts { status, .. } = facts;
        let own_role = if facts.is_leading { Role::Leader } else { role(status, self.own.member()) };
        let mut members = vec![self.own_view(Some(self.own_log(facts)), own_role)];
        for (name, node) in self.membership.nodes() {
            // A node that was removed a moment ago is still in the list of nodes, for its answer.
            let is_member = status.members.voters.is_empty()
                || status.members.has(node.member)
                || self.membership.expects(node.member);
            if name != self.own.name() && !self.membership.is_leaving(node.member) && is_member {
                members.push(self.peer_view(facts, name, node));
            }
        }
        members.sort_by(|a, b| a.name.cmp(&b.name));
        members
    }

    fn own_view(&self, log: Option<LogView>, role: Role) -> MemberView {
        let setup = self.own.setup();
        MemberView {
            name: setup.name.clone(),
            member: self.own.member(),
            role,
            is_running: true,
            is_draining: self.clients.is_draining(),
            address: Some(self.own.address().clone()),
            version: setup.version.clone(),
            level: setup.level,
            silent_ms: None,
            clock_ahead_ms: None,
            figures: None,
            last_seen_ms: clock_ms(),
            log,
            links: Vec::new(),
        }
    }

    fn own_log(&self, facts: &MemberFacts<'_>) -> LogView {
        let MemberFacts { driver, status, .. } = facts;
        let leaders = self.leaders_report(facts);
        LogView {
            last: status.last.index.0,
            written: status.persisted.0,
            committed: status.committed.0,
            applied: status.applied.0,
            base: status.base.index.0,
            lag_entries: leaders.map_or(0, |report| report.last.saturating_sub(status.last.index.0)),
            lag_bytes: leaders.map_or(0, |report| report.end.saturating_sub(driver.end())),
            ..LogView::default()
        }
    }

    fn peer_view(&self, facts: &MemberFacts<'_>, name: &NodeName, node: &Node) -> MemberView {
        let MemberFacts { status, .. } = facts;
        let links = facts.statistics.iter().find(|peer| peer.name == *name);
        let is_running = links.is_some_and(|peer| peer.is_connected(Lane::Votes));
        let report = self.exchange.report(name);
        let vitals = self.vitals.of(name);
        MemberView {
            name: name.clone(),
            member: node.member,
            role: if facts.leader == Some(name) { Role::Leader } else { role(status, node.member) },
            is_running,
            is_draining: report.is_some_and(|report| report.is_draining),
            address: Some(node.address.clone()),
            version: node.version.clone(),
            level: node.level,
            silent_ms: vitals.and_then(PeerVitals::silent_ms),
            clock_ahead_ms: vitals.and_then(PeerVitals::clock_ahead_ms),
            figures: vitals.and_then(PeerVitals::figures),
            last_seen_ms: if is_running { clock_ms() } else { node.last_seen_ms },
            log: self.peer_log(facts, name, node),
            links: links.map(link_views).unwrap_or_default(),
        }
    }

    fn peer_log(&self, facts: &MemberFacts<'_>, name: &NodeName, node: &Node) -> Option<LogView> {
        let last = facts.status.last.index.0;
        let report = self.exchange.report(name);
        if let Some(peer) = facts.peers.iter().find(|peer| peer.member == node.member) {
            let applied = report.map_or(0, |report| report.applied);
            return Some(LogView {
                last: report.map_or(peer.upto.0, |report| report.last.max(peer.upto.0)),
                written: peer.upto.0,
                committed: applied,
                applied,
                lag_entries: last.saturating_sub(peer.upto.0),
                lag_bytes: self.lag_len(facts.driver, name).unwrap_or(0),
                unacknowledged_ms: self.vitals.of(name).and_then(PeerVitals::unacknowledged_ms),
                ..LogView::default()
            });
        }
        let (leaders, Report { last, applied, end, .. }) = (self.leaders_report(facts)?, report?);
        Some(LogView {
            last: *last,
            written: *last,
            committed: *applied,
            applied: *applied,
            lag_entries: leaders.last.saturating_sub(*last),
            lag_bytes: leaders.end.saturating_sub(*end),
            ..LogView::default()
        })
    }

    /// What the leader has reported last. A leader knows how far the others are; they know what it and the others have reported.
    fn leaders_report(&self, facts: &MemberFacts<'_>) -> Option<&Report> {
        self.exchange.report(facts.leader.filter(|_| !facts.is_leading)?)
    }

    /// Bytes of the log that another node does not have yet, by its last report.
    fn lag_len(&self, driver: &Driver, name: &NodeName) -> Option<u64> {
        Some(driver.end().saturating_sub(self.exchange.report(name)?.end))
    }

    fn member_metrics(&self, facts: &MemberFacts<'_>) -> ClusterMetrics {
        let MemberFacts { driver, status, peers, statistics, .. } = facts;
        let others = self.membership.nodes();
        let others = others.filter(|(name, _)| *name != self.own.name());
        let others: Vec<_> = others.filter(|(_, node)| !self.membership.is_leaving(node.member)).collect();
        let unreachable_peers = others.iter().filter(|(name, _)| !is_connected(statistics, name)).count() as u64;
        let member_metrics = |(name, node): (&NodeName, &Node)| {
            let peer = peers.iter().find(|peer| peer.member == node.member);
            let links = statistics.iter().find(|links| links.name == *name);
            MemberMetrics {
                name: name.clone(),
                lag_bytes: peer.and_then(|_| self.lag_len(driver, name)),
                round_trip_s: links
                    .filter(|links| links.round_trips.count > 0)
                    .map(|links| links.round_trips.last.as_secs_f64()),
            }
        };
        let timings = driver.timings();
        ClusterMetrics {
            term: status.term().0,
            last_index: status.last.index.0,
            last_written_index: status.persisted.0,
            commit_index: status.committed.0,
            last_applied: status.applied.0,
            snapshot_index: status.base.index.0,
            commit_latency_s: timings.commit_latency.as_secs_f64(),
            oldest_unacknowledged_s: timings.oldest_uncommitted.as_secs_f64(),
            leader_changes: self.leadership.change_count(),
            is_leading: facts.is_leading,
            unreachable_peers,
            members: others.into_iter().map(member_metrics).collect(),
            lanes: Lane::ALL.map(|lane| lane_bytes(statistics, lane)).to_vec(),
        }
    }
}

/// Why nodes are not linked with this one that it would reach, in sentences.
fn failures(statistics: &[PeerStatistics]) -> Option<String> {
    let away = statistics.iter().filter(|peer| !peer.is_connected(Lane::Votes));
    let mut sentences: Vec<&str> = away.filter_map(|peer| peer.last_failure.as_deref()).collect();
    sentences.dedup();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// A voter is a follower when that is settled: then any majority can do without the others.
fn role(status: &Status, member: MemberId) -> Role {
    if status.members.is_voter(member) && status.is_settled { Role::Follower } else { Role::Learner }
}

fn lane_bytes(statistics: &[PeerStatistics], lane: Lane) -> LaneBytes {
    let lanes = || statistics.iter().flat_map(|peer| &peer.lanes).filter(move |of| of.lane == lane);
    LaneBytes { lane, sent: lanes().map(|of| of.bytes_sent).sum(), received: lanes().map(|of| of.bytes_received).sum() }
}

fn link_views(peer: &PeerStatistics) -> Vec<LinkView> {
    let view = |lane: &LaneStatistics| LinkView {
        lane: lane.lane,
        is_up: lane.is_connected,
        round_trip_us: (lane.lane == Lane::Calls && peer.round_trips.count > 0)
            .then_some(peer.round_trips.last.as_micros() as u64),
        sent: lane.bytes_sent,
        received: lane.bytes_received,
    };
    peer.lanes.iter().map(view).collect()
}
