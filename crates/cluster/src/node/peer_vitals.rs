//! What is known of how another node is.

use std::sync::Arc;
use std::time::Instant;

use crate::control::NodeFigures;

/// What is known of another node.
#[derive(Debug, Default)]
pub(super) struct PeerVitals {
    pub(super) is_asked: bool,
    /// When it answered last, or was asked first.
    pub(super) heard_at: Option<Instant>,
    /// How far its clock is ahead of this node's.
    pub(super) clock_ahead_ms: Option<i64>,
    /// Up to where it has the log, and since when not more though there is more.
    pub(super) behind: Option<(u64, Instant)>,
    /// What it is at.
    pub(super) figures: Option<Arc<NodeFigures>>,
}

impl PeerVitals {
    /// For how long it has not answered.
    pub(super) fn silent_ms(&self) -> Option<u64> {
        self.heard_at.map(|at| at.elapsed().as_millis() as u64)
    }

    /// For how long it has taken nothing of the log though there is something for it.
    pub(super) fn unacknowledged_ms(&self) -> Option<u64> {
        self.behind.map(|(_, since)| since.elapsed().as_millis() as u64)
    }

    /// It has the log up to there, which ends at `last`.
    pub(super) fn note_progress(&mut self, upto: u64, last: u64, now: Instant) {
        self.behind = match self.behind {
            _ if upto >= last => None,
            Some((before, since)) if before == upto => Some((before, since)),
            _ => Some((upto, now)),
        };
    }
}
