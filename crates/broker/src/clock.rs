//! What time it is.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// The clock that queues go by: the system's, or in tests one that stands still until it is set.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    #[cfg(test)]
    set_to: std::sync::atomic::AtomicU64,
}

impl Clock {
    /// Milliseconds since 1970.
    #[inline]
    pub(crate) fn now_ms(&self) -> u64 {
        #[cfg(test)]
        if let Some(now_ms) = self.set_to() {
            return now_ms;
        }
        now_ms()
    }

    /// Where the clock stands still, if it does.
    #[cfg(test)]
    pub(crate) fn set_to(&self) -> Option<u64> {
        Some(self.set_to.load(std::sync::atomic::Ordering::SeqCst)).filter(|now_ms| *now_ms > 0)
    }

    /// When a delay that begins now is over, in milliseconds since 1970: not a part of a millisecond too early.
    pub(crate) fn due_ms(&self, delay_ms: u64) -> u64 {
        #[cfg(test)]
        if let Some(now_ms) = self.set_to() {
            return now_ms.saturating_add(delay_ms);
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = since.as_millis() as u64 + u64::from(!since.subsec_nanos().is_multiple_of(1_000_000));
        now_ms.saturating_add(delay_ms)
    }

    /// Stops the clock at this time.
    #[cfg(test)]
    pub(crate) fn set(&self, now_ms: u64) {
        self.set_to.store(now_ms, std::sync::atomic::Ordering::SeqCst);
    }
}
