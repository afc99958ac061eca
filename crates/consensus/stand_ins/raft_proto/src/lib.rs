//! The structs that raft-rs works on, as plain Rust. The true crate generates them with a `protoc` that it brings along as a binary.
//!
//! Fields and their accessors are named as in raft-rs' `eraftpb.proto`, because the engine names them; those that it does not use are
//! not here. An [`Entry`](eraftpb::Entry) has one more, `len`: the length of contents that the engine never sees.

mod changes;
pub mod eraftpb;
mod messages;

use std::borrow::Cow;

use eraftpb::{ConfChange, ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState};

/// What the engine imports at once.
pub mod prelude {
    pub use crate::eraftpb::{
        ConfChange, ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2, ConfState, Entry, EntryType,
        HardState, Message, MessageType, Snapshot, SnapshotMetadata,
    };
}

/// A change of one member.
#[must_use]
pub fn new_conf_change_single(node_id: u64, change_type: ConfChangeType) -> ConfChangeSingle {
    ConfChangeSingle { change_type, node_id }
}

/// A change of members, in its old form or its new one.
pub trait ConfChangeI {
    /// It, in its new form.
    fn into_v2(self) -> ConfChangeV2;

    /// It, in its new form.
    fn as_v2(&self) -> Cow<'_, ConfChangeV2>;

    /// It, if it has the old form.
    fn as_v1(&self) -> Option<&ConfChange>;
}

impl ConfChangeI for ConfChange {
    fn into_v2(self) -> ConfChangeV2 {
        let changes = vec![new_conf_change_single(self.node_id, self.change_type)];
        ConfChangeV2 { changes, ..ConfChangeV2::default() }
    }

    fn as_v2(&self) -> Cow<'_, ConfChangeV2> {
        Cow::Owned(self.clone().into_v2())
    }

    fn as_v1(&self) -> Option<&ConfChange> {
        Some(self)
    }
}

impl ConfChangeI for ConfChangeV2 {
    fn into_v2(self) -> ConfChangeV2 {
        self
    }

    fn as_v2(&self) -> Cow<'_, ConfChangeV2> {
        Cow::Borrowed(self)
    }

    fn as_v1(&self) -> Option<&ConfChange> {
        None
    }
}

/// Whether two have the same members, in any order.
#[must_use]
pub fn conf_state_eq(left: &ConfState, right: &ConfState) -> bool {
    let sorted = |members: &[u64]| {
        let mut members = members.to_vec();
        members.sort_unstable();
        members
    };
    let all = |state: &ConfState| {
        [&state.voters, &state.learners, &state.voters_outgoing, &state.learners_next].map(|members| sorted(members))
    };
    all(left) == all(right) && left.auto_leave == right.auto_leave
}
