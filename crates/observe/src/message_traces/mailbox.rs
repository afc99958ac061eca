//! What waits for one reader of a trace.

use telemetry::{Bound, Overflow};

use super::record::Record;

/// What waits for one reader.
pub(super) type Mailbox = telemetry::Mailbox<Record>;

/// With their bytes this is the memory that a trace takes.
pub(super) const BOUND: Bound = Bound { count_max: 8192, len_max: 4 << 20, overflow: Overflow::DropNewest };
