//! What became of a client's frame.

use amqp::server::Violation;

use super::refusal::Refusal;

/// What a frame came to.
#[derive(Debug)]
pub(super) enum FrameOutcome {
    /// It is done with, and so many bytes after it.
    Done(usize),
    /// It waits, and comes again.
    NotYet,
    /// The connection is closed for it.
    Refused(Refusal),
}

impl FrameOutcome {
    pub(super) fn refused(violation: Violation) -> Self {
        FrameOutcome::Refused(violation.into())
    }
}
