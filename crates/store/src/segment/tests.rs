//! What is written to a segment is read from it, by any run of slots; what was damaged is noticed.

use std::ops::ControlFlow;
use std::path::Path;

use model::ids::{QueueId, QueueSeq, SegmentId};
use proptest::prelude::*;

use super::write::WrittenSegment;
use super::*;
use crate::file::{Disk, SimDisk};

const ID: SegmentId = SegmentId(5);

/// A message: its seq, its content's length, and which content it is.
#[derive(Debug, Clone)]
struct Message {
    seq: u64,
    len: usize,
    content: u32,
}

impl Message {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.content as u8; self.len];
        bytes.iter_mut().zip(self.content.to_le_bytes()).for_each(|(byte, of_number)| *byte = of_number);
        bytes
    }
}

fn message(seq: u64, len: usize, content: u32) -> Message {
    Message { seq, len, content }
}

fn path() -> &'static Path {
    Path::new("/data/segment")
}

fn disk() -> SimDisk {
    let disk = SimDisk::new(1);
    disk.create_dir(Path::new("/data")).unwrap();
    disk
}

fn write(disk: &dyn Disk, ranges: &[(u64, Vec<Message>)]) -> WrittenSegment {
    let mut writer = SegmentWriter::new(ID, 1, disk.create(path()).unwrap());
    for (queue, messages) in ranges {
        writer.start_range(QueueId(*queue), 0);
        for message in messages {
            let source = Source::Chunk { number: u64::from(message.content), offset: 0 };
            writer.push(QueueSeq(message.seq), message.len as u32, &message.bytes(), source).unwrap();
        }
    }
    writer.finish(true).unwrap()
}

/// Reads the slots of `runs` as (slot, seq, content).
fn read(disk: &SimDisk, runs: &[(u32, u32)]) -> Vec<(u32, u64, Vec<u8>)> {
    let (segment, _) = SegmentFile::open(disk, path(), ID).unwrap();
    let mut found = Vec::new();
    let mut each = |message: ReadMessage<'_>| {
        assert_eq!(message.body_len as usize, message.content.len());
        found.push((message.slot, message.seq.0, message.content.to_vec()));
        ControlFlow::Continue(())
    };
    SlotReader::default()
        .read(&segment, runs, ReadAhead::Bytes(10_000), &mut each)
        .map_err(|(slot, error)| format!("{slot}: {error}"))
        .unwrap();
    found
}

#[track_caller]
fn check_round_trip(ranges: &[(u64, Vec<Message>)], runs: &[(u32, u32)]) -> u64 {
    let disk = disk();
    let written = write(&disk, ranges);
    let all: Vec<_> = ranges.iter().flat_map(|(_, messages)| messages).collect();
    assert_eq!(written.slot_count as usize, all.len());
    let expected: Vec<_> = runs
        .iter()
        .flat_map(|(first, end)| *first..*end)
        .map(|slot| (slot, all[slot as usize].seq, all[slot as usize].bytes()))
        .collect();
    assert!(read(&disk, runs) == expected, "other messages than were written");
    written.file_len
}

#[test]
fn every_message_is_read_as_written() {
    let messages =
        |count: u64, len| (1..=count).map(|seq| message(seq, len, seq as u32 + len as u32 * 32)).collect::<Vec<_>>();
    check_round_trip(&[(1, messages(500, 100)), (2, messages(3, 70_000)), (3, messages(1, 3 << 20))], &[(0, 504)]);
    check_round_trip(&[(9, messages(1000, 0))], &[(0, 1), (63, 65), (998, 1000)]);
    check_round_trip(&[], &[]);
}

#[test]
fn a_large_content_of_several_queues_is_stored_once() {
    let fanout: Vec<_> = (1..=10).map(|queue| (queue, vec![message(7, 100_000, 1)])).collect();
    let len = check_round_trip(&fanout, &[(0, 10)]);
    assert!(len < 102_000, "{len} bytes");
    check_round_trip(&fanout, &[(9, 10)]);

    let small: Vec<_> = (1..=10).map(|queue| (queue, vec![message(7, 1000, 1)])).collect();
    let len = check_round_trip(&small, &[(0, 10)]);
    assert!(len > 10_000, "{len} bytes");
}

#[test]
fn a_range_without_messages_leaves_no_trace() {
    check_round_trip(&[(1, vec![]), (2, vec![message(1, 5, 1)]), (3, vec![])], &[(0, 1)]);
}

#[test]
fn a_preallocated_file_is_cut_to_its_content() {
    let disk = disk();
    let file = disk.create(path()).unwrap();
    file.allocate(1 << 20).unwrap();
    let mut writer = SegmentWriter::new(ID, 0, file);
    writer.start_range(QueueId(1), 0);
    writer.push(QueueSeq(1), 3, b"abc", Source::Chunk { number: 1, offset: 0 }).unwrap();
    let written = writer.finish(true).unwrap();
    assert_eq!(disk.open(path()).unwrap().len().unwrap(), written.file_len);
    assert_eq!(read(&disk, &[(0, 1)]), [(0, 1, b"abc".to_vec())]);
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let ranges = [(1, vec![message(1, 40, 1), message(3, 5000, 2)]), (2, vec![message(9, 5000, 2)])];
    let disk = disk();
    let written = write(&disk, &ranges);
    let clean = read(&disk, &[(0, 3)]);
    for byte in 0..written.file_len {
        disk.flip_bit(path(), byte, (byte % 8) as u8);
        let mut found = Vec::new();
        let outcome = SegmentFile::open(&disk, path(), ID).map_err(|_| ()).and_then(|(segment, _)| {
            let mut each = |message: ReadMessage<'_>| {
                found.push((message.slot, message.seq.0, message.content.to_vec()));
                ControlFlow::Continue(())
            };
            SlotReader::default().read(&segment, &[(0, 3)], ReadAhead::File, &mut each).map_err(|_| ())
        });
        // The marks of ranges are read by `fsck` alone.
        let is_in_mark = (20..44).contains(&byte) || (44 + 60 + 5020..44 + 60 + 5020 + 24).contains(&byte);
        assert!(outcome.is_err() || (is_in_mark && found == clean), "byte {byte}");
        disk.flip_bit(path(), byte, (byte % 8) as u8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_runs_of_slots_are_read(
        lens in prop::collection::vec(prop_oneof![8 => 0usize..300, 1 => 4000usize..5000, 1 => 60_000usize..70_000], 1..400),
        queue_len in 1usize..200,
        cuts in prop::collection::vec(0u32..400, 0..12),
    ) {
        let body_len = |at: usize, len: usize| (at % 17) as u32 + len as u32 * 32;
        let messages: Vec<_> =
            lens.iter().enumerate().map(|(at, len)| message(at as u64 + 1, *len, body_len(at, *len))).collect();
        let ranges: Vec<_> = messages.chunks(queue_len).enumerate().map(|(queue, messages)| (queue as u64, messages.to_vec())).collect();
        let mut cuts: Vec<u32> = cuts.into_iter().map(|cut| cut.min(lens.len() as u32)).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let runs: Vec<_> = cuts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        check_round_trip(&ranges, &runs);
    }
}
