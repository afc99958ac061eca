//! Queues that may have only so much.

use amqp::content::{put_body_frames, put_header_encoded};
use amqp::frame::put_method;
use amqp::method::{basic, tx};
use amqp::table::Value;
use model::policy::PolicyKind;
use serde_json::json;

use super::client::{Heard, PERSISTENT};
use super::node::Node;
use super::operators::operator;
use super::policies::policy;
use crate::statistics::LossCounts;

fn text(text: &str) -> Value<'_> {
    Value::LongStr(text.as_bytes())
}

const NACK: Heard = Heard::Nack { tag: 2 };
const ACK: Heard = Heard::Ack { tag: 1, multiple: false };

/// What the client heard of its publishes: whether each was taken.
fn answers(heard: &[Heard]) -> Vec<bool> {
    let answer = |heard: &Heard| match heard {
        Heard::Ack { multiple: false, .. } => true,
        Heard::Nack { .. } => false,
        other => panic!("{other:?}"),
    };
    heard.iter().map(answer).collect()
}

#[test]
fn the_oldest_message_makes_room_for_the_newest() {
    let node = Node::new();
    let mut client = node.connect();
    client.select_confirms(1);
    client.declare_with("count", &[("x-max-length", Value::I64(2))]);
    client.declare_with("bytes", &[("x-max-length-bytes", Value::I64(5))]);
    for (queue, bodies) in [("count", ["a", "b", "c"]), ("bytes", ["aa", "bb", "cc"])] {
        for body in bodies {
            client.publish(1, "", queue, PERSISTENT, body.as_bytes());
            assert_eq!(answers(&node.listen(&mut client)), [true]);
        }
    }
    client.publish(1, "", "bytes", PERSISTENT, b"more than there may be");
    assert_eq!(answers(&node.listen(&mut client)), [true]);
    let node = node.kill();
    assert_eq!((node.drain("count"), node.drain("bytes")), (vec!["b".to_owned(), "c".to_owned()], vec![]));
}

#[test]
fn what_is_unacked_does_not_count_towards_the_limit() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare_with("q", &[("x-max-length", Value::I64(1))]);
    client.publish(1, "", "q", PERSISTENT, b"a");
    client.get(1, "q", false);
    node.listen(&mut client);
    client.publish(1, "", "q", PERSISTENT, b"b");
    assert_eq!(node.counts("q"), (1, 1));
    // When it comes back it is the oldest of two.
    client.session.front.end();
    assert_eq!(node.counts("q"), (1, 0));
    assert_eq!(node.drain("q"), ["b"]);
}

#[test]
fn a_full_queue_refuses_what_is_published_and_takes_more_once_there_is_room() {
    let node = Node::new();
    let mut client = node.connect();
    client.select_confirms(1);
    client.declare_with("q", &[("x-max-length", Value::I64(1)), ("x-overflow", text("reject-publish"))]);
    for body in [b"a", b"b"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    let heard = node.listen(&mut client);
    assert!(heard.contains(&ACK) && heard.contains(&NACK), "{heard:?}");
    assert_eq!(node.drain("q"), ["a"]);
    client.publish(1, "", "q", PERSISTENT, b"c");
    assert_eq!(answers(&node.listen(&mut client)), [true]);
    let node = node.kill();
    assert_eq!(node.drain("q"), ["c"]);
}

/// All three come in one read: the first is still ready when the second comes, but need not be.
#[test]
fn a_queue_refuses_nothing_that_a_consumer_can_take() {
    let node = Node::new();
    let mut client = node.connect();
    client.select_confirms(1);
    client.declare_with("q", &[("x-max-length", Value::I64(1)), ("x-overflow", text("reject-publish"))]);
    client.consume(1, "q", "c", true);
    node.listen(&mut client);
    let mut bytes = Vec::new();
    for body in [b"a", b"b", b"c"] {
        put_method(&mut bytes, 1, &basic::Publish { routing_key: b"q", ..Default::default() });
        put_header_encoded(&mut bytes, 1, 1, PERSISTENT);
        put_body_frames(&mut bytes, 1, body, 131_072);
    }
    client.send_bytes(&bytes);
    let heard = node.listen(&mut client);
    assert!(!heard.iter().any(|heard| matches!(heard, Heard::Nack { .. })), "{heard:?}");
    assert_eq!(heard.iter().filter(|heard| matches!(heard, Heard::Message { .. })).count(), 3);
}

#[test]
fn a_transaction_that_a_full_queue_takes_in_part_is_answered_with_406() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare_with("q", &[("x-max-length", Value::I64(1)), ("x-overflow", text("reject-publish"))]);
    client.send(1, &tx::Select);
    client.hear();
    for body in [b"a", b"b"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    client.send(1, &tx::Commit);
    let heard = node.listen(&mut client);
    let [Heard::ChannelClose { code, text }] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!((*code, text.as_str()), (406, "PRECONDITION_FAILED - partial tx completion"));
    assert_eq!(node.kill().drain("q"), ["a"]);
}

#[test]
fn what_a_full_queue_refuses_goes_to_its_dead_letter_exchange() {
    let node = Node::new();
    let mut client = node.connect();
    client.select_confirms(1);
    client.declare("d");
    let arguments = [
        ("x-max-length", Value::I64(1)),
        ("x-overflow", text("reject-publish-dlx")),
        ("x-dead-letter-exchange", text("")),
        ("x-dead-letter-routing-key", text("d")),
    ];
    client.declare_with("q", &arguments);
    for body in [b"a", b"b"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    let heard = node.listen(&mut client);
    assert!(heard.contains(&NACK), "{heard:?}");
    let counts = node.broker.queue_view("/", "q").unwrap().loss_counts();
    assert_eq!(counts, LossCounts { given_up: [0, 0, 1, 0], refused: 1, came_round: 0 });
    let node = node.kill();
    assert_eq!((node.drain("q"), node.drain("d")), (vec!["a".to_owned()], vec!["b".to_owned()]));
}

#[test]
fn a_policy_cuts_a_queue_at_once_and_its_end_lets_it_grow() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    for body in [b"a", b"b", b"c"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    node.broker.put_policy(&operator(), policy("p", "^q", 0, json!({"max-length": 2}))).unwrap();
    assert_eq!(node.counts("q"), (2, 0));
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "p").unwrap();
    client.publish(1, "", "q", PERSISTENT, b"d");
    node.sync();
    assert_eq!(node.kill().drain("q"), ["b", "c", "d"]);
}

#[test]
fn the_oldest_message_is_dropped_where_it_is_in_a_segment() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare_with("q", &[("x-max-length", Value::I64(10))]);
    let body = |number: u8| vec![b'a' + number; 300];
    for number in 0..10 {
        client.publish(1, "", "q", PERSISTENT, &body(number));
    }
    node.spill();
    node.unload();
    for number in 10..15 {
        client.publish(1, "", "q", PERSISTENT, &body(number));
        node.load();
        assert_eq!(node.counts("q"), (10, 0));
        node.unload();
    }
    node.sync();
    let first: String = node.kill().drain("q").iter().map(|body| &body[..1]).collect();
    assert_eq!(first, "fghijklmno");
}
