//! The oldest ready message of a queue: in memory, in a segment, behind others that go first.

use amqp::content::Properties;
use amqp::method::basic;
use amqp::table::Value;

use super::client::{Client, PERSISTENT};
use super::node::{NOW, Node};
use super::selection::wait_for;

fn oldest(node: &Node) -> Option<u64> {
    let queue = node.broker.queue_view("/", "q").unwrap();
    node.broker.oldest_ready_of(&queue).map(|at_ms| at_ms - NOW)
}

fn read_oldest(node: &Node) -> Option<u64> {
    let queue = node.broker.queue_view("/", "q").unwrap();
    let view = node.broker.oldest_view_of(&queue).unwrap();
    wait_for(node, node.broker.read_oldest_ready_of(&queue, &view)).map(|at_ms| at_ms - NOW)
}

fn publish_at(node: &Node, client: &mut Client, at: u64, priority: u8) {
    node.broker.engine.clock.set(NOW + at);
    client.publish_with(
        "q",
        Properties { priority: Some(priority), delivery_mode: Some(2), ..Properties::default() },
        "m",
    );
}

#[test]
fn the_head_says_when_it_was_made() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let head = || node.broker.head_timestamp_of(&node.broker.queue_view("/", "q").unwrap());
    assert_eq!(head(), None);
    for timestamp in [None, Some(1_720_000_000)] {
        client.publish_with("q", Properties { timestamp, ..Properties::default() }, "m");
    }
    assert_eq!(head(), None, "the first one says nothing");
    client.get(1, "q", true);
    assert_eq!(head(), Some(1_720_000_000));
}

#[test]
fn the_oldest_message_is_the_one_that_goes_next() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    assert_eq!(oldest(&node), None);
    publish_at(&node, &mut client, 5, 0);
    publish_at(&node, &mut client, 9, 0);
    assert_eq!(oldest(&node), Some(5));
    client.get(1, "q", false);
    assert_eq!(oldest(&node), Some(9), "what a client holds is not ready");
    node.listen(&mut client);
    client.send(1, &basic::Reject { delivery_tag: 1, requeue: true });
    assert_eq!(oldest(&node), Some(5));
}

#[test]
fn the_oldest_message_may_be_one_that_others_go_before() {
    let (node, mut client) = Node::standing();
    client.declare_with("q", &[("x-max-priority", Value::I64(5))]);
    publish_at(&node, &mut client, 1, 0);
    publish_at(&node, &mut client, 2, 5);
    assert_eq!(oldest(&node), Some(1));
}

#[test]
fn the_oldest_message_is_read_where_it_is_not_in_memory() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    for at in [3, 4, 5] {
        publish_at(&node, &mut client, at, 0);
    }
    let queue = node.broker.queue_view("/", "q").unwrap();
    let before = node.broker.oldest_view_of(&queue).unwrap();
    node.spill();
    assert_eq!(oldest(&node), None);
    assert_eq!(read_oldest(&node), Some(3));
    assert!(node.broker.oldest_view_of(&queue).unwrap().is_same(&before));
    // The first two are taken; what is left is the third, wherever it is.
    for _ in 0..2 {
        client.get(1, "q", true);
        node.listen(&mut client);
    }
    node.unload();
    assert!(!node.broker.oldest_view_of(&queue).unwrap().is_same(&before));
    assert_eq!(read_oldest(&node), Some(5));
    let node = node.kill();
    assert_eq!(read_oldest(&node), Some(5));
}

// What lay in a segment only had entered the queue in 1970.
#[test]
fn when_an_unacked_message_entered_is_known_or_is_not_said() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    publish_at(&node, &mut client, 3, 0);
    client.get(1, "q", false);
    node.listen(&mut client);
    let queue = node.broker.queue_view("/", "q").unwrap();
    assert_eq!(node.broker.oldest_unacked_of(&queue), Some(NOW + 3));
    node.spill();
    node.unload();
    assert_eq!((queue.unacked_count(), node.broker.oldest_unacked_of(&queue)), (1, None));
}

#[test]
fn a_queue_that_has_gone_has_no_oldest_message() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.publish(1, "", "q", PERSISTENT, b"m");
    let queue = node.broker.queue_view("/", "q").unwrap();
    client.send(
        1,
        &amqp::method::queue::Delete { ticket: 0, queue: b"q", if_unused: false, if_empty: false, no_wait: false },
    );
    assert_eq!(node.broker.oldest_ready_of(&queue), None);
}
