//! What nodes of a cluster report to each other, twice a second and when a link stands: which peers are to be asked, and what each has
//! reported last.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use consensus::MemberId;

use super::alarms::Alarms;
use super::report::Report;
use crate::wire::NodeName;

/// How often peers are asked.
const INTERVAL: Duration = Duration::from_millis(500);

/// See the module.
pub(super) struct ReportExchange {
    next_at: Instant,
    /// How often this node has reported.
    number: u64,
    /// Peers whose answer is waited for.
    asked: BTreeSet<NodeName>,
    reports: BTreeMap<NodeName, Report>,
    alarms: Alarms,
}

impl ReportExchange {
    pub(super) fn new(now: Instant) -> Self {
        let alarms = Alarms::default();
        ReportExchange { next_at: now, number: 0, asked: BTreeSet::new(), reports: BTreeMap::new(), alarms }
    }

    /// Whether it is time to ask all peers; then the next time is set.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next_at;
        if is_due {
            self.next_at = now + INTERVAL;
        }
        is_due
    }

    /// The number of this node's next report. Reports may arrive in another order.
    pub(super) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// A peer is to be asked. Returns whether none of its answers is waited for.
    pub(super) fn ask(&mut self, peer: &NodeName) -> bool {
        self.asked.insert(peer.clone())
    }

    /// A peer has answered, or has failed to.
    pub(super) fn answered(&mut self, peer: &NodeName) {
        self.asked.remove(peer);
    }

    /// What a node has reported last.
    pub(super) fn report(&self, name: &NodeName) -> Option<&Report> {
        self.reports.get(name)
    }

    pub(super) fn reports(&self) -> impl Iterator<Item = &Report> {
        self.reports.values()
    }

    /// Whether a member has reported that it takes no clients.
    pub(super) fn is_draining(&self, member: MemberId) -> bool {
        self.reports().any(|report| report.member == member && report.is_draining)
    }

    /// Keeps a node's report as its last one.
    pub(super) fn keep(&mut self, report: Report) {
        self.reports.insert(report.name.clone(), report);
    }

    /// A node has left the cluster.
    pub(super) fn forget(&mut self, name: &NodeName) {
        self.reports.remove(name);
    }

    /// This node has left its cluster.
    pub(super) fn forget_all(&mut self) {
        self.reports.clear();
    }

    pub(super) fn alarms(&mut self) -> &mut Alarms {
        &mut self.alarms
    }

    /// Takes the alarms of peers that can be reached out of their reports. Returns them if they have changed.
    pub(super) fn peer_alarms(
        &mut self,
        is_connected: impl Fn(&NodeName) -> bool,
    ) -> Option<&[(NodeName, super::NodeAlarms)]> {
        let reports = self.reports.values().filter(|report| is_connected(&report.name));
        self.alarms.update_peers(reports.map(|report| (report.name.clone(), report.alarms)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[test]
    fn a_peer_is_asked_again_only_when_it_has_answered() {
        let start = Instant::now();
        let (mut exchange, peer) = (ReportExchange::new(start), report().name);
        assert!(exchange.is_due(start) && !exchange.is_due(start));
        assert!(exchange.is_due(start + INTERVAL));
        assert!(exchange.ask(&peer) && !exchange.ask(&peer));
        exchange.answered(&peer);
        assert!(exchange.ask(&peer));
    }

    #[test]
    fn alarms_of_peers_that_cannot_be_reached_do_not_count() {
        let mut exchange = ReportExchange::new(Instant::now());
        exchange.keep(report());
        assert_eq!(exchange.peer_alarms(|_| false), None);
        assert_eq!(exchange.peer_alarms(|_| true), Some(&[(report().name, report().alarms)][..]));
        assert_eq!(exchange.peer_alarms(|_| false), Some(&[][..]));
    }
}
