//! Time: one monotonic clock for everything that is measured, and what of it is written into messages.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the machine's monotonic clock: the same for all processes of one machine, Java's `nanoTime` included.
#[inline]
#[must_use]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The clock starts when the machine does: never negative.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// How far another machine's clock is ahead of this one's: their time less ours. Clocks drift, so it changes, rarely;
/// all its readers look at the same place.
#[derive(Debug, Default)]
pub(crate) struct Ahead(AtomicI64);

impl Ahead {
    /// A place for it, to be kept as long as the program runs.
    #[must_use]
    pub(crate) const fn new() -> Self {
        Ahead(AtomicI64::new(0))
    }

    /// In nanoseconds.
    #[inline]
    #[must_use]
    pub(crate) fn ns(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// It was measured.
    pub(crate) fn set(&self, ns: i64) {
        self.0.store(ns, Ordering::Relaxed);
    }
}

/// Its address is its identity.
impl PartialEq for Ahead {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Ahead {}

/// What the time in messages means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StampUnit {
    /// Nanoseconds of the monotonic clock, as PerfTest's: for one machine.
    Monotonic,
    /// Milliseconds since 1970, as PerfTest's `--use-millis`: for several.
    Millis,
    /// Nanoseconds of another machine's monotonic clock.
    Shared(&'static Ahead),
}

impl StampUnit {
    /// What to write into a message that is sent at `at` (see [`now_ns`]).
    #[inline]
    #[must_use]
    pub(crate) fn stamp(self, at: u64) -> u64 {
        match self {
            Self::Monotonic => at,
            Self::Millis => wall_millis(),
            Self::Shared(ahead) => at.saturating_add_signed(ahead.ns()),
        }
    }

    /// How long ago a message was sent, in nanoseconds, if `stamp` is in it and it has come at `at`. A clock that is
    /// ahead of ours makes it 0.
    #[inline]
    #[must_use]
    pub(crate) fn age_ns(self, stamp: u64, at: u64) -> u64 {
        match self {
            Self::Monotonic => at.saturating_sub(stamp),
            Self::Millis => wall_millis().saturating_sub(stamp).saturating_mul(1_000_000),
            Self::Shared(ahead) => at.saturating_add_signed(ahead.ns()).saturating_sub(stamp),
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
