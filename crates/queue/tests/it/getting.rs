//! One message on demand.

use ::model::ids::QueueSeq;
use ::queue::{Consumer, FetchedMessage, Get, Queue, Settings};

use crate::fixture::{Disk, Note, TestQueue, dispatch, get, loaded, publish, requeue, seqs, spill, with_prefetch};

fn queue_of(count: u64) -> TestQueue {
    let mut queue = Queue::new(Settings::default());
    publish(&mut queue, count);
    queue
}

#[track_caller]
fn got(queue: &mut TestQueue, no_ack: bool) -> FetchedMessage<Note> {
    match get(queue, no_ack) {
        Get::Message(got) => got,
        other => panic!("expected a message: {other:?}"),
    }
}

#[test]
fn get_takes_the_head_and_says_what_remains() {
    let mut queue = queue_of(2);
    let first = got(&mut queue, false);
    assert_eq!((first.seq, first.redelivered, first.remaining), (QueueSeq(1), false, 1));
    assert_eq!(got(&mut queue, false).remaining, 0);
    assert_eq!(get(&mut queue, false), Get::Empty);
    assert_eq!((queue.ready_count(), queue.unacked_count()), (0, 2));
}

#[test]
fn get_without_ack_leaves_nothing() {
    let mut queue = queue_of(1);
    assert_eq!(got(&mut queue, true).message.handle_count(), 1);
    assert_eq!((queue.ready_count(), queue.unacked_count()), (0, 0));
}

#[test]
fn a_requeued_message_is_got_again_as_redelivered() {
    let mut queue = queue_of(3);
    got(&mut queue, false);
    got(&mut queue, false);
    requeue(&mut queue, &seqs([1]));
    let again = got(&mut queue, false);
    assert_eq!((again.seq, again.redelivered), (QueueSeq(1), true));
    let next = got(&mut queue, false);
    assert_eq!((next.seq, next.redelivered), (QueueSeq(3), false));
}

#[test]
fn get_goes_past_consumers_that_are_full() {
    let mut queue = queue_of(3);
    queue.consume(Consumer { exclusive: true, ..with_prefetch(1) }).unwrap();
    dispatch(&mut queue);
    assert_eq!(got(&mut queue, false).seq, QueueSeq(2));
}

#[test]
fn get_waits_for_a_head_in_a_segment() {
    let mut queue = queue_of(3);
    let mut disk = Disk::default();
    spill(&mut queue, &mut disk);
    let Get::Loading(Some(load)) = get(&mut queue, false) else { panic!("the head is in a segment") };
    assert_eq!(get(&mut queue, false), Get::Loading(None), "asked for once");
    loaded(&mut queue, &load, disk.read(&load, 1), 1);
    let first = got(&mut queue, false);
    assert_eq!((first.seq, first.remaining), (QueueSeq(1), 2));
    assert!(matches!(get(&mut queue, false), Get::Loading(Some(load)) if load.first_slot == 1));
}
