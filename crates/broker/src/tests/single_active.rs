//! Queues of which one consumer at a time gets messages.

use amqp::method::basic;
use amqp::table::Value;

use super::client::{Client, Heard, PERSISTENT, table_of};
use super::node::Node;
use crate::view::Activity;

fn declare(client: &mut Client, queue_type: &'static str) {
    let queue_type = Value::LongStr(queue_type.as_bytes());
    client.declare_with("q", &[("x-single-active-consumer", Value::Bool(true)), ("x-queue-type", queue_type)]);
}

fn publish(client: &mut Client, count: usize) {
    for number in 0..count {
        client.publish(1, "", "q", PERSISTENT, format!("{number}").as_bytes());
    }
}

/// The bodies that a client has heard.
fn bodies(node: &Node, client: &mut Client) -> Vec<String> {
    let body = |heard| match heard {
        Heard::Message { body, .. } => Some(String::from_utf8(body).unwrap()),
        _ => None,
    };
    node.listen(client).into_iter().filter_map(body).collect()
}

#[test]
fn the_second_consumer_gets_messages_when_the_first_is_gone() {
    for queue_type in ["classic", "quorum"] {
        let node = Node::new();
        let (mut first, mut second) = (node.connect(), node.connect());
        declare(&mut first, queue_type);
        first.consume(1, "q", "first", false);
        second.consume(1, "q", "second", false);
        publish(&mut first, 3);
        assert_eq!(bodies(&node, &mut second), [""; 0], "{queue_type}");
        assert_eq!(bodies(&node, &mut first), ["0", "1", "2"], "{queue_type}");
        first.ack(1, 1, false);
        first.session.front.end();
        assert_eq!(bodies(&node, &mut second), ["1", "2"], "{queue_type}");
        publish(&mut second, 1);
        assert_eq!(bodies(&node, &mut second), ["0"], "{queue_type}");
    }
}

#[test]
fn an_active_consumer_that_is_full_makes_others_wait() {
    let node = Node::new();
    let (mut first, mut second) = (node.connect(), node.connect());
    declare(&mut first, "classic");
    first.send(1, &basic::Qos { prefetch_count: 1, ..Default::default() });
    first.consume(1, "q", "first", false);
    second.consume(1, "q", "second", false);
    publish(&mut first, 2);
    assert_eq!((bodies(&node, &mut first), bodies(&node, &mut second)), (vec!["0".to_owned()], vec![]));
    first.ack(1, 1, false);
    assert_eq!((bodies(&node, &mut first), bodies(&node, &mut second)), (vec!["1".to_owned()], vec![]));
    first.send(1, &basic::Cancel { consumer_tag: b"first", no_wait: false });
    publish(&mut second, 1);
    assert_eq!(bodies(&node, &mut second), ["0"]);
    // What the first one holds is still its own.
    assert_eq!(node.counts("q"), (0, 2));
}

#[test]
fn a_higher_priority_takes_over_in_quorum_queues_once_nothing_is_held() {
    let node = Node::new();
    let (mut first, mut second) = (node.connect(), node.connect());
    declare(&mut first, "quorum");
    first.consume(1, "q", "first", false);
    publish(&mut first, 1);
    assert_eq!(bodies(&node, &mut first), ["0"]);
    let arguments = table_of(&[("x-priority", Value::I32(5))]);
    let method =
        basic::Consume { queue: b"q", consumer_tag: b"second", arguments: arguments.as_table(), ..Default::default() };
    second.send(1, &method);
    node.listen(&mut second);
    first.ack(1, 1, false);
    publish(&mut first, 1);
    assert_eq!((bodies(&node, &mut first), bodies(&node, &mut second)), (vec![], vec!["0".to_owned()]));
}

#[test]
fn a_restart_marks_what_the_active_consumer_may_have_had() {
    let node = Node::new();
    let mut first = node.connect();
    declare(&mut first, "classic");
    first.consume(1, "q", "first", false);
    publish(&mut first, 2);
    bodies(&node, &mut first);
    first.ack(1, 1, false);
    node.sync();
    let node = node.kill();
    assert_eq!(node.drain_marked("q"), [("1".to_owned(), true)]);
}

/// What listings say of consumers, by tag.
fn activities(node: &Node) -> Vec<(String, Activity)> {
    let consumers = node.broker.consumer_views();
    let mut activities: Vec<_> =
        consumers.iter().map(|consumer| (consumer.tag(), node.broker.activity_of(consumer))).collect();
    activities.sort_by(|a, b| a.0.cmp(&b.0));
    activities
}

fn tagged<const N: usize>(activities: [(&str, Activity); N]) -> Vec<(String, Activity)> {
    activities.map(|(tag, activity)| (tag.to_owned(), activity)).into()
}

#[test]
fn listings_say_which_consumer_is_the_active_one() {
    for queue_type in ["classic", "quorum"] {
        let node = Node::new();
        let (mut first, mut second) = (node.connect(), node.connect());
        declare(&mut first, queue_type);
        first.send(1, &basic::Qos { prefetch_count: 1, ..Default::default() });
        first.consume(1, "q", "first", false);
        second.consume(1, "q", "second", false);
        publish(&mut first, 2);
        let expected = tagged([("first", Activity::SingleActive), ("second", Activity::Waiting)]);
        assert_eq!(activities(&node), expected, "{queue_type}");
        first.send(1, &basic::Cancel { consumer_tag: b"first", no_wait: false });
        assert_eq!(activities(&node), tagged([("second", Activity::SingleActive)]), "{queue_type}");
    }
}

#[test]
fn listings_say_that_a_higher_priority_has_taken_over_once_it_has() {
    let node = Node::new();
    let (mut first, mut second) = (node.connect(), node.connect());
    declare(&mut first, "quorum");
    first.consume(1, "q", "first", false);
    publish(&mut first, 1);
    node.listen(&mut first);
    let arguments = table_of(&[("x-priority", Value::I32(5))]);
    let method =
        basic::Consume { queue: b"q", consumer_tag: b"second", arguments: arguments.as_table(), ..Default::default() };
    second.send(1, &method);
    assert_eq!(activities(&node), tagged([("first", Activity::SingleActive), ("second", Activity::Waiting)]));
    first.ack(1, 1, false);
    assert_eq!(activities(&node), tagged([("first", Activity::Waiting), ("second", Activity::SingleActive)]));
}

#[test]
fn listings_say_that_a_consumer_is_blocked_while_messages_wait_that_it_has_no_room_for() {
    for (queue_type, with_too_many) in [("classic", Activity::Blocked), ("quorum", Activity::Up)] {
        for is_global in [false, true] {
            let node = Node::new();
            let mut client = node.connect();
            let queue_type = Value::LongStr(queue_type.as_bytes());
            client.declare_with("q", &[("x-queue-type", queue_type)]);
            client.send(1, &basic::Qos { prefetch_count: 1, global: is_global, ..Default::default() });
            client.consume(1, "q", "c", false);
            publish(&mut client, 1);
            assert_eq!(activities(&node), tagged([("c", Activity::Up)]));
            publish(&mut client, 1);
            assert_eq!(activities(&node), tagged([("c", with_too_many)]));
            node.listen(&mut client);
            client.ack(1, 1, false);
            node.listen(&mut client);
            assert_eq!(activities(&node), tagged([("c", Activity::Up)]));
        }
    }
}
