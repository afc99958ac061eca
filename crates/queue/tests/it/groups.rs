//! Messages of a group: with one consumer at a time, in order, and in no other message's way.

use ::model::features::{BackOff, DelayedRetry, RetryOf};
use ::model::ids::QueueSeq;
use ::queue::{ConsumerId, Effects, Get, Position, Queue, Return, Rules, Settings, Take};

use crate::fixture::{
    Disk, Note, TestQueue, acking, dispatch, dispatch_into, dispatch_loading, get, loaded, no_ack, requeue, seqs,
    spill, with_prefetch,
};

/// A queue of messages in these groups, 0 for none, whose names are their seqs.
fn queue_of(groups: &[u64]) -> TestQueue {
    let mut queue = Queue::new(Settings::default());
    assert!(queue.set_groups(Some("each")));
    publish(&mut queue, groups);
    queue
}

fn publish(queue: &mut TestQueue, groups: &[u64]) {
    for &group in groups {
        let note = Note::new(queue.next_seq().0, 10, true);
        queue.publish(note.in_group((group > 0).then_some(group)));
    }
}

/// Which consumer gets which message: consumers by their place among `consumers`.
#[track_caller]
fn check_dispatch(queue: &mut TestQueue, consumers: &[ConsumerId], expected: &[(usize, u64)]) {
    let deliveries = dispatch(queue);
    let place = |id| consumers.iter().position(|consumer| *consumer == id).unwrap();
    let found: Vec<_> = deliveries.iter().map(|delivery| (place(delivery.consumer), delivery.seq.0)).collect();
    assert_eq!(found, expected);
}

fn settle(queue: &mut TestQueue, numbers: &[u64]) {
    let mut settled = Vec::new();
    queue.settle(&seqs(numbers.iter().copied()), &mut settled);
    assert_eq!(settled.len(), numbers.len());
}

fn two(queue: &mut TestQueue, prefetch: u16) -> [ConsumerId; 2] {
    [(); 2].map(|()| queue.consume(with_prefetch(prefetch)).unwrap())
}

#[test]
fn a_group_is_with_one_consumer_while_it_holds_some_of_it() {
    let mut queue = queue_of(&[1, 1, 2, 1, 2]);
    let consumers = two(&mut queue, 0);
    check_dispatch(&mut queue, &consumers, &[(0, 1), (0, 2), (1, 3), (0, 4), (1, 5)]);
    settle(&mut queue, &[1, 2]);
    publish(&mut queue, &[1]);
    check_dispatch(&mut queue, &consumers, &[(0, 6)]);
    settle(&mut queue, &[4, 6]);
    publish(&mut queue, &[2, 1]);
    // The group is free, and the other consumer has just got one.
    check_dispatch(&mut queue, &consumers, &[(1, 7), (0, 8)]);
}

#[test]
fn a_full_consumer_is_in_nobody_elses_way() {
    let mut queue = queue_of(&[1, 1, 1, 2, 0, 3]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1), (1, 4)]);
    settle(&mut queue, &[4]);
    check_dispatch(&mut queue, &consumers, &[(1, 5)]);
    settle(&mut queue, &[1]);
    check_dispatch(&mut queue, &consumers, &[(0, 2)]);
    settle(&mut queue, &[5]);
    check_dispatch(&mut queue, &consumers, &[(1, 6)]);
    settle(&mut queue, &[2, 6]);
    check_dispatch(&mut queue, &consumers, &[(0, 3)]);
}

#[test]
fn a_message_passed_over_goes_when_its_holder_has_settled_one_of_another_group() {
    let mut queue = queue_of(&[1, 2, 2]);
    let first = queue.consume(with_prefetch(2)).unwrap();
    check_dispatch(&mut queue, &[first], &[(0, 1), (0, 2)]);
    let second = queue.consume(with_prefetch(1)).unwrap();
    check_dispatch(&mut queue, &[first, second], &[]);
    settle(&mut queue, &[1]);
    check_dispatch(&mut queue, &[first, second], &[(0, 3)]);
}

#[test]
fn an_overtaken_message_is_not_marked_redelivered() {
    let mut queue = queue_of(&[1, 1, 2]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1), (1, 3)]);
    requeue(&mut queue, &seqs([3]));
    settle(&mut queue, &[1]);
    let marks: Vec<_> = dispatch(&mut queue).iter().map(|delivery| (delivery.seq.0, delivery.redelivered)).collect();
    assert_eq!(marks, [(2, false), (3, true)]);
}

#[test]
fn a_returned_message_goes_before_later_ones_of_its_group() {
    let mut queue = queue_of(&[1, 1, 1, 1]);
    let consumers = two(&mut queue, 2);
    check_dispatch(&mut queue, &consumers, &[(0, 1), (0, 2)]);
    requeue(&mut queue, &seqs([1]));
    // The other one could take it, but the second is still with the first.
    check_dispatch(&mut queue, &consumers, &[(0, 1)]);
    queue.cancel(consumers[0]);
    check_dispatch(&mut queue, &consumers, &[]);
    requeue(&mut queue, &seqs([2]));
    check_dispatch(&mut queue, &consumers, &[]);
    requeue(&mut queue, &seqs([1]));
    check_dispatch(&mut queue, &consumers, &[(1, 1), (1, 2)]);
}

#[test]
fn quorum_queues_keep_the_order_of_groups_too() {
    let mut queue = Queue::new(Settings { is_quorum: true, ..Settings::default() });
    queue.set_groups(Some("each"));
    publish(&mut queue, &[1, 1, 1]);
    let consumers = [queue.consume(acking()).unwrap()];
    check_dispatch(&mut queue, &consumers, &[(0, 1), (0, 2), (0, 3)]);
    requeue(&mut queue, &seqs([3]));
    requeue(&mut queue, &seqs([1]));
    check_dispatch(&mut queue, &consumers, &[(0, 1), (0, 3)]);
    queue.set_groups(None);
    requeue(&mut queue, &seqs([3]));
    requeue(&mut queue, &seqs([1]));
    check_dispatch(&mut queue, &consumers, &[(0, 3), (0, 1)]);
}

#[test]
fn while_one_waits_to_be_tried_again_none_of_its_group_goes() {
    let mut queue = Queue::new(Settings { is_quorum: true, ..Settings::default() });
    let retry = DelayedRetry { applies_to: RetryOf::All, min_ms: 10, max_ms: None, back_off: BackOff::Linear };
    queue.set_rules(Rules { counts_returns: true, retry: Some(retry), ..Rules::default() });
    queue.set_groups(Some("each"));
    publish(&mut queue, &[1, 1, 2]);
    let consumers = [queue.consume(with_prefetch(1)).unwrap()];
    check_dispatch(&mut queue, &consumers, &[(0, 1)]);
    queue.requeue(&seqs([1]), Return::Failed, 0, &mut Effects::default());
    check_dispatch(&mut queue, &consumers, &[(0, 3)]);
    settle(&mut queue, &[3]);
    check_dispatch(&mut queue, &consumers, &[]);
    let mut effects = Effects::default();
    queue.dispatch(10, &mut effects);
    assert_eq!(effects.deliveries[0].seq, QueueSeq(1));
}

#[test]
fn get_takes_the_first_of_a_free_group_and_holds_it() {
    let mut queue = queue_of(&[1, 1, 2, 2]);
    let got = |queue: &mut TestQueue, no_ack| match get(queue, no_ack) {
        Get::Message(got) => Some(got.seq.0),
        Get::Empty | Get::Loading(_) => None,
    };
    assert_eq!(got(&mut queue, false), Some(1));
    assert_eq!(got(&mut queue, true), Some(3));
    assert_eq!(got(&mut queue, false), Some(4));
    assert_eq!((got(&mut queue, false), queue.ready_count()), (None, 1));
    let consumers = [queue.consume(acking()).unwrap()];
    check_dispatch(&mut queue, &consumers, &[]);
    settle(&mut queue, &[1]);
    check_dispatch(&mut queue, &consumers, &[(0, 2)]);
}

#[test]
fn consumers_without_acks_hold_nothing() {
    let mut queue = queue_of(&[1, 1, 1]);
    let consumers = [queue.consume(no_ack()).unwrap(), queue.consume(no_ack()).unwrap()];
    check_dispatch(&mut queue, &consumers, &[(0, 1), (1, 2), (0, 3)]);
}

#[test]
fn no_more_than_a_limit_is_passed_over() {
    let mut queue = queue_of(&[1]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1)]);
    publish(&mut queue, &[1; 1024]);
    publish(&mut queue, &[2, 3]);
    check_dispatch(&mut queue, &consumers, &[]);
    settle(&mut queue, &[1]);
    // One of them has left, so there is room to look at one more.
    check_dispatch(&mut queue, &consumers, &[(1, 2), (0, 1026)]);
    settle(&mut queue, &[1026]);
    check_dispatch(&mut queue, &consumers, &[(0, 1027)]);
}

#[test]
fn as_many_as_may_be_passed_over_keep_lower_priorities_from_nobody() {
    let mut queue: TestQueue = Queue::new(Settings::default());
    queue.set_groups(Some("each"));
    for seq in 1..=1025 {
        queue.publish(Note::new(seq, 1, true).of_priority(5).in_group(Some(1)));
    }
    publish(&mut queue, &[2, 2]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1), (1, 1026)]);
    queue.publish(Note::new(1028, 1, true).of_priority(5).in_group(Some(3)));
    settle(&mut queue, &[1026]);
    // It would overtake what has not been looked at.
    check_dispatch(&mut queue, &consumers, &[]);
}

#[test]
fn what_is_read_to_be_passed_over_is_bounded() {
    let mut queue: TestQueue = Queue::new(Settings::default());
    queue.set_groups(Some("each"));
    for seq in 1..=200 {
        queue.publish(Note::new(seq, 100_000, true).in_group(Some(u64::from(seq > 199))));
    }
    let mut disk = Disk::default();
    spill(&mut queue, &mut disk);
    two(&mut queue, 1);
    let mut deliveries = Vec::new();
    while let Some(load) = dispatch_into(&mut queue, &mut deliveries) {
        // About as much as is asked for.
        let next_slot = load.end_slot.min(load.first_slot + load.bytes_max.div_ceil(100_000));
        assert_eq!(loaded(&mut queue, &load, disk.read(&load, next_slot), next_slot), 0);
    }
    assert_eq!(deliveries.len(), 1);
    let in_memory = queue.ready_count() - queue.paged_count();
    assert!((42..=60).contains(&in_memory), "{in_memory} messages were read");
}

#[test]
fn passed_over_messages_may_leave_memory_and_come_back() {
    let mut queue = queue_of(&[1, 1, 1, 2]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1), (1, 4)]);
    let mut disk = Disk::default();
    spill(&mut queue, &mut disk);
    settle(&mut queue, &[4]);
    publish(&mut queue, &[3]);
    let mut deliveries = Vec::new();
    let load = dispatch_into(&mut queue, &mut deliveries).unwrap();
    assert_eq!(loaded(&mut queue, &load, disk.read(&load, load.end_slot), load.end_slot), 0);
    check_dispatch(&mut queue, &consumers, &[(1, 5)]);
    queue.unload();
    settle(&mut queue, &[1]);
    let found: Vec<_> = dispatch_loading(&mut queue, &disk).iter().map(|delivery| delivery.seq.0).collect();
    assert_eq!(found, [2]);
}

#[test]
fn a_group_goes_by_priority_first() {
    let mut queue: TestQueue = Queue::new(Settings::default());
    queue.set_groups(Some("each"));
    for (seq, priority) in [(1, 0), (2, 0), (3, 5), (4, 0)] {
        queue.publish(Note::new(seq, 1, true).of_priority(priority).in_group(Some(1)));
    }
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 3)]);
    queue.publish(Note::new(5, 1, true).of_priority(7).in_group(Some(1)));
    check_dispatch(&mut queue, &consumers, &[]);
    settle(&mut queue, &[3]);
    check_dispatch(&mut queue, &consumers, &[(1, 5)]);
    settle(&mut queue, &[5]);
    check_dispatch(&mut queue, &consumers, &[(0, 1)]);
}

#[test]
fn the_oldest_is_dropped_though_it_is_passed_over() {
    let mut queue = queue_of(&[1, 1, 1, 1]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1)]);
    queue.set_rules(Rules { length_max: Some(1), ..Rules::default() });
    let mut effects = Effects::default();
    queue.dispatch(0, &mut effects);
    assert_eq!(effects.dropped.iter().map(|dropped| dropped.seq.0).collect::<Vec<_>>(), [2, 3]);
    settle(&mut queue, &[1]);
    check_dispatch(&mut queue, &consumers, &[(1, 4)]);
}

#[test]
fn groups_come_and_go_while_messages_are_there() {
    let mut queue = queue_of(&[1, 1, 1, 1]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1)]);
    assert!(!queue.set_groups(Some("each")) && queue.set_groups(None));
    check_dispatch(&mut queue, &consumers, &[(1, 2)]);
    assert!(queue.set_groups(Some("each")));
    settle(&mut queue, &[1]);
    // The second is still with the other one, but had been handed out before.
    check_dispatch(&mut queue, &consumers, &[(0, 3)]);
    settle(&mut queue, &[2]);
    check_dispatch(&mut queue, &consumers, &[]);
    settle(&mut queue, &[3]);
    check_dispatch(&mut queue, &consumers, &[(1, 4)]);
}

#[test]
fn publishers_are_not_slowed_for_consumers_that_groups_keep_waiting() {
    let mut queue: TestQueue = Queue::new(Settings::default());
    queue.set_groups(Some("each"));
    two(&mut queue, 1);
    for seq in 1..=30 {
        queue.publish(Note::new(seq, 100_000, true).in_group(Some(1)));
    }
    assert!(queue.consumers_lag());
    assert_eq!(dispatch(&mut queue).len(), 1);
    assert!(!queue.consumers_lag());
}

#[test]
fn a_purge_leaves_nothing_to_be_passed_over() {
    let mut queue = queue_of(&[1, 1, 1]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1)]);
    assert_eq!(queue.purge(&mut Default::default()), 2);
    settle(&mut queue, &[1]);
    check_dispatch(&mut queue, &consumers, &[]);
    publish(&mut queue, &[1]);
    check_dispatch(&mut queue, &consumers, &[(1, 4)]);
}

#[test]
fn who_takes_a_message_that_is_passed_over_makes_room_for_others() {
    let mut queue = queue_of(&[1]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1)]);
    publish(&mut queue, &[1; 1024]);
    publish(&mut queue, &[2]);
    check_dispatch(&mut queue, &consumers, &[]);
    assert!(matches!(queue.take(QueueSeq(2), None, |_| true), Take::Taken(_)));
    check_dispatch(&mut queue, &consumers, &[(1, 1026)]);
    settle(&mut queue, &[1]);
    check_dispatch(&mut queue, &consumers, &[(0, 3)]);
}

#[test]
fn who_looks_sees_no_mark_on_what_was_only_overtaken() {
    let mut queue = queue_of(&[1, 1, 2, 1]);
    let consumers = two(&mut queue, 1);
    check_dispatch(&mut queue, &consumers, &[(0, 1), (1, 3)]);
    requeue(&mut queue, &seqs([3]));
    let looked = queue.look(Position::FIRST, 10, 1000).unwrap().end();
    let marks: Vec<_> = looked.messages.iter().map(|seen| (seen.position.seq.0, seen.redelivered)).collect();
    assert_eq!(marks, [(2, false), (3, true), (4, false)]);
}
