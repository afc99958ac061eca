//! A panic under a lock of queues ends the process: the journal knows better than damaged memory.

/// Held under a lock whose holder must not leave what it guards half changed.
pub(crate) struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("a queue's invariant was broken; the process ends and recovers from its journal");
            std::process::abort();
        }
    }
}
