//! Whether the way of messages is watched, by one set of bits.
//!
//! Mostly it is not. Each place on the way asks that once, and what is done for watchers is out of line, where each is asked for
//! separately:
//!
//! | place | watchers |
//! |---|---|
//! | a connection brings its batch to the queues | sinks ([`crate::tap`]), stages that are timed, the next sample of them |
//! | the batch is in its section ([`crate::batch`]) | sinks, probes ([`crate::probe`]), trace points, efforts ([`crate::effort`]) |
//! | a connection writes confirms | sinks that are yet to hear of them, stages |
//! | a connection encodes deliveries | sinks, stages, the next sample |

/// Bits of several that may watch. Each has a word that is zero while it does not watch, so that one branch asks for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchers(u64);

impl Watchers {
    /// None.
    pub const NONE: Watchers = Watchers(0);

    /// These, and one that watches unless this is zero.
    #[must_use]
    #[inline(always)]
    pub fn with(self, bits: impl Into<u64>) -> Self {
        Watchers(self.0 | bits.into())
    }

    /// These, and one that watches where it has left something.
    #[must_use]
    #[inline(always)]
    pub fn with_left<T>(self, left: &Option<Box<T>>) -> Self {
        // Where it lies is zero for nothing: nothing has to be compared for it.
        self.with(left.as_deref().map_or(0, |left| std::ptr::from_ref(left).addr() as u64))
    }

    /// Whether there is any.
    #[must_use]
    #[inline(always)]
    pub const fn are_there(self) -> bool {
        self.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_watches_is_enough() {
        let nothing = Watchers::NONE.with(0_u32).with(false).with_left::<u8>(&None);
        assert!(!nothing.are_there());
        for one in [nothing.with(1_u32 << 31), nothing.with(true), nothing.with_left(&Some(Box::new(0_u8)))] {
            assert!(one.are_there() && one.with(false).are_there());
        }
    }
}
