//! A segment: messages that outlived their journal file, grouped by queue and lane, in one file that is written once.
//!
//! ```text
//!  file    | header | range | range | … | footer | trailer |
//!  range   | mark | slot | slot | … |                        all of one queue and lane, rising seqs
//!
//!  header  | magic "WRNSEGMT" | id u32 | level u8 | zero u8×3 | crc32c u32 |                           20 bytes
//!  mark    | crc32c u32 | ffffffff | lane u8 | zero u8×3 | first_slot u32 | queue u64 |                24 bytes
//!  slot    | crc32c u32 | content_len u32         | body_len u32 | seq u64 | content … |               20 bytes and the content
//!  shared  | crc32c u32 | content_len u32 | bit 31 | body_len u32 | seq u64 | offset u64 |              28 bytes
//!  trailer | footer_offset u64 | footer_len u32 | slot_count u32 | footer crc32c u32 | crc32c u32 | magic "WRNSEGFT" |  32 bytes
//! ```
//!
//! All numbers are little-endian. A CRC covers what follows it in its box (content included; in header and trailer, what
//! precedes it) and is seeded with the segment's id, so that the bytes of another segment never pass for this one's.
//! A slot's index in the file is its number in the ack bitmap, which lies in the checkpoint. `content` is opaque here;
//! `body_len` is what the queue counts for the message.
//!
//! A content of [`SHARED_LEN_MIN`] bytes and more that is alive in several queues is stored once: the other slots are
//! *shared* ones whose offset names the slot that holds it. It is read as long as one slot that names it is alive.
//!
//! The footer (see `footer`) says where everything lies, so that nothing else has to be read to know it; the marks
//! repeat enough for `fsck` to write a lost footer again. A segment without a valid trailer was not finished: no
//! checkpoint names it and a start deletes it.
//!
//! A segment does not change after its trailer is written. Nothing here knows when a segment may be removed: see `reclaim`.

mod footer;
mod header;
mod index;
mod limits;
mod read;
mod salvage;
mod write;

pub(crate) use footer::{Footer, SegmentRange};
pub(crate) use header::{
    ContentPlace, HEADER_LEN, MARK_LEN, RangeMark, SLOT_LEN, SegmentEntry, SlotHeader, TRAILER_LEN,
};
pub(crate) use index::ANCHOR_SLOTS;
pub(crate) use limits::{SHARED_LEN_MIN, SLOT_COUNT_MAX};
pub use read::ReadError;
pub(crate) use read::{Flaw, ReadAhead, ReadMessage, SegmentFile, SlotReader};
pub(crate) use write::{SegmentWriter, Source, WrittenSegment};

#[cfg(test)]
mod tests;
