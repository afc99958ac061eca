//! A vhost's queues in the order of their names, which is the order of listings.
//!
//! StoredContent as queues come and go, so that no listing has to sort, and so that a long listing can go on after the queue that it
//! was at: it holds no lock and no copy of the list in between.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use engine::queue_handle::QueueHandle;

/// Queues by name.
#[derive(Debug, Default)]
pub(super) struct QueuesByName(BTreeSet<Named>);

impl QueuesByName {
    pub(super) fn insert(&mut self, queue: Arc<QueueHandle>) {
        self.0.insert(Named(queue));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Those after a name; all without one.
    pub(super) fn after(&self, name: Option<&str>) -> impl Iterator<Item = &Arc<QueueHandle>> {
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        self.0.range::<str, _>((from, Bound::Unbounded)).map(|Named(queue)| queue)
    }
}

/// A queue that is compared by its name.
#[derive(Debug)]
struct Named(Arc<QueueHandle>);

impl Borrow<str> for Named {
    fn borrow(&self) -> &str {
        self.0.name()
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Named {}

impl PartialOrd for Named {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Named {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.name().cmp(other.0.name())
    }
}
