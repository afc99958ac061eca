//! What publishers of duplicates hear, and when.

use amqp::content::Properties;
use amqp::frame::put_method;
use amqp::method::{basic, tx};
use amqp::table::{TableBuf, Value};

use super::{assert_ready, node_with_exchange, node_with_queue, publish, publish_as, publish_to};
use crate::tests::client::Heard;

#[test]
fn a_duplicate_is_confirmed_when_its_original_is_durable() {
    let (node, mut client) = node_with_queue(&[]);
    client.select_confirms(1);
    publish(&mut client, "a", "1");
    publish(&mut client, "a", "2");
    assert!(client.hear().is_empty(), "nothing is durable yet");
    node.sync();
    assert_eq!(client.hear(), [Heard::Ack { tag: 2, multiple: true }]);
    publish(&mut client, "a", "3");
    assert_eq!(client.hear(), [Heard::Ack { tag: 3, multiple: false }], "it is durable now");
    publish_as(&mut client, "", "b", "4", 1);
    publish_as(&mut client, "", "b", "5", 1);
    let both = [4, 5].map(|tag| Heard::Ack { tag, multiple: false });
    assert_eq!(client.hear(), both, "it never will be");
}

#[test]
fn a_duplicate_at_an_exchange_is_confirmed_when_its_original_is_durable() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    client.select_confirms(1);
    publish_to(&mut client, "x", "a", "1");
    publish_to(&mut client, "x", "a", "2");
    assert!(client.hear().is_empty(), "nothing is durable yet");
    node.sync();
    assert_eq!(client.hear(), [Heard::Ack { tag: 2, multiple: true }]);
}

#[test]
fn a_transaction_waits_for_what_its_duplicates_stand_for() {
    let (node, mut client) = node_with_queue(&[]);
    publish(&mut client, "a", "1");
    let mut other = node.connect();
    other.send(1, &tx::Select);
    other.hear_one();
    publish(&mut other, "a", "2");
    other.send(1, &tx::Commit);
    assert!(other.hear().is_empty());
    node.sync();
    assert_eq!(other.hear(), [Heard::Other("tx.commit-ok")]);
    assert_ready(&node, 1);
}

#[test]
fn a_duplicate_is_not_returned() {
    let (node, mut client) = node_with_exchange(TableBuf::new());
    publish_to(&mut client, "x", "a", "1");
    let headers = TableBuf::new().with("x-deduplication-header", Value::LongStr(b"a"));
    let mut bytes = Vec::new();
    let publish = basic::Publish { exchange: b"x", routing_key: b"", mandatory: true, ..Default::default() };
    put_method(&mut bytes, 1, &publish);
    let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
    let mut header = Vec::new();
    amqp::content::ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut header);
    amqp::content::put_header_encoded(&mut bytes, 1, 0, amqp::content::properties_bytes(&header));
    client.send_bytes(&bytes);
    assert!(client.hear().is_empty());
    assert_ready(&node, 1);
}
