//! The routes that a connection remembers.

use std::sync::Arc;

use engine::targets::Targets;
use routing::{CacheLimits, HashSeed, RouteCache};

/// The routes that are remembered.
#[derive(Debug)]
pub(super) struct Routes {
    immediate: RouteCache<Arc<Targets>>,
    /// Of messages that wait where they come to an exchange that delays.
    delayed: Option<Box<RouteCache<Arc<Targets>>>>,
}

impl Routes {
    pub(super) fn new(hash_seed: HashSeed) -> Self {
        Self { immediate: route_cache(hash_seed), delayed: None }
    }

    /// Those of messages that wait where they come to an exchange that delays, or of the others.
    pub(super) fn of(&mut self, is_delayed: bool) -> &mut RouteCache<Arc<Targets>> {
        if !is_delayed {
            return &mut self.immediate;
        }
        let seed = self.immediate.seed();
        self.delayed.get_or_insert_with(|| Box::new(route_cache(seed)))
    }

    /// Bytes that they take beside themselves.
    pub(super) fn memory_len(&self) -> usize {
        let delayed = self.delayed.as_ref().map_or(0, |cache| size_of_val(&**cache) + cache.memory_len());
        self.immediate.memory_len() + delayed
    }

    pub(super) fn clear(&mut self) {
        self.immediate.clear();
        self.delayed = None;
    }
}

fn route_cache(hash_seed: HashSeed) -> RouteCache<Arc<Targets>> {
    RouteCache::new(hash_seed, CacheLimits::default())
}
