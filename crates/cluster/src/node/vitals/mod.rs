//! Once a second each node asks the others how they are: what time it is there, and what their process and machine are at. A node that does
//! not answer is silent, whether it is dead, stopped, or too busy.

mod answer;
mod peer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use answer::Vitals;
pub(super) use peer::PeerVitals;

use super::time::GroupTime;
use crate::peers::CallError;
use crate::wire::NodeName;

/// A node asks how another one is.
pub(super) const CALL_VITALS: &str = "vitals";

/// How often.
const INTERVAL: Duration = Duration::from_secs(1);

/// How all peers are, and what time it is in the cluster by what the leader answers.
pub(super) struct VitalsTable {
    peers: BTreeMap<NodeName, PeerVitals>,
    next_at: Instant,
    time: Arc<GroupTime>,
}

impl VitalsTable {
    pub(super) fn new(time: Arc<GroupTime>, now: Instant) -> Self {
        VitalsTable { peers: BTreeMap::new(), next_at: now, time }
    }

    /// What time it is in the cluster.
    pub(super) fn time(&self) -> &Arc<GroupTime> {
        &self.time
    }

    pub(super) fn of(&self, peer: &NodeName) -> Option<&PeerVitals> {
        self.peers.get(peer)
    }

    /// Whether it is time to ask all peers; then the next time is set.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next_at;
        if is_due {
            self.next_at = now + INTERVAL;
        }
        is_due
    }

    /// Something has changed: all peers are asked at once.
    pub(super) fn hasten(&mut self, now: Instant) {
        self.next_at = now;
    }

    /// Nothing is kept of others than these.
    pub(super) fn retain(&mut self, peers: &[NodeName]) {
        self.peers.retain(|peer, _| peers.contains(peer));
    }

    /// A peer is to be asked. Returns whether none of its answers is waited for.
    pub(super) fn ask(&mut self, peer: &NodeName, now: Instant) -> bool {
        self.peers.entry(peer.clone()).or_default().ask(now)
    }

    /// A peer has answered, when this node's clock showed `ours_ms`, or has failed to. Returns the time of its broker, if one runs there.
    pub(super) fn answered(
        &mut self,
        peer: &NodeName,
        answer: Result<Vec<u8>, CallError>,
        ours_ms: u64,
        (asked_at, answered_at): (Instant, Instant),
    ) -> Option<u64> {
        let peer = self.peers.get_mut(peer)?;
        peer.free();
        let vitals = Vitals::decode(&answer.ok()?).ok()?;
        let broker_ms = vitals.broker_ms;
        peer.answered(vitals, ours_ms, asked_at, answered_at);
        broker_ms
    }

    /// The leader knows how far a peer is: it has the log up to there, which ends at `last`.
    pub(super) fn note_progress(&mut self, peer: &NodeName, upto: u64, last: u64, now: Instant) {
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.note_progress(upto, last, now);
        }
    }

    /// This node does not lead: it does not know how far peers are.
    pub(super) fn forget_progress(&mut self) {
        self.peers.values_mut().for_each(PeerVitals::forget_progress);
    }

    /// This node has left its cluster.
    pub(super) fn forget_all(&mut self) {
        self.peers.clear();
        self.time.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::NodeFigures;

    #[test]
    fn a_peer_that_does_not_answer_is_not_asked_again_and_stays_silent() {
        let start = Instant::now();
        let mut table = VitalsTable::new(Arc::new(GroupTime::new(None)), start);
        let peer = NodeName::new("rabbit@a").unwrap();
        assert!(table.is_due(start) && !table.is_due(start));
        assert!(table.ask(&peer, start) && !table.ask(&peer, start + INTERVAL));
        let times = (start, start + Duration::from_secs(2));
        assert_eq!(table.answered(&peer, Err(CallError::TimedOut), 0, times), None);
        assert!(table.ask(&peer, start + INTERVAL), "it may be asked again");
        assert!(table.of(&peer).unwrap().figures().is_none());
        let vitals = Vitals { wall_ms: 9, broker_ms: Some(7), figures: NodeFigures::default() };
        assert_eq!(table.answered(&peer, Ok(vitals.encode()), 9, times), Some(7));
        assert!(table.of(&peer).unwrap().figures().is_some());
        table.retain(&[]);
        assert!(table.of(&peer).is_none());
    }
}
