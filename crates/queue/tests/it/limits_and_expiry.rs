//! What is dropped, and how much of it at once.

use ::model::features::{BackOff, DelayedRetry, RetryOf};
use ::model::ids::QueueSeq;
use ::queue::{DropReason, Effects, Get, Queue, Return, Rules, Settings};

use crate::fixture::{Note, TestQueue, publish};

const COUNT: u64 = 5000;
/// More are never dropped while others wait for the lock.
const AT_ONCE: usize = 1024;

fn queue_of_expired() -> TestQueue {
    let mut queue: TestQueue = Queue::new(Settings::default());
    for name in 0..COUNT {
        queue.publish(Note::new(name, 10, false).with_ttl(Some(10), 0));
    }
    // What has come since the last dispatch may go however short its time is.
    queue.dispatch(0, &mut Effects::default());
    queue
}

/// Drops all that is due, a piece at a time, each of which must not be too large.
#[track_caller]
fn check_pieces(queue: &mut TestQueue, now_ms: u64, reason: DropReason, left: u64) {
    let mut dropped = Vec::new();
    loop {
        let mut effects = Effects::default();
        queue.dispatch(now_ms, &mut effects);
        assert!((1..=AT_ONCE).contains(&effects.dropped.len()), "{} at once", effects.dropped.len());
        assert!(effects.dropped.iter().all(|dropped| dropped.reason == reason));
        dropped.extend(effects.dropped.iter().map(|dropped| dropped.seq));
        if queue.next_due().is_none_or(|at_ms| at_ms > now_ms) {
            break;
        }
    }
    let first = QueueSeq::FIRST.0;
    assert_eq!(dropped, (first..first + COUNT - left).map(QueueSeq).collect::<Vec<_>>());
    assert_eq!(queue.ready_count(), left);
}

#[test]
fn many_expired_messages_are_dropped_a_piece_at_a_time() {
    check_pieces(&mut queue_of_expired(), 100, DropReason::Expired, 0);
}

#[test]
fn a_lowered_limit_drops_a_piece_at_a_time() {
    let mut queue: TestQueue = Queue::new(Settings::default());
    publish(&mut queue, COUNT);
    queue.set_rules(Rules { length_max: Some(10), ..Rules::default() });
    check_pieces(&mut queue, 100, DropReason::MaxLength, 10);
}

#[test]
fn a_get_behind_many_expired_messages_waits_for_the_rest() {
    let mut queue = queue_of_expired();
    queue.publish(Note::new(COUNT, 10, false));
    for _ in 0..COUNT / AT_ONCE as u64 {
        let mut effects = Effects::default();
        assert_eq!(queue.get(false, 100, &mut effects), Get::Loading(None));
        assert_eq!(effects.dropped.len(), AT_ONCE);
        assert!(queue.next_due().is_some_and(|at_ms| at_ms <= 100));
    }
    let Get::Message(got) = queue.get(false, 100, &mut Effects::default()) else { panic!("no message") };
    assert_eq!(got.seq, QueueSeq(QueueSeq::FIRST.0 + COUNT));
}

/// Takes a message of several, and gives it back to a queue of which so many may be ready: what is dropped, and what is ready then.
fn given_back(length_max: u64, how: Return, rules: Rules) -> (Vec<QueueSeq>, u64) {
    let mut queue: TestQueue = Queue::new(Settings::default());
    publish(&mut queue, 3);
    let taken: Vec<QueueSeq> = (0..2)
        .map(|_| match queue.get(false, 0, &mut Effects::default()) {
            Get::Message(got) => got.seq,
            other => panic!("{other:?}"),
        })
        .collect();
    queue.set_rules(Rules { length_max: Some(length_max), ..rules });
    let mut effects = Effects::default();
    queue.requeue(&taken, how, 0, &mut effects);
    (effects.dropped.iter().map(|dropped| dropped.seq).collect(), queue.ready_count())
}

#[test]
fn what_comes_back_counts_before_it_is_handed_out_again() {
    let [first, second] = [QueueSeq::FIRST, QueueSeq(QueueSeq::FIRST.0 + 1)];
    let rules = Rules::default();
    assert_eq!(given_back(1, Return::Unharmed, rules), (vec![first, second], 1));
    assert_eq!(given_back(2, Return::Failed, rules), (vec![first], 2));
    assert_eq!(given_back(3, Return::Failed, rules), (vec![], 3));
    // What was never sent does not come back; a queue that refuses drops nothing; and a quorum queue hands out first.
    assert_eq!(given_back(1, Return::Undelivered, rules), (vec![], 3));
    assert_eq!(given_back(1, Return::Unharmed, Rules { refuses_beyond: true, ..rules }), (vec![], 3));
    assert_eq!(given_back(1, Return::Unharmed, Rules { counts_returns: true, ..rules }), (vec![], 3));
}

/// All of it has come back at once, and waits for as long.
#[test]
fn many_waits_that_end_together_end_a_piece_at_a_time() {
    let mut queue: TestQueue = Queue::new(Settings { is_quorum: true, ..Settings::default() });
    let retry = DelayedRetry { applies_to: RetryOf::All, min_ms: 10, max_ms: None, back_off: BackOff::Linear };
    queue.set_rules(Rules { counts_returns: true, retry: Some(retry), ..Rules::default() });
    publish(&mut queue, COUNT);
    let seqs: Vec<_> = (0..COUNT).map(|number| QueueSeq(QueueSeq::FIRST.0 + number)).collect();
    for seq in &seqs {
        let Get::Message(got) = queue.get(false, 0, &mut Effects::default()) else { panic!("no message") };
        assert_eq!(got.seq, *seq);
    }
    queue.requeue(&seqs, Return::Failed, 0, &mut Effects::default());
    assert_eq!(queue.ready_count(), 0);
    let mut ready = 0;
    while ready < COUNT {
        assert!(queue.next_due().is_some_and(|at_ms| at_ms <= 100), "the rest is due");
        queue.dispatch(100, &mut Effects::default());
        let more = queue.ready_count() - ready;
        assert!((1..=AT_ONCE as u64).contains(&more), "{more} at once");
        ready += more;
    }
    assert_eq!(queue.next_due(), None);
}

/// Whether the queue drops what has a time to live of nothing as expired, whose body has so many bytes.
fn reason_of_what_expires_at_once(rules: Rules, len: u32) -> DropReason {
    let mut queue: TestQueue = Queue::new(Settings::default());
    queue.set_rules(rules);
    queue.publish(Note::new(0, len, false).with_ttl(Some(0), 7));
    let mut effects = Effects::default();
    queue.dispatch(7, &mut effects);
    assert_eq!((effects.dropped.len(), queue.ready_count()), (1, 0));
    effects.dropped[0].reason
}

#[test]
fn what_is_too_much_by_itself_is_so_before_it_expires() {
    let reason = reason_of_what_expires_at_once;
    let rules = Rules::default();
    assert_eq!(reason(Rules { length_max: Some(0), ..rules }, 10), DropReason::MaxLength);
    assert_eq!(reason(Rules { length_max: Some(1), ..rules }, 10), DropReason::Expired);
    assert_eq!(reason(Rules { bytes_max: Some(9), ..rules }, 10), DropReason::MaxLength);
    assert_eq!(reason(Rules { bytes_max: Some(10), ..rules }, 10), DropReason::Expired);
    assert_eq!(reason(Rules { length_max: Some(0), counts_returns: true, ..rules }, 10), DropReason::MaxLength);
    // A queue that refuses drops nothing for it.
    assert_eq!(reason(Rules { length_max: Some(0), refuses_beyond: true, ..rules }, 10), DropReason::Expired);
}

/// A quorum queue with a message that came back first, one that came back after it, and one that was never taken: which of them go when
/// the time of those of them that have one is over.
fn expired_of_a_quorum_queue(ttls_ms: [Option<u64>; 3]) -> Vec<QueueSeq> {
    let mut queue: TestQueue = Queue::new(Settings { is_quorum: true, ..Settings::default() });
    queue.set_rules(Rules { counts_returns: true, ..Rules::default() });
    for (name, ttl_ms) in [ttls_ms[1], ttls_ms[0], ttls_ms[2]].into_iter().enumerate() {
        queue.publish(Note::new(name as u64, 10, true).with_ttl(ttl_ms, 0));
    }
    for _ in 0..2 {
        assert!(matches!(queue.get(false, 0, &mut Effects::default()), Get::Message(_)));
    }
    let [older, younger] = [QueueSeq::FIRST, QueueSeq::FIRST.next()];
    queue.requeue(&[younger, older], Return::Unharmed, 0, &mut Effects::default());
    let mut effects = Effects::default();
    queue.dispatch(100, &mut effects);
    assert_eq!(queue.next_due(), None, "what is left has no time, or is behind others");
    effects.dropped.iter().map(|dropped| dropped.seq).collect()
}

#[test]
fn of_what_came_back_to_a_quorum_queue_the_first_expires_and_of_the_rest_the_first() {
    let [older, younger, fresh] = [1, 2, 3].map(QueueSeq);
    let some = Some(10);
    // It waits behind the younger one, which came back before.
    assert_eq!(expired_of_a_quorum_queue([None, some, None]), []);
    assert_eq!(expired_of_a_quorum_queue([some, None, None]), [younger]);
    assert_eq!(expired_of_a_quorum_queue([some, some, None]), [younger, older]);
    // What never was taken does not wait for what came back.
    assert_eq!(expired_of_a_quorum_queue([None, None, some]), [fresh]);
    assert_eq!(expired_of_a_quorum_queue([some, some, some]), [younger, older, fresh]);
}
