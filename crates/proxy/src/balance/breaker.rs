//! An upstream's circuit: whether it may be tried.
//!
//! ```text
//!            failures in a row              the back-off is over, and an attempt begins
//!  Closed ─────────────────────► Open ──────────────────────────────────────────────► HalfOpen
//!    ▲                            │ ▲                  failure: twice the back-off        │
//!    │           success          │ └──────────────────────────────────────────────────────┤
//!    └────────────────────────────┴────────────────────────────────────────────────────────┘
//! ```

use super::Options;
use crate::limits::LOOK_AGAIN_MS;

/// How far a circuit is from letting every attempt through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circuit {
    /// Every attempt may go there.
    Closed,
    /// No attempt may, for a while; then one.
    Open,
    /// One is trying.
    HalfOpen,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Breaker {
    /// Failures since the last success.
    failure_count: u32,
    broken: Option<Broken>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Broken {
    /// When the next attempt is let through.
    until_ms: u64,
    /// How often the back-off was doubled.
    doubling_count: u32,
    /// Whether `until_ms` is the timeout of an attempt, not of a back-off.
    is_trying: bool,
}

impl Breaker {
    pub(super) fn circuit(&self) -> Circuit {
        match &self.broken {
            None => Circuit::Closed,
            Some(Broken { is_trying: false, .. }) => Circuit::Open,
            Some(Broken { is_trying: true, .. }) => Circuit::HalfOpen,
        }
    }

    pub(super) fn failure_count(&self) -> u32 {
        self.failure_count
    }

    /// Until when no attempt, or no other one, may begin.
    pub(super) fn until_ms(&self) -> Option<u64> {
        self.broken.as_ref().map(|broken| broken.until_ms)
    }

    pub(super) fn admits(&self, now_ms: u64) -> bool {
        self.until_ms().is_none_or(|until_ms| now_ms >= until_ms)
    }

    /// When to ask again whether it admits, if it does not.
    pub(super) fn look_again_ms(&self, now_ms: u64) -> u64 {
        let soon_ms = now_ms.saturating_add(LOOK_AGAIN_MS);
        match &self.broken {
            // How an attempt ends is known before its timeout.
            Some(broken) if broken.until_ms > now_ms && broken.is_trying => broken.until_ms.min(soon_ms),
            Some(broken) if broken.until_ms > now_ms => broken.until_ms,
            Some(_) | None => soon_ms,
        }
    }

    /// An attempt begins.
    pub(super) fn tried(&mut self, options: &Options, now_ms: u64) {
        if let Some(broken) = self.broken.as_mut().filter(|broken| now_ms >= broken.until_ms) {
            broken.is_trying = true;
            broken.until_ms = now_ms.saturating_add(options.attempt_timeout_ms.max(1));
        }
    }

    /// The only one that tried gave it up, for reasons of his own: another one may try.
    pub(super) fn left_untried(&mut self, now_ms: u64) {
        if let Some(broken) = self.broken.as_mut().filter(|broken| broken.is_trying) {
            broken.is_trying = false;
            broken.until_ms = broken.until_ms.min(now_ms);
        }
    }

    pub(super) fn succeeded(&mut self) {
        *self = Breaker::default();
    }

    pub(super) fn failed(&mut self, options: &Options, now_ms: u64, random: u64) {
        self.fail(options.failure_count_max, options, now_ms, random);
    }

    /// A failure that cannot be by chance: no other is waited for.
    pub(super) fn refused(&mut self, options: &Options, now_ms: u64, random: u64) {
        self.fail(1, options, now_ms, random);
    }

    fn fail(&mut self, failure_count_max: u32, options: &Options, now_ms: u64, random: u64) {
        self.failure_count = self.failure_count.saturating_add(1);
        let doubling_count = match &self.broken {
            None if self.failure_count < failure_count_max => return,
            None => 0,
            // One that was begun before the circuit opened: this failure is known already.
            Some(broken) if !broken.is_trying && now_ms < broken.until_ms => return,
            Some(broken) => broken.doubling_count.saturating_add(1),
        };
        let until_ms = now_ms.saturating_add(backoff_ms(options, doubling_count, random));
        self.broken = Some(Broken { until_ms, doubling_count, is_trying: false });
    }
}

/// At least half of what the doubling says, and at most all of it: those that were cut off together do not come back together.
fn backoff_ms(options: &Options, doubling_count: u32, random: u64) -> u64 {
    let factor = 1u64.checked_shl(doubling_count).unwrap_or(u64::MAX);
    let longest_ms = options.backoff_min_ms.saturating_mul(factor).min(options.backoff_max_ms);
    let shortest_ms = longest_ms.div_ceil(2);
    shortest_ms + random % (longest_ms - shortest_ms + 1)
}
