//! Reading a segment: its footer once, its messages in large sequential reads, dead ones skipped.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::ids::{QueueSeq, SegmentId};
use thiserror::Error;

use super::footer::{Footer, SegmentRange};
use super::header::{
    ContentPlace, EntryError, HEADER_LEN, SLOT_LEN, SegmentEntry, SegmentHeader, SlotHeader, TRAILER_LEN, Trailer,
};
use super::index::{ANCHOR_SLOTS, Index};
use super::salvage;
use super::write::Source;
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
    pub(crate) fn is_permanent(&self) -> bool {
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

    pub(crate) fn is_io(&self) -> bool {
        matches!(self, ReadError::Io { .. })
    }

    /// Whether the disk may say otherwise when it is asked again. A missing file stays missing.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, ReadError::Io { error, .. } if error.kind() != io::ErrorKind::NotFound)
    }

    /// A file that ends where something should be is not what was written.
    fn of_read(path: &Path, offset: u64, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::UnexpectedEof => ReadError::Corrupt { path, offset, what: "the file ends too early" },
            _ => ReadError::Io { path, error },
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
    flaw: Option<Flaw>,
}

/// What is wrong with a segment that is read all the same.
#[derive(Debug)]
pub(crate) struct Flaw {
    pub(crate) error: ReadError,
    /// Slots were found by walking over them, as far as that was possible.
    pub(crate) has_footer: bool,
}

impl SegmentFile {
    /// Opens a segment and reads its footer.
    pub(crate) fn open(disk: &dyn Disk, path: &Path, id: SegmentId) -> Result<(Self, Footer), ReadError> {
        let (file, file_len) = open_file(disk, path)?;
        let header = read_header(&*file, path, id, file_len)?;
        let (footer, footer_offset) = read_footer(&*file, path, id, file_len)?;
        let index = Index::new(&footer, footer_offset);
        let level = header.level;
        Ok((SegmentFile { id, path: path.to_owned(), file, file_len, level, index, flaw: None }, footer))
    }

    /// Opens a segment that [`SegmentFile::open`] refused with `error`, to read from it what can be found: its slots lie where
    /// the footer says, or else where walking over `ranges` finds them.
    pub(crate) fn salvage(
        disk: &dyn Disk,
        path: &Path,
        id: SegmentId,
        ranges: &Arc<[SegmentRange]>,
        error: ReadError,
    ) -> Result<(Self, Option<Footer>), ReadError> {
        let (file, file_len) = open_file(disk, path)?;
        let footer = read_footer(&*file, path, id, file_len).ok().filter(|(footer, _)| footer.ranges() == &**ranges);
        let (index, footer) = match footer {
            Some((footer, footer_offset)) => (Index::new(&footer, footer_offset), Some(footer)),
            None => {
                let anchors = salvage::find_anchors(&*file, file_len, id, ranges);
                let end = ranges.last().map_or(0, |range| range.offset.saturating_add(range.stored_len)).min(file_len);
                (Index::salvaged(ranges.clone(), anchors, end), None)
            }
        };
        let flaw = Some(Flaw { error, has_footer: footer.is_some() });
        Ok((SegmentFile { id, path: path.to_owned(), file, file_len, level: 0, index, flaw }, footer))
    }

    /// The same, with an equal list of ranges that exists anyway.
    pub(crate) fn sharing(mut self, ranges: Arc<[SegmentRange]>) -> Self {
        self.index.share(ranges);
        self
    }

    pub(crate) fn flaw(&self) -> Option<&Flaw> {
        self.flaw.as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
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

fn open_file(disk: &dyn Disk, path: &Path) -> Result<(Box<dyn File>, u64), ReadError> {
    let io = |error| ReadError::Io { path: path.to_owned(), error };
    let file = disk.open(path).map_err(io)?;
    let file_len = file.len().map_err(io)?;
    Ok((file, file_len))
}

fn read_header(file: &dyn File, path: &Path, id: SegmentId, file_len: u64) -> Result<SegmentHeader, ReadError> {
    let corrupt = |offset, what| ReadError::Corrupt { path: path.to_owned(), offset, what };
    if file_len < (HEADER_LEN + TRAILER_LEN) as u64 {
        return Err(corrupt(file_len, "the file ends too early"));
    }
    let mut header = [0; HEADER_LEN];
    read_exact_at(file, &mut header, 0).map_err(|error| ReadError::of_read(path, 0, error))?;
    SegmentHeader::decode(id, &header).ok_or(corrupt(0, "bad header"))
}

/// The footer and its offset.
fn read_footer(file: &dyn File, path: &Path, id: SegmentId, file_len: u64) -> Result<(Footer, u64), ReadError> {
    let corrupt = |offset, what| ReadError::Corrupt { path: path.to_owned(), offset, what };
    let read = |buffer: &mut [u8], offset| {
        read_exact_at(file, buffer, offset).map_err(|error| ReadError::of_read(path, offset, error))
    };
    let mut trailer = [0; TRAILER_LEN];
    let too_short = || corrupt(file_len, "the file ends too early");
    let trailer_offset = file_len.checked_sub(TRAILER_LEN as u64).ok_or_else(too_short)?;
    read(&mut trailer, trailer_offset)?;
    let trailer = Trailer::decode(id, file_len, &trailer).ok_or(corrupt(trailer_offset, "bad trailer"))?;
    // The trailer's CRC was right, so the length is one that was written; it also fits the file.
    let mut footer = vec![0; trailer.footer_len as usize];
    read(&mut footer, trailer.footer_offset)?;
    if crc32c::crc32c_append(id.0, &footer) != trailer.footer_crc {
        return Err(corrupt(trailer.footer_offset, "bad checksum of the footer"));
    }
    let footer = Footer::decode(footer, trailer.slot_count, trailer.footer_offset)
        .map_err(|_| corrupt(trailer.footer_offset, "malformed footer"))?;
    Ok((footer, trailer.footer_offset))
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

    /// The message of a slot whose offset is known.
    pub(crate) fn read_at(
        &mut self,
        segment: &SegmentFile,
        slot: u32,
        offset: u64,
    ) -> Result<ReadMessage<'_>, ReadError> {
        if self.segment.replace(segment.id) != Some(segment.id) {
            self.window.forget();
            self.shared.forget();
        }
        let bound = Bound { offset: segment.index.end(), len_max: READ_AT_LEN };
        // What fails may lie behind the message.
        let bound = match self.message_at(segment, slot, offset, bound) {
            Err(error) if error.is_io() && error.is_permanent() => Bound { len_max: 0, ..bound },
            _ => bound,
        };
        self.message_at(segment, slot, offset, bound)
    }

    /// The first slot behind this one whose offset is known and where a message can be read; `end` if there is none before.
    pub(crate) fn next_readable(&mut self, segment: &SegmentFile, after: u32, end: u32) -> u32 {
        let mut at = after;
        loop {
            match segment.index.anchor_after(at) {
                Some((slot, _)) if slot >= end => return end,
                Some((slot, offset)) if self.read_at(segment, slot, offset).is_ok() => return slot,
                Some((slot, _)) => at = slot,
                None => return end,
            }
        }
    }

    /// The same as [`SlotReader::read_at`]. What the disk does not read at first it is asked for again, at once.
    pub(crate) fn read_again_at(
        &mut self,
        segment: &SegmentFile,
        slot: u32,
        offset: u64,
        attempt_count: u32,
    ) -> Result<ReadMessage<'_>, ReadError> {
        for _ in 1..attempt_count {
            match self.read_at(segment, slot, offset) {
                Err(error) if error.is_io() && error.is_permanent() => {}
                _ => break,
            }
        }
        self.read_at(segment, slot, offset)
    }

    fn message_at(
        &mut self,
        segment: &SegmentFile,
        slot: u32,
        offset: u64,
        bound: Bound,
    ) -> Result<ReadMessage<'_>, ReadError> {
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
            ContentPlace::Inline => (offset, &checked[SLOT_LEN..]),
            ContentPlace::Shared { slot_offset } => {
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
                .map_err(|error| ReadError::of_read(&segment.path, offset, error))?;
            self.len = read_len as usize;
        }
        let from = (offset - self.start) as usize;
        Ok(&self.buffer[from..from + len as usize])
    }

    /// The header at `offset`, unchecked but for its length: enough to step over a slot.
    fn header(&mut self, segment: &SegmentFile, offset: u64, bound: Bound) -> Result<SlotHeader, ReadError> {
        // A slot without content may be the last thing that is left of a file.
        let len = (SLOT_LEN as u64 + 8).min(segment.file_len.saturating_sub(offset)).max(SLOT_LEN as u64);
        let bytes = self.get(segment, offset, len, bound)?;
        SlotHeader::peek(bytes).ok_or_else(|| segment.corrupt(offset, "a slot expected, found none"))
    }

    /// A whole slot, its CRC checked.
    fn slot(&mut self, segment: &SegmentFile, offset: u64, len: u64, bound: Bound) -> Result<&[u8], ReadError> {
        let bytes = self.get(segment, offset, len, bound)?;
        match SegmentEntry::decode(segment.id, bytes) {
            Ok(SegmentEntry::Slot(_)) => Ok(bytes),
            Ok(SegmentEntry::Mark(_)) => Err(segment.corrupt(offset, "a slot expected, found the mark of a range")),
            Err(EntryError::Checksum) => Err(segment.corrupt(offset, "bad checksum of a message")),
            Err(EntryError::Short(_)) => Err(segment.corrupt(offset, "a message of another length")),
        }
    }
}
