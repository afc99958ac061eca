//! One upstream: what is known of it, and what came of it so far.

use super::breaker::{Breaker, Circuit};
use super::refusals::{Refusals, RefusedVhost};
use super::{State, UpstreamId, UpstreamOptions};
use crate::limits::{ERROR_LEN_MAX, LOOK_AGAIN_MS};

#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) id: UpstreamId,
    pub(super) options: UpstreamOptions,
    /// As operators wish.
    pub(super) is_draining: bool,
    /// It is no longer in the options, and here until its last upstream connection has ended.
    pub(super) is_removed: bool,
    pub(super) breaker: Breaker,
    pub(super) refusals: Refusals,
    pub(super) dialling_count: usize,
    pub(super) connection_count: usize,
    /// When it is to be checked next.
    pub(super) check_at_ms: u64,
    pub(super) counters: Counters,
    last_error: Option<LastError>,
}

/// What came of an upstream so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Attempts to open an upstream connection.
    pub dialled: u64,
    /// Attempts that became upstream connections.
    pub opened: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Attempts that were given up before it was known what becomes of them.
    pub abandoned: u64,
    /// Upstream connections that ended.
    pub lost: u64,
    /// Checks that passed.
    pub checks_passed: u64,
    /// Checks that failed.
    pub checks_failed: u64,
}

/// What went wrong last. It stays when all is well again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// What was said about it.
    pub text: String,
    /// When.
    pub at_ms: u64,
}

/// An upstream, for those that look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Which.
    pub id: UpstreamId,
    /// As set.
    pub options: UpstreamOptions,
    /// Whether it gets new upstream connections.
    pub state: State,
    /// Whether it is no longer among those that are set.
    pub is_removed: bool,
    /// Upstream connections that are open.
    pub connection_count: usize,
    /// Upstream connections that are being dialled.
    pub dialling_count: usize,
    /// Its circuit.
    pub circuit: Circuit,
    /// Where the circuit is not closed: when it lets an attempt through, or another one.
    pub open_until_ms: Option<u64>,
    /// Attempts and checks that failed since the last that did not.
    pub consecutive_failure_count: u32,
    /// Vhosts that it refuses to every user for now, by name.
    pub refused_vhosts: Vec<RefusedVhost>,
    /// What went wrong last.
    pub last_error: Option<LastError>,
    /// What came of it so far.
    pub counters: Counters,
}

impl Upstream {
    pub(super) fn new(id: UpstreamId, options: UpstreamOptions) -> Self {
        Upstream {
            id,
            options,
            is_draining: false,
            is_removed: false,
            breaker: Breaker::default(),
            refusals: Refusals::default(),
            dialling_count: 0,
            connection_count: 0,
            check_at_ms: 0,
            counters: Counters::default(),
            last_error: None,
        }
    }

    /// It is in the options, again or still.
    pub(super) fn set_options(&mut self, options: UpstreamOptions, is_draining: bool) {
        self.is_removed = false;
        self.is_draining = is_draining;
        self.options = options;
    }

    pub(super) fn state(&self) -> State {
        match self.breaker.circuit() {
            _ if self.is_draining || self.is_removed => State::Draining,
            Circuit::Closed => State::Up,
            Circuit::Open | Circuit::HalfOpen => State::Down,
        }
    }

    /// Whether an upstream connection of this vhost may be dialled there.
    pub(super) fn is_usable(&self, vhost: Option<&str>, now_ms: u64) -> bool {
        self.takes_connections(now_ms) && self.refusals.admits(vhost, now_ms)
    }

    /// Whether an upstream connection of any vhost may.
    fn takes_connections(&self, now_ms: u64) -> bool {
        !self.is_draining && !self.is_removed && self.breaker.admits(now_ms)
    }

    pub(super) fn names(&self, vhost: &str) -> bool {
        self.options.vhosts.iter().any(|named| named == vhost)
    }

    /// Upstream connections, and those that may become some.
    pub(super) fn use_count(&self) -> usize {
        self.connection_count + self.dialling_count
    }

    pub(super) fn end_dialling(&mut self) {
        debug_assert!(self.dialling_count > 0, "an attempt ended that was not begun: {self:?}");
        self.dialling_count = self.dialling_count.saturating_sub(1);
    }

    /// When to ask again whether it [is usable](Self::is_usable).
    pub(super) fn look_again_ms(&self, vhost: Option<&str>, now_ms: u64) -> u64 {
        match self.refusals.look_again_ms(vhost, now_ms) {
            Some(at_ms) if self.takes_connections(now_ms) => at_ms,
            _ if self.is_draining => now_ms.saturating_add(LOOK_AGAIN_MS),
            _ => self.breaker.look_again_ms(now_ms),
        }
    }

    pub(super) fn remember(&mut self, why: &str, now_ms: u64) {
        let end = why.floor_char_boundary(ERROR_LEN_MAX);
        self.last_error = Some(LastError { text: why[..end].to_owned(), at_ms: now_ms });
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            id: self.id,
            options: self.options.clone(),
            state: self.state(),
            is_removed: self.is_removed,
            connection_count: self.connection_count,
            dialling_count: self.dialling_count,
            circuit: self.breaker.circuit(),
            open_until_ms: self.breaker.until_ms(),
            consecutive_failure_count: self.breaker.failure_count(),
            refused_vhosts: self.refusals.snapshot(),
            last_error: self.last_error.clone(),
            counters: self.counters,
        }
    }
}
