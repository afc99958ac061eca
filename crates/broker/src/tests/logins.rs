//! Which users may log in, and the answers they get.

use amqp::table::{Table, TableBuf, Value};

use super::client::Heard;
use super::node::Node;
use crate::front::Phase;

fn refused() -> Heard {
    let text =
        "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile.";
    Heard::ConnectionClose { code: 403, text: text.to_owned() }
}

/// Logs in from an address with what a client needs to be notified of a failure.
fn log_in_from(node: &Node, peer: &str, user: &str, password: &str) -> Heard {
    let capabilities = TableBuf::new().with("authentication_failure_close", Value::Bool(true));
    let properties = TableBuf::new().with("capabilities", Value::Table(capabilities.as_table()));
    let heard = node.accept(peer).try_log_in(user, password, properties.as_table());
    heard.last().expect("an answer").clone()
}

#[test]
fn guest_comes_over_loopback_only() {
    let node = Node::new();
    for peer in ["127.0.0.1:5", "127.8.9.10:5", "[::1]:5", "[::ffff:127.0.0.1]:5"] {
        assert_eq!(log_in_from(&node, peer, "guest", "guest"), Heard::Other("connection.open-ok"), "{peer}");
    }
    for peer in ["192.0.2.1:5", "[2001:db8::1]:5", "[::ffff:192.0.2.1]:5", "10.0.0.1:5"] {
        assert_eq!(log_in_from(&node, peer, "guest", "guest"), refused(), "{peer}");
    }
}

#[test]
fn a_wrong_password_and_an_unknown_user_look_the_same() {
    let node = Node::new();
    assert_eq!(log_in_from(&node, "127.0.0.1:5", "guest", "gues"), refused());
    assert_eq!(log_in_from(&node, "127.0.0.1:5", "guest", ""), refused());
    assert_eq!(log_in_from(&node, "127.0.0.1:5", "stranger", "guest"), refused());
}

#[test]
fn a_client_that_cannot_be_told_is_kept_waiting() {
    let node = Node::new();
    let mut client = node.accept("127.0.0.1:5");
    let heard = client.try_log_in("guest", "wrong", Table::default());
    assert_eq!(heard, [Heard::Other("connection.start")]);
    assert!(matches!(client.session.front.phase(), Phase::Refused { .. }));
}

#[test]
fn another_protocol_is_answered_with_ours() {
    let node = Node::new();
    for header in [&b"AMQP\x00\x01\x00\x00"[..], b"AMQP\x01\x01\x08\x00", b"GET / HTTP/1.1\r\n", b"A_"] {
        let mut client = node.accept("127.0.0.1:5");
        client.send_bytes(header);
        assert_eq!(client.session.front.output(), b"AMQP\x00\x00\x09\x01");
        assert!(matches!(client.session.front.phase(), Phase::Closed { .. }));
    }
}
