//! Chance that can be repeated.

/// Random numbers from a seed: the same seed, the same numbers.
#[derive(Clone, Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// Of this seed, stream number `stream`: streams of one seed have nothing to do with each other.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        // The generator's own seeds lie on one long circle, near seeds near each other: spread them.
        Random(fastrand::Rng::with_seed(spread(spread(seed) ^ stream)))
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Anything from 0 to below `end`; 0 if there is nothing below it.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { self.0.usize(..end) }
    }

    /// From 0 to below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From 0 to 1, both included.
    pub fn fraction_inclusive(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / ((1u64 << 53) - 1) as f64
    }

    /// Exponentially distributed with mean 1: the gaps of a Poisson process.
    pub fn exponential(&mut self) -> f64 {
        // 1 - x, because the logarithm of 0 is not a number one can wait for.
        -(1.0 - self.fraction()).ln()
    }

    /// Normally distributed with mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.fraction()).cos()
    }

    /// A UUID of version 4, as PerfTest's random routing keys are.
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.next_u64(), self.next_u64());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 48) & 0x3fff,
            low & 0xffff_ffff_ffff
        )
    }
}

/// Makes of near numbers far ones, each of another (the finisher of SplitMix64).
fn spread(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_of(seed: u64, stream: u64) -> Vec<u64> {
        let mut random = Random::new(seed, stream);
        (0..8).map(|_| random.next_u64()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        assert_eq!(first_of(7, 3), first_of(7, 3));
    }

    #[test]
    fn streams_and_seeds_differ() {
        let mut all: Vec<_> = (0..20).flat_map(|seed| (0..20).map(move |stream| first_of(seed, stream))).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 400);
    }

    #[test]
    fn uuid_says_that_it_is_random() {
        let mut random = Random::new(42, 0);
        let mut last = String::new();
        for _ in 0..100 {
            let uuid = random.uuid();
            assert_eq!(uuid.len(), 36);
            assert_eq!(uuid.as_bytes()[14], b'4');
            assert!(b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
            assert_ne!(uuid, last);
            last = uuid;
        }
    }

    #[test]
    fn fractions_stay_in_their_range() {
        let mut random = Random::new(1, 1);
        for _ in 0..10_000 {
            assert!((0.0..1.0).contains(&random.fraction()));
            assert!((0.0..=1.0).contains(&random.fraction_inclusive()));
            assert!(random.exponential() >= 0.0);
            assert!(random.below(3) < 3);
        }
        assert_eq!(random.below(0), 0);
    }
}
