//! Queues that drop what they have.

use amqp::content::Properties;
use amqp::method::{basic, queue};
use amqp::table::{TableBuf, Value};

use super::{DEDUPLICATION, assert_ready, deduplicated_count, get_one, node_with_queue, publish, publish_as, restart};
use crate::tests::client::Heard;
use crate::tests::node::NOW;

#[test]
fn a_queue_drops_what_it_has() {
    let (node, mut client) = node_with_queue(&[]);
    publish(&mut client, "a", "1");
    publish(&mut client, "a", "2");
    publish(&mut client, "b", "3");
    assert_eq!((node.counts("q").0, deduplicated_count(&node)), (2, 1));
    let tag = get_one(&node, &mut client, "q");
    publish(&mut client, "a", "4");
    assert_eq!(node.counts("q"), (1, 1), "what is unacked is there");
    client.send(1, &basic::Nack { delivery_tag: tag, multiple: false, requeue: true });
    publish(&mut client, "a", "5");
    assert_ready(&node, 2);
    let tag = get_one(&node, &mut client, "q");
    client.ack(1, tag, false);
    publish(&mut client, "a", "6");
    assert_eq!(node.drain("q"), ["3", "6"]);
    // Got without acks: free at once.
    publish(&mut client, "a", "7");
    assert_eq!(node.drain("q"), ["7"]);
}

#[test]
fn who_has_no_key_is_no_duplicate() {
    let (node, mut client) = node_with_queue(&[]);
    client.publish_with("q", Properties::default(), "1");
    client.publish_with("q", Properties::default(), "1");
    let headers = TableBuf::new().with("x-deduplication-header", Value::Void);
    let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
    client.publish_with("q", properties, "1");
    client.publish_with("q", properties, "1");
    assert_ready(&node, 4);
}

#[test]
fn a_consumer_without_acks_frees_keys() {
    let (node, mut client) = node_with_queue(&[]);
    client.consume(1, "q", "c", true);
    for mode in [1, 2, 1, 2] {
        publish_as(&mut client, "", "a", "x", mode);
        node.listen(&mut client);
    }
    assert_eq!(deduplicated_count(&node), 0);
    let (_, _, record_count) = restart(node);
    assert_eq!(record_count, 1, "whose they were");
}

#[test]
fn what_a_queue_gives_up_frees_its_key() {
    let (node, mut client) = node_with_queue(&[("x-max-length", Value::I32(1)), ("x-message-ttl", Value::I32(100))]);
    publish(&mut client, "a", "1");
    publish(&mut client, "b", "2");
    publish(&mut client, "a", "3");
    assert_eq!(node.drain("q"), ["3"]);
    publish(&mut client, "a", "4");
    node.at(NOW + 99);
    publish(&mut client, "a", "5");
    node.at(NOW + 101);
    publish(&mut client, "a", "6");
    assert_eq!(node.drain("q"), ["6"]);
    publish(&mut client, "a", "7");
    let delivery_tag = get_one(&node, &mut client, "q");
    client.send(1, &basic::Reject { delivery_tag, requeue: false });
    publish(&mut client, "a", "8");
    assert_ready(&node, 1);
}

#[test]
fn a_dead_letter_holds_its_key_until_it_has_arrived() {
    let to_itself = [
        ("x-dead-letter-exchange", Value::LongStr(b"")),
        ("x-dead-letter-routing-key", Value::LongStr(b"q")),
        ("x-message-ttl", Value::I32(100)),
        ("x-queue-type", Value::LongStr(b"quorum")),
    ];
    let (node, mut client) = node_with_queue(&to_itself);
    publish(&mut client, "a", "1");
    let delivery_tag = get_one(&node, &mut client, "q");
    client.send(1, &basic::Reject { delivery_tag, requeue: false });
    assert_ready(&node, 1);
    publish(&mut client, "a", "2");
    assert_eq!(node.drain("q"), ["1"], "it is no duplicate of itself");
}

#[test]
fn a_dead_letter_that_is_there_already_has_arrived() {
    let to_q = [
        ("x-queue-type", Value::LongStr(b"quorum")),
        ("x-dead-letter-exchange", Value::LongStr(b"")),
        ("x-dead-letter-routing-key", Value::LongStr(b"q")),
        ("x-dead-letter-strategy", Value::LongStr(b"at-least-once")),
        ("x-overflow", Value::LongStr(b"reject-publish")),
    ];
    // Full, too: it is welcome nevertheless.
    let full = [("x-max-length", Value::I32(1)), ("x-overflow", Value::LongStr(b"reject-publish"))];
    let (node, mut client) = node_with_queue(&full);
    client.declare_with("from", &to_q);
    publish(&mut client, "a", "1");
    let headers = TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a"));
    client.publish_with("from", Properties { headers: Some(headers.as_table()), ..Properties::default() }, "2");
    let delivery_tag = get_one(&node, &mut client, "from");
    client.send(1, &basic::Reject { delivery_tag, requeue: false });
    assert_eq!((node.counts("from"), node.set_aside_count("from")), ((0, 0), 0));
    assert_eq!((node.drain("q"), deduplicated_count(&node)), (vec!["1".to_owned()], 1));
}

#[test]
fn a_purge_frees_what_was_ready() {
    let (node, mut client) = node_with_queue(&[]);
    publish(&mut client, "a", "1");
    publish(&mut client, "b", "2");
    publish(&mut client, "c", "3");
    get_one(&node, &mut client, "q");
    node.spill();
    client.send(1, &queue::Purge { queue: b"q", ..Default::default() });
    node.sync();
    assert_eq!(client.hear_one(), Heard::PurgeOk(2));
    publish(&mut client, "a", "4");
    publish(&mut client, "b", "5");
    assert_ready(&node, 1);
    let (node, mut client, record_count) = restart(node);
    assert_eq!(record_count, 3, "whose they are, and two keys");
    publish(&mut client, "a", "6");
    publish(&mut client, "b", "7");
    publish(&mut client, "c", "8");
    assert_eq!(node.drain("q"), ["1", "5", "8"]);
}

#[test]
fn a_key_may_be_a_property_or_in_another_header() {
    let (node, mut client) = node_with_queue(&[("x-deduplication-header", Value::LongStr(b"message-id"))]);
    let by_id = |id: &'static [u8]| Properties { message_id: Some(id), ..Properties::default() };
    client.publish_with("q", by_id(b"a"), "1");
    client.publish_with("q", by_id(b"a"), "2");
    client.publish_with("q", by_id(b"b"), "3");
    publish(&mut client, "a", "4");
    publish(&mut client, "a", "5");
    assert_eq!(node.drain("q"), ["1", "3", "4", "5"]);
    client.declare_with("order", &[DEDUPLICATION, ("x-deduplication-header", Value::LongStr(b"order"))]);
    let headers = TableBuf::new().with("order", Value::I32(7));
    for body in ["1", "2"] {
        client.publish_with("order", Properties { headers: Some(headers.as_table()), ..Properties::default() }, body);
    }
    assert_eq!(node.drain("order"), ["1"]);
}
