//! What is known of how another node is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::answer::Vitals;
use crate::control::NodeFigures;

/// An answer that took longer says nothing of the other's clock.
const ROUND_TRIP_MAX: Duration = Duration::from_millis(500);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct PeerVitals {
    is_asked: bool,
    /// When it answered last, or was asked first.
    heard_at: Option<Instant>,
    clock_ahead_ms: Option<i64>,
    /// Up to where it has the log, and since when not more though there is more.
    behind: Option<(u64, Instant)>,
    figures: Option<Arc<NodeFigures>>,
}

impl PeerVitals {
    /// For how long it has not answered.
    pub(crate) fn silent_ms(&self) -> Option<u64> {
        self.heard_at.map(|at| at.elapsed().as_millis() as u64)
    }

    /// How far its clock is ahead of this node's.
    pub(crate) fn clock_ahead_ms(&self) -> Option<i64> {
        self.clock_ahead_ms
    }

    /// For how long it has taken nothing of the log though there is something for it.
    pub(crate) fn unacknowledged_ms(&self) -> Option<u64> {
        self.behind.map(|(_, since)| since.elapsed().as_millis() as u64)
    }

    /// What its process and its machine are at.
    pub(crate) fn figures(&self) -> Option<Arc<NodeFigures>> {
        self.figures.clone()
    }

    /// It is to be asked. Returns whether no answer is waited for.
    pub(super) fn ask(&mut self, now: Instant) -> bool {
        let is_free = !std::mem::replace(&mut self.is_asked, true);
        if is_free {
            self.heard_at.get_or_insert(now);
        }
        is_free
    }

    /// It may be asked again.
    pub(super) fn free(&mut self) {
        self.is_asked = false;
    }

    /// It has answered, when this node's clock showed `ours_ms`.
    pub(super) fn answered(&mut self, vitals: Vitals, ours_ms: u64, asked_at: Instant, answered_at: Instant) {
        self.heard_at = Some(answered_at);
        if let Some(ahead_ms) = ahead_ms(vitals.wall_ms, ours_ms, answered_at - asked_at) {
            self.clock_ahead_ms = Some(ahead_ms);
        }
        self.figures = Some(Arc::new(vitals.figures));
    }

    /// It has the log up to there, which ends at `last`.
    pub(super) fn note_progress(&mut self, upto: u64, last: u64, now: Instant) {
        self.behind = match self.behind {
            _ if upto >= last => None,
            Some((before, since)) if before == upto => Some((before, since)),
            _ => Some((upto, now)),
        };
    }

    /// This node no longer knows how far the other is.
    pub(super) fn forget_progress(&mut self) {
        self.behind = None;
    }
}

/// How far the other's clock is ahead, by an answer that took so long: it was given half way.
fn ahead_ms(theirs_ms: u64, ours_ms: u64, round_trip: Duration) -> Option<i64> {
    let ours_ms = i64::try_from(ours_ms).ok()?.checked_sub(round_trip.as_millis() as i64 / 2)?;
    (round_trip <= ROUND_TRIP_MAX).then(|| i64::try_from(theirs_ms).unwrap_or(i64::MAX).saturating_sub(ours_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_takes_nothing_is_distinguished_from_one_that_is_late() {
        let (mut vitals, start) = (PeerVitals::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        vitals.note_progress(5, 5, at(0));
        assert_eq!(vitals.behind, None);
        vitals.note_progress(5, 7, at(1));
        vitals.note_progress(5, 9, at(3));
        assert_eq!(vitals.behind, Some((5, at(1))), "it has taken nothing since");
        vitals.note_progress(8, 20, at(4));
        assert_eq!(vitals.behind, Some((8, at(4))), "it is late, and goes on");
    }

    #[test]
    fn a_clock_is_compared_half_way() {
        let trip = Duration::from_millis(40);
        assert_eq!(ahead_ms(1_000_020, 1_000_040, trip), Some(0));
        assert_eq!(ahead_ms(4_600_020, 1_000_040, trip), Some(3_600_000));
        assert_eq!(ahead_ms(0, 3_600_020, trip), Some(-3_600_000));
        assert_eq!(ahead_ms(1_000_000, 1_000_000, Duration::from_secs(1)), None, "it took too long to say anything");
    }
}
