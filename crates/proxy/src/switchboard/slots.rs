//! Places by number, whose numbers are never used again: who keeps one too long finds nobody there, instead of somebody else.

use std::ops::{Index, IndexMut};

use slab::Slab;

#[derive(Debug)]
pub(super) struct Slots<T> {
    slab: Slab<(u32, T)>,
    /// How many have been put in so far.
    generation: u32,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Slots { slab: Slab::new(), generation: 0 }
    }

    pub(super) fn insert(&mut self, value: T) -> u64 {
        self.generation = self.generation.wrapping_add(1);
        let place = self.slab.insert((self.generation, value));
        u64::from(self.generation) << 32 | place as u64
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        self.get(number)?;
        Some(self.slab.remove(place(number)).1)
    }

    #[inline]
    pub(super) fn get(&self, number: u64) -> Option<&T> {
        let (generation, value) = self.slab.get(place(number))?;
        (*generation == generation_of(number)).then_some(value)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let (generation, value) = self.slab.get_mut(place(number))?;
        (*generation == generation_of(number)).then_some(value)
    }

    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slab.iter().map(|(place, (generation, value))| (u64::from(*generation) << 32 | place as u64, value))
    }
}

fn place(number: u64) -> usize {
    (number & u64::from(u32::MAX)) as usize
}

fn generation_of(number: u64) -> u32 {
    (number >> 32) as u32
}

impl<T> Index<u64> for Slots<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u64) -> &T {
        self.get(number).expect("whoever has this number belongs to what is there")
    }
}

impl<T> IndexMut<u64> for Slots<T> {
    #[inline]
    fn index_mut(&mut self, number: u64) -> &mut T {
        self.get_mut(number).expect("whoever has this number belongs to what is there")
    }
}
