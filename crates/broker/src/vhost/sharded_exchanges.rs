//! The exchanges of a vhost that have queues of their own: what has been made of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use model::features::Sharding;
use parking_lot::{Mutex, MutexGuard};

/// What has been made of exchanges, by their names. One that was deleted may still be among them.
pub(crate) type InForce = HashMap<Box<str>, Sharding>;

/// The sharded exchanges of a vhost. Its lock comes before the topology's.
#[derive(Debug, Default)]
pub(crate) struct ShardedExchanges {
    /// Whether there are any: without them, no name is looked up here.
    is_used: AtomicBool,
    in_force: Mutex<InForce>,
}

impl ShardedExchanges {
    pub(crate) fn change<T>(&self, act: impl FnOnce(&mut InForce) -> T) -> T {
        let mut in_force = self.in_force.lock();
        let result = act(&mut in_force);
        self.is_used.store(!in_force.is_empty(), Ordering::Release);
        result
    }

    pub(crate) fn has_any(&self) -> bool {
        self.is_used.load(Ordering::Acquire)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, InForce> {
        self.in_force.lock()
    }
}
