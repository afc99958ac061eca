//! Time: one monotonic clock for everything that is measured, and what of it is written into messages.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the machine's monotonic clock: the same for all processes of one machine, Java's `nanoTime` included.
#[inline]
#[must_use]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The clock starts when the machine does: never negative.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// What the time in messages means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampUnit {
    /// Nanoseconds of the monotonic clock, as PerfTest's: for one machine.
    Monotonic,
    /// Milliseconds since 1970, as PerfTest's `--use-millis`: for several.
    Millis,
    /// Nanoseconds of another machine's monotonic clock, which is ahead of this one's by so much.
    Shared {
        /// Their clock less ours.
        ahead_ns: i64,
    },
}

impl StampUnit {
    /// What to write into a message that is sent at `at` (see [`now_ns`]).
    #[inline]
    #[must_use]
    pub fn stamp(self, at: u64) -> u64 {
        match self {
            Self::Monotonic => at,
            Self::Millis => wall_millis(),
            Self::Shared { ahead_ns } => at.saturating_add_signed(ahead_ns),
        }
    }

    /// How long ago a message was sent, in nanoseconds, if `stamp` is in it and it has come at `at`. A clock that is
    /// ahead of ours makes it 0.
    #[inline]
    #[must_use]
    pub fn age_ns(self, stamp: u64, at: u64) -> u64 {
        match self {
            Self::Monotonic => at.saturating_sub(stamp),
            Self::Millis => wall_millis().saturating_sub(stamp).saturating_mul(1_000_000),
            Self::Shared { ahead_ns } => at.saturating_add_signed(ahead_ns).saturating_sub(stamp),
        }
    }
}

fn wall_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A duration in nanoseconds.
#[must_use]
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time of the calling thread, in nanoseconds.
#[must_use]
pub(crate) fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec.unsigned_abs() * 1_000_000_000 + used.tv_nsec.unsigned_abs()
}
