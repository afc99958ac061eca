//! The clock of calls and waits.

use std::sync::LazyLock;
use std::time::Instant;

/// Nanoseconds since the first use of this clock.
pub(super) fn now_ns() -> u64 {
    ns_of(Instant::now())
}

/// The same of an instant.
pub(super) fn ns_of(at: Instant) -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // Before it is looked whether that was earlier: the first use is the start.
    let start = *START;
    u64::try_from(at.saturating_duration_since(start).as_nanos()).unwrap_or(u64::MAX)
}
