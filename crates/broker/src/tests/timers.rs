//! Queues that are looked after at a time, by a clock that tests set.

use amqp::content::Properties;
use amqp::method::queue;
use amqp::table::{TableBuf, Value};

use super::node::Node;

const NOW_MS: u64 = 1_000_000;

#[test]
fn an_unused_queue_goes_at_its_millisecond_and_not_before() {
    let node = Node::new();
    node.broker.clock.set(NOW_MS);
    let mut client = node.connect();
    let arguments = TableBuf::new().with("x-expires", Value::I32(50));
    let declare = queue::Declare { queue: b"q", arguments: arguments.as_table(), ..Default::default() };
    client.send(1, &declare);
    client.hear_one();
    let is_there = |at_ms| {
        node.broker.clock.set(at_ms);
        node.broker.look_after_due_queues();
        node.broker.queue_counts("/", "q").is_some()
    };
    assert!(is_there(NOW_MS + 49));
    // A passive declaration is a use, too.
    client.send(1, &queue::Declare { passive: true, ..declare });
    client.hear_one();
    assert!(is_there(NOW_MS + 98));
    assert!(!is_there(NOW_MS + 99));
}

#[test]
fn an_entry_that_an_earlier_one_has_replaced_brings_no_other() {
    let node = Node::new();
    node.broker.clock.set(NOW_MS);
    let mut client = node.connect();
    client.declare_with("q", &[("x-expires", Value::I32(10_000))]);
    // Each is due earlier than the one before, which is gone: each brings an entry of its own.
    for expiration in [&b"400"[..], b"300", b"200", b"100"] {
        client.publish_with("q", Properties { expiration: Some(expiration), ..Default::default() }, "m");
        client.get(1, "q", true);
        node.listen(&mut client);
    }
    assert!(node.broker.timers.entry_count() > 1);
    for at_ms in (0..1_000).step_by(50) {
        node.broker.clock.set(NOW_MS + at_ms);
        node.broker.look_after_due_queues();
    }
    // The one that counts, and the one that the queue began with, whose time has not come.
    assert_eq!(node.broker.timers.entry_count(), 2);
}
