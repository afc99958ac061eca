//! Values that hold handles to each other: a vector whose freed places are used again.
//!
//! A handle knows the type it points to. It outlives its value only by a mistake of this crate, so reading through
//! a stale handle panics (or, where the place was used again, is caught by the model test) instead of returning an
//! option that nobody could act on.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// Where a value lies in a [`Slab`].
pub(crate) struct Handle<T> {
    place: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    pub(crate) const fn new(place: u32) -> Self {
        Self { place, of: PhantomData }
    }

    /// A number below the slab's largest length, for bitmaps and hashes.
    pub(crate) const fn place(self) -> u32 {
        self.place
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<T> Eq for Handle<T> {}

impl<T> std::fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.place)
    }
}

/// Values under handles that stay valid until the value is removed.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> Handle<T> {
        if let Some(place) = self.free.pop() {
            self.entries[place as usize] = Some(value);
            return Handle::new(place);
        }
        let place = u32::try_from(self.entries.len()).expect("memory ends before four thousand million values");
        self.entries.push(Some(value));
        Handle::new(place)
    }

    pub(crate) fn remove(&mut self, handle: Handle<T>) -> T {
        let value = self.entries[handle.place as usize].take().expect("a handle is dropped with its value");
        self.free.push(handle.place);
        value
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle<T>, &T)> {
        (0..).zip(&self.entries).filter_map(|(place, entry)| Some((Handle::new(place), entry.as_ref()?)))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

impl<T> Index<Handle<T>> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, handle: Handle<T>) -> &T {
        self.entries[handle.place as usize].as_ref().expect("a handle is dropped with its value")
    }
}

impl<T> IndexMut<Handle<T>> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, handle: Handle<T>) -> &mut T {
        self.entries[handle.place as usize].as_mut().expect("a handle is dropped with its value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_places_are_used_again() {
        let mut slab = Slab::new();
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
        let mut slab = Slab::new();
        let handle = slab.insert(1);
        slab.remove(handle);
        let _ = slab[handle];
    }
}
