//! Who waits for the journal is woken through this.

/// Something that can be told to look again. Waking must be quick and must not wait: it happens on the journal's threads.
pub trait Wake: Send + Sync {
    /// Look again.
    fn wake(&self);
}

/// Parks a plain thread until it is woken.
pub(crate) struct ThreadWake(pub(crate) std::thread::Thread);

impl Wake for ThreadWake {
    fn wake(&self) {
        self.0.unpark();
    }
}
