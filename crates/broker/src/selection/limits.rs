//! Every number a reviewer would ask about.

/// Messages that one request looks at.
pub(super) const LOOKED_AT_COUNT_MAX: usize = 20_000;
/// Bytes of bodies that one request looks at.
pub(super) const LOOKED_AT_LEN_MAX: u64 = 64 << 20;
/// Messages in memory that are looked at under one lock.
pub(super) const LOOK_COUNT: usize = 256;
/// Bytes that are read from segments before what was found is looked at.
pub(super) const LOOK_LEN: u32 = 256 << 10;
/// How often a look is begun again because messages have been moved from segment to segment meanwhile.
pub(super) const ATTEMPT_COUNT_MAX: u32 = 16;
/// Bytes of bodies on one page.
pub(super) const PAGE_LEN_MAX: usize = 8 << 20;
/// Messages that a browser may ask for from the end.
pub(super) const TAIL_COUNT_MAX: u64 = 10_000;
/// Messages that are moved at once: locks are held for no more.
pub(super) const CARRIED_COUNT_MAX: usize = 256;
/// Bytes that are moved at once.
pub(super) const CARRIED_LEN_MAX: u64 = 4 << 20;
/// Names of queues that no longer exist, in an answer.
pub(super) const MISSING_NAMES_MAX: usize = 20;
