//! A queue after a restart.

use ::model::ids::{QueueSeq, SegmentId};
use ::queue::{PagedRange, Queue, RestoredQueue, Settings};

use crate::fixture::{
    Disk, Note, TestQueue, acking, dispatch, dispatch_into, dispatch_loading, loaded, publish, seqs_of,
};

/// What recovery says of a queue without messages.
fn nothing(next_seq: QueueSeq, watermark: Option<QueueSeq>) -> RestoredQueue<Note> {
    RestoredQueue {
        next_seq,
        watermark,
        ranges: Vec::new(),
        messages: Vec::new(),
        returned: Vec::new(),
        may_expire: false,
    }
}

fn notes(names: &[u64]) -> Vec<(QueueSeq, Note)> {
    names.iter().map(|name| (QueueSeq(*name), Note::new(*name, 10, true))).collect()
}

fn restore(next_seq: u64, watermark: Option<u64>, ranges: Vec<PagedRange>, names: &[u64]) -> TestQueue {
    let watermark = watermark.map(QueueSeq);
    let next_seq = QueueSeq(next_seq);
    Queue::restore(
        Settings::default(),
        RestoredQueue {
            ranges: ranges.into_iter().map(|range| (0, range)).collect(),
            messages: notes(names),
            ..nothing(next_seq, watermark)
        },
    )
}

/// A segment of these messages, and the range of all of them.
fn write(disk: &mut Disk, names: &[u64]) -> PagedRange {
    let placed = disk.write(true, &notes(names));
    PagedRange {
        segment: placed[0].place.segment,
        first_slot: 0,
        end_slot: names.len() as u32,
        count: names.len() as u32,
        bytes: names.len() as u64 * 10,
        first_seq: placed[0].seq,
        last_seq: placed[names.len() - 1].seq,
    }
}

#[track_caller]
fn check_redelivered(watermark: Option<u64>, expected: [bool; 3]) {
    let mut queue = restore(10, watermark, Vec::new(), &[2, 5, 7]);
    queue.consume(acking()).unwrap();
    assert_eq!(dispatch(&mut queue).iter().map(|delivery| delivery.redelivered).collect::<Vec<_>>(), expected);
    publish(&mut queue, 1);
    let new = dispatch(&mut queue);
    assert_eq!((new[0].seq, new[0].redelivered), (QueueSeq(10), false));
}

#[test]
fn messages_up_to_the_watermark_are_redelivered() {
    check_redelivered(Some(0), [false, false, false]);
    check_redelivered(Some(5), [true, true, false]);
    check_redelivered(None, [true, true, true]);
    check_redelivered(Some(99), [true, true, true]);
}

#[test]
fn messages_in_memory_and_in_segments_come_in_one_order() {
    let mut disk = Disk::default();
    let ranges = vec![write(&mut disk, &[2, 4, 8]), write(&mut disk, &[3, 5, 9])];
    let mut queue = restore(11, None, ranges, &[10, 6, 1]);
    assert_eq!((queue.ready_count(), queue.ready_bytes()), (9, 90));
    assert_eq!((queue.paged_count(), queue.paged_bytes()), (6, 60));
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch_loading(&mut queue, &disk)), [1, 2, 3, 4, 5, 6, 8, 9, 10]);
}

#[test]
fn nothing_is_handed_out_behind_the_beginning_of_a_range() {
    let mut disk = Disk::default();
    let ranges = vec![write(&mut disk, &[1, 3, 5]), write(&mut disk, &[2, 4, 6])];
    let mut queue = restore(7, Some(0), ranges, &[]);
    queue.consume(acking()).unwrap();
    let (mut deliveries, mut load_count) = (Vec::new(), 0);
    while let Some(load) = dispatch_into(&mut queue, &mut deliveries) {
        let first_seq = queue.ranges().map(|range| range.first_seq).min();
        assert!(first_seq.is_some_and(|first_seq| queue.last_delivered() < first_seq), "{first_seq:?}");
        let next_slot = load.first_slot + 2 - load_count % 2;
        loaded(&mut queue, &load, disk.read(&load, next_slot), next_slot);
        load_count += 1;
    }
    assert_eq!(seqs_of(&deliveries), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn positions_go_on_behind_all_that_was_found() {
    assert_eq!(restore(0, None, Vec::new(), &[]).next_seq(), QueueSeq(1));
    assert_eq!(restore(1, None, Vec::new(), &[4]).next_seq(), QueueSeq(5));
    let range = write(&mut Disk::default(), &[1, 2, 9]);
    assert_eq!(restore(5, None, vec![range], &[]).next_seq(), QueueSeq(10));
}

#[test]
fn what_was_found_twice_counts_once() {
    let range = write(&mut Disk::default(), &[1, 2]);
    let queue = restore(9, None, vec![range, range], &[4, 4, 5]);
    assert_eq!((queue.ready_count(), queue.paged_count()), (4, 2));
}

#[test]
fn a_restored_auto_delete_queue_waits_for_its_first_consumer() {
    let restored = nothing(QueueSeq(1), None);
    let queue: TestQueue = Queue::restore(Settings { auto_delete: true, ..Settings::default() }, restored);
    assert!(!queue.is_abandoned());
}

#[test]
fn slots_settled_before_the_restart_are_read_over() {
    let mut disk = Disk::default();
    let mut range = write(&mut disk, &[1, 2, 3, 4]);
    for slot in disk.segments.get_mut(&SegmentId(1)).unwrap()[1..3].iter_mut() {
        slot.is_alive = false;
    }
    (range.count, range.bytes) = (2, 20);
    let mut queue = restore(5, None, vec![range], &[]);
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch_loading(&mut queue, &disk)), [1, 4]);
}
