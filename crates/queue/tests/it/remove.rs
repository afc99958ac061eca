//! Taking ready messages out of the middle.

use ::model::ids::QueueSeq;
use ::queue::{Load, Queue, Settings, Take};

use crate::fixture::{
    Disk, Note, TestQueue, acking, dispatch, dispatch_into, loaded, publish, seqs_of, spill, with_prefetch,
};

/// Takes one message, reading it if it has to be.
#[track_caller]
fn take(queue: &mut TestQueue, disk: &mut Disk, seq: u64) -> Note {
    let seq = QueueSeq(seq);
    let loads: Vec<Load> = match queue.take(seq, None, |_| false) {
        Take::Taken(note) => return note,
        Take::Unread(loads) => loads,
        Take::Missing => panic!("{seq} is ready"),
    };
    let read = loads.iter().flat_map(|load| disk.read(load, load.end_slot)).find(|(found, _)| *found == seq);
    let (_, note) = read.expect("it is where the queue said");
    let Take::Taken(note) = queue.take(seq, Some(&note), |place| disk.is_alive(place)) else {
        panic!("{seq} was read");
    };
    disk.settle(note.placed());
    note
}

#[test]
fn a_message_in_memory_is_taken_at_once() {
    let (mut queue, mut disk): (TestQueue, _) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 5);
    assert_eq!(take(&mut queue, &mut disk, 3).name(), 3);
    assert_eq!((queue.ready_count(), queue.ready_bytes()), (4, 40));
    assert_eq!(queue.take(QueueSeq(3), None, |_| true), Take::Missing);
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch(&mut queue)), [1, 2, 4, 5]);
    assert_eq!(queue.take(QueueSeq(4), None, |_| true), Take::Missing, "a consumer has it");
}

#[test]
fn a_backlog_stays_one_range_whatever_is_taken_out_of_it() {
    let (mut queue, mut disk): (TestQueue, _) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 1000);
    spill(&mut queue, &mut disk);
    for seq in (1..=1000).step_by(2) {
        assert_eq!(take(&mut queue, &mut disk, seq).name(), seq);
    }
    let ranges: Vec<_> = queue.ranges().map(|range| (range.first_slot, range.end_slot, range.count)).collect();
    assert_eq!(ranges, [(1, 1000, 500)], "and begins behind what is gone");
    assert_eq!((queue.ready_count(), queue.ready_bytes(), queue.paged_bytes()), (500, 5000, 5000));
    for seq in (2..=1000).step_by(2) {
        take(&mut queue, &mut disk, seq);
    }
    assert_eq!((queue.ranges().count(), queue.ready_count()), (0, 0));
}

#[test]
fn what_is_taken_while_it_is_being_read_is_not_handed_out() {
    let (mut queue, mut disk): (TestQueue, _) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 4);
    spill(&mut queue, &mut disk);
    queue.consume(acking()).unwrap();
    let mut deliveries = Vec::new();
    let load = dispatch_into(&mut queue, &mut deliveries).expect("all of it is in a segment");
    let read = disk.read(&load, load.end_slot);
    take(&mut queue, &mut disk, 2);
    assert_eq!(loaded(&mut queue, &load, read, load.end_slot), 0, "nothing is lost");
    assert_eq!(dispatch_into(&mut queue, &mut deliveries), None);
    assert_eq!(seqs_of(&deliveries), [1, 3, 4]);
}

#[test]
fn a_read_of_which_all_is_taken_is_given_up() {
    let (mut queue, mut disk): (TestQueue, _) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 4);
    spill(&mut queue, &mut disk);
    queue.consume(with_prefetch(1)).unwrap();
    let mut deliveries = Vec::new();
    let load = dispatch_into(&mut queue, &mut deliveries).expect("all of it is in a segment");
    loaded(&mut queue, &load, disk.read(&load, 2), 2);
    let ahead = dispatch_into(&mut queue, &mut deliveries).expect("little is in memory");
    let read = disk.read(&ahead, ahead.end_slot);
    take(&mut queue, &mut disk, 3);
    assert!(queue.is_loading(), "one message of it is wanted");
    take(&mut queue, &mut disk, 4);
    assert!(!queue.is_loading());
    publish(&mut queue, 1);
    spill(&mut queue, &mut disk);
    queue.settle(&[deliveries[0].seq], &mut Vec::new());
    let next = dispatch_into(&mut queue, &mut deliveries).expect("what came since is in another segment");
    assert_ne!(next.segment, ahead.segment);
    loaded(&mut queue, &ahead, read, ahead.end_slot);
    assert!(queue.is_loading(), "an answer that comes late is none to what was asked since");
    loaded(&mut queue, &next, disk.read(&next, next.end_slot), next.end_slot);
    queue.settle(&[deliveries[1].seq], &mut Vec::new());
    assert_eq!(dispatch_into(&mut queue, &mut deliveries), None);
    assert_eq!(seqs_of(&deliveries), [1, 2, 5]);
}

#[test]
fn who_has_read_a_message_that_is_gone_is_not_given_it() {
    let (mut queue, mut disk): (TestQueue, _) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 3);
    spill(&mut queue, &mut disk);
    let taken = take(&mut queue, &mut disk, 2);
    assert_eq!(queue.take(QueueSeq(2), Some(&taken), |place| disk.is_alive(place)), Take::Missing);
    assert_eq!(queue.ready_count(), 2);
}

#[test]
fn what_cannot_be_read_is_not_counted_as_ready() {
    let (mut queue, mut disk): (TestQueue, _) = (Queue::new(Settings::default()), Disk::default());
    publish(&mut queue, 10);
    spill(&mut queue, &mut disk);
    queue.consume(acking()).unwrap();
    let mut deliveries = Vec::new();
    let load = dispatch_into(&mut queue, &mut deliveries).expect("all of it is in a segment");
    assert_eq!(queue.lose(&load, &[(2, 5)]), 3);
    assert_eq!((queue.ready_count(), queue.ready_bytes(), queue.paged_count()), (7, 70, 7));
    let mut read = disk.read(&load, 6);
    read.retain(|(seq, _)| !(3..=5).contains(&seq.0));
    assert_eq!(loaded(&mut queue, &load, read, 6), 0, "they have been counted");
    assert_eq!((queue.ready_count(), queue.paged_count()), (7, 4));
    let load = dispatch_into(&mut queue, &mut deliveries).expect("the rest");
    assert_eq!(queue.lose(&load, &[(0, 10)]), 4, "all that was asked for");
    assert_eq!(loaded(&mut queue, &load, Vec::new(), load.end_slot), 0);
    assert_eq!((seqs_of(&deliveries), queue.ready_count()), (vec![1, 2, 6], 0));
}
