//! What quorum queues count and wait for.

use amqp::method::basic;
use amqp::table::Value;

use super::client::{Client, Heard, PERSISTENT};
use super::node::{NOW, Node};
use crate::view::SetAsideView;

fn declare(client: &mut Client, more: &[(&str, Value<'_>)]) {
    client.declare_with("q", &[&[("x-queue-type", Value::LongStr(b"quorum"))], more].concat());
}

/// Takes the head without settling it: its tag, and the two counts that it says.
#[track_caller]
fn take(node: &Node, client: &mut Client) -> (u64, Option<i64>, Option<i64>) {
    client.get(1, "q", false);
    let heard = node.listen(client);
    let [Heard::Message { tag, .. }] = heard.as_slice() else { panic!("{heard:?}") };
    (*tag, client.last_number("x-delivery-count"), client.last_number("x-acquired-count"))
}

fn fail(client: &mut Client, delivery_tag: u64) {
    client.send(1, &basic::Reject { delivery_tag, requeue: true });
}

fn give_back(client: &mut Client, delivery_tag: u64) {
    client.send(1, &basic::Nack { delivery_tag, multiple: false, requeue: true });
}

#[test]
fn only_failures_count_towards_the_limit_and_all_returns_are_told() {
    let node = Node::new();
    let mut client = node.connect();
    declare(&mut client, &[("x-delivery-limit", Value::I64(2))]);
    client.publish(1, "", "q", PERSISTENT, b"m");
    let (tag, ..) = take(&node, &mut client);
    assert_eq!(client.last_number("x-delivery-count"), None);
    for round in 1..=5 {
        give_back(&mut client, tag + round - 1);
        let (_, _, acquired) = take(&node, &mut client);
        assert_eq!(acquired, Some(round as i64));
    }
    fail(&mut client, 6);
    assert_eq!(take(&node, &mut client), (7, Some(1), Some(6)));
    fail(&mut client, 7);
    assert_eq!(take(&node, &mut client), (8, Some(2), Some(7)));
    fail(&mut client, 8);
    assert_eq!(node.counts("q"), (0, 0));
    node.sync();
    assert_eq!(node.kill().drain("q"), [""; 0]);
}

#[test]
fn counts_outlive_restarts_segments_and_checkpoints() {
    let mut node = Node::new();
    let mut client = node.connect();
    declare(&mut client, &[("x-delivery-limit", Value::I64(3))]);
    client.publish(1, "", "q", PERSISTENT, b"m");
    drop(client);
    for round in 0..4 {
        let mut client = node.connect();
        let (tag, delivery_count, _) = take(&node, &mut client);
        assert_eq!(delivery_count.unwrap_or(0), round, "round {round}");
        fail(&mut client, tag);
        drop(client);
        match round {
            0 => node.sync(),
            1 => node.spill(),
            _ => {
                node.spill();
                node.broker.engine.store.checkpoint_once().unwrap();
            }
        }
        node = node.kill();
    }
    assert_eq!(node.counts("q"), (0, 0));
}

#[test]
fn what_came_back_goes_first_in_the_order_in_which_it_came_back() {
    let node = Node::new();
    let mut client = node.connect();
    declare(&mut client, &[]);
    for body in [b"a", b"b", b"c"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    take(&node, &mut client);
    take(&node, &mut client);
    for tag in [2, 1] {
        give_back(&mut client, tag);
    }
    assert_eq!(node.drain("q"), ["b", "a", "c"]);
}

#[test]
fn a_connection_that_ends_has_failed_with_what_it_holds() {
    let node = Node::new();
    let mut client = node.connect();
    declare(&mut client, &[]);
    client.publish(1, "", "q", PERSISTENT, b"m");
    take(&node, &mut client);
    client.session.front.end();
    assert_eq!(take(&node, &mut node.connect()), (1, Some(1), Some(1)));
}

#[test]
fn a_message_that_has_failed_waits_longer_each_time() {
    let (node, mut client) = Node::standing();
    let retry = [
        ("x-delayed-retry-type", Value::LongStr(b"failed")),
        ("x-delayed-retry-min", Value::I64(100)),
        ("x-delayed-retry-max", Value::I64(1000)),
    ];
    declare(&mut client, &retry);
    client.publish(1, "", "q", PERSISTENT, b"m");
    let mut now = NOW;
    for round in 1..=3 {
        let (tag, ..) = take(&node, &mut client);
        fail(&mut client, tag);
        node.at(now + 100 * round - 1);
        assert_eq!((node.counts("q"), node.set_aside_count("q")), ((0, 0), 1));
        now += 100 * round;
        node.at(now);
        assert_eq!((node.counts("q"), node.set_aside_count("q")), ((1, 0), 0));
    }
    let (tag, ..) = take(&node, &mut client);
    give_back(&mut client, tag);
    assert_eq!(node.counts("q"), (1, 0));
}

/// In memory, in the journal, in a segment, and by a checkpoint.
#[test]
fn messages_that_wait_go_on_waiting_after_a_restart_with_their_counts() {
    let mut node = Node::new();
    node.at(NOW);
    let mut client = node.connect();
    let retry = [("x-delayed-retry-type", Value::LongStr(b"all")), ("x-delayed-retry-min", Value::I64(100))];
    declare(&mut client, &retry);
    for body in [b"a", b"b", b"c"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    for tag in [1, 2] {
        take(&node, &mut client);
        fail(&mut client, tag);
    }
    drop(client);
    for round in 0..3 {
        match round {
            0 => node.sync(),
            1 => node.spill(),
            _ => node.broker.engine.store.checkpoint_once().unwrap(),
        }
        node = node.kill();
        if round == 0 {
            assert_eq!((node.counts("q"), node.set_aside_count("q")), ((1, 0), 2), "in memory they wait at once");
        }
        node.at(NOW + 50);
        let mut client = node.connect();
        client.consume(1, "q", "c", false);
        let heard = node.listen(&mut client);
        let [Heard::Other("basic.consume-ok"), Heard::Message { body, .. }] = heard.as_slice() else {
            panic!("round {round}: {heard:?}")
        };
        assert_eq!((body.as_slice(), node.set_aside_count("q")), (&b"c"[..], 2));
        client.ack(1, 1, false);
        client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: true });
        client.publish(1, "", "q", PERSISTENT, b"c");
    }
    node.at(NOW + 99);
    assert_eq!((node.counts("q"), node.set_aside_count("q")), ((1, 0), 2));
    node.at(NOW + 100);
    assert_eq!((node.counts("q"), node.set_aside_count("q")), ((3, 0), 0));
    let mut client = node.connect();
    assert_eq!(take(&node, &mut client), (1, Some(1), Some(1)));
}

#[test]
fn a_consumer_that_holds_a_message_for_too_long_is_cancelled() {
    let node = Node::new();
    node.at(NOW);
    let mut late = node.connect();
    declare(&mut late, &[("x-consumer-timeout", Value::I64(1000))]);
    late.publish(1, "", "q", PERSISTENT, b"m");
    late.consume(1, "q", "late", false);
    assert_eq!(node.listen(&mut late).len(), 2);
    node.at(NOW + 999);
    assert_eq!(node.listen(&mut late), []);
    node.at(NOW + 1000);
    assert_eq!(node.listen(&mut late), [Heard::Other("basic.cancel")]);
    assert_eq!(node.counts("q"), (1, 0));
    // Its late ack settles no other consumer's message, not even when another one has got it.
    let mut other = node.connect();
    other.consume(1, "q", "other", false);
    let heard = node.listen(&mut other);
    assert!(matches!(heard.as_slice(), [_, Heard::Message { tag: 1, redelivered: true, .. }]), "{heard:?}");
    late.ack(1, 1, false);
    assert_eq!(node.listen(&mut late), []);
    assert_eq!(node.counts("q"), (0, 1));
    other.ack(1, 1, false);
    assert_eq!(node.counts("q"), (0, 0));
    node.sync();
    assert_eq!(node.kill().drain("q"), [""; 0]);
}

#[test]
fn an_ack_that_crosses_the_cancellation_settles_nothing() {
    let node = Node::new();
    node.at(NOW);
    let (mut late, mut other) = (node.connect(), node.connect());
    declare(&mut late, &[("x-consumer-timeout", Value::I64(1000))]);
    late.publish(1, "", "q", PERSISTENT, b"m");
    late.consume(1, "q", "late", false);
    node.listen(&mut late);
    other.consume(1, "q", "other", false);
    node.at(NOW + 1000);
    assert_eq!(node.listen(&mut other).len(), 2);
    late.ack(1, 1, false);
    assert_eq!(node.counts("q"), (0, 1));
    assert_eq!(node.listen(&mut late), [Heard::Other("basic.cancel")]);
    other.ack(1, 1, false);
    assert_eq!(node.counts("q"), (0, 0));
}

#[test]
fn a_late_ack_does_not_settle_what_was_got_again_by_the_same_client() {
    let (node, mut client) = Node::standing();
    declare(&mut client, &[("x-consumer-timeout", Value::I64(1000))]);
    client.publish(1, "", "q", PERSISTENT, b"m");
    client.consume(1, "q", "late", false);
    node.listen(&mut client);
    node.at(NOW + 1000);
    node.listen(&mut client);
    let (tag, ..) = take(&node, &mut client);
    assert_eq!(tag, 2);
    client.ack(1, 1, false);
    assert_eq!(node.counts("q"), (0, 1));
    client.send(1, &basic::Nack { delivery_tag: 1, multiple: false, requeue: true });
    node.listen(&mut client);
    assert!(node.counts("q").0 + node.counts("q").1 == 1, "it is somewhere");
}

#[test]
fn who_acknowledges_in_time_is_left_alone() {
    let (node, mut client) = Node::standing();
    declare(&mut client, &[("x-consumer-timeout", Value::I64(1000))]);
    client.consume(1, "q", "c", false);
    for round in 0..20 {
        node.at(NOW + round * 900);
        client.publish(1, "", "q", PERSISTENT, b"m");
        node.listen(&mut client);
        client.ack(1, round + 1, false);
    }
    node.at(NOW + 100_000);
    assert_eq!(node.listen(&mut client), []);
    client.publish(1, "", "q", PERSISTENT, b"m");
    assert_eq!(node.listen(&mut client).len(), 1);
}

/// One waits to be tried again, and one is given up and finds no place.
#[test]
fn listings_tell_what_waits_from_what_has_found_no_place() {
    let (node, mut client) = Node::standing();
    let text = |text: &'static str| Value::LongStr(text.as_bytes());
    let arguments = [
        ("x-overflow", text("reject-publish")),
        ("x-dead-letter-exchange", text("nowhere")),
        ("x-dead-letter-strategy", text("at-least-once")),
        ("x-delayed-retry-type", text("all")),
        ("x-delayed-retry-min", Value::I64(100)),
    ];
    declare(&mut client, &arguments);
    let set_aside = || node.broker.set_aside_of(&node.broker.queue_view("/", "q").unwrap());
    for _ in 0..3 {
        client.publish(1, "", "q", PERSISTENT, b"m");
    }
    assert_eq!(set_aside(), SetAsideView::default());
    let (tag, ..) = take(&node, &mut client);
    give_back(&mut client, tag);
    assert_eq!(set_aside(), SetAsideView { dead_letter_count: 0, delayed_count: 1 });
    let (tag, ..) = take(&node, &mut client);
    client.send(1, &basic::Reject { delivery_tag: tag, requeue: false });
    assert_eq!(set_aside(), SetAsideView { dead_letter_count: 1, delayed_count: 1 });
    node.at(NOW + 100);
    assert_eq!((set_aside(), node.counts("q")), (SetAsideView { dead_letter_count: 1, delayed_count: 0 }, (2, 0)));
}
