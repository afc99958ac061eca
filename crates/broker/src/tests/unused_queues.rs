//! Queues that go when they are unused.

use amqp::method::{basic, queue};
use amqp::table::Value;

use super::client::{Heard, PERSISTENT};
use super::node::{NOW, Node};
use engine::clock;

#[test]
fn an_unused_queue_goes_and_a_passive_declare_keeps_it() {
    let (node, mut client) = Node::standing();
    let declared = |passive| queue::Declare { queue: b"q", durable: true, passive, ..Default::default() };
    client.declare_with("q", &[("x-expires", Value::I64(100))]);
    client.publish(1, "", "q", PERSISTENT, b"publishing is not using");
    node.at(NOW + 99);
    client.send(1, &declared(true));
    assert!(matches!(client.hear_one(), Heard::DeclareOk { .. }));
    node.at(NOW + 100);
    client.publish(1, "", "q", PERSISTENT, b"publishing is not using");
    node.at(NOW + 198);
    client.get(1, "q", false);
    node.listen(&mut client);
    node.at(NOW + 297);
    assert!(node.broker.queue_counts("/", "q").is_some());
    node.at(NOW + 298);
    assert!(node.broker.queue_counts("/", "q").is_none());
    client.send(1, &declared(true));
    assert!(matches!(client.hear_one(), Heard::ChannelClose { code: 404, .. }));
}

#[test]
fn a_queue_with_a_consumer_stays_and_goes_after_it() {
    let (node, mut client) = Node::standing();
    client.declare_with("q", &[("x-expires", Value::I64(100))]);
    client.consume(1, "q", "c", false);
    node.at(NOW + 1000);
    assert!(node.broker.queue_counts("/", "q").is_some());
    client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: false });
    node.at(NOW + 1099);
    assert!(node.broker.queue_counts("/", "q").is_some());
    node.at(NOW + 1100);
    assert!(node.broker.queue_counts("/", "q").is_none());
}

#[test]
fn the_time_of_an_unused_queue_begins_anew_with_a_restart() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare_with("q", &[("x-expires", Value::I64(50_000))]);
    node.sync();
    let before_ms = clock::wall_ms();
    let node = node.kill();
    let after_ms = clock::wall_ms();
    node.at(before_ms + 49_999);
    assert!(node.broker.queue_counts("/", "q").is_some());
    node.at(after_ms + 50_000);
    assert!(node.broker.queue_counts("/", "q").is_none());
    node.sync();
    let node = node.kill();
    assert!(node.broker.queue_counts("/", "q").is_none());
}
