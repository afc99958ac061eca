//! Places by number, whose numbers are never used again: an id that is kept too long finds nothing there, instead of something else.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use slab::Slab;

/// A number with the type of what it is the number of.
pub(super) trait SlotId: Copy {
    fn from_number(number: u64) -> Self;
    fn number(self) -> u64;
}

#[derive(Debug)]
pub(super) struct Slots<I, T> {
    slab: Slab<(u32, T)>,
    /// How many have been put in so far.
    generation: u32,
    ids: PhantomData<I>,
}

impl<I: SlotId, T> Slots<I, T> {
    pub(super) fn new() -> Self {
        Slots { slab: Slab::new(), generation: 0, ids: PhantomData }
    }

    pub(super) fn insert(&mut self, value: T) -> I {
        self.generation = self.generation.wrapping_add(1);
        let place = self.slab.insert((self.generation, value));
        id_of(self.generation, place)
    }

    pub(super) fn remove(&mut self, id: I) -> Option<T> {
        self.get(id)?;
        Some(self.slab.remove(place(id)).1)
    }

    #[inline]
    pub(super) fn get(&self, id: I) -> Option<&T> {
        let (generation, value) = self.slab.get(place(id))?;
        (*generation == generation_of(id)).then_some(value)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        let (generation, value) = self.slab.get_mut(place(id))?;
        (*generation == generation_of(id)).then_some(value)
    }

    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.slab.iter().map(|(place, (generation, value))| (id_of(*generation, place), value))
    }

    /// All ids at this moment, for work that may add or remove some.
    pub(super) fn ids(&self) -> Vec<I> {
        self.iter().map(|(id, _)| id).collect()
    }
}

fn id_of<I: SlotId>(generation: u32, place: usize) -> I {
    I::from_number(u64::from(generation) << 32 | place as u64)
}

#[inline]
fn place(id: impl SlotId) -> usize {
    (id.number() & u64::from(u32::MAX)) as usize
}

#[inline]
fn generation_of(id: impl SlotId) -> u32 {
    (id.number() >> 32) as u32
}

impl<I: SlotId, T> Index<I> for Slots<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        self.get(id).expect("an id that is kept belongs to what is there")
    }
}

impl<I: SlotId, T> IndexMut<I> for Slots<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        self.get_mut(id).expect("an id that is kept belongs to what is there")
    }
}
