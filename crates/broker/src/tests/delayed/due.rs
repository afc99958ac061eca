//! When a message comes, and what it looks like then.

use amqp::content::Properties;
use amqp::method::queue;
use amqp::table::{TableBuf, Value};

use super::{START_MS, assert_waiting, catch_up, delay_by, delay_of, got, headers, node, pass, ready, settle_down};
use crate::tests::client::Client;
use crate::tests::exchange_types::{assert_done, bind, publish_with, take_all};
use crate::tests::node::Node;
use engine::outbox::OUTBOX_WINDOW_LEN;

#[test]
fn a_message_comes_when_it_is_due_and_not_before() {
    let (node, mut client) = node();
    for (delay_ms, body) in [(2000, "second"), (1000, "first"), (2000, "third")] {
        delay_by(&mut client, "x", "k", delay_ms, body);
    }
    assert_waiting(&node, "x", 3);
    pass(&node, 999);
    assert_eq!((ready(&node, "q"), node.broker.all_messages().dropped), (0, 0));
    pass(&node, 1000);
    assert_eq!(take_all(&node, &mut client, "q"), ["first"]);
    assert_waiting(&node, "x", 2);
    pass(&node, 2000);
    assert_eq!(take_all(&node, &mut client, "q"), ["second", "third"]);
    assert_waiting(&node, "x", 0);
}

#[test]
fn what_asks_for_no_delay_goes_at_once() {
    let (node, mut client) = node();
    for value in [Value::I32(0), Value::I64(-5), Value::LongStr(b"soon"), Value::Bool(true), Value::F64(0.5)] {
        let headers = headers(value);
        publish_with(
            &mut client,
            "x",
            "k",
            Properties { headers: Some(headers.as_table()), ..Default::default() },
            "b",
        );
    }
    publish_with(&mut client, "x", "k", Properties::default(), "b");
    assert_eq!(take_all(&node, &mut client, "q").len(), 6);
    assert_waiting(&node, "x", 0);
}

#[test]
fn a_consumer_sees_the_delay_negated_and_all_else_unchanged() {
    let (node, mut client) = node();
    client.send(1, &queue::Declare { queue: b"t", ..Default::default() });
    client.hear_one();
    assert_done(bind(&mut client, "x", "t", "k"));
    let headers = TableBuf::new().with("a", Value::I32(1)).with("x-delay", Value::U16(100)).with("b", Value::Void);
    let properties = Properties {
        headers: Some(headers.as_table()),
        user_id: Some(b"guest"),
        message_id: Some(b"m"),
        priority: Some(3),
        ..Properties::default()
    };
    publish_with(&mut client, "x", "k", properties, "body");
    pass(&node, 100);
    let messages = got(&node, "t");
    let [message] = messages.as_slice() else { panic!("{messages:?}") };
    let seen = Properties::decode(&message.properties).unwrap();
    let names: Vec<_> = seen.headers.unwrap().iter().map(|(name, _)| name.to_vec()).collect();
    assert_eq!(names, [b"a".to_vec(), b"x-delay".to_vec(), b"b".to_vec()]);
    assert_eq!(delay_of(message), Some(-100));
    assert_eq!((seen.user_id, seen.message_id, seen.priority), (properties.user_id, properties.message_id, Some(3)));
    assert_eq!(
        (&message.exchange[..], &message.routing_key[..], &message.body[..]),
        (&b"x"[..], &b"k"[..], &b"body"[..])
    );
}

#[test]
fn messages_that_are_released_together_keep_their_own_headers() {
    let (node, mut client) = node();
    client.send(1, &queue::Declare { queue: b"t", ..Default::default() });
    client.hear_one();
    assert_done(bind(&mut client, "x", "t", "k"));
    for (delay_ms, priority) in [(100, 1), (99, 1), (99, 2), (100, 2)] {
        let headers = headers(Value::I32(delay_ms));
        let headers = Some(headers.as_table());
        publish_with(
            &mut client,
            "x",
            "k",
            Properties { headers, priority: Some(priority), ..Properties::default() },
            "b",
        );
    }
    pass(&node, 100);
    let mut seen: Vec<_> = got(&node, "t")
        .iter()
        .map(|message| (delay_of(message), Properties::decode(&message.properties).unwrap().priority))
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, [(Some(-100), Some(1)), (Some(-100), Some(2)), (Some(-99), Some(1)), (Some(-99), Some(2))]);
}

#[test]
fn time_to_live_counts_from_the_release() {
    let (node, mut client) = node();
    let headers = headers(Value::I32(1000));
    let properties =
        Properties { headers: Some(headers.as_table()), expiration: Some(b"500"), ..Properties::default() };
    publish_with(&mut client, "x", "k", properties, "body");
    pass(&node, 1000);
    assert_eq!(ready(&node, "q"), 1);
    pass(&node, 1499);
    assert_eq!(ready(&node, "q"), 1);
    pass(&node, 1500);
    assert_eq!(ready(&node, "q"), 0);
}

#[test]
fn what_consumers_cannot_take_is_released_little_by_little() {
    let (node, mut client, mut consumer) = with_consumer_behind();
    for _ in 0..600 {
        delay_by(&mut client, "x", "k", 1001, "");
        catch_up(&node, &mut client);
    }
    for (after_ms, waiting) in [(1000, 600), (1001, 472), (1002, 344)] {
        pass(&node, after_ms);
        assert_waiting(&node, "x", waiting);
    }
    while ready(&node, "q") > 0 {
        consumer.hear();
        settle_down(&node);
    }
    assert_waiting(&node, "x", 344);
    pass(&node, 1003);
    assert_waiting(&node, "x", 0);
}

#[test]
fn a_clock_that_is_set_back_while_consumers_are_behind_stops_nothing() {
    let (node, mut client, _consumer) = with_consumer_behind();
    pass(&node, 1000);
    assert_waiting(&node, "x", 0);
    node.broker.engine.clock.set(START_MS - 3_600_000);
    delay_by(&mut client, "x", "k", 1000, "");
    node.broker.engine.clock.set(START_MS - 3_600_000 + 1001);
    settle_down(&node);
    assert_waiting(&node, "x", 0);
}

/// A node where more has come to `q` than is on its way to its consumer, which does not read, and than waits where none is behind; one more
/// is due after a second.
fn with_consumer_behind() -> (Node, Client, Client) {
    let (node, mut client) = node();
    let mut consumer = node.connect();
    consumer.consume(1, "q", "c", true);
    consumer.hear();
    for _ in 0..30 {
        publish_with(&mut client, "", "q", Properties::default(), &"b".repeat(OUTBOX_WINDOW_LEN as usize / 8));
        node.spill();
    }
    delay_by(&mut client, "x", "k", 1000, "one that is behind the others");
    (node, client, consumer)
}
