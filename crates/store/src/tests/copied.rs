//! A segment that was copied is still there when the checkpoint that records the copy is damaged: a repair must not take both.

use std::path::Path;
use std::sync::Arc;

use model::ids::{JournalPosition, QueueId, QueueSeq, SegmentId};

use super::power_loss::options;
use crate::bitmap::Bitmap;
use crate::checkpoint::{Checkpoint, SegmentState};
use crate::file::{Disk, SimDisk, write_all_at};
use crate::manifest::{self, CheckpointFile, Manifest};
use crate::paths::Paths;
use crate::segment::{SegmentWriter, Source, WrittenSegment};
use crate::simulation::{body_len_of, content_of, read_ranges};
use crate::{Random, Store, fsck};

const QUEUE: QueueId = QueueId(2);
const SEQS: [u64; 3] = [1, 3, 5];

fn paths() -> Paths {
    Paths::new(Path::new("/data"))
}

/// Writes a segment with the queue's messages.
fn write_segment(disk: &SimDisk, id: SegmentId) -> SegmentState {
    let mut writer = SegmentWriter::new(id, 0, disk.create(&paths().segment(id)).unwrap());
    writer.start_range(QUEUE, 0);
    for seq in SEQS {
        let (content, source) = (content_of(seq), Source::Slot { segment: SegmentId(99), slot_offset: seq });
        writer.push(QueueSeq(seq), body_len_of(&content), &content, source).unwrap();
    }
    let WrittenSegment { id, level, file_len, slot_count, ranges } = writer.finish(true).unwrap();
    SegmentState { id, level, file_len, ranges, settled: Bitmap::new(slot_count) }
}

/// The seqs that are alive after a repair of a directory with a segment, its copy, and a checkpoint with a wrong checksum that says
/// this of them.
fn repair(change: impl FnOnce(&mut SegmentState, &mut SegmentState)) -> Vec<u64> {
    let disk = SimDisk::new(1);
    [paths().segments(), paths().checkpoints()].iter().for_each(|dir| disk.create_dir(dir).unwrap());
    let (mut old, mut copy) = (write_segment(&disk, SegmentId(1)), write_segment(&disk, SegmentId(2)));
    change(&mut old, &mut copy);
    let checkpoint = Checkpoint { next_segment: 3, segments: vec![old, copy], ..Checkpoint::empty() };
    let file = disk.create(&paths().checkpoint(1)).unwrap();
    let (len, crc) = checkpoint.write(file).unwrap().finish().unwrap();
    let checkpoint = Some(CheckpointFile { number: 1, len, crc: !crc });
    let manifest = Manifest::alone(2, checkpoint, JournalPosition::START);
    write_all_at(&*disk.create(&paths().manifest()).unwrap(), &manifest::file_of(&manifest), 0).unwrap();

    let shared: Arc<dyn Disk> = Arc::new(disk);
    let report = fsck::repair(&shared, paths().dir(), fsck::Loss::Accepted).unwrap();
    assert!(report.is_sound(), "{report}");
    let (store, recovered) = Store::open_stepped(options(&mut Random::new(1)), shared).unwrap();
    read_ranges(&store, QUEUE, &recovered.queues[&QUEUE]).into_keys().map(|seq| seq.0).collect()
}

/// A wrong word about the copy was believed when it was asked which messages the copy has, and not when it was taken over.
#[test]
fn a_message_is_alive_once_where_the_checkpoint_is_wrong_about_its_segments() {
    let alive = repair(|old, copy| {
        for state in [old, copy] {
            state.settled.set(0, 3);
            state.file_len += 1;
        }
    });
    assert_eq!(alive, SEQS);
}

#[test]
fn what_the_checkpoint_and_the_segments_agree_about_is_believed() {
    let alive = repair(|old, copy| {
        old.settled.set(0, 3);
        copy.settled.set(0, 1);
    });
    assert_eq!(alive, [3, 5]);
}
