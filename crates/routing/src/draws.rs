//! Random numbers for exchanges that choose at random, from a seed that comes as an argument.

use crate::stable_hash::mix;

/// A sequence of numbers: SplitMix64. Good enough to share messages out, and one multiplication or three.
#[derive(Debug)]
pub(crate) struct Draws {
    state: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A number below `end`, which is not 0.
    #[inline]
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(mix(self.state)) * end as u128) >> 64) as usize
    }
}
