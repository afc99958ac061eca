//! What carries messages to other members.

use std::sync::Arc;

use consensus::Message;
use store::journal::SharedCommit;

/// What carries messages to other members.
pub trait Transport: Send + Sync {
    /// Sends a message, with the commits of the records that it names. Says whether it is on its way; it may be lost all the same. Must
    /// not wait.
    fn send(&self, message: Message, commits: Vec<Arc<SharedCommit>>) -> bool;
}
