//! Queues that are looked after at a time, by a clock that tests set.

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
