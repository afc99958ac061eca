//! What becomes of a delivery, as its consumer decides.

use queue::Return;

/// What a client has decided about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// It is done.
    Accepted,
    /// No consumer is to get it again; `has_failed` if its consumer could not handle it, which RabbitMQ counts as a failure.
    Rejected {
        /// See above.
        has_failed: bool,
    },
    /// Another consumer is to have it.
    Requeued(Return),
}
