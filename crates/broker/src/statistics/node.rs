//! What is remembered of the node as a whole.

use engine::statistics::numbers::{NODE_COUNT, VHOST_COUNT};
use engine::statistics::{Keeping, Observed};
use parking_lot::Mutex;
use telemetry::Sample;

/// What the operating system knows of the node: memory, free disk, open files, and threads.
pub(crate) type Machine = [u64; 4];

/// Its own numbers, and those of all its vhosts together.
#[derive(Debug, Default)]
pub(crate) struct NodeObserved {
    pub(crate) node: Observed<NODE_COUNT>,
    pub(crate) messages: Observed<VHOST_COUNT>,
    /// What the operating system knew at the last tick.
    pub(crate) machine: Mutex<Machine>,
}

impl NodeObserved {
    pub(crate) fn sample(
        &self,
        at_ms: u64,
        node: [u64; NODE_COUNT],
        messages: [u64; VHOST_COUNT],
        keeping: &Keeping<'_>,
    ) {
        let (node, messages) = (Sample { at_ms, numbers: node }, Sample { at_ms, numbers: messages });
        // What there was at the first look has not come just now.
        self.node.begin(node);
        self.messages.begin(messages);
        self.node.sample(node, keeping);
        self.messages.sample(messages, keeping);
    }
}
