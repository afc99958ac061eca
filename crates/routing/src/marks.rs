//! A set of small numbers that remembers what was added, so that emptying it costs what filling it did.

use crate::slab::Handle;

/// The handles seen so far, in the order in which they were first added.
#[derive(Debug)]
pub(crate) struct Marks<K> {
    bits: Vec<u64>,
    added: Vec<Handle<K>>,
}

impl<K> Default for Marks<K> {
    fn default() -> Self {
        Self { bits: Vec::new(), added: Vec::new() }
    }
}

impl<K> Marks<K> {
    /// Adds a handle. False if it was there.
    #[inline]
    pub(crate) fn add(&mut self, handle: Handle<K>) -> bool {
        let (word, bit) = (handle.place() as usize / 64, 1 << (handle.place() % 64));
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        if self.bits[word] & bit != 0 {
            return false;
        }
        self.bits[word] |= bit;
        self.added.push(handle);
        true
    }

    /// All that was added since it was last emptied.
    #[inline]
    pub(crate) fn added(&self) -> &[Handle<K>] {
        &self.added
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        for handle in self.added.drain(..) {
            self.bits[handle.place() as usize / 64] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_handle_is_added_once_until_cleared() {
        let mut marks = Marks::<()>::default();
        for _ in 0..2 {
            for (place, is_new) in [(3, true), (200, true), (3, false), (2, true), (200, false)] {
                assert_eq!(marks.add(Handle::new(place)), is_new, "place {place}");
            }
            assert_eq!(marks.added(), [3, 200, 2].map(Handle::new));
            marks.clear();
            assert!(marks.added().is_empty());
        }
    }
}
