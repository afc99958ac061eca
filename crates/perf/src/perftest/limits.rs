//! Largest values: beyond them the memory of the generator would be the limit, found out late.

/// Seconds of anything: 68 years, as in PerfTest, where they are 32 bits.
pub(super) const SECONDS_MAX: u64 = i32::MAX as u64;
/// Queues of a pattern.
pub(super) const QUEUE_COUNT_MAX: u32 = 1_000_000;
/// Routing keys that are drawn in advance.
pub(super) const KEY_COUNT_MAX: u32 = 1_000_000;
/// Names and values that JSON documents are made of.
pub(super) const FIELD_COUNT_MAX: u32 = 1_000_000;
/// All JSON documents together.
pub(super) const DOCUMENTS_LEN_MAX: u64 = 1 << 30;
/// One body.
pub(super) const BODY_LEN_MAX: u32 = 1 << 30;
/// Producers, or consumers.
pub(super) const CONNECTION_COUNT_MAX: u32 = 1_000_000;
/// Channels of a connection: the protocol's limit.
pub(super) const CHANNEL_COUNT_MAX: u32 = 65_535;
