//! A token bucket: full at first, and filled again at a rate.
//!
//! What is kept is not what is in it but what was taken and has not flowed back. So a full one is the same whatever its size is, the
//! size may change under way, and more may be taken than is in it: the rest is a debt that has to flow back first.

use super::Rate;

/// Of one token: then a rate a second is as many parts a millisecond.
const PARTS: u64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bucket {
    taken_parts: u64,
    /// When that was so.
    at_ms: u64,
}

impl Bucket {
    /// Whether so many tokens are in it.
    pub(super) fn has(&mut self, count: u64, rate: Rate, now_ms: u64) -> bool {
        self.fill(rate, now_ms);
        rate.per_s == 0 || self.taken_parts.saturating_add(parts(count)) <= size_parts(rate)
    }

    /// Takes so many tokens, whether or not they are in it.
    pub(super) fn take(&mut self, count: u64, rate: Rate, now_ms: u64) {
        self.fill(rate, now_ms);
        if rate.per_s > 0 {
            self.taken_parts = self.taken_parts.saturating_add(parts(count));
        }
    }

    /// How long it takes to pay the debt.
    pub(super) fn debt_ms(&mut self, rate: Rate, now_ms: u64) -> u64 {
        self.fill(rate, now_ms);
        match rate.per_s {
            0 => 0,
            per_s => self.taken_parts.saturating_sub(size_parts(rate)).div_ceil(per_s),
        }
    }

    /// Forgives the debt.
    pub(super) fn forgive(&mut self, rate: Rate) {
        self.taken_parts = self.taken_parts.min(size_parts(rate));
    }

    /// Whether it is as a new one.
    pub(super) fn is_full(&mut self, rate: Rate, now_ms: u64) -> bool {
        self.fill(rate, now_ms);
        self.taken_parts == 0
    }

    fn fill(&mut self, rate: Rate, now_ms: u64) {
        let filled_parts = match rate.per_s {
            0 => u64::MAX,
            per_s => now_ms.saturating_sub(self.at_ms).saturating_mul(per_s),
        };
        self.taken_parts = self.taken_parts.saturating_sub(filled_parts);
        self.at_ms = self.at_ms.max(now_ms);
    }
}

fn parts(count: u64) -> u64 {
    count.saturating_mul(PARTS)
}

fn size_parts(rate: Rate) -> u64 {
    match rate.burst {
        0 => parts(rate.per_s),
        burst => parts(burst),
    }
}
