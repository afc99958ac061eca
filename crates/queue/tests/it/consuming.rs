//! Which consumer gets the next message.

use ::model::ids::QueueSeq;
use ::queue::{ConsumeError, Consumer, Queue, Settings};

use crate::fixture::{
    Door, Note, TestQueue, acking, dispatch, dispatch_into, no_ack, publish, requeue, seqs, with_prefetch,
};

/// Publishes so many messages to these consumers; says for each in turn which of them (from 1) gets it.
#[track_caller]
fn check_turns(consumers: Vec<Consumer<Door>>, count: u64, expected: &[usize]) {
    let mut queue = new_queue();
    let ids: Vec<_> = consumers.into_iter().map(|consumer| queue.consume(consumer).unwrap()).collect();
    publish(&mut queue, count);
    let deliveries = dispatch(&mut queue);
    let takers = deliveries.iter().map(|delivery| ids.iter().position(|id| *id == delivery.consumer).unwrap() + 1);
    assert_eq!(takers.collect::<Vec<_>>(), expected);
    assert!(deliveries.is_sorted_by_key(|delivery| delivery.seq));
}

fn new_queue() -> TestQueue {
    Queue::new(Settings::default())
}

fn with_priority(priority: i32, prefetch: u16) -> Consumer<Door> {
    Consumer { priority, ..with_prefetch(prefetch) }
}

#[test]
fn consumers_take_turns_one_message_each() {
    check_turns(vec![acking(), acking(), acking()], 7, &[1, 2, 3, 1, 2, 3, 1]);
    check_turns(vec![no_ack(), acking()], 4, &[1, 2, 1, 2]);
}

#[test]
fn turns_go_on_from_one_dispatch_to_the_next() {
    let mut queue = new_queue();
    let ids: Vec<_> = (0..3).map(|_| queue.consume(acking()).unwrap()).collect();
    for round in 0..7 {
        publish(&mut queue, 1);
        assert_eq!(dispatch(&mut queue)[0].consumer, ids[round % 3]);
    }
}

#[test]
fn a_consumer_holds_no_more_than_its_prefetch() {
    check_turns(vec![with_prefetch(1), with_prefetch(3)], 10, &[1, 2, 2, 2]);
}

#[test]
fn prefetch_does_not_limit_a_consumer_that_need_not_ack() {
    check_turns(vec![Consumer { no_ack: true, ..with_prefetch(1) }], 3, &[1, 1, 1]);
}

#[test]
fn the_highest_priority_gets_all_until_it_is_full() {
    check_turns(vec![with_priority(-1, 0), with_priority(5, 2), with_priority(0, 1)], 5, &[2, 2, 3, 1, 1]);
}

#[test]
fn equal_priorities_take_turns() {
    check_turns(vec![with_priority(5, 2), with_priority(0, 0), with_priority(5, 1)], 5, &[1, 3, 1, 2, 2]);
}

#[test]
fn a_queue_needs_messages_when_it_has_none_and_a_consumer_of_no_link_waits() {
    let mut queue = new_queue();
    queue.consume(with_priority(-1, 0)).unwrap();
    assert!(!queue.needs_messages());
    let own = queue.consume(with_priority(0, 1)).unwrap();
    assert!(queue.needs_messages());
    publish(&mut queue, 1);
    let seqs: Vec<_> = dispatch(&mut queue).iter().map(|delivery| delivery.seq).collect();
    assert!(!queue.needs_messages(), "it holds all it may");
    publish(&mut queue, 1);
    queue.settle(&seqs, &mut Vec::new());
    assert!(!queue.needs_messages(), "one is ready");
    queue.consume(with_priority(7, 0)).unwrap();
    dispatch(&mut queue);
    assert!(queue.needs_messages());
    queue.cancel(own);
    assert!(queue.needs_messages());
}

#[test]
fn a_settlement_brings_the_higher_priority_back() {
    let mut queue = new_queue();
    let low = queue.consume(with_priority(0, 0)).unwrap();
    let high = queue.consume(with_priority(1, 1)).unwrap();
    publish(&mut queue, 2);
    assert_eq!(dispatch(&mut queue)[1].consumer, low);
    queue.settle(&seqs([1]), &mut Vec::new());
    publish(&mut queue, 2);
    let takers: Vec<_> = dispatch(&mut queue).iter().map(|delivery| delivery.consumer).collect();
    assert_eq!(takers, [high, low]);
}

#[test]
fn settling_a_neighbours_message_gives_no_credit() {
    let mut queue = new_queue();
    queue.consume(with_prefetch(1)).unwrap();
    queue.consume(with_prefetch(1)).unwrap();
    publish(&mut queue, 4);
    let second = dispatch(&mut queue)[1].clone();
    queue.settle(&[second.seq], &mut Vec::new());
    let next = dispatch(&mut queue);
    assert_eq!(next.iter().map(|delivery| delivery.consumer).collect::<Vec<_>>(), [second.consumer]);
}

#[test]
fn a_consumer_whose_gate_refused_gets_nothing_until_resumed() {
    let mut queue = new_queue();
    let door = Door::open_for(1);
    let id = queue.consume(Consumer { gate: door.clone(), ..acking() }).unwrap();
    publish(&mut queue, 3);
    assert_eq!(dispatch(&mut queue).len(), 1);
    assert!(door.take_refused());
    door.set(5);
    assert_eq!(dispatch(&mut queue).len(), 0);
    queue.settle(&seqs([1]), &mut Vec::new());
    assert_eq!(dispatch(&mut queue).len(), 0, "credit is not what it lacks");
    queue.resume(id);
    assert_eq!(dispatch(&mut queue).len(), 2);
}

#[test]
fn a_gate_that_refused_is_not_asked_again() {
    let mut queue = new_queue();
    let door = Door::open_for(0);
    queue.consume(Consumer { gate: door.clone(), ..acking() }).unwrap();
    queue.consume(acking()).unwrap();
    publish(&mut queue, 1);
    assert_eq!(dispatch(&mut queue).len(), 1);
    assert!(door.take_refused());
    publish(&mut queue, 5);
    assert_eq!(dispatch(&mut queue).len(), 5);
    assert!(!door.take_refused());
}

#[test]
fn an_empty_queue_asks_no_gate() {
    let mut queue = new_queue();
    let door = Door::open_for(0);
    queue.consume(Consumer { gate: door.clone(), ..acking() }).unwrap();
    assert_eq!(dispatch(&mut queue), []);
    assert!(!door.take_refused());
}

#[test]
fn who_comes_back_waits_behind_the_others() {
    let mut queue = new_queue();
    let first = queue.consume(with_prefetch(1)).unwrap();
    let second = queue.consume(acking()).unwrap();
    let third = queue.consume(acking()).unwrap();
    publish(&mut queue, 1);
    dispatch(&mut queue);
    queue.settle(&seqs([1]), &mut Vec::new());
    publish(&mut queue, 3);
    let takers: Vec<_> = dispatch(&mut queue).iter().map(|delivery| delivery.consumer).collect();
    assert_eq!(takers, [second, third, first]);
}

#[test]
fn an_exclusive_consumer_is_alone() {
    let exclusive = || Consumer { exclusive: true, ..acking() };
    let mut queue = new_queue();
    let id = queue.consume(exclusive()).unwrap();
    assert_eq!(queue.exclusive_consumer(), Some(id));
    assert_eq!(queue.consume(acking()), Err(ConsumeError::InExclusiveUse));
    assert_eq!(queue.consume(exclusive()), Err(ConsumeError::InExclusiveUse));
    queue.cancel(id).unwrap();
    queue.consume(acking()).unwrap();
    assert_eq!(queue.consume(exclusive()), Err(ConsumeError::InExclusiveUse));
    assert_eq!(queue.exclusive_consumer(), None);
}

#[test]
fn what_a_cancelled_consumer_holds_stays_unacked() {
    let mut queue = new_queue();
    let id = queue.consume(acking()).unwrap();
    publish(&mut queue, 3);
    dispatch(&mut queue);
    assert!(queue.cancel(id).is_some());
    assert_eq!((queue.ready_count(), queue.unacked_count()), (0, 3));
    queue.settle(&seqs([2]), &mut Vec::new());
    requeue(&mut queue, &seqs([1, 3]));
    assert_eq!((queue.ready_count(), queue.unacked_count()), (2, 0));
}

#[test]
fn a_cancelled_consumer_loses_its_turn() {
    let mut queue = new_queue();
    let ids: Vec<_> = (0..3).map(|_| queue.consume(acking()).unwrap()).collect();
    queue.cancel(ids[1]);
    publish(&mut queue, 3);
    let takers: Vec<_> = dispatch(&mut queue).iter().map(|delivery| delivery.consumer).collect();
    assert_eq!(takers, [ids[0], ids[2], ids[0]]);
}

#[test]
fn a_stale_id_names_nobody() {
    let mut queue = new_queue();
    let old = queue.consume(with_prefetch(1)).unwrap();
    publish(&mut queue, 3);
    dispatch(&mut queue);
    queue.cancel(old);
    let new = queue.consume(with_prefetch(1)).unwrap();
    assert_ne!(old, new);
    assert!(queue.consumer(old).is_none());
    assert!(queue.cancel(old).is_none());
    queue.resume(old);
    dispatch(&mut queue);
    queue.settle(&seqs([1]), &mut Vec::new());
    assert_eq!(queue.consumer(new).unwrap().unacked_count, 1, "the settlement of another's message is no credit");
    assert_eq!(dispatch(&mut queue), []);
}

#[test]
fn a_message_for_a_consumer_that_need_not_ack_is_moved_out() {
    let mut queue = new_queue();
    queue.consume(no_ack()).unwrap();
    publish(&mut queue, 1);
    let deliveries = dispatch(&mut queue);
    assert!(deliveries[0].no_ack);
    assert_eq!(deliveries[0].message.handle_count(), 1);
    assert_eq!((queue.ready_count(), queue.unacked_count()), (0, 0));
}

#[test]
fn deliveries_are_appended() {
    let mut queue = new_queue();
    queue.consume(no_ack()).unwrap();
    let mut deliveries = Vec::new();
    for _ in 0..2 {
        publish(&mut queue, 2);
        dispatch_into(&mut queue, &mut deliveries);
    }
    assert_eq!(crate::fixture::seqs_of(&deliveries), [1, 2, 3, 4]);
}

#[test]
fn journalled_and_transient_messages_keep_one_order() {
    let mut queue = new_queue();
    queue.consume(acking()).unwrap();
    for name in 1..=6 {
        assert_eq!(queue.publish(Note::new(name, 1, name % 3 == 0)), QueueSeq(name));
    }
    let names: Vec<_> = dispatch(&mut queue).iter().map(|delivery| delivery.message.name()).collect();
    assert_eq!(names, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn an_auto_delete_queue_is_abandoned_when_its_last_consumer_goes() {
    let mut queue: TestQueue = Queue::new(Settings { auto_delete: true, ..Settings::default() });
    assert!(!queue.is_abandoned(), "it has not been used yet");
    let ids: Vec<_> = (0..2).map(|_| queue.consume(acking()).unwrap()).collect();
    queue.cancel(ids[0]);
    assert!(!queue.is_abandoned());
    queue.cancel(ids[1]);
    assert!(queue.is_abandoned());
}

#[test]
fn other_queues_are_never_abandoned() {
    let mut queue = new_queue();
    let id = queue.consume(acking()).unwrap();
    queue.cancel(id);
    assert!(!queue.is_abandoned());
    assert!(queue.is_unused());
}

#[test]
fn an_idle_queue_is_small() {
    assert!(size_of::<TestQueue>() <= 496, "{} bytes", size_of::<TestQueue>());
    assert_eq!(size_of::<Note>(), 24, "the size of the broker's message");
}

#[test]
fn a_paused_queue_hands_out_nothing_and_slows_no_publisher() {
    let mut queue = new_queue();
    queue.consume(acking()).unwrap();
    publish(&mut queue, 1);
    queue.set_paused(true);
    assert!(dispatch(&mut queue).is_empty());
    assert!(!queue.needs_messages());
    for _ in 0..200_000 {
        queue.publish(Note::new(queue.next_seq().0, 10, true));
    }
    assert!(!queue.consumers_lag(), "publishers would wait for a person");
    queue.set_paused(false);
    assert!(queue.consumers_lag());
    assert_eq!(dispatch(&mut queue).first().map(|delivery| delivery.seq), Some(QueueSeq(1)));
}

/// Publishes far more than a consumer with a prefetch of 100 gets, which acks all of it or nothing in every so many rounds. Returns whether
/// the queue's consumers lag.
fn consumers_lag(rounds: u64, acks_every: Option<u64>) -> bool {
    consumers_lag_with(0, rounds, acks_every)
}

/// The same of messages with headers of so many bytes.
fn consumers_lag_with(header_len: u32, rounds: u64, acks_every: Option<u64>) -> bool {
    let mut queue = new_queue();
    queue.consume(with_prefetch(100)).unwrap();
    let mut held: Vec<QueueSeq> = Vec::new();
    for round in 1..=rounds {
        for _ in 0..1_000 {
            queue.publish(Note::new(queue.next_seq().0, 10, true).with_header(header_len));
        }
        if acks_every.is_some_and(|every| round % every == 0) {
            queue.settle(&held, &mut Vec::new());
            held.clear();
        }
        held.extend(dispatch(&mut queue).iter().map(|delivery| delivery.seq));
    }
    queue.consumers_lag()
}

#[test]
fn consumers_lag_that_keep_on_acking() {
    assert!(consumers_lag(100, Some(1)));
    assert!(!consumers_lag(100, None), "it waits for a consumer that does nothing");
    assert!(!consumers_lag(100, Some(20)), "the consumer is slow by itself");
    assert!(!consumers_lag(10, Some(1)), "little waits");
    assert!(consumers_lag_with(1_000, 10, Some(1)), "headers wait, too");
}
