//! By whatever way a message comes to a delayed exchange.

use amqp::content::Properties;
use amqp::method::{basic, queue};
use amqp::table::{TableBuf, Value};

use super::{assert_waiting, delay_by, delayed_type, headers, node, pass, ready, restarted};
use crate::tests::client::Heard;
use crate::tests::exchange_types::{assert_done, bind, bind_exchange, declare, take_all};
use crate::tests::operators::{exchange_name, guest};
use crate::vhost_access::PublishRequest;

#[test]
fn a_message_that_comes_by_another_exchange_waits_too() {
    let (node, mut client) = node();
    client.declare("now");
    assert_done(bind(&mut client, "amq.fanout", "now", ""));
    assert_done(bind_exchange(&mut client, "amq.fanout", "x", ""));
    delay_by(&mut client, "amq.fanout", "k", 100, "both");
    assert_eq!((ready(&node, "now"), ready(&node, "q")), (1, 0));
    let (node, mut client) = restarted(node, 100);
    assert_eq!(take_all(&node, &mut client, "now"), ["both"]);
    assert_eq!(take_all(&node, &mut client, "q"), ["both"]);
}

#[test]
fn a_dead_letter_waits_too() {
    let (node, mut client) = node();
    let arguments = TableBuf::new()
        .with("x-dead-letter-exchange", Value::LongStr(b"x"))
        .with("x-dead-letter-routing-key", Value::LongStr(b"k"));
    let arguments = arguments.as_table();
    client.send(1, &queue::Declare { queue: b"source", durable: true, arguments, ..Default::default() });
    client.hear_one();
    delay_by(&mut client, "", "source", 100, "again");
    client.get(1, "source", false);
    node.sync();
    let heard = client.hear();
    let [Heard::Message { tag, .. }] = heard.as_slice() else { panic!("{heard:?}") };
    client.send(1, &basic::Reject { delivery_tag: *tag, requeue: false });
    client.hear();
    assert_eq!((ready(&node, "source"), ready(&node, "q")), (0, 0));
    assert_waiting(&node, "x", 1);
    let (node, mut client) = restarted(node, 100);
    assert_eq!(take_all(&node, &mut client, "q"), ["again"]);
}

#[test]
fn a_transaction_delays_what_it_commits() {
    let (node, mut client) = node();
    client.send(1, &amqp::method::tx::Select);
    client.hear();
    delay_by(&mut client, "x", "k", 100, "one");
    client.publish(1, "x", "k", crate::tests::client::PERSISTENT, b"now");
    assert_waiting(&node, "x", 0);
    client.send(1, &amqp::method::tx::Commit);
    node.sync();
    assert_eq!(client.hear(), [Heard::Other("tx.commit-ok")]);
    assert_waiting(&node, "x", 1);
    let (node, mut client) = restarted(node, 100);
    assert_eq!(take_all(&node, &mut client, "q"), ["now", "one"]);
}

#[test]
fn what_is_published_without_a_channel_waits_too() {
    let (node, _client) = node();
    let access = guest(&node);
    let headers = headers(Value::I32(100));
    let publish = |key: &[u8]| {
        let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
        let exchange = exchange_name("x");
        access
            .publish(&PublishRequest { exchange: &exchange, routing_key: key, properties, body: b"b" })
            .unwrap()
            .is_routed
    };
    assert!(publish(b"k") && !publish(b"nowhere"));
    assert_waiting(&node, "x", 2);
    pass(&node, 100);
    assert_eq!(ready(&node, "q"), 1);
}

#[test]
fn who_may_not_publish_may_not_delay() {
    let node = crate::tests::operators::node_with("", "^q$", "");
    let mut guest_client = node.connect();
    assert_done(declare(&mut guest_client, "x", "x-delayed-message", delayed_type("direct").as_table()));
    let mut ann = crate::tests::operators::connect(&node);
    delay_by(&mut ann, "x", "k", 100, "refused");
    let heard = ann.hear();
    assert!(matches!(heard.as_slice(), [Heard::ChannelClose { code: 403, .. }]), "{heard:?}");
    assert_waiting(&node, "x", 0);
}
