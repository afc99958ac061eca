//! A time that does not go back.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 as they were at the start, and what has passed since then. So alerts neither fire nor end because the
/// host's clock is set; by and by it differs from that one by as much as that was set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    started_ms: u64,
    started_at: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX), started_at: Instant::now() }
    }

    pub(super) fn now_ms(self) -> u64 {
        let passed_ms = u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.started_ms.saturating_add(passed_ms)
    }
}
