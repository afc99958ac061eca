//! Messages that come back to a quorum queue and wait before they are delivered again.

use super::settings::Settings;

/// How messages wait that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedRetry {
    /// Which of them do.
    pub applies_to: RetryOf,
    /// How long after the first delivery.
    pub min_ms: u64,
    /// How long at most. None: as long as the back-off makes it.
    pub max_ms: Option<u64>,
    /// How the wait grows from one delivery to the next.
    pub back_off: BackOff,
}

/// Why a message came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryOf {
    /// For any reason.
    All,
    /// It counts as a failed delivery.
    Failed,
    /// It was returned without one.
    Returned,
}

/// How a wait grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackOff {
    /// By the minimum with each delivery.
    #[default]
    Linear,
    /// Twofold with each delivery.
    Exponential,
}

impl DelayedRetry {
    /// A policy's type counts before an argument's, and there is no delay without a minimum. Without a maximum a linear wait
    /// does not grow: that is how RabbitMQ has it. An exponential one, which is ours, does.
    pub(super) fn of(settings: Settings<'_>) -> Option<DelayedRetry> {
        let applies_to = match settings.text_of_policy_first("x-delayed-retry-type")?.as_ref() {
            b"all" => RetryOf::All,
            b"failed" => RetryOf::Failed,
            b"returned" => RetryOf::Returned,
            _ => return None,
        };
        let min_ms = settings.number("x-delayed-retry-min").filter(|min| *min > 0)?;
        let back_off = match settings.text("x-delayed-retry-backoff").as_deref() {
            Some(b"exponential") => BackOff::Exponential,
            _ => BackOff::Linear,
        };
        let max_ms = settings.number("x-delayed-retry-max").filter(|max| *max > 0);
        let max_ms = max_ms.or((back_off == BackOff::Linear).then_some(min_ms));
        Some(DelayedRetry { applies_to, min_ms, max_ms, back_off })
    }

    /// How long a message waits after this many deliveries.
    #[must_use]
    pub fn delay_ms(&self, delivery_count: u32) -> u64 {
        let factor = match self.back_off {
            BackOff::Linear => u64::from(delivery_count.max(1)),
            BackOff::Exponential => 1_u64.checked_shl(delivery_count.saturating_sub(1)).unwrap_or(u64::MAX),
        };
        self.min_ms.saturating_mul(factor).min(self.max_ms.unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(back_off: BackOff, max_ms: Option<u64>, expected: [u64; 5]) {
        let retry = DelayedRetry { applies_to: RetryOf::All, min_ms: 100, max_ms, back_off };
        assert_eq!([0, 1, 2, 3, 100].map(|count| retry.delay_ms(count)), expected);
    }

    #[test]
    fn a_linear_wait_grows_by_its_minimum() {
        check(BackOff::Linear, Some(250), [100, 100, 200, 250, 250]);
        check(BackOff::Linear, Some(50), [50; 5]);
        check(BackOff::Linear, None, [100, 100, 200, 300, 10_000]);
    }

    #[test]
    fn an_exponential_wait_doubles() {
        check(BackOff::Exponential, Some(10_000), [100, 100, 200, 400, 10_000]);
        check(BackOff::Exponential, None, [100, 100, 200, 400, u64::MAX]);
    }
}
