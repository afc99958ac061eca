//! How far the server has stopped: told to connections and to streams of events.

/// How far a stop has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Running,
    /// Requests that are being answered may end.
    Stopping,
    /// The thread ends.
    Ended,
}
