//! Reading a segment: its footer once, its messages in large sequential reads, dead ones skipped.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::ids::{QueueSeq, SegmentId};
use thiserror::Error;

use super::footer::Slot;
use super::header::EntryError;
use super::{
    ANCHOR_SLOTS, Entry, Footer, HEADER_LEN, Index, SLOT_LEN, SegmentHeader, SegmentRange, SlotHeader, Source, Stored,
    TRAILER_LEN, Trailer,
};
use crate::file::{Disk, File, read_exact_at};

/// How much is read at a time, at most; more only for a message that is longer.
const WINDOW_LEN_MAX: usize = 1 << 20;

/// How much is read when a single message is asked for.
const READ_AT_LEN: u64 = 64 << 10;

/// Why a segment could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file is not what was written.
    #[error("{}: {what} at byte {offset}", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The disk said no.
    #[error("reading {}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

impl ReadError {
    /// Whether the next attempt would fail, too: not if it was this process that lacked something.
    pub(crate) fn is_lasting(&self) -> bool {
        let is_lack = |error: &io::Error| {
            use rustix::io::Errno;
            let errno = Errno::from_io_error(error);
            errno.is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN))
        };
        match self {
            ReadError::Corrupt { .. } => true,
            ReadError::Io { error, .. } => !is_lack(error),
        }
    }
}

/// A finished segment, open for reading.
pub(crate) struct SegmentFile {
    id: SegmentId,
    path: PathBuf,
    file: Box<dyn File>,
    file_len: u64,
    level: u8,
    index: Index,
}

impl SegmentFile {
    /// Opens a segment and reads its footer.
    pub(crate) fn open(disk: &dyn Disk, path: &Path, id: SegmentId) -> Result<(Self, Footer), ReadError> {
        let io = |error| ReadError::Io { path: path.to_owned(), error };
        let corrupt = |offset, what| ReadError::Corrupt { path: path.to_owned(), offset, what };
        let file = disk.open(path).map_err(io)?;
        let file_len = file.len().map_err(io)?;
        if file_len < (HEADER_LEN + TRAILER_LEN) as u64 {
            return Err(corrupt(file_len, "the file ends too early"));
        }
        let mut header = [0; HEADER_LEN];
        read_exact_at(&*file, &mut header, 0).map_err(io)?;
        let header = SegmentHeader::decode(id, &header).ok_or(corrupt(0, "bad header"))?;
        let mut trailer = [0; TRAILER_LEN];
        let trailer_offset = file_len - TRAILER_LEN as u64;
        read_exact_at(&*file, &mut trailer, trailer_offset).map_err(io)?;
        let trailer = Trailer::decode(id, file_len, &trailer).ok_or(corrupt(trailer_offset, "bad trailer"))?;
        // The trailer's CRC was right, so the length is one that was written; it also fits the file.
        let mut footer = vec![0; trailer.footer_len as usize];
        read_exact_at(&*file, &mut footer, trailer.footer_offset).map_err(io)?;
        if crc32c::crc32c_append(id.0, &footer) != trailer.footer_crc {
            return Err(corrupt(trailer.footer_offset, "bad checksum of the footer"));
        }
        let footer = Footer::decode(footer, trailer.slot_count, trailer.footer_offset)
            .map_err(|_| corrupt(trailer.footer_offset, "malformed footer"))?;
        let index = Index::new(&footer, trailer.footer_offset);
        let level = header.level;
        Ok((SegmentFile { id, path: path.to_owned(), file, file_len, level, index }, footer))
    }

    /// The same, with an equal list of ranges that exists anyway.
    pub(crate) fn sharing(mut self, ranges: Arc<[SegmentRange]>) -> Self {
        self.index.share(ranges);
        self
    }

    pub(crate) fn id(&self) -> SegmentId {
        self.id
    }

    pub(crate) fn file_len(&self) -> u64 {
        self.file_len
    }

    pub(crate) fn level(&self) -> u8 {
        self.level
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    fn corrupt(&self, offset: u64, what: &'static str) -> ReadError {
        ReadError::Corrupt { path: self.path.clone(), offset, what }
    }
}

/// A message as it was read.
#[derive(Debug)]
pub(crate) struct ReadMessage<'a> {
    pub(crate) slot: u32,
    pub(crate) seq: QueueSeq,
    pub(crate) body_len: u32,
    pub(crate) content: &'a [u8],
    /// Tells messages with the same content.
    pub(crate) source: Source,
}

/// How far a reader reads on when it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadAhead {
    /// So far, but not beyond the slots that are asked for.
    Bytes(u64),
    /// As far as is good for the disk: what follows in the file will be asked for next.
    File,
}

/// Where to stop reading on.
#[derive(Debug, Clone, Copy)]
struct Bound {
    offset: u64,
    len_max: u64,
}

/// Reads messages, window by window. Keeps what it has read until it reads from another segment.
#[derive(Default)]
pub(crate) struct SlotReader {
    segment: Option<SegmentId>,
    window: Window,
    /// Contents that lie elsewhere in the file.
    shared: Window,
}

impl SlotReader {
    /// Gives the messages of the runs `(first, end)` of slots, in order, until `each` breaks or one cannot be read:
    /// then also which slot it was.
    pub(crate) fn read(
        &mut self,
        segment: &SegmentFile,
        runs: &[(u32, u32)],
        ahead: ReadAhead,
        each: &mut dyn FnMut(ReadMessage<'_>) -> ControlFlow<()>,
    ) -> Result<(), (u32, ReadError)> {
        let Some((_, end_slot)) = runs.last() else { return Ok(()) };
        if self.segment.replace(segment.id) != Some(segment.id) {
            self.window.forget();
            self.shared.forget();
        }
        let bound = match ahead {
            ReadAhead::Bytes(len_max) => Bound { offset: segment.index.offset_bound(*end_slot), len_max },
            ReadAhead::File => Bound { offset: segment.index.end(), len_max: WINDOW_LEN_MAX as u64 },
        };
        let mut at = None;
        for (mut first, end) in runs.iter().copied() {
            while first < end {
                // A run may go over the marks between ranges; the walk over slot headers may not.
                let no_slot = || (first, segment.corrupt(0, "the footer does not know a slot that is asked for"));
                let range = segment.index.range_of(first).ok_or_else(no_slot)?;
                let walk_end = end.min(range.end_slot());
                let (mut slot, mut offset) = start(&segment.index, first, at).ok_or_else(no_slot)?;
                while slot < walk_end {
                    let header = self.window.header(segment, offset, bound).map_err(|error| (slot, error))?;
                    if slot >= first {
                        let message =
                            self.message(segment, slot, &header, offset, bound).map_err(|error| (slot, error))?;
                        if each(message).is_break() {
                            return Ok(());
                        }
                    }
                    slot += 1;
                    offset += header.stored_len();
                }
                at = Some((slot, offset));
                first = walk_end;
            }
        }
        Ok(())
    }

    /// Where to begin reading, in `[first, end)`, to come to the first message with this seq or a later one: not more than some slots
    /// before it. Seqs rise in these slots.
    pub(crate) fn seek(
        &mut self,
        segment: &SegmentFile,
        (first, end): (u32, u32),
        seq: QueueSeq,
    ) -> Result<u32, ReadError> {
        if self.segment.replace(segment.id) != Some(segment.id) {
            self.window.forget();
            self.shared.forget();
        }
        let bound = Bound { offset: segment.index.end(), len_max: SLOT_LEN as u64 };
        // Slots whose offsets are known, by number.
        let (mut low, mut high) = (first / ANCHOR_SLOTS + 1, end.div_ceil(ANCHOR_SLOTS));
        while low < high {
            let middle = low + (high - low) / 2;
            let no_slot = || segment.corrupt(0, "the footer does not know a slot that is asked for");
            let (_, offset) = segment.index.anchor(middle * ANCHOR_SLOTS).ok_or_else(no_slot)?;
            if self.window.header(segment, offset, bound)?.seq <= seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(((low - 1) * ANCHOR_SLOTS).max(first))
    }

    /// The message of a slot whose offset the footer says.
    pub(crate) fn read_at(&mut self, segment: &SegmentFile, slot: Slot) -> Result<ReadMessage<'_>, ReadError> {
        if self.segment.replace(segment.id) != Some(segment.id) {
            self.window.forget();
            self.shared.forget();
        }
        let Slot { slot, offset, .. } = slot;
        let bound = Bound { offset: segment.index.end(), len_max: READ_AT_LEN };
        let header = self.window.header(segment, offset, bound)?;
        self.message(segment, slot, &header, offset, bound)
    }

    fn message<'a>(
        &'a mut self,
        segment: &SegmentFile,
        slot: u32,
        header: &SlotHeader,
        offset: u64,
        bound: Bound,
    ) -> Result<ReadMessage<'a>, ReadError> {
        let checked = self.window.slot(segment, offset, header.stored_len(), bound)?;
        let (slot_offset, content) = match header.stored {
            Stored::Inline => (offset, &checked[SLOT_LEN..]),
            Stored::Shared { slot_offset } => {
                let len = SLOT_LEN as u64 + u64::from(header.content_len);
                if slot_offset >= offset {
                    return Err(segment.corrupt(offset, "a shared content that lies behind its use"));
                }
                let bound = Bound { offset, ..bound };
                let stored = self.shared.slot(segment, slot_offset, len, bound)?;
                if is_shared(stored) {
                    return Err(segment.corrupt(slot_offset, "a shared content that is itself shared"));
                }
                (slot_offset, &stored[SLOT_LEN..])
            }
        };
        let source = Source::Slot { segment: segment.id, slot_offset };
        Ok(ReadMessage { slot, seq: header.seq, body_len: header.body_len, content, source })
    }
}

/// Where to start walking for `slot`: behind the last slot walked, or at an anchor if that is closer.
fn start(index: &Index, slot: u32, at: Option<(u32, u64)>) -> Option<(u32, u64)> {
    let anchor = index.anchor(slot)?;
    let range = index.range_of(slot)?;
    let is_near = |at: &(u32, u64)| at.0 > anchor.0 && at.0 <= slot && range.contains_slot(at.0);
    Some(at.filter(is_near).unwrap_or(anchor))
}

fn is_shared(slot: &[u8]) -> bool {
    slot.get(7).is_some_and(|byte| byte & 0x80 != 0)
}

/// A piece of the file in memory.
#[derive(Default)]
struct Window {
    /// Only its first `len` bytes are what was read.
    buffer: Vec<u8>,
    len: usize,
    start: u64,
}

impl Window {
    fn forget(&mut self) {
        if self.buffer.capacity() > 4 * WINDOW_LEN_MAX {
            self.buffer = Vec::new();
        }
        self.len = 0;
    }

    /// The bytes `[offset, offset + len)`; reads on towards `bound` if they are not here yet.
    fn get(&mut self, segment: &SegmentFile, offset: u64, len: u64, bound: Bound) -> Result<&[u8], ReadError> {
        let end = offset.checked_add(len).filter(|end| *end <= segment.file_len);
        let end = end.ok_or_else(|| segment.corrupt(offset, "a slot that goes beyond the end of the file"))?;
        if offset < self.start || end > self.start + self.len as u64 {
            let ahead = bound.offset.saturating_sub(offset).min(bound.len_max).min(WINDOW_LEN_MAX as u64);
            let read_len = len.max(ahead).min(segment.file_len - offset);
            // What was read before is overwritten: making it zero first would cost as much as reading it.
            if self.buffer.len() < read_len as usize {
                self.buffer.resize(read_len as usize, 0);
            }
            (self.start, self.len) = (offset, 0);
            read_exact_at(&*segment.file, &mut self.buffer[..read_len as usize], offset)
                .map_err(|error| ReadError::Io { path: segment.path.clone(), error })?;
            self.len = read_len as usize;
        }
        let from = (offset - self.start) as usize;
        Ok(&self.buffer[from..from + len as usize])
    }

    /// The header at `offset`, unchecked but for its length: enough to step over a slot.
    fn header(&mut self, segment: &SegmentFile, offset: u64, bound: Bound) -> Result<SlotHeader, ReadError> {
        let bytes = self.get(segment, offset, SLOT_LEN as u64 + 8, bound)?;
        SlotHeader::peek(bytes).ok_or_else(|| segment.corrupt(offset, "a slot expected, found none"))
    }

    /// A whole slot, its CRC checked.
    fn slot(&mut self, segment: &SegmentFile, offset: u64, len: u64, bound: Bound) -> Result<&[u8], ReadError> {
        let bytes = self.get(segment, offset, len, bound)?;
        match Entry::decode(segment.id, bytes) {
            Ok(Entry::Slot(_)) => Ok(bytes),
            Ok(Entry::Mark(_)) => Err(segment.corrupt(offset, "a slot expected, found the mark of a range")),
            Err(EntryError::Checksum) => Err(segment.corrupt(offset, "bad checksum of a message")),
            Err(EntryError::Short(_)) => Err(segment.corrupt(offset, "a message of another length")),
        }
    }
}
