//! What a process gives its links.

use crate::status::LinkStatus;

/// What links are given by the process that they run in.
pub trait Host: Send + Sync + 'static {
    /// A link's state has changed.
    fn state_changed(&self, status: &LinkStatus);

    /// A link is no more.
    fn removed(&self, status: &LinkStatus);
}
