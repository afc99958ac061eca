//! The names of the calls between members.

/// The calls that a member answers.
pub(crate) const CALLS: [&str; 4] = [CALL_CHECKPOINT, CALL_SHIP, CALL_SHIPPED, CALL_NOT_SHIPPED];

/// A follower asks for the checkpoint that is in force; the answer is an announcement, or nothing.
pub(super) const CALL_CHECKPOINT: &str = "checkpoint";

/// A leader orders a member to fetch a checkpoint; length of the announcement, announcement, message.
pub(super) const CALL_SHIP: &str = "ship";

/// The member has done so, and has heard the message; index of the checkpoint's entry.
pub(super) const CALL_SHIPPED: &str = "shipped";

/// The member could not, and is to be ordered again; index of the checkpoint's entry.
pub(super) const CALL_NOT_SHIPPED: &str = "not shipped";
