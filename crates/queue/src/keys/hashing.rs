//! Finding keys, which are hashes already: none of them is hashed once more.

use std::hash::{BuildHasherDefault, Hasher};

/// Takes what it is given as the hash.
#[derive(Debug, Default)]
pub(super) struct AsItIs(u64);

/// For maps from keys.
pub(super) type BuildAsItIs = BuildHasherDefault<AsItIs>;

impl Hasher for AsItIs {
    fn write_u128(&mut self, key: u128) {
        self.0 = (key >> 64) as u64 ^ key as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        // Only keys are looked up, and they are numbers.
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
