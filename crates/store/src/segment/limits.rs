//! How long and how many what a segment holds may be.

/// Contents shorter than this are stored again for each queue: reading them from elsewhere costs more than they do.
pub(crate) const SHARED_LEN_MIN: u32 = 4096;
/// A segment ends at this many slots, however small they are: its bitmap and index stay small.
pub(crate) const SLOT_COUNT_MAX: u32 = 1 << 22;
/// A content's length; the bit above marks shared slots.
pub(crate) const CONTENT_LEN_MAX: u32 = (1 << 31) - 2;
