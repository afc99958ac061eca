//! The footer: which queue's messages lie where. Recovery and reading need nothing else of a segment to find their way.
//!
//! ```text
//!  footer  | range_count | range | range | … | details | details | … |
//!  range   | queue | lane u8 | slot_count | stored_len | body_bytes | details_len |
//!  details | first_seq | run_len, gap | run_len, gap | … | run_len |  repeat, stored_len, body_len | … |
//!            seqs: run_len seqs, then gap that are missing            the slots' lengths
//! ```
//!
//! All are varints but for the lane. Ranges are in the order of their slots; slots and offsets are not stored because
//! they follow from the lengths. Seqs rise within a range. A queue and lane may have several ranges; when
//! segments were merged, the seqs of one may lie between those of another.

use model::ids::{QueueId, QueueSeq};

use super::header::{HEADER_LEN, MARK_LEN, SLOT_LEN};
use super::limits::SLOT_COUNT_MAX;
use crate::varint::{self, Malformed, Reader};

/// The messages of one queue and lane in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentRange {
    pub(crate) queue: QueueId,
    pub(crate) first_seq: QueueSeq,
    pub(crate) last_seq: QueueSeq,
    /// Where the first slot begins.
    pub(crate) offset: u64,
    /// From the first slot's start to the last one's end.
    pub(crate) stored_len: u64,
    pub(crate) body_bytes: u64,
    pub(crate) first_slot: u32,
    pub(crate) count: u32,
    pub(crate) lane: u8,
}

impl SegmentRange {
    pub(crate) fn end_slot(&self) -> u32 {
        self.first_slot + self.count
    }

    /// No seq between the first and the last is missing.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.last_seq.0 - self.first_seq.0 + 1 == u64::from(self.count)
    }

    pub(crate) fn contains_slot(&self, slot: u32) -> bool {
        (self.first_slot..self.end_slot()).contains(&slot)
    }
}

/// One message, as the footer knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) slot: u32,
    pub(crate) seq: QueueSeq,
    pub(crate) offset: u64,
    pub(crate) stored_len: u64,
    pub(crate) body_len: u32,
}

/// Collects what the footer says while the slots are written.
#[derive(Debug, Default)]
pub(super) struct FooterBuilder {
    ranges: Vec<SegmentRange>,
    details: Vec<u8>,
    details_lens: Vec<u64>,
    open: Option<OpenRange>,
}

#[derive(Debug)]
struct OpenRange {
    range: SegmentRange,
    seqs: Vec<u8>,
    seq_run_len: u64,
    lens: Vec<u8>,
    len_run: LenRun,
}

#[derive(Debug, Clone, Copy, Default)]
struct LenRun {
    repeat: u64,
    stored_len: u64,
    body_len: u32,
}

impl LenRun {
    fn encode(&self, out: &mut Vec<u8>) {
        varint::put(out, self.repeat);
        varint::put(out, self.stored_len);
        varint::put(out, u64::from(self.body_len));
    }
}

impl FooterBuilder {
    pub(super) fn start_range(&mut self, queue: QueueId, lane: u8, first_slot: u32, offset: u64) {
        self.end_range();
        let range = SegmentRange {
            queue,
            first_seq: QueueSeq(0),
            last_seq: QueueSeq(0),
            offset,
            stored_len: 0,
            body_bytes: 0,
            first_slot,
            count: 0,
            lane,
        };
        let len_run = LenRun::default();
        self.open = Some(OpenRange { range, seqs: Vec::new(), seq_run_len: 0, lens: Vec::new(), len_run });
    }

    pub(super) fn push(&mut self, seq: QueueSeq, stored_len: u64, body_len: u32) {
        let open = self.open.as_mut().expect("slots are pushed into a started range");
        let range = &mut open.range;
        if range.count == 0 {
            range.first_seq = seq;
            varint::put(&mut open.seqs, seq.0);
        } else {
            assert!(seq > range.last_seq, "seqs of queue {} fall from {} to {seq}", range.queue, range.last_seq);
            let gap = seq.0 - range.last_seq.0 - 1;
            if gap > 0 {
                varint::put(&mut open.seqs, open.seq_run_len);
                varint::put(&mut open.seqs, gap);
                open.seq_run_len = 0;
            }
        }
        open.seq_run_len += 1;
        range.last_seq = seq;
        range.count += 1;
        range.stored_len += stored_len;
        range.body_bytes += u64::from(body_len);
        if open.len_run.repeat > 0 && (open.len_run.stored_len, open.len_run.body_len) != (stored_len, body_len) {
            open.len_run.encode(&mut open.lens);
            open.len_run.repeat = 0;
        }
        open.len_run = LenRun { repeat: open.len_run.repeat + 1, stored_len, body_len };
    }

    fn end_range(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        assert!(open.range.count > 0, "a range is started for its first slot");
        varint::put(&mut open.seqs, open.seq_run_len);
        open.len_run.encode(&mut open.lens);
        self.details_lens.push((open.seqs.len() + open.lens.len()) as u64);
        self.details.append(&mut open.seqs);
        self.details.append(&mut open.lens);
        self.ranges.push(open.range);
    }

    /// The footer's bytes and the ranges in it.
    pub(super) fn finish(mut self) -> (Vec<u8>, Vec<SegmentRange>) {
        self.end_range();
        let mut out = Vec::with_capacity(self.details.len() + self.ranges.len() * 16 + 8);
        varint::put(&mut out, self.ranges.len() as u64);
        for (range, details_len) in self.ranges.iter().zip(&self.details_lens) {
            varint::put(&mut out, range.queue.0);
            out.push(range.lane);
            varint::put(&mut out, u64::from(range.count));
            varint::put(&mut out, range.stored_len);
            varint::put(&mut out, range.body_bytes);
            varint::put(&mut out, *details_len);
        }
        out.append(&mut self.details);
        (out, self.ranges)
    }
}

/// A footer that was read and found to be consistent in itself.
#[derive(Debug)]
pub(crate) struct Footer {
    bytes: Vec<u8>,
    ranges: Vec<SegmentRange>,
    /// Where each range's details begin and end in `bytes`.
    details: Vec<(usize, usize)>,
}

impl Footer {
    /// Checks every number: afterwards walking the slots cannot fail.
    pub(crate) fn decode(bytes: Vec<u8>, slot_count: u32, footer_offset: u64) -> Result<Self, Malformed> {
        let mut reader = Reader::new(&bytes);
        let range_count = reader.count(6)?;
        let mut ranges = Vec::with_capacity(range_count);
        let mut details_lens = Vec::with_capacity(range_count);
        let mut first_slot = 0u32;
        let mut end = HEADER_LEN as u64;
        for _ in 0..range_count {
            let queue = QueueId(reader.varint()?);
            let lane = reader.u8()?;
            let count = reader.varint_u32()?;
            let stored_len = reader.varint()?;
            let body_bytes = reader.varint()?;
            details_lens.push(usize::try_from(reader.varint()?).map_err(|_| Malformed)?);
            let offset = end + MARK_LEN as u64;
            end = offset.checked_add(stored_len).filter(|end| *end <= footer_offset).ok_or(Malformed)?;
            let (first_seq, last_seq) = (QueueSeq(0), QueueSeq(0));
            ranges.push(SegmentRange {
                queue,
                first_seq,
                last_seq,
                offset,
                stored_len,
                body_bytes,
                first_slot,
                count,
                lane,
            });
            first_slot = first_slot.checked_add(count).filter(|slots| *slots <= slot_count).ok_or(Malformed)?;
        }
        if first_slot != slot_count || end != footer_offset || slot_count > SLOT_COUNT_MAX {
            return Err(Malformed);
        }
        let mut details = Vec::with_capacity(range_count);
        for (range, details_len) in ranges.iter_mut().zip(details_lens) {
            let start = bytes.len() - reader.remaining();
            check_details(range, reader.take(details_len)?)?;
            details.push((start, start + details_len));
        }
        if !reader.is_empty() {
            return Err(Malformed);
        }
        Ok(Footer { bytes, ranges, details })
    }

    pub(crate) fn ranges(&self) -> &[SegmentRange] {
        &self.ranges
    }

    /// The messages of a range, by its index in [`Footer::ranges`].
    pub(crate) fn slots(&self, range: usize) -> impl Iterator<Item = Slot> {
        let (start, end) = self.details[range];
        let details = &self.bytes[start..end];
        let lens = lens_of(&self.ranges[range], details).unwrap_or(&[]);
        let SegmentRange { count, first_slot, mut offset, .. } = self.ranges[range];
        let mut seqs = SeqRuns::new(count, details);
        let mut lens = LenRuns { reader: Reader::new(lens), left: count };
        let (mut seq_run, mut len_run) = ((0, 0), LenRun::default());
        (first_slot..first_slot + count).map_while(move |slot| {
            if seq_run.1 == 0 {
                seq_run = seqs.next()?.ok()?;
            }
            if len_run.repeat == 0 {
                len_run = lens.next()?.ok()?;
            }
            let found = Slot {
                slot,
                seq: QueueSeq(seq_run.0),
                offset,
                stored_len: len_run.stored_len,
                body_len: len_run.body_len,
            };
            seq_run = (seq_run.0 + 1, seq_run.1 - 1);
            len_run.repeat -= 1;
            offset += len_run.stored_len;
            Some(found)
        })
    }
}

/// Fills in the range's seqs and checks that its details add up to what the range says.
fn check_details(range: &mut SegmentRange, details: &[u8]) -> Result<(), Malformed> {
    let mut first_seq = None;
    for run in SeqRuns::new(range.count, details) {
        let (first, len) = run?;
        first_seq.get_or_insert(QueueSeq(first));
        range.last_seq = QueueSeq(first + (len - 1));
    }
    range.first_seq = first_seq.ok_or(Malformed)?;
    let (mut stored_len, mut body_bytes) = (0u64, 0u64);
    let mut runs = LenRuns { reader: Reader::new(lens_of(range, details)?), left: range.count };
    for run in runs.by_ref() {
        let run = run?;
        stored_len =
            stored_len.checked_add(run.stored_len.checked_mul(run.repeat).ok_or(Malformed)?).ok_or(Malformed)?;
        body_bytes = body_bytes.checked_add(u64::from(run.body_len) * run.repeat).ok_or(Malformed)?;
    }
    if !runs.reader.is_empty() || stored_len != range.stored_len || body_bytes != range.body_bytes {
        return Err(Malformed);
    }
    Ok(())
}

/// The part of the details behind the seqs.
fn lens_of<'a>(range: &SegmentRange, details: &'a [u8]) -> Result<&'a [u8], Malformed> {
    let mut runs = SeqRuns::new(range.count, details);
    for run in runs.by_ref() {
        run?;
    }
    let len = runs.reader.remaining();
    Ok(&details[details.len() - len..])
}

/// Runs of seqs: the first one and how many.
struct SeqRuns<'a> {
    reader: Reader<'a>,
    next_seq: u64,
    left: u32,
    is_started: bool,
}

impl<'a> SeqRuns<'a> {
    fn new(count: u32, details: &'a [u8]) -> Self {
        SeqRuns { reader: Reader::new(details), next_seq: 0, left: count, is_started: false }
    }

    fn read(&mut self) -> Result<(u64, u64), Malformed> {
        // Before the first run stands its seq, before each other one the gap.
        let skip = self.reader_skip()?;
        let first = self.next_seq.checked_add(skip).ok_or(Malformed)?;
        let len = self.reader.varint_u32()?;
        self.left = self.left.checked_sub(len).filter(|_| len > 0).ok_or(Malformed)?;
        self.next_seq = first.checked_add(u64::from(len)).ok_or(Malformed)?;
        Ok((first, u64::from(len)))
    }

    fn reader_skip(&mut self) -> Result<u64, Malformed> {
        let skip = self.reader.varint()?;
        let is_first = !std::mem::replace(&mut self.is_started, true);
        // A gap of nothing would be two runs that are one.
        if !is_first && skip == 0 { Err(Malformed) } else { Ok(skip) }
    }
}

impl Iterator for SeqRuns<'_> {
    type Item = Result<(u64, u64), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let run = self.read();
        if run.is_err() {
            self.left = 0;
        }
        Some(run)
    }
}

struct LenRuns<'a> {
    reader: Reader<'a>,
    left: u32,
}

impl LenRuns<'_> {
    fn read(&mut self) -> Result<LenRun, Malformed> {
        let repeat = self.reader.varint_u32()?;
        let stored_len = self.reader.varint()?;
        let body_len = self.reader.varint_u32()?;
        self.left = self.left.checked_sub(repeat).filter(|_| repeat > 0).ok_or(Malformed)?;
        if stored_len < SLOT_LEN as u64 {
            return Err(Malformed);
        }
        Ok(LenRun { repeat: u64::from(repeat), stored_len, body_len })
    }
}

impl Iterator for LenRuns<'_> {
    type Item = Result<LenRun, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let run = self.read();
        if run.is_err() {
            self.left = 0;
        }
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Ranges of (queue, lane, slots of (seq gap, stored_len, body_len)).
    type Ranges = Vec<(u64, u8, Vec<(u64, u64, u32)>)>;

    fn build(ranges: &Ranges) -> (Vec<u8>, Vec<Vec<Slot>>, u32, u64) {
        let mut builder = FooterBuilder::default();
        let (mut slot, mut offset) = (0, HEADER_LEN as u64);
        let mut expected = Vec::new();
        for (queue, lane, slots) in ranges {
            offset += MARK_LEN as u64;
            builder.start_range(QueueId(*queue), *lane, slot, offset);
            let mut seq = 0;
            let mut of_range = Vec::new();
            for (gap, stored_len, body_len) in slots {
                seq += gap + 1;
                builder.push(QueueSeq(seq), *stored_len, *body_len);
                of_range.push(Slot { slot, seq: QueueSeq(seq), offset, stored_len: *stored_len, body_len: *body_len });
                slot += 1;
                offset += stored_len;
            }
            expected.push(of_range);
        }
        let (bytes, built) = builder.finish();
        assert_eq!(built.len(), ranges.len());
        (bytes, expected, slot, offset)
    }

    fn ranges() -> impl Strategy<Value = Ranges> {
        let gap = prop_oneof![4 => Just(0u64), 1 => 0u64..5, 1 => 0..u64::from(u32::MAX)];
        let slot = (gap, prop_oneof![Just(1044u64), 20u64..3000], prop_oneof![Just(1024u32), any::<u32>()]);
        prop::collection::vec((any::<u64>(), any::<u8>(), prop::collection::vec(slot, 1..20)), 0..6)
    }

    #[test]
    fn a_million_equal_messages_cost_a_few_bytes() {
        let (bytes, ..) = build(&vec![(1, 0, vec![(0, 1044, 1024); 1_000_000])]);
        assert!(bytes.len() < 40, "{} bytes", bytes.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn it_tells_every_slot_again(ranges in ranges()) {
            let (bytes, expected, slot_count, footer_offset) = build(&ranges);
            let footer = Footer::decode(bytes, slot_count, footer_offset).unwrap();
            prop_assert_eq!(footer.ranges().len(), ranges.len());
            for (index, slots) in expected.iter().enumerate() {
                let range = footer.ranges()[index];
                prop_assert_eq!(range.first_seq, slots[0].seq);
                prop_assert_eq!(range.last_seq, slots[slots.len() - 1].seq);
                prop_assert_eq!(&footer.slots(index).collect::<Vec<_>>(), slots);
            }
        }

        #[test]
        fn a_changed_footer_is_refused_or_consistent(
            ranges in ranges(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in 0usize..3,
        ) {
            let (mut bytes, _, slot_count, footer_offset) = build(&ranges);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(bytes.len() - cut.min(bytes.len()));
            if let Ok(footer) = Footer::decode(bytes, slot_count, footer_offset) {
                for index in 0..footer.ranges().len() {
                    prop_assert_eq!(footer.slots(index).count(), footer.ranges()[index].count as usize);
                }
            }
        }
    }
}
