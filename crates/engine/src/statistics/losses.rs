//! What a queue has not kept: messages that it gave up, by the reason, and publishes that it refused.

use queue::DropReason;
use telemetry::{Counter, LocalCounter};

/// How many reasons there are.
pub(super) const REASON_COUNT: usize = 4;

/// The names of reasons for which messages are given up, as metrics have them, in the order in which they are counted.
pub const REASONS: [&str; REASON_COUNT] = ["rejected", "expired", "maxlen", "delivery_limit"];

/// Where a reason is counted.
pub(crate) fn place_of(reason: DropReason) -> usize {
    match reason {
        DropReason::Rejected => 0,
        DropReason::Expired => 1,
        DropReason::MaxLength => 2,
        DropReason::DeliveryLimit => 3,
    }
}

/// Of one queue. Most queues have none of this, so it is not there before the first.
#[derive(Debug, Default)]
pub(crate) struct QueueLosses {
    /// Messages that were given up, whether another queue has them now or not.
    pub(crate) given_up: [LocalCounter; REASON_COUNT],
    /// Publishes that were refused with `basic.nack`, because the queue was full.
    pub(crate) refused: LocalCounter,
    /// Dead letters that came back here, where they had died before.
    pub(crate) came_round: Counter,
    /// How many of these the last look at what has changed has seen.
    seen_round: LocalCounter,
}

/// The same, as it is at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossCounts {
    /// Messages that were given up, in the order of [`REASONS`].
    pub given_up: [u64; REASON_COUNT],
    /// Publishes that were refused.
    pub refused: u64,
    /// Dead letters that came back to where they had died before.
    pub came_round: u64,
}

impl LossCounts {
    /// Messages that were given up, for any reason.
    #[must_use]
    pub fn all_given_up(&self) -> u64 {
        self.given_up.iter().sum()
    }
}

impl QueueLosses {
    /// Dead letters that came back since the last look, which this one ends. One look is made at a time.
    pub(crate) fn look_at_round(&self) -> u64 {
        let (before, now) = (self.seen_round.get(), self.came_round.get());
        self.seen_round.set(now);
        now.saturating_sub(before)
    }

    pub(crate) fn counts(&self) -> LossCounts {
        LossCounts {
            given_up: self.given_up.each_ref().map(LocalCounter::get),
            refused: self.refused.get(),
            came_round: self.came_round.get(),
        }
    }
}
