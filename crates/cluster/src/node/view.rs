//! What operators and metrics are shown: made by the shell, read by all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use consensus::{PeerStatus, Status};
use parking_lot::Mutex;

use super::exchange::joins;
use super::peer_vitals::PeerVitals;
use super::shell::{Shell, clock_ms};
use crate::control::{ClusterMetrics, ClusterView, LaneBytes, LinkView, LogView, MemberMetrics, MemberView, Role};
use crate::driver::Driver;
use crate::link::{Lane, NodeName};
use crate::links::PeerStatistics;
use crate::roster::Roster;

/// How often it is made anew, unless who leads has changed.
const INTERVAL: Duration = Duration::from_millis(200);

/// What was last shown.
pub(super) struct Shown {
    pub(super) view: Mutex<Arc<ClusterView>>,
    pub(super) metrics: Mutex<Arc<ClusterMetrics>>,
    made_at: Mutex<Option<Instant>>,
}

impl Shown {
    pub(super) fn of(own: &NodeName, level: u32) -> Arc<Self> {
        let view = ClusterView {
            own: own.clone(),
            cluster: None,
            term: 0,
            leader: None,
            level,
            has_majority: true,
            waiting: None,
            members: Vec::new(),
        };
        Arc::new(Shown { view: Mutex::new(Arc::new(view)), metrics: Mutex::default(), made_at: Mutex::default() })
    }
}

impl Shell {
    /// Makes what is shown anew, if it is time to.
    pub(super) fn show(&self) {
        let leader = self.leader_name();
        let is_same = {
            let view = self.shown.view.lock();
            view.leader == leader && view.cluster == self.roster.as_ref().map(Roster::cluster)
        };
        let mut made_at = self.shown.made_at.lock();
        if is_same && made_at.is_some_and(|made_at| made_at.elapsed() < INTERVAL) {
            return;
        }
        *made_at = Some(Instant::now());
        let statistics = self.links.statistics();
        let (view, metrics) = match self.driver() {
            Some(driver) => {
                let (status, peers) = (driver.status(), driver.peers());
                (self.member_view(&status, &peers, &statistics, leader), self.metrics(&status, &peers, &statistics))
            }
            None => (self.lone_view(), ClusterMetrics::default()),
        };
        *self.shown.view.lock() = Arc::new(view);
        *self.shown.metrics.lock() = Arc::new(metrics);
    }

    fn lone_view(&self) -> ClusterView {
        let is_serving = matches!(self.phase, super::shell::Phase::Alone);
        ClusterView {
            own: self.setup.name.clone(),
            cluster: None,
            term: 0,
            leader: is_serving.then(|| self.setup.name.clone()),
            level: self.setup.level,
            has_majority: is_serving,
            waiting: self.waits_for().map(|why| match self.failures(&self.links.statistics()) {
                Some(failures) => format!("{why}; {failures}"),
                None => why,
            }),
            members: vec![self.own_view(None, if is_serving { Role::Leader } else { Role::Learner })],
        }
    }

    /// Why nodes are not linked with this one that it would reach, in sentences.
    fn failures(&self, statistics: &[PeerStatistics]) -> Option<String> {
        let away = statistics.iter().filter(|peer| !peer.is_connected(Lane::Votes));
        let mut sentences: Vec<&str> = away.filter_map(|peer| peer.last_failure.as_deref()).collect();
        sentences.dedup();
        (!sentences.is_empty()).then(|| sentences.join("; "))
    }

    fn own_view(&self, log: Option<LogView>, role: Role) -> MemberView {
        MemberView {
            name: self.setup.name.clone(),
            member: self.own.member,
            role,
            is_running: true,
            is_draining: self.is_draining,
            address: Some(self.address.clone()),
            version: self.setup.version.clone(),
            level: self.setup.level,
            silent_ms: None,
            clock_ahead_ms: None,
            figures: None,
            last_seen_ms: clock_ms(),
            log,
            links: Vec::new(),
        }
    }

    fn member_view(
        &self,
        status: &Status,
        peers: &[PeerStatus],
        statistics: &[PeerStatistics],
        leader: Option<NodeName>,
    ) -> ClusterView {
        let (reachable, of) = self.reachable_voters();
        let is_leading = self.leading().is_some();
        // A leader knows how far the others are; they know what it and the others said last.
        let by_leader = leader.as_ref().filter(|_| !is_leading).and_then(|leader| self.told.get(leader));
        let behind = |last: u64, end: u64| {
            by_leader
                .map_or((0, 0), |told| (told.report.last.saturating_sub(last), told.report.end.saturating_sub(end)))
        };
        let own_behind = behind(status.last.index.0, self.driver().map_or(0, Driver::end));
        let own_log = LogView {
            last: status.last.index.0,
            written: status.persisted.0,
            committed: status.committed.0,
            applied: status.applied.0,
            base: status.base.index.0,
            lag_entries: own_behind.0,
            lag_bytes: own_behind.1,
            ..LogView::default()
        };
        let own_role = if is_leading { Role::Leader } else { role(status, self.own.member) };
        let mut members = vec![self.own_view(Some(own_log), own_role)];
        for (name, node) in self.roster.iter().flat_map(Roster::iter) {
            // Who was taken out a moment ago is in the list of nodes still, for its answer.
            let is_member = status.members.voters.is_empty()
                || status.members.has(node.member)
                || self.plans.iter().any(|plan| joins(plan) == Some(node.member));
            if *name == self.setup.name || self.gone.contains_key(&node.member) || !is_member {
                continue;
            }
            let links = statistics.iter().find(|peer| peer.name == *name);
            let is_running = links.is_some_and(|peer| peer.is_connected(Lane::Votes));
            let told = self.told.get(name).map(|told| &told.report);
            let vitals = self.vitals.get(name);
            let peer = peers.iter().find(|peer| peer.member == node.member);
            let log = peer.map(|peer| {
                let lag_entries = status.last.index.0.saturating_sub(peer.upto.0);
                LogView {
                    last: told.map_or(peer.upto.0, |told| told.last.max(peer.upto.0)),
                    written: peer.upto.0,
                    committed: told.map_or(0, |told| told.applied),
                    applied: told.map_or(0, |told| told.applied),
                    lag_entries,
                    lag_bytes: self.lag_len(name).unwrap_or(0),
                    unacknowledged_ms: vitals.and_then(PeerVitals::unacknowledged_ms),
                    ..LogView::default()
                }
            });
            let log = log.or_else(|| {
                let report = told.filter(|_| by_leader.is_some())?;
                let (lag_entries, lag_bytes) = behind(report.last, report.end);
                let (last, applied) = (report.last, report.applied);
                let known = LogView { last, written: last, committed: applied, applied, ..LogView::default() };
                Some(LogView { lag_entries, lag_bytes, ..known })
            });
            members.push(MemberView {
                name: name.clone(),
                member: node.member,
                role: if leader.as_ref() == Some(name) { Role::Leader } else { role(status, node.member) },
                is_running,
                is_draining: told.is_some_and(|told| told.is_draining),
                address: Some(node.address.clone()),
                version: node.version.clone(),
                level: node.level,
                silent_ms: vitals.and_then(PeerVitals::silent_ms),
                clock_ahead_ms: vitals.and_then(|vitals| vitals.clock_ahead_ms),
                figures: vitals.and_then(|vitals| vitals.figures.clone()),
                last_seen_ms: if is_running { clock_ms() } else { node.last_seen_ms },
                log,
                links: links.map(link_views).unwrap_or_default(),
            });
        }
        members.sort_by(|a, b| a.name.cmp(&b.name));
        ClusterView {
            own: self.setup.name.clone(),
            cluster: self.roster.as_ref().map(Roster::cluster),
            term: status.term().0,
            leader,
            level: self.roster.as_ref().map_or(self.setup.level, Roster::level).max(1),
            has_majority: reachable > of / 2,
            waiting: self
                .removed
                .clone()
                .or_else(|| (reachable <= of / 2).then(|| self.failures(statistics)).flatten()),
            members,
        }
    }

    /// Bytes of the log that another node does not have yet, by what it has said last.
    fn lag_len(&self, name: &NodeName) -> Option<u64> {
        Some(self.driver()?.end().saturating_sub(self.told.get(name)?.report.end))
    }

    fn metrics(&self, status: &Status, peers: &[PeerStatus], statistics: &[PeerStatistics]) -> ClusterMetrics {
        let others = self
            .roster
            .iter()
            .flat_map(Roster::iter)
            .filter(|(name, node)| **name != self.setup.name && !self.gone.contains_key(&node.member));
        let mut members = Vec::new();
        let mut unreachable_peers = 0;
        for (name, node) in others {
            let links = statistics.iter().find(|peer| peer.name == *name);
            unreachable_peers += u64::from(!links.is_some_and(|peer| peer.is_connected(Lane::Votes)));
            let peer = peers.iter().find(|peer| peer.member == node.member);
            members.push(MemberMetrics {
                name: name.clone(),
                lag_bytes: peer.and_then(|_| self.lag_len(name)),
                round_trip_s: links
                    .filter(|peer| peer.round_trips.count > 0)
                    .map(|peer| peer.round_trips.last.as_secs_f64()),
            });
        }
        let of_lane = |lane: Lane| {
            let lanes = || statistics.iter().flat_map(|peer| &peer.lanes).filter(move |of| of.lane == lane);
            LaneBytes {
                lane,
                sent: lanes().map(|of| of.bytes_sent).sum(),
                received: lanes().map(|of| of.bytes_received).sum(),
            }
        };
        let timings = self.driver().map(crate::driver::Driver::timings).unwrap_or_default();
        ClusterMetrics {
            term: status.term().0,
            last_index: status.last.index.0,
            last_written_index: status.persisted.0,
            commit_index: status.committed.0,
            last_applied: status.applied.0,
            snapshot_index: status.base.index.0,
            commit_latency_s: timings.commit_latency.as_secs_f64(),
            oldest_unacknowledged_s: timings.oldest_uncommitted.as_secs_f64(),
            leader_changes: self.leader_changes,
            is_leading: self.leading().is_some(),
            unreachable_peers,
            members,
            lanes: Lane::ALL.map(of_lane).to_vec(),
        }
    }
}

/// Who is to be a follower is one when that is settled: then any majority can do without the others.
fn role(status: &Status, member: consensus::MemberId) -> Role {
    if status.members.is_voter(member) && status.is_settled { Role::Follower } else { Role::Learner }
}

fn link_views(peer: &PeerStatistics) -> Vec<LinkView> {
    let view = |lane: &crate::links::LaneStatistics| LinkView {
        lane: lane.lane,
        is_up: lane.is_connected,
        round_trip_us: (lane.lane == Lane::Calls && peer.round_trips.count > 0)
            .then_some(peer.round_trips.last.as_micros() as u64),
        sent: lane.bytes_sent,
        received: lane.bytes_received,
    };
    peer.lanes.iter().map(view).collect()
}
