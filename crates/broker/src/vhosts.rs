//! The vhosts of a broker, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::router::{Router, VhostRouter};
use model::name::VhostName;
use parking_lot::RwLock;

use crate::vhost::Vhost;

/// All vhosts.
#[derive(Debug, Default)]
pub(crate) struct Vhosts(RwLock<BTreeMap<VhostName, Arc<Vhost>>>);

impl Vhosts {
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Vhost>> {
        self.0.read().get(name).cloned()
    }

    /// All of them, by name.
    pub(crate) fn all(&self) -> Vec<Arc<Vhost>> {
        self.0.read().values().cloned().collect()
    }

    pub(crate) fn put(&self, vhost: Vhost) {
        self.0.write().insert(vhost.name().clone(), Arc::new(vhost));
    }

    /// Puts a vhost in if there is none of its name; `record` is called before it is seen.
    pub(crate) fn add<T>(&self, vhost: Vhost, record: impl FnOnce() -> T) -> Option<T> {
        let mut vhosts = self.0.write();
        if vhosts.contains_key(vhost.name()) {
            return None;
        }
        let recorded = record();
        vhosts.insert(vhost.name().clone(), Arc::new(vhost));
        Some(recorded)
    }

    /// Takes a vhost out. None when it is deleted already.
    pub(crate) fn remove(&self, name: &str) -> Option<Arc<Vhost>> {
        self.0.write().remove(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }
}

impl Router for Vhosts {
    fn vhost(&self, name: &str) -> Option<Arc<dyn VhostRouter>> {
        Some(self.get(name)?)
    }
}
