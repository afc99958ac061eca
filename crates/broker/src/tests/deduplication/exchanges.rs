//! Exchanges that drop what they had.

use amqp::content::Properties;
use amqp::method::basic;
use amqp::table::{TableBuf, Value};

use super::{DEDUPLICATION, assert_ready, get_one, node_with_exchange, publish_to, restart};
use crate::tests::client::Heard;
use crate::tests::exchange_types::{assert_done, bind, bind_exchange, declare, publish_with};
use crate::tests::node::{NOW, Node};

#[test]
fn an_exchange_drops_what_it_had() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    publish_to(&mut client, "x", "a", "1");
    assert_eq!(node.drain("q"), ["1"]);
    publish_to(&mut client, "x", "a", "2");
    assert_ready(&node, 0);
    let view = node.broker.exchange_view("/", "x").unwrap();
    assert_eq!(view.deduplicated_count, Some(1));
    // 128 keys, as LavinMQ has it.
    for number in 0..127 {
        node.spill();
        node.listen(&mut client);
        publish_to(&mut client, "x", &number.to_string(), "other");
    }
    publish_to(&mut client, "x", "a", "3");
    assert_ready(&node, 127);
    publish_to(&mut client, "x", "last", "other");
    publish_to(&mut client, "x", "a", "4");
    assert_ready(&node, 129);
}

#[test]
fn what_comes_from_another_exchange_is_no_duplicate() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    assert_done(declare(&mut client, "before", "fanout", TableBuf::new().as_table()));
    assert_done(bind_exchange(&mut client, "before", "x", ""));
    publish_to(&mut client, "x", "a", "1");
    publish_to(&mut client, "before", "a", "2");
    publish_to(&mut client, "x", "a", "3");
    assert_eq!(node.drain("q"), ["1", "2"]);
}

#[test]
fn a_dead_letter_may_be_a_duplicate_at_its_exchange() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    client.declare_with("from", &[("x-dead-letter-exchange", Value::LongStr(b"x"))]);
    for body in ["1", "2"] {
        let headers = TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a"));
        client.publish_with("from", Properties { headers: Some(headers.as_table()), ..Properties::default() }, body);
        let delivery_tag = get_one(&node, &mut client, "from");
        client.send(1, &basic::Reject { delivery_tag, requeue: false });
    }
    assert_eq!(node.drain("q"), ["1"]);
}

#[test]
fn a_delayed_message_is_no_duplicate_of_itself() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let arguments =
        TableBuf::new().with(DEDUPLICATION.0, DEDUPLICATION.1).with("x-delayed-exchange", Value::Bool(true));
    assert_done(declare(&mut client, "x", "fanout", arguments.as_table()));
    assert_done(bind(&mut client, "x", "q", ""));
    for body in ["1", "2"] {
        let headers =
            TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a")).with("x-delay", Value::I32(100));
        let properties =
            Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
        publish_with(&mut client, "x", "q", properties, body);
    }
    let (node, mut client, _) = restart(node);
    publish_to(&mut client, "x", "a", "3");
    node.at(NOW + 100);
    assert_eq!(node.drain("q"), ["1"]);
}

#[test]
fn what_was_refused_or_went_nowhere_is_not_remembered() {
    let (node, mut client) = Node::standing();
    let full = [("x-max-length", Value::I32(1)), ("x-overflow", Value::LongStr(b"reject-publish"))];
    client.declare_with("q", &full);
    let arguments = TableBuf::new().with(DEDUPLICATION.0, DEDUPLICATION.1);
    assert_done(declare(&mut client, "x", "direct", arguments.as_table()));
    publish_to(&mut client, "x", "a", "1");
    assert_done(bind(&mut client, "x", "q", "q"));
    publish_to(&mut client, "x", "a", "2");
    assert_ready(&node, 1);
    client.select_confirms(1);
    publish_to(&mut client, "x", "b", "3");
    assert_eq!(client.hear(), [Heard::Nack { tag: 1 }]);
    // A duplicate is there already: it is not refused, however full the queue is.
    publish_to(&mut client, "x", "a", "4");
    assert_eq!(node.listen(&mut client), [Heard::Ack { tag: 2, multiple: false }]);
    assert_eq!(node.drain("q"), ["2"]);
    publish_to(&mut client, "x", "b", "5");
    assert_eq!(node.drain("q"), ["5"]);
}

#[test]
fn an_exchange_of_the_plugins_type_sends_each_to_all_once() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let size = TableBuf::new().with("x-cache-size", Value::I32(1)).with("x-cache-persistence", Value::LongStr(b"disk"));
    assert_done(declare(&mut client, "x", "x-message-deduplication", size.as_table()));
    assert_done(bind(&mut client, "x", "q", "any"));
    for (key, body) in [("a", "1"), ("a", "2"), ("b", "3"), ("a", "4")] {
        publish_to(&mut client, "x", key, body);
    }
    let (node, mut client, _) = restart(node);
    publish_to(&mut client, "x", "a", "5");
    assert_eq!(node.drain("q"), ["1", "3", "4"]);
}
