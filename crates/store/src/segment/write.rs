//! Writing a segment: one pass from front to back, in large writes.

use std::collections::HashMap;
use std::io::{self, IoSlice};

use model::ids::{QueueId, QueueSeq, SegmentId};

use super::footer::{FooterBuilder, SegmentRange};
use super::header::{ContentPlace, RangeMark, SegmentHeader, SlotHeader, Trailer};
use super::limits::{SHARED_LEN_MIN, SLOT_COUNT_MAX};
use crate::file::{File, write_all_at, write_all_vectored_at};

/// What is gathered before it is written.
const BUFFER_LEN: usize = 1 << 20;
/// Contents from this length on are written from where they lie.
const DIRECT_LEN_MIN: usize = 1 << 18;

/// Equal for two messages that have the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// It begins at an offset in the chunk with this number.
    Chunk { number: u64, offset: u32 },
    /// It lies in the slot at an offset of another segment.
    Slot { segment: SegmentId, slot_offset: u64 },
}

/// A segment that is being written.
pub(crate) struct SegmentWriter {
    id: SegmentId,
    level: u8,
    file: Box<dyn File>,
    buffer: Vec<u8>,
    /// What of the file is written; the buffer comes behind.
    written: u64,
    slot_count: u32,
    footer: FooterBuilder,
    /// Whose messages follow; its mark is written before the first one.
    next_range: Option<(QueueId, u8)>,
    /// Contents from this length on are stored once.
    shared_len_min: u32,
    /// Where they lie, for the next queue that has one of them.
    slot_offsets: HashMap<Source, u64>,
}

/// A finished segment.
#[derive(Debug)]
pub(crate) struct WrittenSegment {
    pub(crate) id: SegmentId,
    pub(crate) level: u8,
    pub(crate) file_len: u64,
    pub(crate) slot_count: u32,
    pub(crate) ranges: Vec<SegmentRange>,
}

impl SegmentWriter {
    pub(crate) fn new(id: SegmentId, level: u8, file: Box<dyn File>) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_LEN + BUFFER_LEN / 2);
        buffer.extend_from_slice(&SegmentHeader { id, level }.encode());
        SegmentWriter {
            id,
            level,
            file,
            buffer,
            written: 0,
            slot_count: 0,
            footer: FooterBuilder::default(),
            next_range: None,
            shared_len_min: SHARED_LEN_MIN,
            slot_offsets: HashMap::new(),
        }
    }

    /// Stores contents once from another length on than usual.
    pub(crate) fn sharing_from(mut self, len: u32) -> Self {
        self.shared_len_min = len;
        self
    }

    pub(crate) fn id(&self) -> SegmentId {
        self.id
    }

    /// Bytes so far, without the footer.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    pub(crate) fn slot_count(&self) -> u32 {
        self.slot_count
    }

    /// No further message should be written to this segment.
    pub(crate) fn is_full(&self, len_max: u64) -> bool {
        self.len() >= len_max || self.slot_count >= SLOT_COUNT_MAX
    }

    /// What follows belongs to this queue and lane, with rising seqs.
    pub(crate) fn start_range(&mut self, queue: QueueId, lane: u8) {
        self.next_range = Some((queue, lane));
    }

    fn write_mark(&mut self) {
        let Some((queue, lane)) = self.next_range.take() else { return };
        let mark = RangeMark { queue, lane, first_slot: self.slot_count };
        self.buffer.extend_from_slice(&mark.encode(self.id));
        self.footer.start_range(queue, lane, self.slot_count, self.len());
    }

    /// Whether this content is in the segment already, so that [`SegmentWriter::push_again`] will do.
    pub(crate) fn has(&self, source: Source) -> bool {
        self.slot_offsets.contains_key(&source)
    }

    /// Appends a message and returns its slot.
    pub(crate) fn push(&mut self, seq: QueueSeq, body_len: u32, content: &[u8], source: Source) -> io::Result<u32> {
        let content_len = u32::try_from(content.len()).expect("the limits of messages lie far below 4 GiB");
        self.write_mark();
        if content_len >= self.shared_len_min {
            if self.has(source) {
                return self.push_again(seq, body_len, content_len, source);
            }
            self.slot_offsets.insert(source, self.len());
        }
        let header = SlotHeader { seq, content_len, body_len, stored: ContentPlace::Inline };
        header.encode(self.id, content, &mut self.buffer);
        if content.len() >= DIRECT_LEN_MIN {
            let mut slices = [IoSlice::new(&self.buffer), IoSlice::new(content)];
            write_all_vectored_at(&*self.file, &mut slices, self.written)?;
            self.written += (self.buffer.len() + content.len()) as u64;
            self.buffer.clear();
        } else {
            self.buffer.extend_from_slice(content);
        }
        self.push_slot(&header)
    }

    /// Appends a message whose content is in the segment already.
    pub(crate) fn push_again(
        &mut self,
        seq: QueueSeq,
        body_len: u32,
        content_len: u32,
        source: Source,
    ) -> io::Result<u32> {
        let slot_offset = *self.slot_offsets.get(&source).expect("the caller asked whether the content is here");
        self.write_mark();
        let header = SlotHeader { seq, content_len, body_len, stored: ContentPlace::Shared { slot_offset } };
        header.encode(self.id, &[], &mut self.buffer);
        self.push_slot(&header)
    }

    fn push_slot(&mut self, header: &SlotHeader) -> io::Result<u32> {
        self.footer.push(header.seq, header.stored_len(), header.body_len);
        let slot = self.slot_count;
        self.slot_count += 1;
        if self.buffer.len() >= BUFFER_LEN {
            self.flush()?;
        }
        Ok(slot)
    }

    fn flush(&mut self) -> io::Result<()> {
        write_all_at(&*self.file, &self.buffer, self.written)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes footer and trailer; `is_synced` also waits until all of it is on disk. The name is the caller's to sync.
    pub(crate) fn finish(mut self, is_synced: bool) -> io::Result<WrittenSegment> {
        let (footer, ranges) = std::mem::take(&mut self.footer).finish();
        let trailer = Trailer {
            footer_offset: self.len(),
            footer_len: u32::try_from(footer.len()).expect("a footer has a few bytes a slot"),
            slot_count: self.slot_count,
            footer_crc: crc32c::crc32c_append(self.id.0, &footer),
        };
        self.buffer.extend_from_slice(&footer);
        self.buffer.extend_from_slice(&trailer.encode(self.id));
        self.flush()?;
        if self.file.len()? > self.written {
            self.file.truncate(self.written)?; // it was preallocated
        }
        if is_synced {
            self.file.fdatasync()?;
        }
        let (id, level, file_len, slot_count) = (self.id, self.level, self.written, self.slot_count);
        Ok(WrittenSegment { id, level, file_len, slot_count, ranges })
    }
}
