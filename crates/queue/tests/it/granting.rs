//! Credit that consumers grant, and drain.

use ::model::features::{BackOff, DelayedRetry, RetryOf};
use ::queue::{
    Consumer, ConsumerId, Credit, Delivery, DrainedCredit, Effects, Grant, Load, Queue, Return, Rules, Settings,
};

use crate::fixture::{Disk, Door, Note, TestQueue, acking, loaded, no_ack, publish, seqs, seqs_of, spill};

fn new_queue() -> TestQueue {
    Queue::new(Settings::default())
}

fn granting() -> Consumer<Door> {
    Consumer { credit: Credit::granted(0), ..acking() }
}

fn grant(queue: &mut TestQueue, consumer: ConsumerId, limit: u32) {
    assert!(queue.grant(consumer, Grant { limit, is_draining: false }));
}

fn drain(queue: &mut TestQueue, consumer: ConsumerId, limit: u32) {
    assert!(queue.grant(consumer, Grant { limit, is_draining: true }));
}

/// A dispatch, at this time.
fn dispatch_at(queue: &mut TestQueue, now_ms: u64) -> (Vec<Delivery<Note>>, Vec<DrainedCredit>, Vec<Load>) {
    let mut effects = Effects::default();
    queue.dispatch(now_ms, &mut effects);
    (effects.deliveries, effects.drained, effects.loads)
}

/// Dispatches: which messages are handed out, and of each drain that ends the consumer and how much is given back.
#[track_caller]
fn check(queue: &mut TestQueue, delivered: &[u64], drained: &[(ConsumerId, u32)]) {
    let (deliveries, ended, _) = dispatch_at(queue, 0);
    assert_eq!(seqs_of(&deliveries), delivered);
    let ended: Vec<_> = ended.iter().map(|ended| (ended.consumer, ended.count)).collect();
    assert_eq!(ended, drained);
}

fn left(queue: &TestQueue, consumer: ConsumerId) -> u32 {
    queue.consumer(consumer).unwrap().consumer.credit.left().unwrap()
}

#[test]
fn nothing_goes_to_who_has_granted_nothing() {
    let mut queue = new_queue();
    let id = queue.consume(granting()).unwrap();
    publish(&mut queue, 3);
    check(&mut queue, &[], &[]);
    grant(&mut queue, id, 2);
    check(&mut queue, &[1, 2], &[]);
}

#[test]
fn a_settlement_gives_no_granted_credit_back() {
    let mut queue = new_queue();
    let id = queue.consume(granting()).unwrap();
    publish(&mut queue, 4);
    grant(&mut queue, id, 2);
    check(&mut queue, &[1, 2], &[]);
    queue.settle(&seqs([1, 2]), &mut Vec::new());
    check(&mut queue, &[], &[]);
    grant(&mut queue, id, 3);
    check(&mut queue, &[3], &[]);
}

#[test]
fn granted_credit_is_used_by_what_need_not_be_acked_too() {
    let mut queue = new_queue();
    let id = queue.consume(Consumer { credit: Credit::granted(0), ..no_ack() }).unwrap();
    publish(&mut queue, 4);
    grant(&mut queue, id, 3);
    check(&mut queue, &[1, 2, 3], &[]);
}

#[test]
fn a_grant_may_be_lowered_to_nothing() {
    let mut queue = new_queue();
    let id = queue.consume(granting()).unwrap();
    grant(&mut queue, id, 9);
    publish(&mut queue, 2);
    check(&mut queue, &[1, 2], &[]);
    grant(&mut queue, id, 0);
    publish(&mut queue, 2);
    check(&mut queue, &[], &[]);
    assert!(!queue.has_room(), "messages wait for credit");
    grant(&mut queue, id, 3);
    check(&mut queue, &[3], &[]);
}

#[test]
fn who_has_no_credit_gets_nothing_when_its_gate_opens() {
    let mut queue = new_queue();
    let door = Door::open_for(0);
    let id = queue.consume(Consumer { gate: door.clone(), ..granting() }).unwrap();
    publish(&mut queue, 2);
    grant(&mut queue, id, 2);
    check(&mut queue, &[], &[]);
    grant(&mut queue, id, 0);
    door.set(2);
    queue.resume(id);
    check(&mut queue, &[], &[]);
    grant(&mut queue, id, 1);
    check(&mut queue, &[1], &[]);
}

#[test]
fn who_grants_takes_turns_with_all_others() {
    let mut queue = new_queue();
    let ids = [granting(), acking(), granting()].map(|consumer| queue.consume(consumer).unwrap());
    grant(&mut queue, ids[0], 2);
    grant(&mut queue, ids[2], 1);
    publish(&mut queue, 6);
    let takers: Vec<_> = dispatch_at(&mut queue, 0).0.iter().map(|delivery| delivery.consumer).collect();
    // It was the second one's turn when the others granted.
    assert_eq!(takers, [ids[1], ids[0], ids[2], ids[1], ids[0], ids[1]]);
}

#[test]
fn a_higher_priority_gets_all_as_soon_as_it_grants() {
    let mut queue = new_queue();
    let low = queue.consume(acking()).unwrap();
    let high = queue.consume(Consumer { priority: 1, ..granting() }).unwrap();
    publish(&mut queue, 1);
    assert_eq!(dispatch_at(&mut queue, 0).0[0].consumer, low);
    grant(&mut queue, high, 1);
    publish(&mut queue, 2);
    let takers: Vec<_> = dispatch_at(&mut queue, 0).0.iter().map(|delivery| delivery.consumer).collect();
    assert_eq!(takers, [high, low]);
}

#[test]
fn only_granted_credit_is_granted() {
    let mut queue = new_queue();
    let id = queue.consume(acking()).unwrap();
    assert!(!queue.grant(id, Grant { limit: 5, is_draining: true }));
    let cancelled = queue.consume(granting()).unwrap();
    queue.cancel(cancelled);
    assert!(!queue.grant(cancelled, Grant { limit: 5, is_draining: true }));
    check(&mut queue, &[], &[]);
}

#[test]
fn who_has_granted_nothing_is_no_demand() {
    let mut queue = new_queue();
    let id = queue.consume(granting()).unwrap();
    assert!(!queue.needs_messages());
    grant(&mut queue, id, 1);
    assert!(queue.needs_messages());
    for _ in 0..200_000 {
        queue.publish(Note::new(1, 10, true));
    }
    assert!(queue.consumers_lag());
    grant(&mut queue, id, 0);
    assert!(!queue.consumers_lag() && !queue.needs_messages());
}

#[test]
fn a_drain_gives_back_what_is_left_when_all_is_handed_out() {
    let mut queue = new_queue();
    let id = queue.consume(granting()).unwrap();
    publish(&mut queue, 2);
    drain(&mut queue, id, 5);
    let (deliveries, drained, _) = dispatch_at(&mut queue, 0);
    assert_eq!(seqs_of(&deliveries), [1, 2]);
    assert_eq!(drained, [DrainedCredit { consumer: id, count: 3, delivery_count: 5 }]);
    publish(&mut queue, 1);
    check(&mut queue, &[], &[]);
    grant(&mut queue, id, 6);
    check(&mut queue, &[3], &[]);
}

#[test]
fn a_drain_that_finds_enough_ends_with_nothing_given_back() {
    let mut queue = new_queue();
    let id = queue.consume(granting()).unwrap();
    publish(&mut queue, 5);
    drain(&mut queue, id, 2);
    check(&mut queue, &[1, 2], &[(id, 0)]);
    drain(&mut queue, id, 2);
    check(&mut queue, &[], &[(id, 0)]);
}

#[test]
fn a_drain_of_an_empty_queue_ends_at_once() {
    let mut queue = new_queue();
    let id = queue.consume(granting()).unwrap();
    drain(&mut queue, id, 7);
    check(&mut queue, &[], &[(id, 7)]);
    check(&mut queue, &[], &[]);
}

#[test]
fn a_drain_waits_for_messages_that_are_being_read() {
    let (mut queue, mut disk) = (new_queue(), Disk::default());
    publish(&mut queue, 3);
    spill(&mut queue, &mut disk);
    let id = queue.consume(granting()).unwrap();
    drain(&mut queue, id, 5);
    let (deliveries, drained, mut loads) = dispatch_at(&mut queue, 0);
    assert_eq!((seqs_of(&deliveries).len(), drained.len()), (0, 0));
    check(&mut queue, &[], &[]);
    // The first read fails.
    let load = loads.pop().unwrap();
    loaded(&mut queue, &load, Vec::new(), load.first_slot);
    let (_, drained, mut loads) = dispatch_at(&mut queue, 0);
    assert_eq!(drained, []);
    let load = loads.pop().unwrap();
    loaded(&mut queue, &load, disk.read(&load, load.end_slot), load.end_slot);
    check(&mut queue, &[1, 2, 3], &[(id, 2)]);
}

#[test]
fn a_drain_ends_when_what_was_to_be_read_is_lost() {
    let (mut queue, mut disk) = (new_queue(), Disk::default());
    publish(&mut queue, 3);
    spill(&mut queue, &mut disk);
    let id = queue.consume(granting()).unwrap();
    drain(&mut queue, id, 5);
    let load = dispatch_at(&mut queue, 0).2.pop().unwrap();
    assert_eq!(queue.lose(&load, &[(0, 3)]), 3);
    loaded(&mut queue, &load, Vec::new(), load.end_slot);
    check(&mut queue, &[], &[(id, 5)]);
}

#[test]
fn a_drain_waits_for_a_gate_while_messages_are_ready() {
    let mut queue = new_queue();
    let door = Door::open_for(1);
    let id = queue.consume(Consumer { gate: door.clone(), ..granting() }).unwrap();
    publish(&mut queue, 2);
    drain(&mut queue, id, 5);
    check(&mut queue, &[1], &[]);
    publish(&mut queue, 1);
    check(&mut queue, &[], &[]);
    door.set(5);
    queue.resume(id);
    check(&mut queue, &[2, 3], &[(id, 2)]);
}

#[test]
fn a_drain_does_not_wait_for_a_gate_when_others_have_taken_all() {
    let mut queue = new_queue();
    let door = Door::open_for(0);
    let id = queue.consume(Consumer { gate: door.clone(), ..granting() }).unwrap();
    publish(&mut queue, 1);
    drain(&mut queue, id, 5);
    check(&mut queue, &[], &[]);
    queue.consume(acking()).unwrap();
    check(&mut queue, &[1], &[(id, 5)]);
    door.set(5);
    queue.resume(id);
    publish(&mut queue, 1);
    assert_ne!(dispatch_at(&mut queue, 0).0[0].consumer, id, "a gate that opens is no credit");
}

#[test]
fn a_drain_waits_for_what_is_coming_back() {
    let mut queue = new_queue();
    let first = queue.consume(acking()).unwrap();
    publish(&mut queue, 2);
    check(&mut queue, &[1, 2], &[]);
    queue.cancel(first);
    let id = queue.consume(granting()).unwrap();
    queue.begin_return();
    drain(&mut queue, id, 5);
    check(&mut queue, &[], &[]);
    queue.requeue(&seqs([2]), Return::Unharmed, 0, &mut Effects::default());
    check(&mut queue, &[], &[]);
    queue.requeue(&seqs([1]), Return::Unharmed, 0, &mut Effects::default());
    queue.end_return();
    check(&mut queue, &[1, 2], &[(id, 3)]);
}

#[test]
fn a_drain_does_not_wait_for_what_is_to_be_tried_again_later() {
    let mut queue = new_queue();
    let retry = DelayedRetry { applies_to: RetryOf::All, min_ms: 10, max_ms: None, back_off: BackOff::Linear };
    queue.set_rules(Rules { counts_returns: true, retry: Some(retry), ..Rules::default() });
    let id = queue.consume(granting()).unwrap();
    publish(&mut queue, 3000);
    drain(&mut queue, id, 3000);
    let (deliveries, ..) = dispatch_at(&mut queue, 0);
    let held: Vec<_> = deliveries.iter().map(|delivery| delivery.seq).collect();
    queue.requeue(&held, Return::Failed, 0, &mut Effects::default());
    drain(&mut queue, id, 3001);
    check(&mut queue, &[], &[(id, 1)]);
    // What is due is ready in turns; no drain ends in between.
    drain(&mut queue, id, 9000);
    let (mut delivered_count, mut turn_count) = (0, 0);
    let drained = loop {
        let (deliveries, drained, _) = dispatch_at(&mut queue, 10);
        (delivered_count, turn_count) = (delivered_count + deliveries.len(), turn_count + 1);
        if let Some(drained) = drained.first() {
            break *drained;
        }
    };
    assert_eq!((delivered_count, drained.count), (3000, 2999));
    assert!(turn_count > 1);
}

#[test]
fn a_paused_queue_gives_back_at_once() {
    let mut queue = new_queue();
    let id = queue.consume(granting()).unwrap();
    publish(&mut queue, 2);
    assert_eq!(queue.available_to(id), 2);
    queue.set_paused(true);
    drain(&mut queue, id, 5);
    check(&mut queue, &[], &[(id, 5)]);
    assert_eq!(queue.available_to(id), 0);
    queue.set_paused(false);
    check(&mut queue, &[], &[]);
}

#[test]
fn a_drain_is_given_up_by_another_grant() {
    let (mut queue, mut disk) = (new_queue(), Disk::default());
    publish(&mut queue, 1);
    spill(&mut queue, &mut disk);
    let id = queue.consume(granting()).unwrap();
    drain(&mut queue, id, 5);
    let load = dispatch_at(&mut queue, 0).2.pop().unwrap();
    grant(&mut queue, id, 3);
    loaded(&mut queue, &load, disk.read(&load, load.end_slot), load.end_slot);
    check(&mut queue, &[1], &[]);
    assert_eq!(left(&queue, id), 2);
}

#[test]
fn a_drain_goes_with_its_consumer() {
    let (mut queue, mut disk) = (new_queue(), Disk::default());
    publish(&mut queue, 1);
    spill(&mut queue, &mut disk);
    let [id, other] = [(); 2].map(|()| queue.consume(granting()).unwrap());
    drain(&mut queue, id, 5);
    drain(&mut queue, other, 0);
    let cancelled = queue.cancel(id).unwrap();
    assert_eq!(cancelled.credit.left(), Some(5));
    queue.cancel(other);
    check(&mut queue, &[], &[]);
}

#[test]
fn a_single_active_consumer_stays_so_without_credit() {
    let mut queue: TestQueue = Queue::new(Settings { single_active_consumer: true, ..Settings::default() });
    let ids = [(); 3].map(|()| queue.consume(granting()).unwrap());
    publish(&mut queue, 3);
    grant(&mut queue, ids[1], 5);
    check(&mut queue, &[], &[]);
    assert_eq!(ids.map(|id| queue.available_to(id)), [3, 0, 0]);
    grant(&mut queue, ids[0], 1);
    check(&mut queue, &[1], &[]);
    // What others granted is theirs when they are active, or ends by a drain.
    drain(&mut queue, ids[2], 4);
    check(&mut queue, &[], &[(ids[2], 4)]);
    queue.cancel(ids[0]);
    check(&mut queue, &[2, 3], &[]);
    queue.cancel(ids[1]);
    publish(&mut queue, 1);
    check(&mut queue, &[], &[]);
    assert_eq!(queue.active_consumer(), Some(ids[2]));
    grant(&mut queue, ids[2], 5);
    check(&mut queue, &[4], &[]);
}

#[test]
fn who_gives_way_to_another_active_consumer_gets_nothing_back_by_a_drain() {
    let settings = Settings { single_active_consumer: true, is_quorum: true, ..Settings::default() };
    let (mut queue, mut disk): (TestQueue, _) = (Queue::new(settings), Disk::default());
    let low = queue.consume(granting()).unwrap();
    grant(&mut queue, low, 1);
    publish(&mut queue, 1);
    check(&mut queue, &[1], &[]);
    publish(&mut queue, 1);
    spill(&mut queue, &mut disk);
    drain(&mut queue, low, 5);
    check(&mut queue, &[], &[]);
    let high = queue.consume(Consumer { priority: 1, ..granting() }).unwrap();
    check(&mut queue, &[], &[(low, 4)]);
    assert_eq!(queue.active_consumer(), Some(low), "it holds a message");
    queue.settle(&seqs([1]), &mut Vec::new());
    assert_eq!(queue.active_consumer(), Some(high));
}

#[test]
fn a_grant_lets_the_holder_of_a_group_have_more_of_it() {
    let mut queue = new_queue();
    queue.set_groups(Some("each"));
    let [first, second] = [(); 2].map(|()| queue.consume(granting()).unwrap());
    let of_group = |queue: &mut TestQueue, group| {
        queue.publish(Note::new(queue.next_seq().0, 1, true).in_group(Some(group)));
    };
    of_group(&mut queue, 1);
    grant(&mut queue, first, 1);
    check(&mut queue, &[1], &[]);
    of_group(&mut queue, 1);
    // There is a message, but none that it may have.
    drain(&mut queue, second, 3);
    check(&mut queue, &[], &[(second, 3)]);
    drain(&mut queue, first, 3);
    check(&mut queue, &[2], &[(first, 1)]);
}

#[test]
fn a_drain_in_a_queue_with_groups_waits_for_a_gate() {
    let mut queue = new_queue();
    queue.set_groups(Some("each"));
    let door = Door::open_for(1);
    let holder = queue.consume(Consumer { gate: door.clone(), ..granting() }).unwrap();
    for seq in 1..=2 {
        queue.publish(Note::new(seq, 1, true).in_group(Some(1)));
    }
    drain(&mut queue, holder, 5);
    let other = queue.consume(granting()).unwrap();
    drain(&mut queue, other, 5);
    check(&mut queue, &[1], &[(other, 5)]);
    door.set(1);
    queue.resume(holder);
    check(&mut queue, &[2], &[(holder, 3)]);
}
