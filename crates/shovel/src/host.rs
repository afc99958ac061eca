//! What a process gives its shovels.

use crate::status::{ShovelId, State};

/// What a shovel is given by the process that it runs in.
pub trait Host: bridge::Host {
    /// A shovel has moved all that it was to move: its definition is deleted.
    fn finished(&self, id: &ShovelId);

    /// A shovel's state has changed.
    fn state_changed(&self, id: &ShovelId, state: &State);
}
