//! Random numbers from a seed, for tests: one seed, one course of events.

use std::ops::Range;

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Begins at a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The next one.
    #[expect(clippy::should_implement_trait, reason = "there is always a next one")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of the range, which is not empty.
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// One below `end`, or below 1.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// True so many times in one hundred. Draws nothing for 0, so that what is off changes no run.
    pub fn percent(&mut self, percent: u64) -> bool {
        percent > 0 && self.below(100) < percent
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { all.get(self.below(all.len() as u64) as usize) }
    }
}
