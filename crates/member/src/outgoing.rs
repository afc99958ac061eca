//! A message on its way to another member.

use std::sync::Arc;

use consensus::Message;
use store::journal::SharedCommit;

/// A message, and the commits of the records that it names, in order; those that are not in memory are read from files.
pub(crate) struct Outgoing {
    pub(crate) message: Message,
    pub(crate) commits: Vec<Option<Arc<SharedCommit>>>,
}
