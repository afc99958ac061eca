//! Queues that drop what they had within a time, or among the last so many.

use amqp::content::Properties;
use amqp::method::queue;
use amqp::table::{TableBuf, Value};

use super::{DEDUPLICATION, assert_ready, node_with_queue, publish, publish_to, restart};
use crate::tests::client::Client;
use crate::tests::exchange_types::{assert_done, bind, declare};
use crate::tests::node::NOW;

#[test]
fn a_queue_with_a_window_drops_what_it_had() {
    let (node, mut client) = node_with_queue(&[("x-cache-size", Value::I32(2)), ("x-cache-ttl", Value::I32(1000))]);
    publish(&mut client, "a", "1");
    assert_eq!(node.drain("q"), ["1"]);
    publish(&mut client, "a", "2");
    node.at(NOW + 999);
    publish(&mut client, "a", "3");
    assert_ready(&node, 0);
    node.at(NOW + 1000);
    publish(&mut client, "a", "4");
    publish(&mut client, "b", "5");
    publish(&mut client, "c", "6");
    publish(&mut client, "a", "7");
    assert_eq!(node.drain("q"), ["4", "5", "6", "7"], "a was no longer among the last two");
    client.send(1, &queue::Purge { queue: b"q", ..Default::default() });
    node.sync();
    client.hear_one();
    publish(&mut client, "a", "8");
    assert_ready(&node, 0);
}

#[test]
fn a_message_says_for_how_long_its_key_counts() {
    let (node, mut client) = node_with_queue(&[("x-cache-ttl", Value::I32(1000))]);
    let publish_for = |client: &mut Client, ttl: i32, body: &str| {
        let headers =
            TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a")).with("x-cache-ttl", Value::I32(ttl));
        client.publish_with("q", Properties { headers: Some(headers.as_table()), ..Properties::default() }, body);
    };
    publish_for(&mut client, 10, "1");
    publish_for(&mut client, 10, "2");
    node.at(NOW + 10);
    publish_for(&mut client, 5000, "3");
    node.at(NOW + 2000);
    publish(&mut client, "a", "4");
    node.at(NOW + 5010);
    publish(&mut client, "a", "5");
    assert_eq!(node.drain("q"), ["1", "3", "5"]);
}

#[test]
fn expired_keys_are_forgotten_without_another_message() {
    let (node, mut client) = node_with_queue(&[("x-cache-ttl", Value::I32(1000))]);
    assert_done(declare(
        &mut client,
        "x",
        "fanout",
        TableBuf::new().with(DEDUPLICATION.0, DEDUPLICATION.1).with("x-cache-ttl", Value::I32(1000)).as_table(),
    ));
    assert_done(bind(&mut client, "x", "q", ""));
    for key in ["a", "b"] {
        publish(&mut client, key, "1");
        publish_to(&mut client, "x", &format!("{key}{key}"), "1");
    }
    let (node, _, record_count) = restart(node);
    assert_eq!(record_count, 2 + 4 + 2);
    node.at(NOW + 3000);
    let (_, _, record_count) = restart(node);
    assert_eq!(record_count, 2);
}
