//! What a change of the topology, of users or of policies came to.

use engine::Positions;

/// What a change came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changed {
    /// Whether there was no such thing before.
    pub is_new: bool,
    /// Where the change is durable; empty when nothing has to be. See [`crate::Broker::until_durable`].
    pub position: Positions,
}
