//! Who watches the way of messages, as one set of bits.
//!
//! Mostly there is nobody. So each place on the way asks once whether there is anybody, and what is done for watchers is out of line:
//!
//! | place | bits |
//! |---|---|
//! | a connection brings its batch to the queues | `TAPS`, `REPORTS`, `STAGES`, `SAMPLE` |
//! | the batch is in its section ([`crate::batch`]) | `TAPS`, `SAMPLE`, `CALLS`, `EFFORT` |
//! | a connection writes confirms | `REPORTS`, `STAGES` |
//! | a connection encodes deliveries | `TAPS`, `STAGES`, `SAMPLE` |

/// A set of those that watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchers(u8);

impl Watchers {
    /// Nobody.
    pub const NONE: Watchers = Watchers(0);
    /// A sink wants to hear of what happens ([`crate::tap`]).
    pub const TAPS: Watchers = Watchers(1 << 0);
    /// The connection has reported messages to sinks, and has more to say of them.
    pub const REPORTS: Watchers = Watchers(1 << 1);
    /// Stages of messages are being timed.
    pub const STAGES: Watchers = Watchers(1 << 2);
    /// One of the messages is to be timed from here on ([`crate::probe`]).
    pub const SAMPLE: Watchers = Watchers(1 << 3);
    /// A session watches the calls of a trace point.
    pub const CALLS: Watchers = Watchers(1 << 4);
    /// It is counted how much time is taken for what ([`crate::effort`]).
    pub const EFFORT: Watchers = Watchers(1 << 5);

    /// These, and one more if it is there.
    #[must_use]
    #[inline(always)]
    pub const fn with(self, one: Watchers, is_there: bool) -> Self {
        if is_there { Watchers(self.0 | one.0) } else { self }
    }

    /// Whether one is among them.
    #[must_use]
    #[inline(always)]
    pub const fn has(self, one: Watchers) -> bool {
        self.0 & one.0 != 0
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
    fn each_watcher_has_a_bit_of_its_own() {
        let all =
            [Watchers::TAPS, Watchers::REPORTS, Watchers::STAGES, Watchers::SAMPLE, Watchers::CALLS, Watchers::EFFORT];
        for one in all {
            let alone = Watchers::NONE.with(one, true);
            assert!(alone.are_there() && all.iter().filter(|other| alone.has(**other)).eq([&one]));
            assert!(!Watchers::NONE.with(one, false).are_there());
        }
    }
}
