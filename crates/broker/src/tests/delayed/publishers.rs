//! What publishers hear of messages that wait.

use amqp::content::Properties;
use amqp::frame::put_method;
use amqp::method::basic;
use amqp::table::Value;

use super::{assert_waiting, delay_by, headers, node, node_with, pass, ready};
use crate::options::Options;
use crate::tests::client::{Client, Heard};
use crate::tests::exchange_types::{assert_done, bind, publish_with};

fn publish_mandatory(client: &mut Client, key: &str) -> Vec<Heard> {
    let headers = headers(Value::I32(100));
    let mut header = Vec::new();
    let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
    amqp::content::ContentHeader { class_id: 60, body_len: 1, properties }.encode(&mut header);
    let mut bytes = Vec::new();
    let method = basic::Publish { exchange: b"x", routing_key: key.as_bytes(), mandatory: true, ..Default::default() };
    put_method(&mut bytes, 1, &method);
    amqp::content::put_header_encoded(&mut bytes, 1, 1, amqp::content::properties_bytes(&header));
    amqp::content::put_body_frames(&mut bytes, 1, b"m", 131_072);
    client.send_bytes(&bytes);
    client.hear()
}

#[test]
fn a_mandatory_message_is_returned_if_it_has_no_queue_now_and_waits_nevertheless() {
    let (node, mut client) = node();
    client.select_confirms(1);
    let ack = |tag| Heard::Ack { tag, multiple: false };
    assert_eq!(publish_mandatory(&mut client, "k"), []);
    node.sync();
    assert_eq!(client.hear(), [ack(1)]);
    let returned = Heard::Returned { code: 312, body: b"m".to_vec() };
    assert_eq!(publish_mandatory(&mut client, "nowhere"), [returned]);
    node.sync();
    assert_eq!(client.hear(), [ack(2)]);
    assert_waiting(&node, "x", 2);
    assert_done(bind(&mut client, "x", "q", "nowhere"));
    pass(&node, 100);
    assert_eq!(ready(&node, "q"), 2);
}

#[test]
fn as_by_the_plugin_every_mandatory_one_is_returned_if_that_is_wanted() {
    let (node, mut client) = node_with(Options { returns_every_delayed: true, ..Options::default() });
    assert_eq!(publish_mandatory(&mut client, "k"), [Heard::Returned { code: 312, body: b"m".to_vec() }]);
    assert_waiting(&node, "x", 1);
}

#[test]
fn what_waits_is_confirmed_when_it_is_durable_whatever_its_mode() {
    let (node, mut client) = node();
    node.sync();
    client.select_confirms(1);
    delay_by(&mut client, "x", "k", 1000, "lasting");
    assert!(client.hear().is_empty(), "it is not durable yet");
    node.sync();
    assert_eq!(client.hear(), [Heard::Ack { tag: 1, multiple: false }]);
    let headers = headers(Value::I32(1000));
    publish_with(&mut client, "x", "k", Properties { headers: Some(headers.as_table()), ..Default::default() }, "b");
    assert!(client.hear().is_empty(), "it is not durable either");
    node.sync();
    assert_eq!(client.hear(), [Heard::Ack { tag: 2, multiple: false }]);
}
