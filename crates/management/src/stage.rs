//! How far connections of the HTTP API are stopped: reported to them and to streams of events.

/// How far a stop has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Running,
    /// Requests that are being answered may end.
    Stopping,
    /// Whatever still runs is dropped.
    Ended,
}
