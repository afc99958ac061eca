//! Whether anything watches: a bit for each session, and the recorder's.

use std::sync::atomic::{AtomicU32, Ordering};

/// The recorder's bit among those of sessions.
pub(super) const RECORDER_BIT: u32 = 1 << 31;

/// A bit for each session, and the recorder's.
static ACTIVE: AtomicU32 = AtomicU32::new(0);

/// Whether any session watches anything: for what is too small or too frequent to have a point of its own.
#[inline(always)]
#[must_use]
pub fn is_active() -> bool {
    !cfg!(without_trace_points) && ACTIVE.load(Ordering::Relaxed) != 0
}

pub(super) fn set_active(bit: u32, is_on: bool) {
    if is_on {
        ACTIVE.fetch_or(bit, Ordering::SeqCst)
    } else {
        ACTIVE.fetch_and(!bit, Ordering::SeqCst)
    };
}
