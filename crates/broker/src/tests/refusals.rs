//! What is known and not built yet is refused by name; what is unknown is let pass.

use amqp::content::put_header_encoded;
use amqp::frame::put_method;
use amqp::method::{basic, exchange, queue};
use amqp::table::{TableBuf, Value};

use super::client::{Client, Heard};
use super::node::Node;

fn declare_with(client: &mut Client, name: &str, value: Value<'_>) -> Heard {
    let arguments = TableBuf::new().with(name, value);
    client
        .send(1, &queue::Declare { queue: b"q", durable: true, arguments: arguments.as_table(), ..Default::default() });
    client.hear_one()
}

#[test]
fn types_of_queues_to_come_are_refused_by_name() {
    let node = Node::new();
    match declare_with(&mut node.connect(), "x-queue-type", Value::LongStr(b"stream")) {
        Heard::ConnectionClose { code: 540, text } => assert!(text.contains("'stream'"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert!(node.broker.queue_counts("/", "q").is_none());
}

#[test]
fn arguments_pass() {
    let node = Node::new();
    for (name, value) in [
        ("x-frobnicate", Value::I32(1)),
        ("x-queue-type", Value::LongStr(b"classic")),
        ("x-queue-type", Value::LongStr(b"quorum")),
        ("x-message-ttl", Value::I32(100_000)),
        ("x-expires", Value::I32(100_000)),
        ("x-max-length", Value::I32(10)),
        ("x-max-length-bytes", Value::I32(10)),
        ("x-max-priority", Value::I32(10)),
        ("x-overflow", Value::LongStr(b"reject-publish")),
        ("x-dead-letter-exchange", Value::LongStr(b"dlx")),
        ("x-single-active-consumer", Value::Bool(true)),
    ] {
        let mut client = node.connect();
        assert!(matches!(declare_with(&mut client, name, value), Heard::DeclareOk { .. }), "{name}");
        client.send(1, &queue::Delete { queue: b"q", ..Default::default() });
    }
}

#[test]
fn a_time_to_live_that_is_none_is_an_error() {
    let node = Node::new();
    for expiration in [&b"soon"[..], b"-1", b"1.5", b"315360000001"] {
        let mut client = node.connect();
        client.declare("q");
        let mut bytes = Vec::new();
        put_method(&mut bytes, 1, &basic::Publish { routing_key: b"q", ..Default::default() });
        let mut properties = vec![0x01, 0, expiration.len() as u8];
        properties.extend_from_slice(expiration);
        put_header_encoded(&mut bytes, 1, 0, &properties);
        client.send_bytes(&bytes);
        let (Heard::ConnectionClose { code, text } | Heard::ChannelClose { code, text }) = client.hear_one() else {
            panic!("{expiration:?} was taken")
        };
        assert_eq!(code, 406, "{text}");
        assert!(text.contains("invalid expiration"), "{text}");
    }
}

#[test]
fn exchange_types_to_come_are_refused() {
    let node = Node::new();
    let mut client = node.connect();
    let declare = |kind| exchange::Declare { exchange: b"x", kind, ..Default::default() };
    client.send(1, &declare(b"x-lvc"));
    assert!(matches!(client.hear_one(), Heard::ConnectionClose { code: 540, .. }));
    let mut client = node.connect();
    client.send(1, &declare(b"nonsense"));
    assert!(matches!(client.hear_one(), Heard::ChannelClose { code: 406, .. }));
}

/// The broker knows only that it cannot read them; the session says what the codec found, however the frames came.
#[test]
fn of_properties_that_cannot_be_read_it_is_said_what_is_wrong() {
    let node = Node::new();
    // A content type of five bytes, of which one is there.
    let properties = [0x80, 0, 5, b'a'];
    let mut answers = Vec::new();
    for body in [&b"m"[..], b""] {
        let mut client = node.connect();
        client.declare("q");
        client.publish(1, "", "q", &properties, body);
        answers.push(client.hear_one());
    }
    // The same in frames that come one by one.
    let mut client = node.connect();
    client.send(1, &basic::Publish { routing_key: b"q", ..Default::default() });
    let mut header = Vec::new();
    put_header_encoded(&mut header, 1, 1, &properties);
    client.send_bytes(&header);
    answers.push(client.hear_one());
    for answer in answers {
        let Heard::ConnectionClose { code: 502, text } = &answer else { panic!("{answer:?}") };
        assert!(text.starts_with("SYNTAX_ERROR - content header: "), "{text}");
    }
}
