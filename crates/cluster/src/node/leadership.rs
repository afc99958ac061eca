//! Which node leads, as far as this one knows, and which could lead next.

use std::time::{Duration, Instant};

use consensus::{Index, MemberId, Members, PeerStatus};

use crate::wire::NodeName;

/// Between two tries to hand over.
const HAND_OVER_INTERVAL: Duration = Duration::from_secs(3);

/// See the module.
#[derive(Debug)]
pub(super) struct Leadership {
    leader: Option<NodeName>,
    leaderless_since: Instant,
    change_count: u64,
    next_hand_over_at: Instant,
}

impl Leadership {
    pub(super) fn new(now: Instant) -> Self {
        Leadership { leader: None, leaderless_since: now, change_count: 0, next_hand_over_at: now }
    }

    /// The node that leads, by the member of this one.
    pub(super) fn leader(&self) -> Option<&NodeName> {
        self.leader.as_ref()
    }

    /// The node that leads, if it is not this one.
    pub(super) fn other_leader(&self, own: &NodeName) -> Option<&NodeName> {
        self.leader.as_ref().filter(|leader| *leader != own)
    }

    /// For how long no node has led.
    pub(super) fn leaderless_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.leaderless_since)
    }

    /// How often another node than before has led.
    pub(super) fn change_count(&self) -> u64 {
        self.change_count
    }

    /// A node leads, or none is known to. Returns whether it is another one than before that leads.
    pub(super) fn set_leader(&mut self, leader: Option<NodeName>, now: Instant) -> bool {
        let is_news = leader.is_some() && self.leader != leader;
        self.change_count += u64::from(is_news);
        if leader.is_none() {
            self.leaderless_since = now;
        }
        self.leader = leader;
        is_news
    }

    /// Whether handing over may be tried now; then it is some time until it may be tried again.
    pub(super) fn may_hand_over(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next_hand_over_at;
        if is_due {
            self.next_hand_over_at = now + HAND_OVER_INTERVAL;
        }
        is_due
    }
}

/// To which voter a leader would best hand over.
pub(super) fn successor(
    members: &Members,
    peers: &[PeerStatus],
    is_draining: impl Fn(MemberId) -> bool,
) -> Option<MemberId> {
    let is_fit = |peer: &&PeerStatus| {
        peer.is_active && !peer.is_shipped_to && members.voters.contains(&peer.member) && !is_draining(peer.member)
    };
    peers.iter().filter(is_fit).max_by_key(|peer| peer.upto).map(|peer| peer.member)
}

/// Why a voter cannot take over now, if it cannot: nothing could be appended until it has all.
pub(super) fn why_unfit(peer: Option<&PeerStatus>, committed: Index) -> Option<String> {
    match peer {
        None => Some("it has not reported yet how far it is".to_owned()),
        Some(peer) if peer.has_caught_up(committed) => None,
        Some(peer) if peer.is_shipped_to => Some("it is so far behind that it is sent files".to_owned()),
        Some(peer) if peer.upto.0 == 0 => Some("it has not reported yet how far it is".to_owned()),
        Some(peer) => {
            Some(format!("it lacks {} of the {} entries that are committed", peer.behind(committed), committed.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn peer(number: u64, upto: u64) -> PeerStatus {
        PeerStatus { member: id(number), upto: Index(upto), is_shipped_to: false, is_active: true }
    }

    #[test]
    fn the_reason_why_a_node_cannot_lead_is_how_far_it_is_behind() {
        let why = |peer: Option<PeerStatus>| why_unfit(peer.as_ref(), Index(1_000_000));
        assert_eq!(why(Some(peer(2, 1_000_000))), None);
        assert_eq!(why(Some(peer(2, 999_999))), None);
        assert_eq!(why(Some(peer(2, 400_000))).unwrap(), "it lacks 600000 of the 1000000 entries that are committed");
        let shipped = PeerStatus { is_shipped_to: true, ..peer(2, 999_999) };
        assert_eq!(why(Some(shipped)).unwrap(), "it is so far behind that it is sent files");
        assert_eq!(why(Some(peer(2, 0))).unwrap(), "it has not reported yet how far it is");
        assert_eq!(why(None).unwrap(), "it has not reported yet how far it is");
    }

    #[test]
    fn the_voter_that_has_most_of_the_log_succeeds() {
        let members = Members { voters: vec![id(1), id(2), id(3), id(4)], ..Members::default() };
        let peers = [peer(2, 7), peer(3, 8), peer(9, 10), PeerStatus { is_active: false, ..peer(4, 9) }];
        assert_eq!(successor(&members, &peers, |_| false), Some(id(3)));
        assert_eq!(successor(&members, &peers, |member| member == id(3)), Some(id(2)));
        assert_eq!(successor(&members, &peers, |_| true), None);
    }

    #[test]
    fn a_leader_that_is_back_counts_as_a_change() {
        let start = Instant::now();
        let mut leadership = Leadership::new(start);
        let a = NodeName::new("rabbit@a").unwrap();
        assert!(leadership.set_leader(Some(a.clone()), start));
        assert!(!leadership.set_leader(Some(a.clone()), start));
        let lost_at = start + Duration::from_secs(5);
        assert!(!leadership.set_leader(None, lost_at));
        assert_eq!(leadership.leaderless_for(lost_at + HAND_OVER_INTERVAL), HAND_OVER_INTERVAL);
        assert!(leadership.set_leader(Some(a.clone()), lost_at));
        assert_eq!((leadership.change_count(), leadership.other_leader(&a)), (2, None));
    }

    #[test]
    fn handing_over_is_not_tried_again_at_once() {
        let start = Instant::now();
        let mut leadership = Leadership::new(start);
        assert!(leadership.may_hand_over(start) && !leadership.may_hand_over(start));
        assert!(leadership.may_hand_over(start + HAND_OVER_INTERVAL));
    }
}
