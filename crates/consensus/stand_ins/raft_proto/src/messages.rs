//! Entries, and what members send each other.

use std::mem;

use protobuf::ProtobufError;

use crate::changes::ConfState;

/// What an entry holds: contents, or a change of members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::enum_variant_names, missing_docs, reason = "the engine's names")]
pub enum EntryType {
    #[default]
    EntryNormal,
    EntryConfChange,
    EntryConfChangeV2,
}

/// What a message wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::enum_variant_names, missing_docs, reason = "the engine's names")]
pub enum MessageType {
    #[default]
    MsgHup,
    MsgBeat,
    MsgPropose,
    MsgAppend,
    MsgAppendResponse,
    MsgRequestVote,
    MsgRequestVoteResponse,
    MsgSnapshot,
    MsgHeartbeat,
    MsgHeartbeatResponse,
    MsgUnreachable,
    MsgSnapStatus,
    MsgCheckQuorum,
    MsgTransferLeader,
    MsgTimeoutNow,
    MsgReadIndex,
    MsgReadIndexResp,
    MsgRequestPreVote,
    MsgRequestPreVoteResponse,
}

/// An entry of the log. `data` is only that of a change of members.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub struct Entry {
    pub entry_type: EntryType,
    /// What kind of contents it has, for its proposer.
    pub kind: u8,
    /// Bytes of its contents, which are not here.
    pub len: u32,
    pub term: u64,
    pub index: u64,
    pub data: Vec<u8>,
    pub context: Vec<u8>,
}

/// Bytes of an entry on a link, apart from its contents.
pub const ENTRY_LEN: u32 = 13;

#[allow(missing_docs, reason = "the engine's names")]
impl Entry {
    pub fn get_entry_type(&self) -> EntryType {
        self.entry_type
    }

    pub fn set_entry_type(&mut self, entry_type: EntryType) {
        self.entry_type = entry_type;
    }

    pub fn get_term(&self) -> u64 {
        self.term
    }

    pub fn get_index(&self) -> u64 {
        self.index
    }

    pub fn get_data(&self) -> &[u8] {
        &self.data
    }

    pub fn take_data(&mut self) -> Vec<u8> {
        mem::take(&mut self.data)
    }
}

/// Its size is that of its contents, so that the engine bounds what is truly sent.
impl protobuf::Message for Entry {
    fn compute_size(&self) -> u32 {
        self.len.saturating_add(self.data.len() as u32).saturating_add(ENTRY_LEN)
    }

    fn write_to_bytes(&self) -> Result<Vec<u8>, ProtobufError> {
        Err(ProtobufError)
    }

    fn merge_from_bytes(&mut self, _: &[u8]) -> Result<(), ProtobufError> {
        Err(ProtobufError)
    }
}

/// What a member keeps across restarts beside its log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub struct HardState {
    pub term: u64,
    pub vote: u64,
    pub commit: u64,
}

/// Which state a snapshot has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub struct SnapshotMetadata {
    pub conf_state: ConfState,
    pub index: u64,
    pub term: u64,
}

#[allow(missing_docs, reason = "the engine's names")]
impl SnapshotMetadata {
    pub fn get_index(&self) -> u64 {
        self.index
    }

    pub fn get_conf_state(&self) -> &ConfState {
        &self.conf_state
    }

    pub fn set_conf_state(&mut self, conf_state: ConfState) {
        self.conf_state = conf_state;
    }

    pub fn mut_conf_state(&mut self) -> &mut ConfState {
        &mut self.conf_state
    }

    pub fn take_conf_state(&mut self) -> ConfState {
        mem::take(&mut self.conf_state)
    }
}

/// A snapshot: a position and members. Files are shipped by others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub struct Snapshot {
    pub metadata: SnapshotMetadata,
}

#[allow(missing_docs, reason = "the engine's names")]
impl Snapshot {
    pub fn is_empty(&self) -> bool {
        self.metadata.index == 0
    }

    pub fn get_metadata(&self) -> &SnapshotMetadata {
        &self.metadata
    }

    pub fn mut_metadata(&mut self) -> &mut SnapshotMetadata {
        &mut self.metadata
    }

    pub fn set_metadata(&mut self, metadata: SnapshotMetadata) {
        self.metadata = metadata;
    }

    pub fn take_metadata(&mut self) -> SnapshotMetadata {
        mem::take(&mut self.metadata)
    }
}

/// What one member sends to another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub struct Message {
    pub msg_type: MessageType,
    pub to: u64,
    pub from: u64,
    pub term: u64,
    pub log_term: u64,
    pub index: u64,
    pub entries: Vec<Entry>,
    pub commit: u64,
    pub commit_term: u64,
    pub snapshot: Snapshot,
    pub request_snapshot: u64,
    pub reject: bool,
    pub reject_hint: u64,
    pub context: Vec<u8>,
    pub deprecated_priority: u64,
    pub priority: i64,
}

#[allow(missing_docs, reason = "the engine's names")]
impl Message {
    pub fn get_msg_type(&self) -> MessageType {
        self.msg_type
    }

    pub fn set_msg_type(&mut self, msg_type: MessageType) {
        self.msg_type = msg_type;
    }

    pub fn get_index(&self) -> u64 {
        self.index
    }

    pub fn set_index(&mut self, index: u64) {
        self.index = index;
    }

    pub fn set_commit(&mut self, commit: u64) {
        self.commit = commit;
    }

    pub fn mut_entries(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    pub fn set_entries(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
    }

    pub fn take_entries(&mut self) -> Vec<Entry> {
        mem::take(&mut self.entries)
    }

    pub fn get_snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub fn set_snapshot(&mut self, snapshot: Snapshot) {
        self.snapshot = snapshot;
    }

    pub fn take_snapshot(&mut self) -> Snapshot {
        mem::take(&mut self.snapshot)
    }

    pub fn take_context(&mut self) -> Vec<u8> {
        mem::take(&mut self.context)
    }
}
