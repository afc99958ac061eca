//! How far the journal's end has come.

use std::sync::atomic::{AtomicBool, Ordering};

/// What has been asked of the journal's threads; nothing is taken back.
#[derive(Debug, Default)]
pub(crate) struct Shutdown {
    is_stopping: AtomicBool,
    is_closing: AtomicBool,
}

impl Shutdown {
    /// The writer ends when nothing is left to write.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    /// From now on nothing waits for room on a full disk.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Whether what cannot be written will not be.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_stopping() || self.is_closing.load(Ordering::SeqCst)
    }
}
