//! What peers send.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use consensus::{GroupId, Message};
use model::ids::{JournalPosition, SegmentId};
use store::group::{Announcement, FileName};
use store::journal::{CommitKind, SharedCommit};

use super::calls::{CALL_CHECKPOINT, CALL_NOT_SHIPPED, CALL_SHIP, CALL_SHIPPED};
use super::fetch::FetchOrder;
use super::shared::DriverShared;
use super::transport::GROUP;
use crate::peers::{CallAnswer, FileAnswer, ForwardedClient, LinkHandler, PeerEvent};
use crate::wire::{EntryBytes, FILE_PIECE_LEN_MAX, FileRequest, Identity, NodeName};

impl LinkHandler for DriverShared {
    fn message(&self, _: &Identity, group: GroupId, message: Message, entries: Vec<EntryBytes>) {
        if group == GROUP {
            let commits = entries.into_iter().map(|EntryBytes { first, metas_len, payload }| {
                Arc::new(SharedCommit::of_payload(CommitKind::Records, JournalPosition(first), metas_len, payload))
            });
            self.member.receive(message, commits.collect());
        }
    }

    fn peer_changed(&self, peer: &NodeName, event: PeerEvent) {
        let member = self.transport.links().and_then(|links| links.member_of(peer));
        let is_leader = || member.is_some() && self.member.status().leader == member;
        match event {
            PeerEvent::Lost { .. } => {
                if let Some(member) = member {
                    self.member.unreachable(member);
                }
            }
            PeerEvent::Refused if is_leader() => self.has_leader_ended.store(true, Ordering::Relaxed),
            PeerEvent::Connected { .. } if is_leader() => self.has_leader_ended.store(false, Ordering::Relaxed),
            PeerEvent::Refused | PeerEvent::Connected { .. } | PeerEvent::Rejected { .. } => {}
        }
    }

    fn file_wanted(&self, _: &Identity, request: FileRequest, answer: FileAnswer) {
        let announced = self.member.announcement();
        let name = match request.file {
            crate::wire::FileName::Segment { id } => Some(FileName::Segment(SegmentId(id))),
            crate::wire::FileName::Checkpoint { index } => {
                announced.filter(|announced| announced.base.id.index == index).map(|announced| announced.name())
            }
        };
        let reader = self.member.file_reader();
        let (Some(name), true) = (name, request.group == GROUP) else { return answer.missing() };
        let mut answer = Some(answer);
        let read = move || {
            let Some(mut answer) = answer.take() else { return };
            let mut offset = request.offset;
            let mut has_begun = false;
            loop {
                match reader.read(name, offset, FILE_PIECE_LEN_MAX) {
                    Ok(Some(piece)) => {
                        if !has_begun && answer.begin(piece.file_len).is_err() {
                            return;
                        }
                        has_begun = true;
                        offset += piece.bytes.len() as u64;
                        if !piece.bytes.is_empty() && answer.write(&piece.bytes).is_err() {
                            return;
                        }
                        if piece.bytes.is_empty() || offset >= piece.file_len {
                            return answer.end();
                        }
                    }
                    Ok(None) if !has_begun => return answer.missing(),
                    // Dropped, it says that the file cannot be read.
                    Ok(None) | Err(_) => return,
                }
            }
        };
        // Without a thread there is no answer, and the peer asks again.
        let _ = std::thread::Builder::new().name("cluster file".to_owned()).spawn(read);
    }

    fn called(&self, from: &Identity, name: &str, payload: &[u8], answer: CallAnswer) {
        match name {
            CALL_CHECKPOINT => {
                let announcement = self.member.announcement().map(|announcement| announcement.encode());
                answer.give(&announcement.unwrap_or_default());
            }
            CALL_SHIP => {
                if let Some(ordered) = FetchOrder::decode(&from.name, payload) {
                    self.order(ordered);
                    answer.give(&[]);
                }
            }
            CALL_SHIPPED | CALL_NOT_SHIPPED => {
                if let (Some(member), Some(index)) = (from.member, payload.first_chunk()) {
                    let index = u64::from_le_bytes(*index);
                    match name {
                        CALL_SHIPPED => self.shipments.lock().arrived(member, index),
                        _ => self.shipments.lock().not_arrived(member, index),
                    }
                    answer.give(&[]);
                }
            }
            _ => {}
        }
    }

    /// Clients are the node's, not its member's.
    fn forwarded(&self, _: &Identity, _: ForwardedClient) {}
}

impl DriverShared {
    fn order(&self, ordered: FetchOrder) {
        *self.ordered.lock() = Some(ordered);
        self.ordering.notify_all();
    }

    pub(super) fn encode_order(announcement: &Announcement, message: &Message) -> Vec<u8> {
        let announcement = announcement.encode();
        let mut bytes = (announcement.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(&announcement);
        message.encode(&mut bytes);
        bytes
    }
}
