//! What members of groups say to each other, with the contents of entries behind it.
//!
//! ```text
//!  | group u32 | message len u32 | message, as `consensus` has it | for each entry of records: first u64 | metas len u64 | payload |
//! ```
//!
//! A payload has the length that its entry says. Entries without records have nothing here.

use std::fmt;
use std::sync::Arc;

use consensus::{Body, Entry, GroupId, Kind, Message};

use crate::wire::error::FrameError;
use crate::wire::frame::{Builder, OutgoingFrame, Payload};
use crate::wire::lane::Lane;
use crate::wire::reader::Reader;

/// The contents of an entry that came: a commit of the leader's journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryBytes {
    /// The commit's position.
    pub first: u64,
    /// So many bytes of the payload are metas; contents follow.
    pub metas_len: u64,
    /// Metas, then contents.
    pub payload: Vec<u8>,
}

/// The contents of an entry to be sent.
#[derive(Clone)]
pub struct EntryToSend {
    /// As [`EntryBytes::first`].
    pub first: u64,
    /// As [`EntryBytes::metas_len`].
    pub metas_len: u64,
    /// As [`EntryBytes::payload`], kept by the journal meanwhile.
    pub payload: Arc<dyn Payload>,
}

impl fmt::Debug for EntryToSend {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "EntryToSend({}, {} bytes)", self.first, self.payload.byte_count())
    }
}

/// A frame for the lane of the message. `entries` are those of records, in their order.
///
/// # Panics
///
/// The entries are not those of the message, or are longer than a frame is.
#[must_use]
pub fn encode_replicated(group: GroupId, message: &Message, entries: &[EntryToSend]) -> OutgoingFrame {
    let mut builder = Builder::new();
    let own = builder.own();
    own.extend_from_slice(&group.0.to_le_bytes());
    let len_at = own.len();
    own.extend_from_slice(&[0; 4]);
    message.encode(own);
    let len = (own.len() - len_at - 4) as u32;
    own[len_at..len_at + 4].copy_from_slice(&len.to_le_bytes());
    let wanted: Vec<u64> = records(message).map(|entry| u64::from(entry.len)).collect();
    let given: Vec<u64> = entries.iter().map(|entry| entry.payload.byte_count()).collect();
    assert!(wanted == given, "contents of {given:?} bytes for entries of {wanted:?}");
    for entry in entries {
        builder.own().extend_from_slice(&entry.first.to_le_bytes());
        builder.own().extend_from_slice(&entry.metas_len.to_le_bytes());
        builder.share(Arc::clone(&entry.payload));
    }
    builder.end(Lane::of(message))
}

/// What a frame of this lane says.
///
/// # Errors
///
/// Nothing that a node sends on this lane.
pub fn replicated(lane: Lane, body: &[u8]) -> Result<(GroupId, Message, Vec<EntryBytes>), FrameError> {
    let mut reader = Reader(body);
    let group = GroupId(reader.u32()?);
    let len = reader.u32()? as usize;
    let message = Message::decode(reader.bytes(len)?)?;
    if Lane::of(&message) != lane {
        return Err(FrameError::Impossible("lane"));
    }
    let mut entries = Vec::new();
    for entry in records(&message) {
        let (first, metas_len) = (reader.u64()?, reader.u64()?);
        if metas_len > u64::from(entry.len) {
            return Err(FrameError::Impossible("length of metas"));
        }
        entries.push(EntryBytes { first, metas_len, payload: reader.bytes(entry.len as usize)?.to_vec() });
    }
    reader.end()?;
    Ok((group, message, entries))
}

fn records(message: &Message) -> impl Iterator<Item = &Entry> {
    let entries = match &message.body {
        Body::Append { entries, .. } => &entries[..],
        _ => &[],
    };
    entries.iter().filter(|entry| entry.kind == Kind::Records)
}
