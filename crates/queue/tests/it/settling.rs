//! Acks, rejects, requeues and purges.

use ::model::ids::QueueSeq;
use ::queue::{Effects, PurgedMessages, Queue, Rules, Settings};

use crate::fixture::{Note, TestQueue, acking, dispatch, get, publish, requeue, seqs, seqs_of, with_prefetch};

/// A queue whose consumer holds the first so many of its messages.
fn queue_with_unacked(held: u64, ready: u64) -> TestQueue {
    let mut queue = Queue::new(Settings::default());
    publish(&mut queue, held);
    let id = queue.consume(acking()).unwrap();
    assert_eq!(dispatch(&mut queue).len() as u64, held);
    queue.cancel(id);
    publish(&mut queue, ready);
    queue
}

#[track_caller]
fn check_settled(held: u64, asked: &[u64], expected: &[u64]) {
    let mut queue = queue_with_unacked(held, 1);
    let mut settled = Vec::new();
    queue.settle(&seqs(asked.iter().copied()), &mut settled);
    let found: Vec<_> = settled.iter().map(|(seq, note)| (seq.0, note.name())).collect();
    assert_eq!(found, expected.iter().map(|seq| (*seq, *seq)).collect::<Vec<_>>());
    let remaining = held - expected.len() as u64;
    assert_eq!((queue.unacked_count(), queue.unacked_bytes()), (remaining, remaining * 10));
    assert_eq!((queue.ready_count(), queue.ready_bytes()), (1, 10));
}

#[test]
fn messages_are_settled_in_any_order() {
    check_settled(5, &[1, 2, 3], &[1, 2, 3]);
    check_settled(5, &[5, 1, 3], &[5, 1, 3]);
    check_settled(300, &[299, 64, 65, 1, 128, 130, 129], &[299, 64, 65, 1, 128, 130, 129]);
}

#[test]
fn what_is_not_unacked_is_passed_over() {
    check_settled(2, &[0, 1, 1, 3, 99], &[1]);
    check_settled(0, &[1], &[]);
}

#[test]
fn requeued_messages_go_first_in_their_order_and_are_redelivered() {
    let mut queue = queue_with_unacked(5, 2);
    requeue(&mut queue, &seqs([4, 1, 3]));
    queue.consume(acking()).unwrap();
    let deliveries = dispatch(&mut queue);
    assert_eq!(seqs_of(&deliveries), [1, 3, 4, 6, 7]);
    let redelivered: Vec<_> = deliveries.iter().map(|delivery| delivery.redelivered).collect();
    assert_eq!(redelivered, [true, true, true, false, false]);
}

#[test]
fn nothing_is_handed_out_until_all_that_comes_back_in_pieces_is_back() {
    let mut queue = queue_with_unacked(6, 2);
    queue.consume(acking()).unwrap();
    // Two give back at once.
    queue.begin_return();
    queue.begin_return();
    for piece in [[1, 2], [3, 4]] {
        requeue(&mut queue, &seqs(piece));
        assert!(dispatch(&mut queue).is_empty());
    }
    queue.end_return();
    assert!(dispatch(&mut queue).is_empty());
    requeue(&mut queue, &seqs([5, 6]));
    queue.end_return();
    assert_eq!(seqs_of(&dispatch(&mut queue)), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn what_a_late_consumer_holds_comes_back_in_turns() {
    const HELD_COUNT: u64 = 10_000;
    const DUE_MS: u64 = 1_000;
    let rules = Rules { consumer_timeout_ms: Some(DUE_MS), ..Rules::default() };
    let mut queue: TestQueue = Queue::new(Settings::default());
    queue.set_rules(rules);
    publish(&mut queue, HELD_COUNT);
    let late = queue.consume(acking()).unwrap();
    assert_eq!(dispatch(&mut queue).len() as u64, HELD_COUNT);
    assert_eq!(queue.next_due(), Some(DUE_MS));
    queue.consume(acking()).unwrap();
    let mut effects = Effects::default();
    assert_eq!(queue.time_out(DUE_MS, &mut effects).len(), 1);
    let mut back_count = queue.ready_count();
    assert!((1..HELD_COUNT / 2).contains(&back_count), "{back_count} came back in one turn");
    // What it settles before it has come back is settled, and the rules of the rest do not matter.
    let settled_seq = QueueSeq(HELD_COUNT);
    assert!(queue.is_held_by(settled_seq, Some(late)));
    queue.settle(&[settled_seq], &mut Vec::new());
    queue.set_rules(Rules::default());
    while queue.unacked_count() > 0 {
        assert!(dispatch(&mut queue).is_empty(), "the first of what comes back goes first");
        assert!(queue.next_due().is_some_and(|due_ms| due_ms <= DUE_MS), "the rest is due");
        assert!(queue.time_out(DUE_MS, &mut effects).is_empty());
        assert!(queue.ready_count() > back_count, "every turn brings some back");
        back_count = queue.ready_count();
    }
    assert_eq!(seqs_of(&dispatch(&mut queue)), (1..HELD_COUNT).collect::<Vec<_>>());
}

#[test]
fn a_purge_in_pieces_removes_what_a_purge_removes() {
    let mut queue = queue_with_unacked(3, 10);
    requeue(&mut queue, &seqs([2]));
    let mut purged = Vec::new();
    let counts: Vec<_> = (0..4).map(|_| queue.purge_some(4, &mut purged)).collect();
    assert_eq!(counts, [4, 4, 3, 0]);
    assert_eq!((queue.ready_count(), queue.ready_bytes(), queue.unacked_count()), (0, 0, 2));
    let mut found: Vec<_> = purged.iter().map(|(seq, _)| seq.0).collect();
    found.sort_unstable();
    assert_eq!(found, [[2].as_slice(), &(4..=13).collect::<Vec<_>>()].concat());
    let mut rest = PurgedMessages::default();
    assert_eq!(queue.purge(&mut rest), 0);
}

#[test]
fn a_requeued_message_gives_its_credit_back() {
    let mut queue: TestQueue = Queue::new(Settings::default());
    queue.consume(with_prefetch(1)).unwrap();
    publish(&mut queue, 2);
    dispatch(&mut queue);
    requeue(&mut queue, &seqs([1]));
    assert_eq!(seqs_of(&dispatch(&mut queue)), [1]);
    assert_eq!(seqs_of(&dispatch(&mut queue)), [0; 0]);
}

#[test]
fn a_redelivered_message_can_be_settled() {
    let mut queue = queue_with_unacked(200, 0);
    requeue(&mut queue, &seqs(50..150));
    queue.consume(acking()).unwrap();
    assert_eq!(seqs_of(&dispatch(&mut queue)), (50..150).collect::<Vec<_>>());
    let mut settled = Vec::new();
    queue.settle(&seqs(1..=200), &mut settled);
    assert_eq!(settled.len(), 200);
    assert_eq!((queue.ready_count(), queue.unacked_count()), (0, 0));
}

#[test]
fn purge_takes_only_what_is_ready() {
    let mut queue = queue_with_unacked(3, 4);
    requeue(&mut queue, &seqs([2]));
    let mut purged = PurgedMessages::default();
    assert_eq!(queue.purge(&mut purged), 5);
    let mut found: Vec<_> = purged.messages.iter().map(|(seq, _)| seq.0).collect();
    found.sort_unstable();
    assert_eq!(found, [2, 4, 5, 6, 7]);
    assert_eq!((queue.ready_count(), queue.ready_bytes(), queue.unacked_count()), (0, 0, 2));
    assert!(queue.is_empty());
    publish(&mut queue, 1);
    assert_eq!(queue.next_seq(), QueueSeq(9), "positions are never used again");
}

#[test]
fn a_deleted_queue_gives_its_unacked_messages_out() {
    let mut queue = queue_with_unacked(3, 0);
    let mut drained = Vec::new();
    queue.drain_unacked(&mut drained);
    assert_eq!(drained.iter().map(|(seq, _)| seq.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((queue.unacked_count(), queue.unacked_bytes()), (0, 0));
}

#[test]
fn the_watermark_is_the_highest_seq_handed_out() {
    let mut queue = queue_with_unacked(0, 3);
    assert_eq!(queue.last_delivered(), QueueSeq(0));
    get(&mut queue, true);
    get(&mut queue, false);
    requeue(&mut queue, &seqs([2]));
    get(&mut queue, false);
    assert_eq!(queue.last_delivered(), QueueSeq(2));
}

/// A queue with a hundred thousand expired messages had all of them in memory before the first had arrived elsewhere.
#[test]
fn no_more_expire_than_may_be_on_their_way_at_once() {
    for (len, count_max) in [(10, 4_096), (1 << 20, 16)] {
        let mut queue: TestQueue = Queue::new(Settings::default());
        queue.set_rules(Rules { keeps_dropped: true, ..Rules::default() });
        for name in 1..=5_000 {
            queue.publish(Note::new(name, len, true).with_ttl(Some(100), 0));
        }
        let mut effects = Effects::default();
        let mut expire = |queue: &mut TestQueue| {
            let mut expired = Vec::new();
            loop {
                queue.dispatch(200, &mut effects);
                expired.extend(effects.dropped.drain(..).map(|dropped| dropped.seq));
                effects.leaving.clear();
                if queue.next_due().is_none_or(|due_ms| due_ms > 200) {
                    return expired;
                }
            }
        };
        assert_eq!(expire(&mut queue), seqs(1..=count_max));
        assert_eq!((expire(&mut queue), queue.next_due()), (seqs([]), None), "the others wait, and no clock is asked");
        queue.remove_dead_lettered(&seqs(1..=10), &mut Vec::new());
        assert!(queue.next_due().is_some_and(|due_ms| due_ms <= 200));
        assert_eq!(expire(&mut queue), seqs(count_max + 1..=count_max + 10));
    }
}
