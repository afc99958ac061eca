//! Values that hold handles to each other: a vector whose freed places are used again.
//!
//! A handle knows what it points to: the type of the value, or a kind, for values that hold handles of each other. It
//! outlives its value only by a mistake of this crate, so reading through a stale handle panics (or, where the place was
//! used again, is caught by the model test) instead of returning an option on which no caller could act.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};

/// Where a value lies in a [`Slab`].
pub(crate) struct Handle<K> {
    place: u32,
    of: PhantomData<fn() -> K>,
}

impl<K> Handle<K> {
    pub(crate) const fn new(place: u32) -> Self {
        Self { place, of: PhantomData }
    }

    /// A number below the slab's largest length, for bitmaps and hashes.
    pub(crate) const fn place(self) -> u32 {
        self.place
    }
}

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Handle<K> {}

impl<K> PartialEq for Handle<K> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<K> Eq for Handle<K> {}

impl<K> std::fmt::Debug for Handle<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.place)
    }
}

/// Values under handles that stay valid until the value is removed.
#[derive(Debug)]
pub(crate) struct Slab<T, K = T> {
    entries: Vec<Option<T>>,
    free: Vec<Handle<K>>,
}

impl<T, K> Slab<T, K> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    /// Bytes that it takes beside itself.
    pub(crate) fn memory_len(&self) -> usize {
        self.entries.capacity() * size_of::<Option<T>>() + self.free.capacity() * size_of::<Handle<K>>()
    }

    pub(crate) fn insert(&mut self, value: T) -> Handle<K> {
        if let Some(handle) = self.free.pop() {
            self.entries[handle.place as usize] = Some(value);
            return handle;
        }
        let place = u32::try_from(self.entries.len()).expect("memory ends before four thousand million values");
        self.entries.push(Some(value));
        Handle::new(place)
    }

    pub(crate) fn remove(&mut self, handle: Handle<K>) -> T {
        let value = self.entries[handle.place as usize].take().expect("a handle is dropped with its value");
        self.free.push(handle);
        value
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle<K>, &T)> {
        (0..).zip(&self.entries).filter_map(|(place, entry)| Some((Handle::new(place), entry.as_ref()?)))
    }

    /// Those in these places.
    pub(crate) fn iter_in(&self, places: Range<usize>) -> impl Iterator<Item = (Handle<K>, &T)> {
        let end = places.end.min(self.entries.len());
        let entries = self.entries.get(places.start..end).unwrap_or_default();
        (places.start as u32..).zip(entries).filter_map(|(place, entry)| Some((Handle::new(place), entry.as_ref()?)))
    }

    /// No value lies there, or behind.
    pub(crate) fn place_count(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

impl<T, K> Index<Handle<K>> for Slab<T, K> {
    type Output = T;

    #[inline]
    fn index(&self, handle: Handle<K>) -> &T {
        self.entries[handle.place as usize].as_ref().expect("a handle is dropped with its value")
    }
}

impl<T, K> IndexMut<Handle<K>> for Slab<T, K> {
    #[inline]
    fn index_mut(&mut self, handle: Handle<K>) -> &mut T {
        self.entries[handle.place as usize].as_mut().expect("a handle is dropped with its value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_places_are_used_again() {
        let mut slab: Slab<_> = Slab::new();
        let first = slab.insert("a");
        let second = slab.insert("b");
        assert_eq!(slab.remove(first), "a");
        let third = slab.insert("c");
        assert_eq!(third, first);
        assert_eq!((slab[second], slab[third], slab.len()), ("b", "c", 2));
        assert_eq!(slab.iter().map(|(_, value)| *value).collect::<Vec<_>>(), ["c", "b"]);
    }

    #[test]
    #[should_panic = "dropped with its value"]
    fn a_stale_handle_panics() {
        let mut slab: Slab<_> = Slab::new();
        let handle = slab.insert(1);
        slab.remove(handle);
        let _ = slab[handle];
    }
}
