//! A checkpoint: all that is alive at a moment, but for messages. With the journal from its position on, and the segments that it names,
//! it is the whole state.
//!
//! ```text
//!  file       | magic "WRNCHKPT" | version u32 | position | next_segment | definitions | queues | returned | segments | crc32c u32 |
//!  definitions| count | key_len, key, value_len, value | … |                                    keys rising
//!  queues     | count | queue, next_seq, watermark + 1 or 0 for open, may_expire u8 | … |
//!  returned   | count | queue, seq, delivery_count, acquired_count, waits_until_ms | … |
//!  segments   | count | segment | … |
//!  segment    | id | level u8 | file_len | slot_count | range_count | range … | bitmap |            ids rising
//!  range      | queue | lane u8 | slot_count | stored_len | body_bytes | first_seq | last_seq − first_seq |
//! ```
//!
//! `position` is where replay begins, as in the manifest. Numbers without a type are varints; the bitmap is drawn in `bitmap`. The CRC
//! covers all before it and is in the
//! manifest too, with the file's length: a checkpoint that is not exactly what the manifest names is corrupt.
//!
//! It is fuzzy: slots are settled and records appended while it is made. It holds nothing of a record beyond the position that
//! the journal is known to have reached when the manifest is switched, and everything of those below the manifest's
//! position; replaying what lies between a second time changes nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use model::ids::{JournalPosition, QueueId, QueueSeq, SegmentId};
use queue::Counts;

use crate::bitmap::Bitmap;
use crate::file::{File, write_all_at};
use crate::queue_owner::{QueueState, Returns};
use crate::segment::{HEADER_LEN, MARK_LEN, SegmentRange};
use crate::varint::{self, Malformed, Reader};

const MAGIC: [u8; 8] = *b"WRNCHKPT";
const VERSION: u32 = 2;
/// Knew neither may_expire nor acquired_count and waits_until_ms.
const VERSION_WITHOUT_TIMES: u32 = 1;
/// What is gathered before it is written; little in tests, so that things happen in between.
const BUFFER_LEN: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// A checkpoint as it was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Everything below is in here.
    pub(crate) position: JournalPosition,
    /// No segment with this number or a higher one has been listed yet.
    pub(crate) next_segment: u32,
    pub(crate) definitions: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) queues: Vec<QueueState>,
    pub(crate) returned: Vec<(QueueId, QueueSeq, Returns)>,
    pub(crate) segments: Vec<SegmentState>,
}

impl Checkpoint {
    /// Writes it, but for the end.
    pub(crate) fn write(&self, file: Box<dyn File>) -> io::Result<CheckpointWriter> {
        let segments = self.segments.iter().map(SegmentState::view);
        CheckpointWriter::write_all(
            file,
            self.position,
            self.next_segment,
            &self.definitions,
            &self.queues,
            &self.returned,
            segments,
        )
    }
}

/// What a checkpoint says of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentState {
    pub(crate) id: SegmentId,
    pub(crate) level: u8,
    pub(crate) file_len: u64,
    pub(crate) ranges: Vec<SegmentRange>,
    pub(crate) settled: Bitmap,
}

/// The same, borrowed to be written.
pub(crate) struct SegmentView<'a> {
    pub(crate) id: SegmentId,
    pub(crate) level: u8,
    pub(crate) file_len: u64,
    pub(crate) ranges: &'a [SegmentRange],
    pub(crate) settled: Cow<'a, Bitmap>,
}

impl SegmentState {
    pub(crate) fn view(&self) -> SegmentView<'_> {
        let SegmentState { id, level, file_len, ranges, settled } = self;
        SegmentView { id: *id, level: *level, file_len: *file_len, ranges, settled: Cow::Borrowed(settled) }
    }
}

/// Writes a checkpoint from front to back.
pub(crate) struct CheckpointWriter {
    file: Box<dyn File>,
    buffer: Vec<u8>,
    written: u64,
    crc: u32,
}

impl CheckpointWriter {
    fn new(file: Box<dyn File>, position: JournalPosition, next_segment: u32) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_LEN + BUFFER_LEN / 2);
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&VERSION.to_le_bytes());
        varint::put(&mut buffer, position.0);
        varint::put(&mut buffer, u64::from(next_segment));
        CheckpointWriter { file, buffer, written: 0, crc: 0 }
    }

    fn definitions(&mut self, definitions: &BTreeMap<Vec<u8>, Vec<u8>>) -> io::Result<()> {
        varint::put(&mut self.buffer, definitions.len() as u64);
        for (key, value) in definitions {
            varint::put_bytes(&mut self.buffer, key);
            varint::put_bytes(&mut self.buffer, value);
            self.flush_if_full()?;
        }
        Ok(())
    }

    fn queues(&mut self, queues: &[QueueState]) -> io::Result<()> {
        varint::put(&mut self.buffer, queues.len() as u64);
        for state in queues {
            varint::put(&mut self.buffer, state.queue.0);
            varint::put(&mut self.buffer, state.next_seq.0);
            varint::put(&mut self.buffer, state.watermark.map_or(0, |seq| seq.0.saturating_add(1)));
            self.buffer.push(u8::from(state.may_expire));
            self.flush_if_full()?;
        }
        Ok(())
    }

    fn returned(&mut self, returned: &[(QueueId, QueueSeq, Returns)]) -> io::Result<()> {
        varint::put(&mut self.buffer, returned.len() as u64);
        for (queue, seq, Returns { counts, waits_until_ms }) in returned {
            varint::put(&mut self.buffer, queue.0);
            varint::put(&mut self.buffer, seq.0);
            varint::put(&mut self.buffer, u64::from(counts.delivery_count));
            varint::put(&mut self.buffer, u64::from(counts.acquired_count));
            varint::put(&mut self.buffer, *waits_until_ms);
            self.flush_if_full()?;
        }
        Ok(())
    }

    fn segment(&mut self, segment: &SegmentView<'_>) -> io::Result<()> {
        let SegmentView { id, level, file_len, ranges, settled } = segment;
        varint::put(&mut self.buffer, u64::from(id.0));
        self.buffer.push(*level);
        varint::put(&mut self.buffer, *file_len);
        varint::put(&mut self.buffer, u64::from(settled.slot_count()));
        varint::put(&mut self.buffer, ranges.len() as u64);
        for range in *ranges {
            varint::put(&mut self.buffer, range.queue.0);
            self.buffer.push(range.lane);
            varint::put(&mut self.buffer, u64::from(range.count));
            varint::put(&mut self.buffer, range.stored_len);
            varint::put(&mut self.buffer, range.body_bytes);
            varint::put(&mut self.buffer, range.first_seq.0);
            varint::put(&mut self.buffer, range.last_seq.0 - range.first_seq.0);
            self.flush_if_full()?;
        }
        settled.encode(&mut self.buffer);
        self.flush_if_full()
    }

    /// Writes everything but the end.
    pub(crate) fn write_all<'a>(
        file: Box<dyn File>,
        position: JournalPosition,
        next_segment: u32,
        definitions: &BTreeMap<Vec<u8>, Vec<u8>>,
        queues: &[QueueState],
        returned: &[(QueueId, QueueSeq, Returns)],
        segments: impl ExactSizeIterator<Item = SegmentView<'a>>,
    ) -> io::Result<Self> {
        let mut writer = CheckpointWriter::new(file, position, next_segment);
        writer.definitions(definitions)?;
        writer.queues(queues)?;
        writer.returned(returned)?;
        varint::put(&mut writer.buffer, segments.len() as u64);
        for segment in segments {
            writer.segment(&segment)?;
        }
        Ok(writer)
    }

    /// Ends the file and waits until it is on disk. Returns its length and CRC.
    pub(crate) fn finish(mut self) -> io::Result<(u64, u32)> {
        self.flush()?;
        write_all_at(&*self.file, &self.crc.to_le_bytes(), self.written)?;
        let len = self.written + 4;
        if self.file.len()? > len {
            self.file.truncate(len)?; // it was preallocated
        }
        self.file.fdatasync()?;
        Ok((len, self.crc))
    }

    fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= BUFFER_LEN { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        write_all_at(&*self.file, &self.buffer, self.written)?;
        self.crc = crc32c::crc32c_append(self.crc, &self.buffer);
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Checkpoint {
    /// What a new store begins with.
    pub(crate) fn empty() -> Self {
        Checkpoint {
            position: JournalPosition::START,
            next_segment: 1,
            definitions: BTreeMap::new(),
            queues: Vec::new(),
            returned: Vec::new(),
            segments: Vec::new(),
        }
    }

    /// Reads what [`CheckpointWriter`] wrote. The caller has checked nothing but perhaps the CRC.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (bytes, crc) = bytes.split_last_chunk::<4>().ok_or(Malformed)?;
        if crc32c::crc32c(bytes) != u32::from_le_bytes(*crc) {
            return Err(Malformed);
        }
        let mut checkpoint = Checkpoint::empty();
        checkpoint.read(bytes)?;
        Ok(checkpoint)
    }

    /// As much as can be read of a damaged one, right or not.
    pub(crate) fn salvage(bytes: &[u8]) -> Self {
        let mut checkpoint = Checkpoint::empty();
        let _ = checkpoint.read(bytes.split_last_chunk::<4>().map_or(bytes, |(bytes, _)| bytes));
        checkpoint
    }

    /// How much it says.
    pub(crate) fn entry_count(&self) -> usize {
        self.definitions.len() + self.queues.len() + self.returned.len() + self.segments.len()
    }

    /// Fills in what the bytes say, up to the first that makes no sense.
    fn read(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(bytes);
        let (magic, version) = (reader.array()?, reader.u32()?);
        if magic != MAGIC || !(VERSION_WITHOUT_TIMES..=VERSION).contains(&version) {
            return Err(Malformed);
        }
        let has_times = version > VERSION_WITHOUT_TIMES;
        self.position = JournalPosition(reader.varint()?);
        self.next_segment = reader.varint_u32()?;
        self.read_definitions(&mut reader)?;
        for _ in 0..reader.count(3)? {
            let (queue, next_seq) = (QueueId(reader.varint()?), QueueSeq(reader.varint()?));
            let watermark = reader.varint()?.checked_sub(1).map(QueueSeq);
            let may_expire = has_times && reader.u8()? != 0;
            self.queues.push(QueueState { queue, next_seq, watermark, may_expire });
        }
        for _ in 0..reader.count(3)? {
            let (queue, seq) = (QueueId(reader.varint()?), QueueSeq(reader.varint()?));
            let delivery_count = reader.varint_u32()?;
            let mut returns = Returns { counts: Counts { delivery_count, acquired_count: 0 }, waits_until_ms: 0 };
            if has_times {
                returns.counts.acquired_count = reader.varint_u32()?;
                returns.waits_until_ms = reader.varint()?;
            }
            self.returned.push((queue, seq, returns));
        }
        for _ in 0..reader.count(5)? {
            let segment = decode_segment(&mut reader)?;
            let is_rising = self.segments.last().is_none_or(|last| last.id < segment.id);
            if !is_rising || segment.id.is_transient() || segment.id.0 >= self.next_segment {
                return Err(Malformed);
            }
            self.segments.push(segment);
        }
        if reader.is_empty() { Ok(()) } else { Err(Malformed) }
    }

    fn read_definitions(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let count = reader.count(2)?;
        let mut definitions = Vec::with_capacity(count);
        let mut read = || {
            for _ in 0..count {
                definitions.push((reader.bytes()?.to_vec(), reader.bytes()?.to_vec()));
            }
            Ok(())
        };
        let outcome = read();
        // Collected at once, a sorted list becomes a map faster than key by key.
        self.definitions = definitions.into_iter().collect();
        outcome
    }
}

fn decode_segment(reader: &mut Reader<'_>) -> Result<SegmentState, Malformed> {
    let id = SegmentId(reader.varint_u32()?);
    let level = reader.u8()?;
    let file_len = reader.varint()?;
    let slot_count = reader.varint_u32()?;
    let range_count = reader.count(7)?;
    let mut ranges = Vec::with_capacity(range_count);
    let (mut first_slot, mut offset) = (0u32, HEADER_LEN as u64);
    for _ in 0..range_count {
        let queue = QueueId(reader.varint()?);
        let lane = reader.u8()?;
        let count = reader.varint_u32()?;
        let stored_len = reader.varint()?;
        let body_bytes = reader.varint()?;
        let first_seq = reader.varint()?;
        let last_seq = first_seq.checked_add(reader.varint()?).ok_or(Malformed)?;
        if count == 0 || last_seq == u64::MAX || last_seq - first_seq < u64::from(count - 1) {
            return Err(Malformed);
        }
        offset = offset.checked_add(MARK_LEN as u64).ok_or(Malformed)?;
        let (first_seq, last_seq) = (QueueSeq(first_seq), QueueSeq(last_seq));
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
        offset = offset.checked_add(stored_len).filter(|end| *end <= file_len).ok_or(Malformed)?;
        first_slot = first_slot.checked_add(count).ok_or(Malformed)?;
    }
    if first_slot != slot_count {
        return Err(Malformed);
    }
    let settled = Bitmap::decode(slot_count, reader)?;
    Ok(SegmentState { id, level, file_len, ranges, settled })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::file::{Disk, SimDisk, read_exact_at};

    fn write(checkpoint: &Checkpoint) -> Vec<u8> {
        let disk = SimDisk::new(1);
        disk.create_dir(Path::new("/data")).unwrap();
        let path = Path::new("/data/checkpoint");
        let writer = checkpoint.write(disk.create(path).unwrap()).unwrap();
        let (len, crc) = writer.finish().unwrap();
        let mut bytes = vec![0; len as usize];
        read_exact_at(&*disk.open(path).unwrap(), &mut bytes, 0).unwrap();
        assert_eq!(crc32c::crc32c(&bytes[..bytes.len() - 4]), crc);
        bytes
    }

    fn segment(id: u32, ranges: Vec<(u64, u32, u64)>, settled: Vec<(u32, u32)>) -> SegmentState {
        let (mut first_slot, mut offset, mut built) = (0, HEADER_LEN as u64, Vec::new());
        for (queue, count, first_seq) in ranges {
            offset += MARK_LEN as u64;
            let stored_len = u64::from(count) * 30;
            built.push(SegmentRange {
                queue: QueueId(queue),
                first_seq: QueueSeq(first_seq),
                last_seq: QueueSeq(first_seq + u64::from(count) + 3),
                offset,
                stored_len,
                body_bytes: u64::from(count) * 10,
                first_slot,
                count,
                lane: 0,
            });
            offset += stored_len;
            first_slot += count;
        }
        let mut bitmap = Bitmap::new(first_slot);
        for (first, end) in settled {
            bitmap.set(first, end);
        }
        SegmentState { id: SegmentId(id), level: 0, file_len: offset + 100, ranges: built, settled: bitmap }
    }

    fn checkpoints() -> impl Strategy<Value = Checkpoint> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..20);
        let state = (any::<u64>(), any::<u64>(), prop::option::of(0..u64::MAX), any::<bool>());
        let returns = (any::<u32>(), any::<u32>(), any::<u64>());
        let ranges = prop::collection::vec((any::<u64>(), 1u32..200, 1u64..1 << 40), 0..5);
        let settled = prop::collection::vec((0u32..500, 0u32..500), 0..4);
        (
            prop::collection::btree_map(bytes(), bytes(), 0..10),
            prop::collection::vec(state, 0..10),
            prop::collection::vec((any::<u64>(), any::<u64>(), returns), 0..4),
            prop::collection::vec((ranges, settled), 0..4),
        )
            .prop_map(|(definitions, queues, returned, segments)| Checkpoint {
                position: JournalPosition(1 << 40),
                next_segment: 1000,
                definitions,
                queues: queues
                    .into_iter()
                    .map(|(queue, next_seq, watermark, may_expire)| QueueState {
                        queue: QueueId(queue),
                        next_seq: QueueSeq(next_seq),
                        watermark: watermark.map(QueueSeq),
                        may_expire,
                    })
                    .collect(),
                returned: returned
                    .into_iter()
                    .map(|(queue, seq, (delivery_count, acquired_count, waits_until_ms))| {
                        let counts = Counts { delivery_count, acquired_count };
                        (QueueId(queue), QueueSeq(seq), Returns { counts, waits_until_ms })
                    })
                    .collect(),
                segments: segments
                    .into_iter()
                    .zip(5..)
                    .map(|((ranges, settled), id)| segment(id, ranges, settled))
                    .collect(),
            })
    }

    #[test]
    fn ten_million_waiting_messages_take_little_room() {
        let segments = (1..=160).map(|id| segment(id, vec![(1, 65_536, u64::from(id) << 16)], vec![(0, 3)])).collect();
        let checkpoint = Checkpoint { next_segment: 161, segments, ..Checkpoint::empty() };
        let bytes = write(&checkpoint);
        assert!(bytes.len() < 10_000, "{} bytes", bytes.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn it_is_read_as_written(checkpoint in checkpoints()) {
            prop_assert_eq!(Checkpoint::decode(&write(&checkpoint)), Ok(checkpoint));
        }

        #[test]
        fn damage_is_noticed(checkpoint in checkpoints(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = write(&checkpoint);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(Checkpoint::decode(&bytes), Err(Malformed));
            prop_assert_eq!(Checkpoint::decode(&bytes[..at]), Err(Malformed));
        }

        #[test]
        fn the_definitions_of_a_damaged_one_can_be_saved(checkpoint in checkpoints(), at in any::<prop::sample::Index>()) {
            let mut bytes = write(&checkpoint);
            let at = at.index(bytes.len());
            bytes[at] ^= 1;
            let salvaged = Checkpoint::salvage(&bytes);
            // A byte at the end harms nothing that comes before it.
            if at > bytes.len() - 4 {
                prop_assert_eq!(salvaged, checkpoint);
            }
        }

        #[test]
        fn nothing_with_a_right_checksum_panics(checkpoint in checkpoints(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = write(&checkpoint);
            let end = bytes.len() - 4;
            let at = at.index(end);
            bytes[at] = byte;
            let crc = crc32c::crc32c(&bytes[..end]);
            bytes[end..].copy_from_slice(&crc.to_le_bytes());
            let _ = Checkpoint::decode(&bytes);
        }
    }
}
