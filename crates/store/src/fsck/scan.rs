//! Reads a whole segment and returns which of its messages are good. With a footer it knows where each should be; without one it reads slot
//! by slot, and where it loses the thread, continues at the next range's mark.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use model::ids::{QueueId, QueueSeq, SegmentId};

use crate::bitmap::Bitmap;
use crate::checkpoint::SegmentState;
use crate::file::{Disk, File, read_exact_at};
use crate::segment::{
    ContentPlace, Footer, HEADER_LEN, MARK_LEN, RangeMark, ReadError, SLOT_LEN, SegmentEntry, SegmentFile,
    SegmentRange, SlotHeader, TRAILER_LEN,
};

/// How many problems of one file are reported one by one.
const PROBLEM_COUNT_MAX: usize = 20;
/// What is read at a time when looking for something.
const WINDOW_LEN: usize = 1 << 20;

/// A good message.
#[derive(Debug, Clone, Copy)]
pub(super) struct GoodSlot {
    /// Its number in the file; `None`: what came before it is too damaged to count.
    pub(super) slot: Option<u32>,
    pub(super) header: SlotHeader,
    pub(super) offset: u64,
}

/// Good messages of one queue and lane, by rising seq.
#[derive(Debug)]
pub(super) struct GoodRange {
    pub(super) queue: QueueId,
    pub(super) lane: u8,
    pub(super) slots: Vec<GoodSlot>,
}

/// What is in a segment.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) id: SegmentId,
    /// Level, length and footer of a segment that could be opened.
    opened: Option<(u8, u64, Vec<SegmentRange>)>,
    pub(super) ranges: Vec<GoodRange>,
    /// What is wrong, in words; nothing if all is well.
    pub(super) problems: Vec<String>,
    /// How many messages of which queues are damaged and were not settled, as far as is known.
    pub(super) lost: LostCounts,
}

/// How many messages of which queues are lost.
pub(super) type LostCounts = BTreeMap<QueueId, u64>;

/// How many messages of which queues a segment should hold that are not settled.
pub(super) fn unsettled(state: &SegmentState) -> LostCounts {
    let mut counts = LostCounts::new();
    for range in &state.ranges {
        let settled = state.settled.count(range.first_slot, range.end_slot());
        *counts.entry(range.queue).or_default() += u64::from(range.count - settled);
    }
    counts.retain(|_, count| *count > 0);
    counts
}

/// In words.
pub(super) fn describe(lost: &LostCounts) -> Vec<String> {
    let mut lines: Vec<String> = lost
        .iter()
        .take(PROBLEM_COUNT_MAX)
        .map(|(queue, count)| format!("{count} messages of queue {queue} are lost"))
        .collect();
    if lost.len() > PROBLEM_COUNT_MAX {
        lines.push(format!("and those of {} more queues", lost.len() - PROBLEM_COUNT_MAX));
    }
    lines
}

impl Scan {
    pub(super) fn message_count(&self) -> usize {
        self.ranges.iter().map(|range| range.slots.len()).sum()
    }

    /// Whether this is the segment that a checkpoint means.
    pub(super) fn is_of(&self, state: &SegmentState) -> bool {
        let opened = self.opened.as_ref();
        opened.is_some_and(|(_, file_len, ranges)| *file_len == state.file_len && *ranges == state.ranges)
    }

    /// What a checkpoint would say of it if nothing had been settled. For a segment without problems.
    pub(super) fn unsettled(self) -> SegmentState {
        let (level, file_len, ranges) = self.opened.unwrap_or_default();
        let settled = Bitmap::new(ranges.last().map_or(0, SegmentRange::end_slot));
        SegmentState { id: self.id, level, file_len, ranges, settled }
    }

    fn problem(&mut self, text: String) {
        match self.problems.len() {
            0..PROBLEM_COUNT_MAX => self.problems.push(text),
            PROBLEM_COUNT_MAX => self.problems.push("and more".to_owned()),
            _ => {}
        }
    }
}

/// Reads a segment. Only a disk that does not answer is an error.
pub(super) fn scan(disk: &dyn Disk, path: &Path, id: SegmentId, state: Option<&SegmentState>) -> io::Result<Scan> {
    let mut scan = Scan { id, opened: None, ranges: Vec::new(), problems: Vec::new(), lost: LostCounts::new() };
    let file = disk.open(path)?;
    match SegmentFile::open(disk, path, id) {
        Ok((segment, footer)) => {
            scan.opened = Some((segment.level(), segment.file_len(), footer.ranges().to_vec()));
            let is_other = state.is_some_and(|state| state.ranges != footer.ranges());
            if is_other {
                scan.problem("it is not the segment that the checkpoint names".to_owned());
            }
            let settled = state.filter(|_| !is_other).map(|state| &state.settled);
            let is_settled = |slot| settled.is_some_and(|settled| settled.is_set(slot));
            scan_known(&*file, id, &footer, &is_settled, &mut scan)?;
        }
        Err(ReadError::Io { error, .. }) => return Err(error),
        Err(ReadError::Corrupt { offset, what, .. }) => {
            scan.problem(format!("{what} at byte {offset}; its messages were searched individually"));
            scan_unknown(&*file, id, &mut scan)?;
            drop_dangling(&*file, id, state, &mut scan)?;
            if let Some(state) = state {
                scan.lost = unsettled(state);
                for GoodRange { queue, lane, slots } in &scan.ranges {
                    let is_found =
                        |good: &&GoodSlot| settlement(state, *queue, *lane, good.slot, good.header.seq) == Some(false);
                    let found_count = slots.iter().filter(is_found).count() as u64;
                    scan.lost.entry(*queue).and_modify(|lost| *lost = lost.saturating_sub(found_count));
                }
            }
            scan.lost.retain(|_, count| *count > 0);
            return Ok(scan);
        }
    }
    drop_dangling(&*file, id, state, &mut scan)?;
    scan.lost.retain(|_, count| *count > 0);
    Ok(scan)
}

/// Checks each slot where the footer says that it is.
fn scan_known(
    file: &dyn File,
    id: SegmentId,
    footer: &Footer,
    is_settled: &dyn Fn(u32) -> bool,
    scan: &mut Scan,
) -> io::Result<()> {
    let mut window = Window::new(file)?;
    for (index, range) in footer.ranges().iter().enumerate() {
        let (queue, lane) = (range.queue, range.lane);
        let mark = RangeMark { queue, lane, first_slot: range.first_slot };
        if window.entry(id, range.offset - MARK_LEN as u64)? != Some(SegmentEntry::Mark(mark)) {
            scan.problem(format!(
                "the mark before queue {queue} is damaged, at byte {}",
                range.offset - MARK_LEN as u64
            ));
        }
        let mut good = GoodRange { queue, lane, slots: Vec::new() };
        for slot in footer.slots(index) {
            let entry = window.entry(id, slot.offset)?;
            let header = match entry {
                Some(SegmentEntry::Slot(header))
                    if header.seq == slot.seq && header.stored_len() == slot.stored_len =>
                {
                    header
                }
                _ => {
                    let settled = if is_settled(slot.slot) { ", which was settled" } else { "" };
                    *scan.lost.entry(queue).or_default() += u64::from(settled.is_empty());
                    scan.problem(format!(
                        "message {} of queue {queue}{settled} is damaged, at byte {}",
                        slot.seq, slot.offset
                    ));
                    continue;
                }
            };
            good.slots.push(GoodSlot { slot: Some(slot.slot), header, offset: slot.offset });
        }
        scan.ranges.push(good);
    }
    Ok(())
}

/// Finds slots without a footer.
fn scan_unknown(file: &dyn File, id: SegmentId, scan: &mut Scan) -> io::Result<()> {
    let mut window = Window::new(file)?;
    let mut offset = HEADER_LEN as u64;
    let mut next_slot = None;
    let end = window.len.saturating_sub(TRAILER_LEN as u64);
    while offset < end {
        match window.entry(id, offset)? {
            Some(SegmentEntry::Mark(mark)) => {
                scan.ranges.push(GoodRange { queue: mark.queue, lane: mark.lane, slots: Vec::new() });
                next_slot = Some(mark.first_slot);
                offset += MARK_LEN as u64;
            }
            Some(SegmentEntry::Slot(header)) => {
                if let Some(range) = scan.ranges.last_mut() {
                    let is_rising = range.slots.last().is_none_or(|last| last.header.seq < header.seq);
                    if is_rising {
                        range.slots.push(GoodSlot { slot: next_slot, header, offset });
                    }
                }
                next_slot = next_slot.and_then(|slot| slot.checked_add(1));
                offset += header.stored_len();
            }
            None => {
                // The content may be damaged and the lengths right; else only a mark shows where something begins.
                let skipped = window.peek(offset)?.map(|header| offset.saturating_add(header.stored_len()));
                let follows = match skipped.filter(|next| *next < end) {
                    Some(next) => window.entry(id, next)?.map(|_| next),
                    None => None,
                };
                if let Some(next) = follows {
                    scan.problem(format!("something is damaged at byte {offset}"));
                    next_slot = next_slot.and_then(|slot| slot.checked_add(1));
                    offset = next;
                    continue;
                }
                let Some(next) = window.find_mark(id, offset + 1)? else { break };
                scan.problem(format!("bytes {offset} to {next} are damaged"));
                offset = next;
            }
        }
    }
    scan.ranges.retain(|range| !range.slots.is_empty());
    Ok(())
}

/// Takes out shared slots whose content is not good.
fn drop_dangling(file: &dyn File, id: SegmentId, state: Option<&SegmentState>, scan: &mut Scan) -> io::Result<()> {
    let mut window = Window::new(file)?;
    let mut dangling = Vec::new();
    for range in &mut scan.ranges {
        let mut kept = Vec::with_capacity(range.slots.len());
        for slot in std::mem::take(&mut range.slots) {
            let is_good = match slot.header.stored {
                ContentPlace::Inline => true,
                ContentPlace::Shared { slot_offset } => matches!(
                    window.entry(id, slot_offset)?,
                    Some(SegmentEntry::Slot(SlotHeader { stored: ContentPlace::Inline, content_len, .. }))
                        if content_len == slot.header.content_len && slot_offset < slot.offset
                ),
            };
            if is_good {
                kept.push(slot);
            } else {
                let is_settled =
                    state.is_some_and(|state| is_settled(state, range.queue, range.lane, slot.slot, slot.header.seq));
                *scan.lost.entry(range.queue).or_default() += u64::from(!is_settled);
                dangling.push((range.queue, slot.header.seq, slot.offset));
            }
        }
        range.slots = kept;
    }
    for (queue, seq, offset) in dangling {
        scan.problem(format!("the content of message {seq} of queue {queue} is damaged, named at byte {offset}"));
    }
    Ok(())
}

/// A file, read in large pieces, in no particular order.
pub(super) struct Window<'a> {
    file: &'a dyn File,
    len: u64,
    start: u64,
    buffer: Vec<u8>,
}

impl<'a> Window<'a> {
    pub(super) fn new(file: &'a dyn File) -> io::Result<Self> {
        Ok(Window { file, len: file.len()?, start: 0, buffer: Vec::new() })
    }

    /// The bytes from `offset` on, `len` of them or as many as there are.
    pub(super) fn get(&mut self, offset: u64, len: usize) -> io::Result<&[u8]> {
        let len = (len as u64).min(self.len.saturating_sub(offset)) as usize;
        let is_here = offset >= self.start && offset + len as u64 <= self.start + self.buffer.len() as u64;
        if !is_here {
            let read_len = (len.max(WINDOW_LEN) as u64).min(self.len.saturating_sub(offset)) as usize;
            self.buffer.resize(read_len, 0);
            read_exact_at(self.file, &mut self.buffer, offset)?;
            self.start = offset;
        }
        let from = (offset - self.start) as usize;
        Ok(self.buffer.get(from..from + len).unwrap_or(&[]))
    }

    fn peek(&mut self, offset: u64) -> io::Result<Option<SlotHeader>> {
        Ok(SlotHeader::peek(self.get(offset, SLOT_LEN + 8)?))
    }

    /// The entry at an offset, if it is whole.
    fn entry(&mut self, id: SegmentId, offset: u64) -> io::Result<Option<SegmentEntry>> {
        let len = match self.peek(offset)? {
            Some(header) => header.stored_len().max(MARK_LEN as u64),
            None => MARK_LEN as u64,
        };
        if len > self.len.saturating_sub(offset) {
            return Ok(None);
        }
        Ok(SegmentEntry::decode(id, self.get(offset, len as usize)?).ok())
    }

    /// The first whole mark at or behind an offset.
    fn find_mark(&mut self, id: SegmentId, from: u64) -> io::Result<Option<u64>> {
        let mut offset = from;
        while offset + MARK_LEN as u64 <= self.len {
            let bytes = self.get(offset, WINDOW_LEN / 2)?;
            let found = bytes.windows(4).position(|tag| tag == [0xff; 4]);
            match found {
                None => offset += (bytes.len() - 3) as u64,
                Some(at) => {
                    let at = offset + at as u64;
                    let candidate = at.checked_sub(4).filter(|candidate| *candidate >= from);
                    if let Some(candidate) = candidate
                        && let Some(SegmentEntry::Mark(_)) = self.entry(id, candidate)?
                    {
                        return Ok(Some(candidate));
                    }
                    offset = at + 1;
                }
            }
        }
        Ok(None)
    }
}

/// The content of a good slot.
pub(super) fn content(window: &mut Window<'_>, slot: &GoodSlot) -> io::Result<Vec<u8>> {
    let at = match slot.header.stored {
        ContentPlace::Inline => slot.offset,
        ContentPlace::Shared { slot_offset } => slot_offset,
    };
    Ok(window.get(at + SLOT_LEN as u64, slot.header.content_len as usize)?.to_vec())
}

/// Whether the checkpoint says that a message is settled.
pub(super) fn is_settled(state: &SegmentState, queue: QueueId, lane: u8, slot: Option<u32>, seq: QueueSeq) -> bool {
    settlement(state, queue, lane, slot, seq).unwrap_or(false)
}

/// Whether the checkpoint says that a message is settled; `None`: which one it is cannot be known.
fn settlement(state: &SegmentState, queue: QueueId, lane: u8, slot: Option<u32>, seq: QueueSeq) -> Option<bool> {
    if let Some(slot) = slot {
        return Some(state.settled.is_set(slot));
    }
    let of_lane = state
        .ranges
        .iter()
        .find(|range| (range.queue, range.lane) == (queue, lane) && (range.first_seq..=range.last_seq).contains(&seq));
    // Without holes the seq gives the slot; with holes nothing does: rather twice than never.
    of_lane
        .filter(|range| range.is_contiguous())
        .map(|range| state.settled.is_set(range.first_slot + (seq.0 - range.first_seq.0) as u32))
}
