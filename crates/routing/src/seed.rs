//! How names and keys are hashed: with a secret of the process, because clients choose them.

use std::hash::{BuildHasher, Hasher};

use foldhash::SharedSeed;
use foldhash::fast::SeedableRandomState;

/// The secret under which all tables of this crate hash. A client that does not know it cannot choose keys that collide.
///
/// Draw one for the process and copy it to wherever one is wanted.
#[derive(Debug, Clone, Copy)]
pub struct HashSeed {
    shared: &'static SharedSeed,
}

impl HashSeed {
    /// A seed from a random number. It stays in memory until the process ends: call this once, not once a vhost.
    #[must_use]
    pub fn new(random: u64) -> Self {
        Self { shared: Box::leak(Box::new(SharedSeed::from_u64(random))) }
    }

    /// Always the same seed, for tests.
    #[must_use]
    pub fn fixed() -> Self {
        Self { shared: SharedSeed::global_fixed() }
    }

    /// A hasher to which several parts can be written.
    #[inline]
    pub(crate) fn hasher(self) -> impl Hasher {
        SeedableRandomState::with_seed(0, self.shared).build_hasher()
    }

    #[inline]
    pub(crate) fn hash(self, bytes: &[u8]) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(bytes);
        hasher.finish()
    }
}
