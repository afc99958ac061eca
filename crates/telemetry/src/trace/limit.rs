//! How many calls a session may see: so many a second, so many in all. What is beyond ends it.

/// The limits of a session. Both hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Calls within any second that begins with a call. None: no such limit.
    pub per_s: Option<u64>,
    /// Calls in all.
    pub total: u64,
}

impl Default for Limit {
    /// Ten a second, a thousand in all.
    fn default() -> Limit {
        Limit { per_s: Some(10), total: 1_000 }
    }
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tripped {
    /// More calls than these came within a second.
    Rate(u64),
    /// These calls were seen, and that is all.
    Total(u64),
}

/// Counts calls against a limit. Time is nanoseconds from any moment on.
#[derive(Debug)]
pub(super) struct Limiter {
    limit: Limit,
    seen: u64,
    second_start_ns: u64,
    in_second: u64,
}

const SECOND_NS: u64 = 1_000_000_000;

impl Limiter {
    pub(super) fn new(limit: Limit) -> Limiter {
        Limiter { limit, seen: 0, second_start_ns: 0, in_second: 0 }
    }

    /// A call came. An error: it is one too many, and so is every later one.
    pub(super) fn count(&mut self, now_ns: u64) -> Result<(), Tripped> {
        if self.seen >= self.limit.total {
            return Err(Tripped::Total(self.limit.total));
        }
        if self.in_second == 0 || now_ns.saturating_sub(self.second_start_ns) >= SECOND_NS {
            (self.second_start_ns, self.in_second) = (now_ns, 0);
        }
        if let Some(per_s) = self.limit.per_s
            && self.in_second >= per_s
        {
            return Err(Tripped::Rate(per_s));
        }
        self.in_second += 1;
        self.seen += 1;
        Ok(())
    }

    /// Whether the call that was counted last was the last one.
    pub(super) fn is_spent(&self) -> bool {
        self.seen >= self.limit.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_sees_more_than_the_limit() {
        let mut limiter = Limiter::new(Limit { per_s: Some(2), total: 100 });
        for (now_ms, expected) in
            [(0, Ok(())), (999, Ok(())), (1_000, Ok(())), (1_500, Ok(())), (1_999, Err(Tripped::Rate(2)))]
        {
            assert_eq!(limiter.count(now_ms * 1_000_000), expected, "{now_ms}");
        }
        assert_eq!(limiter.count(1_999_000_000), Err(Tripped::Rate(2)));
    }

    #[test]
    fn the_last_one_is_known_as_such() {
        let mut limiter = Limiter::new(Limit { per_s: None, total: 2 });
        assert_eq!((limiter.count(0), limiter.is_spent()), (Ok(()), false));
        assert_eq!((limiter.count(0), limiter.is_spent()), (Ok(()), true));
        assert_eq!(limiter.count(0), Err(Tripped::Total(2)));
    }
}
