//! What an alarm stops, and when.

use crate::front::Protocol as _;
use std::path::Path;

use amqp::content::{put_body_frames, put_header_encoded};
use amqp::frame::put_method;
use amqp::method::{basic, channel, queue};
use amqp::table::{TableBuf, Value};

use super::client::{Client, Heard, PERSISTENT, TRANSIENT};
use super::node::Node;
use crate::alarms::{ActiveAlarms, PeerAlarms};
use crate::identity::Actor;
use engine::outbox::ConnectionEvent;

/// The frames of a publish to `q`: method, header, body.
fn publish(body: &[u8]) -> [Vec<u8>; 3] {
    let mut frames = [vec![], vec![], vec![]];
    put_method(&mut frames[0], 1, &basic::Publish { routing_key: b"q", ..Default::default() });
    put_header_encoded(&mut frames[1], 1, body.len() as u64, TRANSIENT);
    put_body_frames(&mut frames[2], 1, body, 131_072);
    frames
}

/// A client that asks to be notified of alarms, in confirm mode.
fn connect(node: &Node) -> Client {
    let capabilities = TableBuf::new().with("connection.blocked", Value::Bool(true));
    let properties = TableBuf::new().with("capabilities", Value::Table(capabilities.as_table()));
    let mut client = node.accept("127.0.0.1:5");
    client.try_log_in("guest", "guest", properties.as_table());
    client.open_channel(1);
    client.declare_with("q", &[]);
    client.select_confirms(1);
    client
}

fn set_alarm(node: &Node, is_low: bool) {
    node.broker.alarms.set_memory(is_low);
    node.broker.connections.notify_all(|| ConnectionEvent::AlarmsChanged);
}

fn ready(node: &Node) -> u64 {
    node.broker.queue_counts("/", "q").expect("it is there").ready
}

#[test]
fn no_publish_goes_through_after_an_alarm() {
    for has_published in [false, true] {
        for is_in_pieces in [false, true] {
            let node = Node::new();
            let mut client = connect(&node);
            node.listen(&mut client);
            if has_published {
                client.publish(1, "", "q", TRANSIENT, b"before");
                assert!(matches!(client.hear_one(), Heard::Ack { .. }));
            }
            let before = ready(&node);
            set_alarm(&node, true);
            assert_eq!(client.hear(), [], "who does not publish is told nothing");
            client.get(1, "nowhere", true);
            assert!(matches!(client.hear_one(), Heard::ChannelClose { code: 404, .. }), "and goes on");
            client.send(1, &channel::CloseOk);
            client.open_channel(1);
            client.select_confirms(1);
            let frames = publish(b"first").concat();
            let second = publish(b"second").concat();
            let bytes =
                if is_in_pieces { publish(b"first")[0].clone() } else { [frames.clone(), second.clone()].concat() };
            assert_eq!(client.send_bytes(&bytes), 0, "it is held");
            assert_eq!(client.hear(), [Heard::Other("connection.blocked")]);
            assert_eq!(client.send_bytes(&bytes), 0);
            assert_eq!((client.hear(), ready(&node)), (vec![], before));
            set_alarm(&node, false);
            assert_eq!(client.hear(), [Heard::Other("connection.unblocked")]);
            let bytes = [frames, second].concat();
            assert_eq!(client.send_bytes(&bytes), bytes.len());
            assert_eq!(client.hear_one(), Heard::Ack { tag: 2, multiple: true });
            assert_eq!(ready(&node), before + 2);
        }
    }
}

#[test]
fn a_limit_that_is_set_is_looked_at_at_once() {
    let node = Node::new();
    let mut client = connect(&node);
    node.listen(&mut client);
    let (actor, dir) = (Actor::broker(), Path::new("/"));
    let set_memory_limit = |len| node.broker.set_memory_limit(&actor, len, dir);
    let set_disk_free_limit = |len| node.broker.set_disk_free_limit(&actor, len, dir);
    for (set, on, off) in [(&set_memory_limit as &dyn Fn(u64), 0, u64::MAX), (&set_disk_free_limit, u64::MAX, 0)] {
        let before = ready(&node);
        set(on);
        let bytes = publish(b"held").concat();
        assert_eq!(client.send_bytes(&bytes), 0);
        assert_eq!(client.hear(), [Heard::Other("connection.blocked")]);
        set(off);
        assert_eq!(client.hear(), [Heard::Other("connection.unblocked")]);
        assert_eq!(client.send_bytes(&bytes), bytes.len());
        assert!(matches!(client.hear_one(), Heard::Ack { .. }));
        assert_eq!(ready(&node), before + 1);
    }
    let view = node.broker.node_view(dir);
    assert_eq!((view.memory_limit_len, view.disk_free_limit_len), (u64::MAX, 0));
}

#[test]
fn a_publish_that_had_begun_before_an_alarm_is_finished_and_the_next_is_held() {
    let node = Node::new();
    let mut client = connect(&node);
    node.listen(&mut client);
    let [method, header, body] = publish(b"begun");
    assert_eq!(client.send_bytes(&method), method.len());
    set_alarm(&node, true);
    let next = publish(b"next").concat();
    let rest = [header, body, next.clone()].concat();
    assert_eq!(client.send_bytes(&rest), rest.len() - next.len());
    assert_eq!(ready(&node), 1);
    assert_eq!(client.hear(), [Heard::Other("connection.blocked"), Heard::Ack { tag: 1, multiple: false }]);
}

#[test]
fn what_a_closed_channel_still_publishes_stops_no_connection() {
    let node = Node::new();
    let mut client = connect(&node);
    node.listen(&mut client);
    client.send(1, &queue::Declare { queue: b"missing", passive: true, ..Default::default() });
    assert!(matches!(client.hear_one(), Heard::ChannelClose { code: 404, .. }));
    set_alarm(&node, true);
    let late = publish(b"late").concat();
    assert_eq!(client.send_bytes(&late), late.len());
    client.send(1, &channel::CloseOk);
    client.open_channel(1);
}

#[test]
fn a_client_that_goes_while_it_is_held_up_is_heard_to_its_end() {
    let node = Node::new();
    let mut client = connect(&node);
    node.listen(&mut client);
    client.publish(1, "", "q", PERSISTENT, b"one");
    set_alarm(&node, true);
    assert_eq!(client.send_bytes(&publish(b"two").concat()), 0);
    client.session.close_by_server("shutdown");
    let heard = node.listen(&mut client);
    assert!(matches!(heard.last(), Some(Heard::ConnectionClose { code: 320, .. })), "{heard:?}");
    client.send(0, &amqp::method::connection::CloseOk);
    assert!(matches!(client.session.front.phase(), crate::front::Phase::Closed { .. }), "its answer is heard");
    assert_eq!(ready(&node), 1);
}

#[test]
fn publishers_wait_for_other_nodes_too() {
    let node = Node::new();
    let mut client = connect(&node);
    node.listen(&mut client);
    let low = |memory, disk| ActiveAlarms { is_memory_low: memory, is_disk_low: disk };
    let peer = |name: &str, alarms| PeerAlarms { node: name.to_owned(), alarms };
    node.broker.set_peer_alarms(vec![peer("rabbit@b", low(false, true)), peer("rabbit@c", low(false, false))]);
    assert_eq!(node.broker.alarms.reason(), "low on disk of rabbit@b");
    assert_eq!(node.broker.peer_alarms(), [peer("rabbit@b", low(false, true))]);
    assert_eq!(node.broker.alarms(), low(false, false), "this node has room");
    let bytes = publish(b"held").concat();
    assert_eq!(client.send_bytes(&bytes), 0);
    assert_eq!(client.hear(), [Heard::Other("connection.blocked")]);
    set_alarm(&node, true);
    assert_eq!(node.broker.alarms.reason(), "low on memory & disk of rabbit@b");
    set_alarm(&node, false);
    node.broker.set_peer_alarms(vec![peer("rabbit@b", low(false, true))]);
    assert_eq!(client.hear(), [], "nothing is new");
    node.broker.set_peer_alarms(Vec::new());
    assert_eq!(client.hear(), [Heard::Other("connection.unblocked")]);
    assert_eq!(client.send_bytes(&bytes), bytes.len());
}
