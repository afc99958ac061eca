//! Vhosts come and go, with everything in them.

use amqp::table::{Table, TableBuf, Value};
use model::arguments::QueueType;
use model::name::ExchangeName;

use super::client::Heard;
use super::node::Node;
use super::operators::{block_on, connect, connection_closed, guest, lasting, node_with, operator, queue_name, vhost};
use crate::changed::Changed;
use crate::control::{ControlError, VhostRequest};
use crate::options::Options;
use crate::vhost_access::{ExchangeRequest, QueueRequest};
use model::refusal::Outcome;

#[test]
fn nothing_comes_into_a_vhost_that_is_deleted() {
    let node = node_with(".*", ".*", ".*");
    // A user that was in it before, and has not been notified yet.
    let access = block_on(node.broker.enter(&operator(), "/")).unwrap();
    node.broker.delete_vhost(&operator(), "/").unwrap();
    let refused = access.declare_queue(&lasting(&queue_name("late"))).unwrap_err();
    assert_eq!(refused.text, "no vhost '/'");
    let name = ExchangeName::parse(b"late").unwrap();
    let request = ExchangeRequest {
        name: &name,
        kind: b"fanout",
        is_durable: true,
        is_auto_delete: false,
        is_internal: false,
        arguments: Table::EMPTY,
    };
    assert!(!access.declare_exchange(&request).unwrap().is_new);
    node.sync();
    let node = node.kill();
    node.broker.put_vhost(&operator(), VhostRequest::named(vhost("/"))).unwrap();
    node.sync();
    let node = node.kill();
    assert!(node.broker.queue_views("/").is_empty());
    assert!(node.broker.exchange_view("/", "late").is_none());
}

#[test]
fn who_makes_the_same_vhost_at_the_same_time_waits_for_it_too() {
    let node = node_with(".*", ".*", ".*");
    let start = std::sync::Barrier::new(2);
    let put = |round: usize| {
        start.wait();
        node.broker.put_vhost(&operator(), VhostRequest::named(vhost(&format!("v{round}")))).unwrap()
    };
    let put_all = || (0..3000).map(put).collect::<Vec<_>>();
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(put_all);
        (put_all(), other.join().unwrap())
    });
    for (first, second) in std::iter::zip(first, second) {
        assert!(first.is_new != second.is_new);
        assert!(!first.position.is_empty() && !second.position.is_empty());
    }
}

#[test]
fn a_protected_vhost_stays_and_another_goes_with_everything_in_it() {
    let node = node_with(".*", ".*", ".*");
    let broker = &node.broker;
    let mut client = connect(&node);
    client.declare("q");
    client.consume(1, "q", "c", true);
    node.sync();
    client.hear();
    broker.protect_vhost(&operator(), "/", true).unwrap();
    assert!(matches!(broker.delete_vhost(&operator(), "/"), Err(ControlError::Protected(_))));
    broker.protect_vhost(&operator(), "/", false).unwrap();
    broker.delete_vhost(&operator(), "/").unwrap();
    let closed = connection_closed(320, "CONNECTION_FORCED - vhost '/' is deleted");
    assert_eq!(client.hear(), [Heard::Other("basic.cancel"), closed]);
    assert!(broker.permissions().is_empty());
    node.sync();
    // Nothing comes back, and a broker without any vhost is not taken for a new one.
    let node = node.kill();
    assert!(node.broker.queue_view("/", "q").is_none());
    assert!(node.broker.vhost_names().is_empty() && node.broker.permissions().is_empty());
}

#[track_caller]
fn check_refused(outcome: Outcome<Changed>, code: u16, text: &str) {
    let refusal = outcome.unwrap_err();
    assert_eq!((crate::reply_code(refusal.kind).code(), &*refusal.text), (code, text));
}

#[test]
fn the_default_type_of_a_vhost_is_written_into_queues_that_can_be_of_it() {
    let node = Node::new();
    let change = VhostRequest { default_queue_type: Some("quorum".to_owned()), ..VhostRequest::named(vhost("/")) };
    node.broker.put_vhost(&operator(), change).unwrap();
    let access = guest(&node);
    let [lasting_name, transient_name, passing_name, classic_name] =
        ["lasting", "transient", "passing", "classic"].map(queue_name);
    assert!(access.declare_queue(&lasting(&lasting_name)).unwrap().is_new);
    assert!(!access.declare_queue(&lasting(&lasting_name)).unwrap().is_new);
    access.declare_queue(&QueueRequest { is_durable: false, ..lasting(&transient_name) }).unwrap();
    access.declare_queue(&QueueRequest { is_auto_delete: true, ..lasting(&passing_name) }).unwrap();
    let classic = TableBuf::new().with("x-queue-type", Value::LongStr(b"classic"));
    access.declare_queue(&QueueRequest { arguments: classic.as_table(), ..lasting(&classic_name) }).unwrap();
    let type_of = |name: &str| node.broker.queue_view("/", name).unwrap().definition().arguments.queue_type();
    assert_eq!(
        ["lasting", "transient", "passing", "classic"].map(type_of),
        [QueueType::Quorum, QueueType::Classic, QueueType::Classic, QueueType::Classic]
    );
    let unnamed = access.declare_queue(&lasting(&queue_name("")));
    check_refused(unnamed, 406, "Cannot declare a server-named queue for type rabbit_quorum_queue");
    let unbuilt = VhostRequest { default_queue_type: Some("stream".to_owned()), ..VhostRequest::named(vhost("/")) };
    assert!(matches!(node.broker.put_vhost(&operator(), unbuilt), Err(ControlError::Invalid(_))));
}

#[test]
fn a_vhost_without_a_default_type_has_the_brokers() {
    let node = Node::with(Options { default_queue_type: QueueType::Quorum, ..Options::default() });
    let name = queue_name("q");
    guest(&node).declare_queue(&lasting(&name)).unwrap();
    let view = node.broker.queue_view("/", "q").unwrap();
    assert_eq!(view.definition().arguments.queue_type(), QueueType::Quorum);
    let own = VhostRequest { default_queue_type: Some("classic".to_owned()), ..VhostRequest::named(vhost("/")) };
    node.broker.put_vhost(&operator(), own).unwrap();
    check_refused(
        guest(&node).declare_queue(&lasting(&name)),
        406,
        "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received 'classic' but current is 'quorum'",
    );
}

#[test]
fn a_quorum_queue_is_declared_as_a_classic_one_where_that_is_permitted() {
    let node = Node::with(Options { permits_quorum_queues_declared_as_classic: true, ..Options::default() });
    let (access, name) = (guest(&node), queue_name("q"));
    let quorum = TableBuf::new().with("x-queue-type", Value::LongStr(b"quorum"));
    let request = QueueRequest { arguments: quorum.as_table(), ..lasting(&name) };
    assert!(access.declare_queue(&request).unwrap().is_new);
    let as_classic = QueueRequest { is_durable: false, is_auto_delete: true, ..lasting(&name) };
    assert!(!access.declare_queue(&as_classic).unwrap().is_new);
    check_refused(
        access.declare_queue(&QueueRequest { is_durable: false, ..request }),
        406,
        "inequivalent arg 'durable' for queue 'q' in vhost '/': received 'false' but current is 'true'",
    );
}

#[test]
fn a_queue_of_a_type_that_cannot_be_so_is_refused() {
    let node = Node::new();
    let (access, name) = (guest(&node), queue_name("q"));
    let of = |queue_type: &'static str| TableBuf::new().with("x-queue-type", Value::LongStr(queue_type.as_bytes()));
    let (quorum, stream) = (of("quorum"), of("stream"));
    let check = |request: QueueRequest<'_>, code, text: &str| check_refused(access.declare_queue(&request), code, text);
    let request = QueueRequest { arguments: quorum.as_table(), ..lasting(&name) };
    check(
        QueueRequest { is_durable: false, ..request },
        406,
        "invalid property 'non-durable' for queue 'q' in vhost '/'",
    );
    check(
        QueueRequest { is_exclusive: true, ..request },
        406,
        "invalid property 'exclusive-owner' for queue 'q' in vhost '/'",
    );
    check(
        QueueRequest { is_auto_delete: true, ..request },
        406,
        "invalid property 'auto-delete' for queue 'q' in vhost '/'",
    );
    let request = QueueRequest { arguments: stream.as_table(), ..request };
    check(request, 540, "the queue type 'stream' is not implemented");
}

#[test]
fn who_imports_definitions_gets_no_user_and_no_vhost_but_theirs() {
    let node = Node::with(Options { imports_definitions: true, ..Options::default() });
    assert!(node.broker.users().is_empty() && node.broker.vhost_names().is_empty());
    let event_exchange = |node: &Node, name| node.broker.exchange_view(name, "amq.rabbitmq.event").is_some();
    for name in ["shop", "/"] {
        assert!(node.broker.put_vhost(&operator(), VhostRequest::named(vhost(name))).unwrap().is_new);
        assert_eq!(event_exchange(&node, name), name == "/", "events are published in the default vhost");
    }
    node.sync();
    let node = node.kill();
    assert_eq!(node.broker.vhost_names(), [vhost("/"), vhost("shop")]);
    assert!(node.broker.users().is_empty() && event_exchange(&node, "/"));
}
