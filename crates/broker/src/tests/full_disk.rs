//! On a full disk nothing is written again that is written already: dead letters and delayed messages wait, as publishers do.

use amqp::content::{Properties, put_body_frames, put_header_encoded};
use amqp::frame::put_method;
use amqp::method::basic;
use amqp::table::{TableBuf, Value};
use store::file::Faults;

use super::client::{Client, PERSISTENT};
use super::exchange_types::{assert_done, bind, declare};
use super::node::{NOW, Node};
use super::operators::queue_name;
use super::selection::{all, try_move};
use crate::Destination;

/// Another process takes every byte that is left.
fn fill(node: &Node) {
    node.disk.set_faults(Faults { capacity: Some(node.disk.used()), ..Faults::default() });
    let store = &node.broker.engine.store;
    let mut client = node.connect();
    for number in 0..1_000 {
        if store.is_disk_full() {
            return;
        }
        // It journals a little, until the next file is asked for.
        client.declare(&format!("filler {number}"));
        store.step_journal().expect("there is a reserve");
    }
    panic!("the disk does not count as full");
}

/// There is room again.
fn empty(node: &Node) {
    node.disk.set_faults(Faults::default());
    while node.broker.engine.store.is_disk_full() {
        node.broker.engine.store.step_journal().expect("the disk works");
    }
}

#[test]
fn dead_letters_wait_as_long_as_the_disk_is_full() {
    let (node, mut client) = Node::standing();
    let dead = [("x-dead-letter-exchange", Value::LongStr(b"")), ("x-dead-letter-routing-key", Value::LongStr(b"d"))];
    client.declare("d");
    client.declare_with("q", &[&dead[..], &[("x-message-ttl", Value::I64(1_000))]].concat());
    client.declare_with("rejected", &dead);
    for body in ["a", "b", "c"] {
        client.publish(1, "", "q", PERSISTENT, body.as_bytes());
    }
    client.publish(1, "", "rejected", PERSISTENT, b"r");
    node.sync();
    fill(&node);
    client.get(1, "rejected", false);
    node.listen(&mut client);
    let end = node.broker.engine.store.appended();
    node.at(NOW + 2_000);
    node.at(NOW + 5_000);
    client.send(1, &basic::Reject { delivery_tag: 1, requeue: false });
    assert_eq!(node.broker.engine.store.appended(), end, "nothing is written");
    assert_eq!((node.counts("q"), node.counts("rejected"), node.counts("d")), ((0, 0), (0, 0), (0, 0)));
    assert_eq!((node.set_aside_count("q"), node.set_aside_count("rejected")), (3, 1));
    empty(&node);
    node.at(NOW + 7_000);
    let mut arrived = node.drain("d");
    arrived.sort();
    assert_eq!(arrived, ["a", "b", "c", "r"]);
}

#[test]
fn dead_letters_that_waited_for_a_full_disk_are_there_after_a_crash() {
    let (node, mut client) = Node::standing();
    client.declare("d");
    client.declare_with(
        "q",
        &[
            ("x-dead-letter-exchange", Value::LongStr(b"")),
            ("x-dead-letter-routing-key", Value::LongStr(b"d")),
            ("x-message-ttl", Value::I64(1_000)),
        ],
    );
    client.publish(1, "", "q", PERSISTENT, b"a");
    node.sync();
    fill(&node);
    node.at(NOW + 2_000);
    let node = node.kill();
    empty(&node);
    node.at(NOW + 9_000);
    assert_eq!(node.drain("d"), ["a"]);
}

#[test]
fn delayed_messages_are_released_when_the_disk_has_room_again() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let delayed = TableBuf::new().with("x-delayed-type", Value::LongStr(b"direct"));
    assert_done(declare(&mut client, "x", "x-delayed-message", delayed.as_table()));
    assert_done(bind(&mut client, "x", "q", "k"));
    delay(&mut client, 1_000, "late");
    node.sync();
    fill(&node);
    let end = node.broker.engine.store.appended();
    node.at(NOW + 2_000);
    node.at(NOW + 4_000);
    assert_eq!((node.broker.engine.store.appended(), node.counts("q")), (end, (0, 0)));
    empty(&node);
    node.at(NOW + 6_000);
    assert_eq!(node.drain("q"), ["late"]);
}

fn delay(client: &mut Client, delay_ms: i64, body: &str) {
    let headers = TableBuf::new().with("x-delay", Value::I64(delay_ms));
    let properties = Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
    super::exchange_types::publish_with(client, "x", "k", properties, body);
}

#[test]
fn nothing_is_moved_by_hand_while_the_disk_is_full() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.declare("d");
    client.publish(1, "", "q", PERSISTENT, b"a");
    node.sync();
    fill(&node);
    let to_d = Destination::Queue(queue_name("d"));
    let refused = try_move(&node, "q", &all(), &to_d).unwrap_err();
    assert!(refused.text.contains("the disk is full"), "{}", refused.text);
    assert_eq!((node.counts("q"), node.counts("d")), ((1, 0), (0, 0)));
    empty(&node);
    assert_eq!(try_move(&node, "q", &all(), &to_d).unwrap().count, 1);
    assert_eq!(node.drain("d"), ["a"]);
}

/// Each of very many publishers got in one more read before it looked, which together was more than the disk had left.
#[test]
fn a_publish_is_not_taken_while_the_store_is_behind() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.publish(1, "", "q", PERSISTENT, b"first");
    node.sync();
    let mut late = node.connect();
    late.get(1, "q", false);
    node.listen(&mut late);
    while client.session.front.wants_input() {
        client.publish(1, "", "q", PERSISTENT, &[0; 20_000]);
    }
    let end = node.broker.engine.store.appended();
    let mut ack = Vec::new();
    put_method(&mut ack, 1, &basic::Ack { delivery_tag: 1, multiple: false });
    let mut bytes = ack.clone();
    put_method(&mut bytes, 1, &basic::Publish { routing_key: b"q", ..Default::default() });
    put_header_encoded(&mut bytes, 1, 4, PERSISTENT);
    put_body_frames(&mut bytes, 1, b"late", 131_072);
    assert_eq!(late.send_bytes(&bytes), ack.len(), "the ack is taken, the publish is not");
    assert_eq!(node.counts("q").1, 0);
    let ack_len = node.broker.engine.store.appended().0 - end.0;
    assert!(ack_len < 100 && !late.session.front.wants_input());
    node.spill();
    late.hear();
    assert!(late.session.front.wants_input(), "it is listened to again");
    assert_eq!(late.send_bytes(&bytes[ack.len()..]), bytes.len() - ack.len());
    assert_eq!(node.drain("q").last().map(String::as_str), Some("late"));
}
