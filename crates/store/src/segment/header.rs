//! The fixed-size pieces of a segment: header, range mark, slot header, trailer. See the picture in the parent module.

use model::ids::{QueueId, QueueSeq, SegmentId};

use super::limits::CONTENT_LEN_MAX;
use crate::varint::Reader;

pub(crate) const HEADER_LEN: usize = 20;
pub(crate) const MARK_LEN: usize = 24;
pub(crate) const SLOT_LEN: usize = 20;
pub(crate) const TRAILER_LEN: usize = 32;

const HEADER_MAGIC: [u8; 8] = *b"WRNSEGMT";
const TRAILER_MAGIC: [u8; 8] = *b"WRNSEGFT";
const MARK_TAG: u32 = u32::MAX;
const SHARED_BIT: u32 = 1 << 31;

/// The first bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) id: SegmentId,
    pub(crate) level: u8,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[..8].copy_from_slice(&HEADER_MAGIC);
        out[8..12].copy_from_slice(&self.id.0.to_le_bytes());
        out[12] = self.level;
        let crc = crc32c::crc32c_append(self.id.0, &out[..16]);
        out[16..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// `None` if these are not the first bytes of segment `id`.
    pub(crate) fn decode(id: SegmentId, bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let magic: [u8; 8] = reader.array().ok()?;
        let stored_id = reader.u32().ok()?;
        let level = reader.u8().ok()?;
        let _: [u8; 3] = reader.array().ok()?;
        let crc = reader.u32().ok()?;
        let is_valid = magic == HEADER_MAGIC && stored_id == id.0 && crc == crc32c::crc32c_append(id.0, &bytes[..16]);
        is_valid.then_some(SegmentHeader { id, level })
    }
}

/// What stands before the slots of a queue and lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RangeMark {
    pub(crate) queue: QueueId,
    pub(crate) lane: u8,
    pub(crate) first_slot: u32,
}

impl RangeMark {
    pub(crate) fn encode(&self, segment: SegmentId) -> [u8; MARK_LEN] {
        let mut out = [0; MARK_LEN];
        out[4..8].copy_from_slice(&MARK_TAG.to_le_bytes());
        out[8] = self.lane;
        out[12..16].copy_from_slice(&self.first_slot.to_le_bytes());
        out[16..].copy_from_slice(&self.queue.0.to_le_bytes());
        let crc = crc32c::crc32c_append(segment.0, &out[4..]);
        out[..4].copy_from_slice(&crc.to_le_bytes());
        out
    }
}

/// Where a slot's content lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentPlace {
    /// Directly behind the slot's header.
    Inline,
    /// Behind the header of the slot at this offset.
    Shared { slot_offset: u64 },
}

/// What stands before a message's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotHeader {
    pub(crate) seq: QueueSeq,
    pub(crate) content_len: u32,
    pub(crate) body_len: u32,
    pub(crate) stored: ContentPlace,
}

impl SlotHeader {
    /// Bytes from one slot's start to the next one's.
    pub(crate) fn stored_len(&self) -> u64 {
        match self.stored {
            ContentPlace::Inline => SLOT_LEN as u64 + u64::from(self.content_len),
            ContentPlace::Shared { .. } => SLOT_LEN as u64 + 8,
        }
    }

    /// Reads the header at the start of `bytes` without checking its CRC. `None` if it is not valid, or cut.
    pub(crate) fn peek(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let _crc = reader.u32().ok()?;
        let len = reader.u32().ok()?;
        if len == MARK_TAG {
            return None;
        }
        let body_len = reader.u32().ok()?;
        let seq = QueueSeq(reader.u64().ok()?);
        let is_shared = len & SHARED_BIT != 0;
        let stored =
            if is_shared { ContentPlace::Shared { slot_offset: reader.u64().ok()? } } else { ContentPlace::Inline };
        Some(SlotHeader { seq, content_len: len & !SHARED_BIT, body_len, stored })
    }

    /// Appends the header, for a shared slot with its offset; `content` is what follows an inline one.
    pub(crate) fn encode(&self, segment: SegmentId, content: &[u8], out: &mut Vec<u8>) {
        assert!(self.content_len <= CONTENT_LEN_MAX, "a content of {} bytes", self.content_len);
        let mut rest = [0; SLOT_LEN - 4];
        let shared_bit = if matches!(self.stored, ContentPlace::Inline) { 0 } else { SHARED_BIT };
        rest[..4].copy_from_slice(&(self.content_len | shared_bit).to_le_bytes());
        rest[4..8].copy_from_slice(&self.body_len.to_le_bytes());
        rest[8..].copy_from_slice(&self.seq.0.to_le_bytes());
        match self.stored {
            ContentPlace::Inline => {
                out.extend_from_slice(&slot_crc(segment, &rest, content).to_le_bytes());
                out.extend_from_slice(&rest);
            }
            ContentPlace::Shared { slot_offset } => {
                let offset = slot_offset.to_le_bytes();
                out.extend_from_slice(&slot_crc(segment, &rest, &offset).to_le_bytes());
                out.extend_from_slice(&rest);
                out.extend_from_slice(&offset);
            }
        }
    }
}

/// The CRC of a slot: of its header behind the CRC, then of what follows.
pub(crate) fn slot_crc(segment: SegmentId, header: &[u8], rest: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(segment.0, header), rest)
}

/// What begins at an offset between header and footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentEntry {
    Mark(RangeMark),
    Slot(SlotHeader),
}

/// Why no entry could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryError {
    /// These many bytes from the entry's start are needed.
    Short(u64),
    /// A checksum does not match.
    Checksum,
}

impl SegmentEntry {
    /// Reads the entry at the start of `bytes` and checks its CRC.
    pub(crate) fn decode(segment: SegmentId, bytes: &[u8]) -> Result<Self, EntryError> {
        let short = EntryError::Short(SLOT_LEN as u64 + 8);
        let (crc, rest) = bytes.split_first_chunk::<4>().ok_or(short)?;
        let crc = u32::from_le_bytes(*crc);
        let (fixed, following) = rest.split_first_chunk::<{ SLOT_LEN - 4 }>().ok_or(short)?;
        let len = fixed.first_chunk::<4>().map_or(0, |len| u32::from_le_bytes(*len));
        if len == MARK_TAG {
            let (mark, _) = rest.split_first_chunk::<{ MARK_LEN - 4 }>().ok_or(short)?;
            return Self::decode_mark(segment, crc, mark).ok_or(EntryError::Checksum);
        }
        let follows_len = if len & SHARED_BIT == 0 { len as usize } else { 8 };
        let follows = following.get(..follows_len).ok_or(EntryError::Short((SLOT_LEN + follows_len) as u64))?;
        if slot_crc(segment, fixed, follows) != crc {
            return Err(EntryError::Checksum);
        }
        SlotHeader::peek(bytes).map(SegmentEntry::Slot).ok_or(short)
    }

    fn decode_mark(segment: SegmentId, crc: u32, mark: &[u8; MARK_LEN - 4]) -> Option<Self> {
        let mut reader = Reader::new(mark);
        let _tag = reader.u32().ok()?;
        let lane = reader.u8().ok()?;
        let _zero: [u8; 3] = reader.array().ok()?;
        let first_slot = reader.u32().ok()?;
        let queue = QueueId(reader.u64().ok()?);
        (crc == crc32c::crc32c_append(segment.0, mark)).then_some(SegmentEntry::Mark(RangeMark {
            queue,
            lane,
            first_slot,
        }))
    }
}

/// The last bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) footer_offset: u64,
    pub(crate) footer_len: u32,
    pub(crate) slot_count: u32,
    pub(crate) footer_crc: u32,
}

impl Trailer {
    pub(crate) fn encode(&self, segment: SegmentId) -> [u8; TRAILER_LEN] {
        let mut out = [0; TRAILER_LEN];
        out[..8].copy_from_slice(&self.footer_offset.to_le_bytes());
        out[8..12].copy_from_slice(&self.footer_len.to_le_bytes());
        out[12..16].copy_from_slice(&self.slot_count.to_le_bytes());
        out[16..20].copy_from_slice(&self.footer_crc.to_le_bytes());
        let crc = crc32c::crc32c_append(segment.0, &out[..20]);
        out[20..24].copy_from_slice(&crc.to_le_bytes());
        out[24..].copy_from_slice(&TRAILER_MAGIC);
        out
    }

    /// `None` if these are not the last bytes of a finished segment `segment` of `file_len` bytes.
    pub(crate) fn decode(segment: SegmentId, file_len: u64, bytes: &[u8; TRAILER_LEN]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let footer_offset = reader.u64().ok()?;
        let footer_len = reader.u32().ok()?;
        let slot_count = reader.u32().ok()?;
        let footer_crc = reader.u32().ok()?;
        let crc = reader.u32().ok()?;
        let magic: [u8; 8] = reader.array().ok()?;
        let is_valid = magic == TRAILER_MAGIC
            && crc == crc32c::crc32c_append(segment.0, &bytes[..20])
            && footer_offset >= HEADER_LEN as u64
            && footer_offset.checked_add(u64::from(footer_len) + TRAILER_LEN as u64) == Some(file_len);
        is_valid.then_some(Trailer { footer_offset, footer_len, slot_count, footer_crc })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: SegmentId = SegmentId(7);

    fn inline(content: &[u8]) -> Vec<u8> {
        let header = SlotHeader {
            seq: QueueSeq(42),
            content_len: content.len() as u32,
            body_len: 3,
            stored: ContentPlace::Inline,
        };
        let mut out = Vec::new();
        header.encode(SEGMENT, content, &mut out);
        out.extend_from_slice(content);
        out
    }

    #[test]
    fn entries_come_back_as_written() {
        let bytes = inline(b"hello");
        let Ok(SegmentEntry::Slot(header)) = SegmentEntry::decode(SEGMENT, &bytes) else { panic!("not a slot") };
        assert_eq!((header.seq, header.content_len, header.body_len), (QueueSeq(42), 5, 3));
        assert_eq!(header.stored_len(), bytes.len() as u64);

        let shared = SlotHeader { stored: ContentPlace::Shared { slot_offset: 99 }, content_len: 5000, ..header };
        let mut out = Vec::new();
        shared.encode(SEGMENT, &[], &mut out);
        assert_eq!(SegmentEntry::decode(SEGMENT, &out), Ok(SegmentEntry::Slot(shared)));
        assert_eq!(shared.stored_len(), out.len() as u64);

        let mark = RangeMark { queue: QueueId(u64::MAX), lane: 9, first_slot: 1 };
        assert_eq!(SegmentEntry::decode(SEGMENT, &mark.encode(SEGMENT)), Ok(SegmentEntry::Mark(mark)));
    }

    #[test]
    fn another_segments_bytes_do_not_pass() {
        let bytes = inline(b"hello");
        assert_eq!(SegmentEntry::decode(SegmentId(8), &bytes), Err(EntryError::Checksum));
        let header = SegmentHeader { id: SEGMENT, level: 2 };
        assert_eq!(SegmentHeader::decode(SEGMENT, &header.encode()), Some(header));
        assert_eq!(SegmentHeader::decode(SegmentId(8), &header.encode()), None);
    }

    #[test]
    fn a_cut_slot_says_how_much_is_needed() {
        let bytes = inline(b"hello");
        assert_eq!(SegmentEntry::decode(SEGMENT, &bytes[..24]), Err(EntryError::Short(25)));
        assert_eq!(SegmentEntry::decode(SEGMENT, &bytes[..3]), Err(EntryError::Short(28)));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = inline(b"hello");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentEntry::decode(SEGMENT, &flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_trailer_must_fit_its_file() {
        let trailer = Trailer { footer_offset: 100, footer_len: 10, slot_count: 3, footer_crc: 4 };
        let bytes = trailer.encode(SEGMENT);
        assert_eq!(Trailer::decode(SEGMENT, 142, &bytes), Some(trailer));
        assert_eq!(Trailer::decode(SEGMENT, 143, &bytes), None);
    }
}
