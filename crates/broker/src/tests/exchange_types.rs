//! Exchanges that hash or choose: what is refused, with which text, and where messages go.

use amqp::content::{ContentHeader, Properties};
use amqp::frame::put_method;
use amqp::method::{basic, channel, exchange, queue};
use amqp::table::{Table, TableBuf, Value};

use super::client::{Client, Heard, TRANSIENT};
use super::node::Node;
use crate::options::Options;

pub(super) fn declare(client: &mut Client, name: &str, kind: &str, arguments: Table<'_>) -> Heard {
    let (exchange, kind) = (name.as_bytes(), kind.as_bytes());
    client.send(1, &exchange::Declare { exchange, kind, durable: true, arguments, ..Default::default() });
    client.hear_defined().unwrap_or(Heard::Other("nothing: its broker is gone"))
}

pub(super) fn bind(client: &mut Client, exchange: &str, queue: &str, routing_key: &str) -> Heard {
    let (exchange, queue, routing_key) = (exchange.as_bytes(), queue.as_bytes(), routing_key.as_bytes());
    client.send(1, &queue::Bind { queue, exchange, routing_key, ..Default::default() });
    client.hear_defined().unwrap_or(Heard::Other("nothing: its broker is gone"))
}

pub(super) fn bind_exchange(client: &mut Client, source: &str, destination: &str, routing_key: &str) -> Heard {
    let (source, destination, routing_key) = (source.as_bytes(), destination.as_bytes(), routing_key.as_bytes());
    client.send(1, &exchange::Bind { source, destination, routing_key, ..Default::default() });
    client.hear_one()
}

#[track_caller]
pub(super) fn assert_done(heard: Heard) {
    assert!(matches!(heard, Heard::Other(_)), "{heard:?}");
}

/// Bodies of what is in a queue, which is empty then.
pub(super) fn take_all(node: &Node, client: &mut Client, queue: &str) -> Vec<String> {
    client.consume(1, queue, "taker", true);
    let mut bodies = Vec::new();
    for _ in 0..4 {
        node.sync();
        node.load();
        for heard in client.hear() {
            if let Heard::Message { body, .. } = heard {
                bodies.push(String::from_utf8(body).unwrap());
            }
        }
    }
    client.send(1, &basic::Cancel { consumer_tag: b"taker", ..Default::default() });
    assert_eq!(client.hear_one(), Heard::Other("basic.cancel-ok"));
    bodies
}

/// Publishes with any properties.
pub(super) fn publish_with(client: &mut Client, exchange: &str, key: &str, properties: Properties<'_>, body: &str) {
    let mut header = Vec::new();
    ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut header);
    client.publish(1, exchange, key, amqp::content::properties_bytes(&header), body.as_bytes());
}

/// The text of a 406 that closes the channel, which is opened again.
#[track_caller]
fn refused(client: &mut Client, heard: Heard) -> String {
    let Heard::ChannelClose { code: 406, text } = heard else { panic!("{heard:?}") };
    client.send(1, &channel::CloseOk);
    client.open_channel(1);
    text
}

fn text(name: &str, value: &str) -> TableBuf {
    TableBuf::new().with(name, Value::LongStr(value.as_bytes()))
}

#[test]
fn arguments_are_checked_when_an_exchange_is_made() {
    let node = Node::new();
    let mut client = node.connect();
    let both = text("hash-header", "h").with("hash-property", Value::LongStr(b"bogus"));
    for (kind, arguments, expected) in [
        ("x-consistent-hash", text("hash-property", "bogus"), "Unsupported property: bogus"),
        ("x-consistent-hash", both, "hash-header and hash-property are mutually exclusive"),
        (
            "x-consistent-hash",
            TableBuf::new().with("hash-header", Value::I32(5)),
            "invalid type 'signedint' for arg 'hash-header' in exchange 'x' in vhost '/'",
        ),
        (
            "x-recent-history",
            TableBuf::new().with("x-recent-history-length", Value::I32(0)),
            "Invalid argument 0, 'x-recent-history-length' must be a positive integer",
        ),
    ] {
        let heard = declare(&mut client, "x", kind, arguments.as_table());
        assert_eq!(refused(&mut client, heard), format!("PRECONDITION_FAILED - {expected}"));
    }
    assert_done(declare(&mut client, "x", "x-consistent-hash", text("hash-header", "h").as_table()));
    // A second declaration's arguments are not looked at, as in RabbitMQ.
    assert_done(declare(&mut client, "x", "x-consistent-hash", text("hash-property", "bogus").as_table()));
}

#[test]
fn a_weight_is_checked_when_it_is_bound() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    assert_done(declare(&mut client, "x", "x-consistent-hash", Table::EMPTY));
    for (key, expected) in [
        ("many", "The binding key must be an integer: <<\"many\">>"),
        ("½", "The binding key must be an integer: <<\"½\"/utf8>>"),
        ("", "The binding key must be an integer: <<>>"),
        ("0", "The binding key must be greater than 0"),
        ("-1", "The binding key must be greater than 0"),
        ("10001", "The binding key must not exceed 10000"),
    ] {
        let heard = bind(&mut client, "x", "q", key);
        assert_eq!(refused(&mut client, heard), format!("PRECONDITION_FAILED - {expected}"));
        let heard = bind_exchange(&mut client, "x", "amq.fanout", key);
        assert_eq!(refused(&mut client, heard), format!("PRECONDITION_FAILED - {expected}"));
    }
    assert_done(bind(&mut client, "x", "q", "10000"));
    assert_done(bind_exchange(&mut client, "x", "amq.fanout", "1"));
}

#[test]
fn a_local_random_exchange_takes_queues_without_a_key() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    assert_done(declare(&mut client, "x", "x-local-random", Table::EMPTY));
    let heard = bind(&mut client, "x", "q", "key");
    let expected = "PRECONDITION_FAILED - Non empty binding 'key' key not permitted";
    assert_eq!(refused(&mut client, heard), expected);
    let heard = bind_exchange(&mut client, "x", "amq.fanout", "key");
    assert_eq!(refused(&mut client, heard), expected);
    let heard = bind_exchange(&mut client, "x", "amq.fanout", "");
    assert_eq!(refused(&mut client, heard), "PRECONDITION_FAILED - Destination not found");
    let heard = bind_exchange(&mut client, "x", "missing", "");
    assert!(matches!(heard, Heard::ChannelClose { code: 404, .. }), "{heard:?}");
    client.send(1, &channel::CloseOk);
    client.open_channel(1);
    assert_done(bind(&mut client, "x", "q", ""));
    client.publish(1, "x", "any key", TRANSIENT, b"one");
    assert_eq!(take_all(&node, &mut client, "q"), ["one"]);
}

#[test]
fn local_random_exchanges_can_be_disabled() {
    let node = Node::with(Options { permits_local_random_exchanges: false, ..Options::default() });
    let mut client = node.connect();
    let heard = declare(&mut client, "x", "x-local-random", Table::EMPTY);
    let expected = "PRECONDITION_FAILED - x-local-random exchange is disabled by configuration";
    assert_eq!(refused(&mut client, heard), expected);
    assert_done(declare(&mut client, "x", "x-random", Table::EMPTY));
}

const QUEUES: [&str; 4] = ["a", "b", "c", "d"];

fn declare_all(client: &mut Client) {
    QUEUES.iter().for_each(|queue| client.declare(queue));
}

/// Publishes by many keys; the keys that came to each queue.
fn spread(node: &Node, client: &mut Client, exchange: &str) -> [Vec<String>; 4] {
    for key in 0..200 {
        let key = key.to_string();
        client.publish(1, exchange, &key, TRANSIENT, key.as_bytes());
    }
    QUEUES.map(|queue| take_all(node, client, queue))
}

#[test]
fn the_same_keys_go_to_the_same_queues_after_a_restart() {
    for kind in ["x-consistent-hash", "x-modulus-hash"] {
        let node = Node::new();
        let mut client = node.connect();
        // Made and bound in another order than that of their names.
        for queue in ["d", "b", "gone", "a", "c"] {
            client.declare(queue);
        }
        assert_done(declare(&mut client, "x", kind, Table::EMPTY));
        for (queue, weight) in [("c", "3"), ("gone", "9"), ("a", "1"), ("d", "5"), ("d", "2"), ("b", "2")] {
            assert_done(bind(&mut client, "x", queue, weight));
        }
        client.send(1, &queue::Delete { queue: b"gone", ..Default::default() });
        node.sync();
        client.hear();
        let before = spread(&node, &mut client, "x");
        assert!(before.iter().all(|keys| !keys.is_empty()), "{before:?}");
        drop(client);
        let node = node.kill();
        let mut client = node.connect();
        assert_eq!(spread(&node, &mut client, "x"), before, "{kind}");
    }
}

#[test]
fn what_is_hashed_may_be_a_header_or_a_property() {
    let node = Node::new();
    let mut client = node.connect();
    declare_all(&mut client);
    for (exchange, arguments) in [
        ("header", text("hash-header", "h")),
        ("message_id", text("hash-property", "message_id")),
        ("correlation_id", text("hash-property", "correlation_id")),
        ("timestamp", text("hash-property", "timestamp")),
    ] {
        assert_done(declare(&mut client, exchange, "x-consistent-hash", arguments.as_table()));
        QUEUES.iter().for_each(|queue| assert_done(bind(&mut client, exchange, queue, "1")));
        for number in 0..50_u8 {
            let id = number.to_string();
            let headers = text("h", &id);
            let properties = match exchange {
                "header" => Properties { headers: Some(headers.as_table()), ..Properties::default() },
                "message_id" => Properties { message_id: Some(id.as_bytes()), ..Properties::default() },
                "correlation_id" => Properties { correlation_id: Some(id.as_bytes()), ..Properties::default() },
                _ => Properties { timestamp: Some(u64::from(number)), ..Properties::default() },
            };
            publish_with(&mut client, exchange, "same key", properties, &id);
        }
        let counts = QUEUES.map(|queue| take_all(&node, &mut client, queue).len());
        assert!(counts.iter().all(|count| *count > 0) && counts.iter().sum::<usize>() == 50, "{exchange}: {counts:?}");
        // Without it, all messages go one way, whatever their keys are.
        let counts = spread(&node, &mut client, exchange).map(|keys| keys.len());
        assert!(counts.contains(&200), "{exchange}: {counts:?}");
    }
}

#[test]
fn random_exchanges_use_all_their_queues() {
    let node = Node::new();
    let mut client = node.connect();
    declare_all(&mut client);
    for kind in ["x-random", "x-local-random"] {
        assert_done(declare(&mut client, kind, kind, Table::EMPTY));
        QUEUES.iter().for_each(|queue| assert_done(bind(&mut client, kind, queue, "")));
        for _ in 0..200 {
            client.publish(1, kind, "one key", TRANSIENT, b"x");
        }
        let counts = QUEUES.map(|queue| take_all(&node, &mut client, queue).len());
        assert!(counts.iter().all(|count| *count > 10) && counts.iter().sum::<usize>() == 200, "{kind}: {counts:?}");
    }
}

#[test]
fn what_nothing_is_bound_for_goes_to_the_alternate_or_back() {
    let node = Node::new();
    let mut client = node.connect();
    declare_all(&mut client);
    assert_done(bind(&mut client, "amq.fanout", "a", ""));
    for kind in ["x-consistent-hash", "x-modulus-hash", "x-random", "x-local-random", "x-recent-history"] {
        let alternate = text("alternate-exchange", "amq.fanout");
        assert_done(declare(&mut client, kind, kind, alternate.as_table()));
        client.publish(1, kind, "k", TRANSIENT, b"alternate");
        assert_eq!(take_all(&node, &mut client, "a"), ["alternate"], "{kind}");
        let lonely = format!("lonely {kind}");
        assert_done(declare(&mut client, &lonely, kind, Table::EMPTY));
        let mut bytes = Vec::new();
        let exchange = lonely.as_bytes();
        put_method(&mut bytes, 1, &basic::Publish { exchange, mandatory: true, ..Default::default() });
        amqp::content::put_header_encoded(&mut bytes, 1, 0, TRANSIENT);
        client.send_bytes(&bytes);
        assert_eq!(client.hear_one(), Heard::Returned { code: 312, body: Vec::new() }, "{kind}");
    }
}

/// On two channels in turn, in every order of kinds of messages: what is kept from one message must not stand for the next.
#[test]
fn a_message_without_headers_reaches_no_binding_that_asks_for_one() {
    let node = Node::new();
    let mut client = node.connect();
    client.open_channel(2);
    client.select_confirms(1);
    client.select_confirms(2);
    assert_done(declare(&mut client, "h", "headers", Table::EMPTY));
    let one = |name: &str| TableBuf::new().with(name, Value::I32(1));
    let present = TableBuf::new().with("a", Value::Void);
    for (queue, conditions, how) in [
        ("all", one("a"), "all"),
        ("any", one("a").with("b", Value::I32(1)), "any"),
        ("present", present, "any-with-x"),
    ] {
        client.declare(queue);
        let arguments = conditions.with("x-match", Value::LongStr(how.as_bytes()));
        let (queue, arguments) = (queue.as_bytes(), arguments.as_table());
        client.send(1, &queue::Bind { queue, exchange: b"h", arguments, ..Default::default() });
        assert_done(client.hear_one());
    }
    let (matching, foreign) = (one("a"), one("c"));
    let kinds = [None, Some(Table::EMPTY), Some(foreign.as_table()), Some(matching.as_table())].map(|headers| {
        let mut header = Vec::new();
        let properties = Properties { headers, delivery_mode: Some(1), ..Default::default() };
        ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut header);
        amqp::content::properties_bytes(&header).to_vec()
    });
    let mut expected = Vec::new();
    for number in 0..4 * 4_usize.pow(4) {
        let kind = ((number / 4) >> (2 * (number % 4))) & 3;
        client.publish(1 + (number % 2) as u16, "h", "key", &kinds[kind], number.to_string().as_bytes());
        assert!(matches!(client.hear_one(), Heard::Ack { multiple: false, .. }));
        if kind == 3 {
            expected.push(number.to_string());
        }
    }
    for queue in ["all", "any", "present"] {
        assert_eq!(take_all(&node, &mut client, queue), expected, "{queue}");
    }
}
