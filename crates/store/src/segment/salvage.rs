//! Finds the slots of a segment without its footer, by what the checkpoint knows: where each range begins, and how many slots it has.

use std::io;

use model::ids::SegmentId;

use super::footer::SegmentRange;
use super::header::{EntryError, SLOT_LEN, SegmentEntry, SlotHeader};
use super::index::{ANCHOR_SLOTS, UNKNOWN};
use crate::file::{File, read_exact_at};

/// What is read at a time.
const PIECE_LEN: usize = 1 << 20;

/// The offset of every so many slots, as far as walking from slot to slot finds them.
pub(super) fn find_anchors(file: &dyn File, file_len: u64, id: SegmentId, ranges: &[SegmentRange]) -> Vec<u64> {
    let mut walk = Walk { file, file_len, id, piece: Vec::new(), start: 0 };
    let mut anchors = Vec::new();
    for range in ranges {
        let mut offset = Some(range.offset);
        for slot in range.first_slot..range.end_slot() {
            if slot % ANCHOR_SLOTS == 0 {
                anchors.push(offset.unwrap_or(UNKNOWN));
            }
            offset = offset.and_then(|offset| walk.next(offset));
        }
    }
    anchors
}

/// A file that is read from its beginning to its end.
struct Walk<'a> {
    file: &'a dyn File,
    file_len: u64,
    id: SegmentId,
    piece: Vec<u8>,
    start: u64,
}

impl Walk<'_> {
    /// Where the slot ends that begins here. A damaged slot's length is believed if something whole follows.
    fn next(&mut self, offset: u64) -> Option<u64> {
        if let Some(SegmentEntry::Slot(header)) = self.entry(offset) {
            return offset.checked_add(header.stored_len());
        }
        let header = SlotHeader::peek(self.get(offset, SLOT_LEN as u64 + 8).ok()?)?;
        let next = offset.checked_add(header.stored_len())?;
        self.entry(next).map(|_| next)
    }

    fn entry(&mut self, offset: u64) -> Option<SegmentEntry> {
        let id = self.id;
        match SegmentEntry::decode(id, self.get(offset, SLOT_LEN as u64 + 8).ok()?) {
            Err(EntryError::Short(len)) => SegmentEntry::decode(id, self.get(offset, len).ok()?).ok(),
            decoded => decoded.ok(),
        }
    }

    /// The bytes from `offset` on: `len`, or as many as there are, or more.
    fn get(&mut self, offset: u64, len: u64) -> io::Result<&[u8]> {
        let len = len.min(self.file_len.saturating_sub(offset));
        if offset < self.start || offset + len > self.start + self.piece.len() as u64 {
            let read_len = len.max(PIECE_LEN as u64).min(self.file_len.saturating_sub(offset));
            self.piece.resize(usize::try_from(read_len).map_err(io::Error::other)?, 0);
            self.start = offset;
            read_exact_at(self.file, &mut self.piece, offset).inspect_err(|_| self.piece.clear())?;
        }
        let from = usize::try_from(offset - self.start).map_err(io::Error::other)?;
        Ok(self.piece.get(from..).unwrap_or(&[]))
    }
}
