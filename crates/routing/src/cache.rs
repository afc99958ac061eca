//! Results of routing, remembered by exchange and routing key.
//!
//! The cache trusts nothing older than the [`Epoch`] under which it was asked last: any change of bindings empties it.
//! It is bounded, since clients choose the keys; when it is full it is emptied as a whole, which costs one routing for
//! each key that is still in use, once in as many insertions as it has room for. Keys lie back to back in one buffer, so
//! that neither looking up nor inserting allocates once it has grown.

use std::hash::Hasher;

use hashbrown::HashTable;

use crate::exchanges::Epoch;
use crate::seed::HashSeed;

/// How much a [`RouteCache`] may hold.
#[derive(Debug, Clone, Copy)]
pub struct CacheLimits {
    /// How many results.
    pub entry_count_max: usize,
    /// How many bytes of exchange names and routing keys.
    pub key_bytes_max: usize,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { entry_count_max: ENTRY_COUNT_MAX, key_bytes_max: KEY_BYTES_MAX }
    }
}

/// Enough for the most keys that a single publisher was seen to use (8,000), twice.
const ENTRY_COUNT_MAX: usize = 16 * 1024;

/// At 64 bytes a key the two limits are reached together.
const KEY_BYTES_MAX: usize = 1024 * 1024;

const _: () = assert!(KEY_BYTES_MAX <= u32::MAX as usize, "keys are found by 32-bit offsets");

/// What messages with one exchange and routing key lead to, as the broker resolved it.
///
/// A cache belongs to one [`Exchanges`](crate::Exchanges): epochs of two have nothing to do with each other.
#[derive(Debug)]
pub struct RouteCache<V> {
    seed: HashSeed,
    limits: CacheLimits,
    epoch: Epoch,
    entries: HashTable<CachedRoute<V>>,
    keys: Vec<u8>,
}

#[derive(Debug)]
struct CachedRoute<V> {
    key: KeyRange,
    value: V,
}

/// Where a pair of exchange name and routing key lies in `keys`, back to back.
#[derive(Debug, Clone, Copy)]
struct KeyRange {
    offset: u32,
    exchange_len: u32,
    routing_key_len: u32,
}

impl<V> RouteCache<V> {
    /// The seed that it was made with.
    #[must_use]
    pub fn seed(&self) -> HashSeed {
        self.seed
    }

    /// An empty cache. It allocates nothing until something is inserted.
    #[must_use]
    pub fn new(seed: HashSeed, limits: CacheLimits) -> Self {
        let key_bytes_max = limits.key_bytes_max.min(u32::MAX as usize);
        let limits = CacheLimits { key_bytes_max, ..limits };
        Self { seed, limits, epoch: Epoch::default(), entries: HashTable::new(), keys: Vec::new() }
    }

    /// Bytes that it takes beside itself, without what its values refer to.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        self.entries.capacity() * (size_of::<CachedRoute<V>>() + 1) + self.keys.capacity()
    }

    /// What was remembered, provided that nothing has changed since.
    ///
    /// `epoch` is [`Exchanges::epoch`](crate::Exchanges::epoch) as it is now.
    #[inline]
    pub fn get(&mut self, epoch: Epoch, exchange: &[u8], routing_key: &[u8]) -> Option<&V> {
        if epoch != self.epoch {
            self.advance(epoch);
            return None;
        }
        let hash = hash(self.seed, exchange, routing_key);
        let found = self.entries.find(hash, |entry| {
            entry.key.exchange(&self.keys) == exchange && entry.key.routing_key(&self.keys) == routing_key
        });
        found.map(|entry| &entry.value)
    }

    /// Remembers a result that was found under `epoch` and is cacheable.
    ///
    /// It is forgotten at once if the cache has already been asked under a later epoch.
    pub fn insert(&mut self, epoch: Epoch, exchange: &[u8], routing_key: &[u8], value: V) {
        if epoch != self.epoch {
            self.advance(epoch);
            if epoch != self.epoch {
                return;
            }
        }
        let key_len = exchange.len() + routing_key.len();
        if self.entries.len() >= self.limits.entry_count_max || self.keys.len() + key_len > self.limits.key_bytes_max {
            self.clear();
        }
        if self.limits.entry_count_max == 0 || key_len > self.limits.key_bytes_max {
            return;
        }
        let hash_of = |keys: &[u8], key: KeyRange| hash(self.seed, key.exchange(keys), key.routing_key(keys));
        let is_same =
            |keys: &[u8], key: KeyRange| key.exchange(keys) == exchange && key.routing_key(keys) == routing_key;
        let hash = hash(self.seed, exchange, routing_key);
        if let Some(entry) = self.entries.find_mut(hash, |entry| is_same(&self.keys, entry.key)) {
            entry.value = value;
            return;
        }
        let key = KeyRange::push(&mut self.keys, exchange, routing_key);
        self.entries.insert_unique(hash, CachedRoute { key, value }, |entry| hash_of(&self.keys, entry.key));
    }

    /// Forgets everything, and drops the values.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.keys.clear();
    }

    /// How many results are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Follows a later epoch. An earlier one was read before the last change, and changes nothing.
    #[cold]
    fn advance(&mut self, epoch: Epoch) {
        if epoch > self.epoch {
            self.clear();
            self.epoch = epoch;
        }
    }
}

impl KeyRange {
    fn push(keys: &mut Vec<u8>, exchange: &[u8], routing_key: &[u8]) -> Self {
        let len = |len: usize| u32::try_from(len).expect("key_bytes_max fits in 32 bits");
        let range = Self {
            offset: len(keys.len()),
            exchange_len: len(exchange.len()),
            routing_key_len: len(routing_key.len()),
        };
        keys.extend_from_slice(exchange);
        keys.extend_from_slice(routing_key);
        range
    }

    #[inline]
    fn exchange(self, keys: &[u8]) -> &[u8] {
        let start = self.offset as usize;
        &keys[start..start + self.exchange_len as usize]
    }

    #[inline]
    fn routing_key(self, keys: &[u8]) -> &[u8] {
        let start = self.offset as usize + self.exchange_len as usize;
        &keys[start..start + self.routing_key_len as usize]
    }
}

#[inline]
fn hash(seed: HashSeed, exchange: &[u8], routing_key: &[u8]) -> u64 {
    let mut hasher = seed.hasher();
    hasher.write(exchange);
    hasher.write(routing_key);
    hasher.write_usize(exchange.len());
    hasher.finish()
}
