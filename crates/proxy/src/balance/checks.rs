//! Health checks: whether upstreams can be spoken to, also while no client wants an upstream connection.

use super::{Balance, State, UpstreamId};

impl Balance {
    /// An upstream that is to be checked now, the longest overdue first: ask until there is none. Those that are down are checked as
    /// often as those that are up, and those that drain, too: that is how one sees that a broker is back.
    pub(crate) fn next_check(&mut self, now_ms: u64) -> Option<UpstreamId> {
        let interval_ms = self.options.check_interval_ms;
        if interval_ms == 0 {
            return None;
        }
        let due = self.upstreams.iter_mut().filter(|upstream| !upstream.is_removed && upstream.check_at_ms <= now_ms);
        let upstream = due.min_by_key(|upstream| upstream.check_at_ms)?;
        upstream.check_at_ms = now_ms.saturating_add(interval_ms);
        Some(upstream.id)
    }

    /// When [`next_check`](Self::next_check) will have something; `None` for never.
    #[must_use]
    pub(crate) fn next_check_at_ms(&self) -> Option<u64> {
        let there = self.upstreams.iter().filter(|upstream| !upstream.is_removed);
        there.map(|upstream| upstream.check_at_ms).min().filter(|_| self.options.check_interval_ms > 0)
    }

    /// A check came to an end. One that passed closes the circuit, one that failed counts like an upstream connection that could not be
    /// opened. Returns the upstream's state if it is another one than before.
    pub fn checked(&mut self, id: UpstreamId, result: Result<(), &str>, now_ms: u64, random: u64) -> Option<State> {
        self.change(id, |upstream, options| match result {
            Ok(()) => {
                upstream.counters.checks_passed += 1;
                upstream.breaker.succeeded();
            }
            Err(why) => {
                upstream.counters.checks_failed += 1;
                upstream.remember(why, now_ms);
                upstream.breaker.failed(options, now_ms, random);
            }
        })
    }
}
