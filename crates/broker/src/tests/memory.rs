//! What was read ahead from segments is given back when memory is short.

use amqp::content::Properties;
use amqp::table::Value;

use super::client::{Heard, PERSISTENT, table_of};
use super::node::Node;

fn bodies(heard: &[Heard]) -> Vec<u8> {
    let body = |heard: &Heard| if let Heard::Message { body, .. } = heard { Some(body[0]) } else { None };
    heard.iter().filter_map(body).collect()
}

#[test]
fn what_was_read_ahead_is_let_go_and_read_again() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    for number in 0..100 {
        client.publish(1, "", "q", PERSISTENT, &[number; 1000]);
        if number % 5 == 4 {
            node.spill();
        }
    }
    node.spill();
    client.get(1, "q", true);
    node.load();
    client.hear();
    node.sync();
    assert_eq!(bodies(&client.hear()), [0]);
    let used_len = node.broker.engine.store.stats().chunk_len;
    node.unload();
    assert!(node.broker.engine.store.stats().chunk_len < used_len, "nothing was let go");
    for number in 1..100 {
        client.get(1, "q", true);
        node.load();
        assert_eq!(bodies(&client.hear()), [number]);
    }
}

/// A load that is on its way is given up: the consumer that waits for it must be served by another.
#[test]
fn who_waits_for_a_read_is_not_forgotten() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    for number in 0..10 {
        client.publish(1, "", "q", PERSISTENT, &[number; 1000]);
    }
    node.spill();
    client.get(1, "q", true);
    node.unload();
    client.hear();
    node.load();
    client.hear();
    node.sync();
    assert_eq!(bodies(&client.hear()), [0]);
    client.consume(1, "q", "c", true);
    node.unload();
    node.sync();
    let mut seen = Vec::new();
    for _ in 0..20 {
        node.load();
        seen.append(&mut bodies(&client.hear()));
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn headers_take_room_on_the_way_to_a_consumer_as_bodies_do() {
    let node = Node::new();
    let (mut publisher, mut consumer) = (node.connect(), node.connect());
    publisher.declare("q");
    consumer.consume(1, "q", "c", true);
    consumer.hear();
    let long = "x".repeat(10_000);
    let headers = table_of(&[("h", Value::LongStr(long.as_bytes()))]);
    for _ in 0..300 {
        let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
        publisher.publish_with("q", properties, "x");
        node.spill();
        publisher.hear();
    }
    let (ready_count, _) = node.counts("q");
    assert!((150..250).contains(&ready_count), "{ready_count} of 300 wait in the queue");
}
