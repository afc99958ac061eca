//! Every number that bounds what statistics for InfluxDB may cost.

use std::time::Duration;

/// Lines that are posted together.
pub(super) const BATCH_LINE_COUNT_MAX: u64 = 5000;
/// Bytes of them, but for the last line.
pub(super) const BATCH_LEN_MAX: usize = 4 << 20;
/// Batches that are made before they can be posted, as long as the receiver takes them.
pub(super) const AHEAD_COUNT: usize = 2;
/// Bytes that wait for a receiver that does not take them; beyond it the oldest are dropped.
pub(super) const WAITING_LEN_MAX: usize = 32 << 20;
/// The longest wait that a receiver may ask for.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);
/// How often a receiver may answer that it cannot take a batch, before that is given up: others wait behind it.
pub(super) const ANSWER_COUNT_MAX: u32 = 30;
/// Letters of an answer that the log has.
pub(super) const REASON_LEN_MAX: usize = 200;
/// How long a stop waits for the last statistics.
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

const _: () = assert!(BATCH_LEN_MAX * (AHEAD_COUNT + 1) < WAITING_LEN_MAX);
