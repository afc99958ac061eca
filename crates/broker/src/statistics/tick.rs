//! When the broker looks at what is counted, and what it looks at beside the engine's.

use engine::statistics::numbers::{CONNECTION_COUNT, NODE_COUNT, VHOST_COUNT};
use engine::statistics::{Options, Watch};
use parking_lot::Mutex;

use super::deleted_vhosts::DeletedVhosts;
use super::node::NodeObserved;
use crate::connections::ConnectionHandle;

/// The connections that are watched, and what is remembered of the node.
#[derive(Debug)]
pub(crate) struct Statistics {
    pub(crate) connections: Watch<ConnectionHandle, CONNECTION_COUNT>,
    pub(crate) node: NodeObserved,
    /// What has happened in deleted vhosts. Held by each caller that takes one away, or adds up all: a vhost is always here or there.
    pub(crate) deleted_vhosts: Mutex<DeletedVhosts>,
    /// When the last look was. Held during a look.
    looked_at_ms: Mutex<Option<u64>>,
}

impl Statistics {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            connections: Watch::new(options.has_rates()),
            node: NodeObserved::default(),
            deleted_vhosts: Mutex::default(),
            looked_at_ms: Mutex::default(),
        }
    }

    /// Forgets all histories.
    pub(crate) fn forget(&self, of_engine: &engine::statistics::Statistics) {
        // What is being looked at is on no list.
        let _looking = self.looked_at_ms.lock();
        of_engine.forget();
        self.connections.forget();
        self.node.node.forget();
        self.node.messages.forget();
    }

    /// Looks at what has changed since the last tick. `node` and `messages` are how the node stands.
    pub(crate) fn tick(
        &self,
        of_engine: &engine::statistics::Statistics,
        now_ms: u64,
        node: [u64; NODE_COUNT],
        messages: [u64; VHOST_COUNT],
    ) {
        let mut looked_at_ms = self.looked_at_ms.lock();
        let interval_ms = of_engine.options.interval.as_millis() as u64;
        let before_ms = looked_at_ms.replace(now_ms).unwrap_or(now_ms.saturating_sub(interval_ms));
        of_engine.tick(now_ms, before_ms, |keeping| self.connections.tick(now_ms, keeping, |_| ()));
        self.node.sample(now_ms, node, messages, &of_engine.keeping_global(before_ms));
    }
}
