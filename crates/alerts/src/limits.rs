//! Every number a reviewer would ask about.

/// Rules of one broker.
pub const RULE_COUNT_MAX: usize = 200;
/// Webhooks of one broker.
pub const WEBHOOK_COUNT_MAX: usize = 50;
/// The longest name of a rule or a webhook, in bytes.
pub const NAME_LEN_MAX: usize = 100;
/// The greatest threshold, as in the configuration: beyond it not every whole number is an f64.
pub(crate) const NUMBER_MAX: f64 = 9_007_199_254_740_992.0;
/// Objects of one rule that are pending or firing; further ones are only counted.
pub(crate) const TRACKED_COUNT_MAX: usize = 1000;
/// Changes that the history keeps.
pub const HISTORY_COUNT: usize = 1000;
/// The longest time that a rule may name, in milliseconds: 30 days.
pub(crate) const DURATION_MAX_MS: u64 = 30 * 24 * 3_600_000;
/// The shortest time between reminders, in milliseconds.
pub(crate) const REPEAT_MIN_MS: u64 = 60_000;
/// What growth and rates are measured over, unless a rule says otherwise, in milliseconds.
pub(crate) const WINDOW_DEFAULT_MS: u64 = 60_000;
/// The shortest such time.
pub(crate) const WINDOW_MIN_MS: u64 = 1000;
/// What is compared with what was this part of a window ago was taken down at most this part too early.
pub(crate) const SAMPLES_PER_WINDOW: u64 = 4;
/// The same for counters of the node, of which there are few.
pub(crate) const COUNTS_PER_WINDOW: u64 = 60;
/// A condition is over at this part of its threshold, unless its rule says otherwise.
pub(crate) const CLEAR_PART: f64 = 0.9;

/// Notices that wait for one webhook.
pub const WAITING_COUNT_MAX: usize = 1000;
/// How long a notice is tried, in milliseconds.
pub(crate) const LIFETIME_MS: u64 = 3_600_000;
/// How long a webhook may take to answer, unless its definition says otherwise, in milliseconds.
pub(crate) const TIMEOUT_DEFAULT_MS: u64 = 5000;
/// The least and the most that may be said.
pub(crate) const TIMEOUT_RANGE_MS: std::ops::RangeInclusive<u64> = 100..=60_000;
/// Headers of one webhook.
pub const HEADER_COUNT_MAX: usize = 20;
/// The longest header, URL or secret, in bytes.
pub(crate) const TEXT_LEN_MAX: usize = 4096;

const _: () = assert!(outbox::BACKOFF_MAX_MS < LIFETIME_MS);
