//! All structs, where raft-rs looks for them.

pub use crate::changes::{
    ConfChange, ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2, ConfState,
};
pub use crate::messages::{
    ENTRY_LEN, Entry, EntryType, HardState, Message, MessageType, Snapshot, SnapshotMetadata,
};
