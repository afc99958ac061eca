//! Delayed exchanges: how they are declared, and how they route what is due.

use amqp::content::Properties;
use amqp::method::queue;
use amqp::table::{ArrayBuf, TableBuf, Value};

use super::{START_MS, assert_waiting, delay_by, delayed_type, headers, node, pass, ready};
use crate::tests::client::Heard;
use crate::tests::exchange_types::{assert_done, bind, declare, publish_with, take_all};
use crate::tests::node::Node;

#[test]
fn exchanges_of_every_type_route_what_is_due_as_that_type() {
    let (node, mut client) = node();
    client.declare("other");
    for (kind, matching, other) in [
        ("direct", "a.b", "a"),
        ("fanout", "", ""),
        ("topic", "a.*", "b.*"),
        ("x-consistent-hash", "1", "1"),
        ("x-modulus-hash", "1", "1"),
        ("x-random", "", ""),
        ("x-recent-history", "", ""),
    ] {
        let name = format!("x.{kind}");
        assert_done(declare(&mut client, &name, "x-delayed-message", delayed_type(kind).as_table()));
        assert_done(bind(&mut client, &name, "q", matching));
        assert_done(bind(&mut client, &name, "other", other));
        let now = node.broker.engine.clock.now_ms() - START_MS;
        delay_by(&mut client, &name, "a.b", 10, kind);
        assert_eq!((ready(&node, "q"), ready(&node, "other")), (0, 0), "{kind}");
        pass(&node, now + 10);
        let counts = (take_all(&node, &mut client, "q").len(), take_all(&node, &mut client, "other").len());
        match kind {
            "direct" | "topic" => assert_eq!(counts, (1, 0), "{kind}"),
            "fanout" | "x-recent-history" => assert_eq!(counts, (1, 1), "{kind}"),
            _ => assert_eq!(counts.0 + counts.1, 1, "{kind}"),
        }
    }
}

#[test]
fn a_delayed_exchange_is_declared_as_the_plugin_wants_it() {
    let node = Node::new();
    let mut client = node.connect();
    for (arguments, expected) in [
        (TableBuf::new(), "PRECONDITION_FAILED - Invalid argument, 'x-delayed-type' must be an existing exchange type"),
        (
            delayed_type("x-delayed-message"),
            "PRECONDITION_FAILED - Invalid argument, 'x-delayed-message' can't be used for 'x-delayed-type'",
        ),
        (delayed_type("zz"), "PRECONDITION_FAILED - unknown exchange type 'zz'"),
        (delayed_type("x-lvc"), "NOT_IMPLEMENTED - the exchange type 'x-lvc' is not implemented"),
    ] {
        match declare(&mut client, "x", "x-delayed-message", arguments.as_table()) {
            Heard::ChannelClose { text, .. } => {
                assert_eq!(text, expected);
                client.send(1, &amqp::method::channel::CloseOk);
                client.open_channel(1);
            }
            Heard::ConnectionClose { text, .. } => {
                assert_eq!(text, expected);
                client = node.connect();
            }
            other => panic!("{other:?}"),
        }
    }
    assert_done(declare(&mut client, "x", "x-delayed-message", delayed_type("topic").as_table()));
}

#[test]
fn bindings_of_the_moment_of_release_count() {
    let (node, mut client) = node();
    client.declare("later");
    delay_by(&mut client, "x", "k", 100, "one");
    assert_done(bind(&mut client, "x", "later", "k"));
    client.send(1, &queue::Unbind { queue: b"q", exchange: b"x", routing_key: b"k", ..Default::default() });
    assert_done(client.hear_one());
    pass(&node, 100);
    assert_eq!((ready(&node, "q"), take_all(&node, &mut client, "later")), (0, vec!["one".to_owned()]));
}

#[test]
fn what_finds_no_queue_goes_to_the_alternate_exchange_or_is_dropped() {
    let (node, mut client) = node();
    client.declare("stray");
    assert_done(bind(&mut client, "amq.fanout", "stray", ""));
    let arguments = delayed_type("direct").with("alternate-exchange", Value::LongStr(b"amq.fanout"));
    assert_done(declare(&mut client, "with", "x-delayed-message", arguments.as_table()));
    delay_by(&mut client, "with", "nowhere", 100, "stray");
    delay_by(&mut client, "x", "nowhere", 100, "lost");
    assert_eq!(ready(&node, "stray"), 0, "not before it is due");
    pass(&node, 100);
    assert_eq!(take_all(&node, &mut client, "stray"), ["stray"]);
    assert_eq!(node.broker.all_messages().dropped, 1);
    assert_waiting(&node, "x", 0);
}

#[test]
fn copies_for_other_keys_wait_too() {
    let (node, mut client) = node();
    for name in ["cc", "bcc"] {
        client.declare(name);
        assert_done(bind(&mut client, "x", name, name));
    }
    let keys = |key: &'static [u8]| ArrayBuf::new().with(Value::LongStr(key));
    let (cc, bcc) = (keys(b"cc"), keys(b"bcc"));
    let headers =
        headers(Value::I32(100)).with("CC", Value::Array(cc.as_array())).with("BCC", Value::Array(bcc.as_array()));
    publish_with(&mut client, "x", "k", Properties { headers: Some(headers.as_table()), ..Default::default() }, "b");
    assert_eq!(["q", "cc", "bcc"].map(|name| ready(&node, name)), [0, 0, 0]);
    pass(&node, 100);
    assert_eq!(["q", "cc", "bcc"].map(|name| ready(&node, name)), [1, 1, 1]);
}
