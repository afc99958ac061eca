//! The direct exchange: a binding matches the routing key that equals its own.

use hashbrown::HashTable;

use crate::handles::BindingHandle;
use crate::seed::HashSeed;
use crate::slab::{Handle, Slab};
use crate::target::{Destinations, Target, TargetPlace, Targets};

/// A direct exchange's bindings, by key.
#[derive(Debug)]
pub(crate) struct Direct {
    seed: HashSeed,
    keys: Slab<Key>,
    by_bytes: HashTable<Handle<Key>>,
}

#[derive(Debug)]
struct Key {
    bytes: Box<[u8]>,
    targets: Targets,
}

impl Direct {
    pub(crate) fn new(seed: HashSeed) -> Self {
        Self { seed, keys: Slab::new(), by_bytes: HashTable::new() }
    }

    pub(crate) fn bind(&mut self, bytes: &[u8], target: Target) -> TargetPlace {
        let key = self.find(bytes).unwrap_or_else(|| self.insert(bytes));
        TargetPlace { point: key.place(), position: self.keys[key].targets.add(target) }
    }

    pub(crate) fn unbind(&mut self, place: TargetPlace) -> Option<BindingHandle> {
        let key = Handle::new(place.point);
        let moved = self.keys[key].targets.remove(place.position);
        if self.keys[key].targets.is_empty() {
            self.remove(key);
        }
        moved
    }

    #[inline]
    pub(crate) fn route(&self, bytes: &[u8], reached: &mut Destinations) {
        if let Some(key) = self.find(bytes) {
            reached.add_all(&self.keys[key].targets);
        }
    }

    #[inline]
    fn find(&self, bytes: &[u8]) -> Option<Handle<Key>> {
        self.by_bytes.find(self.seed.hash(bytes), |key| *self.keys[*key].bytes == *bytes).copied()
    }

    fn insert(&mut self, bytes: &[u8]) -> Handle<Key> {
        let key = self.keys.insert(Key { bytes: bytes.into(), targets: Targets::default() });
        self.by_bytes.insert_unique(self.seed.hash(bytes), key, |key| self.seed.hash(&self.keys[*key].bytes));
        key
    }

    fn remove(&mut self, key: Handle<Key>) {
        let hash = self.seed.hash(&self.keys[key].bytes);
        self.by_bytes.find_entry(hash, |other| *other == key).expect("every key is in the table").remove();
        self.keys.remove(key);
    }
}
