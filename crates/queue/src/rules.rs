//! What a queue does beyond keeping messages in order: limits, expiry, counting, trying again. All of it may change at run time.

use model::features::{BackOff, DelayedRetry, RetryOf};

use crate::effects::Counts;

/// The rules of a queue. The default is a queue without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// The most ready messages.
    pub length_max: Option<u64>,
    /// The most bytes in bodies of ready messages.
    pub bytes_max: Option<u64>,
    /// Beyond a limit the new message is refused, not the oldest dropped: see [`Queue::refuses`](crate::Queue::refuses).
    pub refuses_beyond: bool,
    /// A message that is dropped stays, neither ready nor unacked, until it is settled: the engine brings it elsewhere first.
    pub keeps_dropped: bool,
    /// Returned messages are counted, as quorum queues do.
    pub counts_returns: bool,
    /// A message is dropped when it has failed more often than this. Of account with `counts_returns` only.
    pub delivery_limit: Option<u32>,
    /// What comes back waits before it is ready again.
    pub retry: Option<DelayedRetry>,
    /// A consumer that holds a message for so long, in milliseconds, loses all that it holds, and is removed. A consumer's own time
    /// counts before this.
    pub consumer_timeout_ms: Option<u64>,
    /// The queue is at its end when it has not been used for so long, in milliseconds.
    pub expires_after_ms: Option<u64>,
}

/// How a message comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// Its consumer said that it failed (`basic.reject`), or went away with it: this counts towards the delivery limit.
    Failed,
    /// Its consumer gave it back (`basic.nack`, `basic.recover`).
    Unharmed,
    /// It never got to its consumer.
    Undelivered,
}

/// How long a message waits that has come back like this, and has these counts now.
pub(crate) fn retry_delay_ms(retry: &DelayedRetry, how: Return, counts: Counts) -> Option<u64> {
    let applies = match how {
        Return::Failed => retry.applies_to != RetryOf::Returned,
        Return::Unharmed => retry.applies_to != RetryOf::Failed,
        Return::Undelivered => false,
    };
    // Linear waits are RabbitMQ's: they grow with failures only.
    let count = match retry.back_off {
        BackOff::Linear => counts.delivery_count,
        BackOff::Exponential => counts.acquired_count,
    };
    applies.then(|| retry.delay_ms(count)).filter(|delay_ms| *delay_ms > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_waits_for_its_own() {
        let waits = |applies_to, how| {
            let retry = DelayedRetry { applies_to, min_ms: 10, max_ms: None, back_off: BackOff::Linear };
            retry_delay_ms(&retry, how, Counts::default()).is_some()
        };
        assert!(waits(RetryOf::All, Return::Failed) && waits(RetryOf::All, Return::Unharmed));
        assert!(waits(RetryOf::Failed, Return::Failed) && !waits(RetryOf::Failed, Return::Unharmed));
        assert!(!waits(RetryOf::Returned, Return::Failed) && waits(RetryOf::Returned, Return::Unharmed));
        assert!(!waits(RetryOf::All, Return::Undelivered));
    }

    #[test]
    fn exponential_waits_grow_with_every_return_and_linear_ones_with_failures() {
        let delay = |back_off| {
            let retry = DelayedRetry { applies_to: RetryOf::All, min_ms: 10, max_ms: None, back_off };
            retry_delay_ms(&retry, Return::Unharmed, Counts { delivery_count: 2, acquired_count: 4 })
        };
        assert_eq!((delay(BackOff::Linear), delay(BackOff::Exponential)), (Some(20), Some(80)));
    }
}
