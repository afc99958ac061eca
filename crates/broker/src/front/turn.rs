//! A turn of a connection: one read, and what is counted and reported of it.

use std::time::Instant;

use super::{Front, Phase, Protocol};
use crate::connections::ConnectionState;
use crate::statistics::TurnCounts;

/// What one read, and what was done because of it, came to.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// When what is being received arrived, in milliseconds since 1970.
    pub(super) now_ms: u64,
    /// When the last read brought it.
    pub(super) received_at: Option<Instant>,
    /// What has been counted.
    pub(super) counted: TurnCounts,
}

impl<P: Protocol> Front<P> {
    /// Writes down how things stand, for listings: the last thing of a turn.
    pub(crate) fn report(&mut self) {
        self.lanes.report();
        self.report_counted();
        let state = match self.phase {
            Phase::Opening => return,
            Phase::Closing { .. } | Phase::Refused { .. } | Phase::Parting { .. } | Phase::Closed { .. } => {
                ConnectionState::Closing
            }
            Phase::Running if self.flow.is_blocked() => ConnectionState::Blocked,
            Phase::Running => ConnectionState::Running,
        };
        self.handle.set_state(state);
        if self.flow.is_congested() || self.is_throttled() {
            self.note_flow();
        }
    }

    /// A read has brought so many bytes.
    #[inline]
    pub(crate) fn note_received(&mut self, len: usize, at: Instant) {
        self.turn.received_at = Some(at);
        self.handle.traffic.received(len);
        self.turn.counted.received_len += len as u64;
    }

    /// A write has taken so many bytes.
    #[inline]
    pub(crate) fn note_sent(&mut self, len: usize) {
        self.handle.traffic.sent(len);
        self.turn.counted.sent_len += len as u64;
    }

    /// The vhost takes what has been counted in this turn. What comes before there is a vhost waits for it.
    pub(super) fn report_counted(&mut self) {
        let Some(access) = self.principal.known_access() else { return };
        let counters = &access.vhost.counters;
        counters.take(&mut self.turn.counted);
        self.broker.engine.statistics.vhosts.note(counters);
        self.broker.statistics.connections.note(&self.handle);
    }
}
