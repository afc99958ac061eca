//! Limits of vhosts and users, and what is counted for them.

use crate::front::Protocol as _;
use amqp::content::Properties;
use amqp::method::{connection, queue};
use amqp::table::Table;
use model::user::UserLimits;

use super::client::{Heard, TRANSIENT};
use super::operators::{
    channel_closed, connect, connection_closed, exchange_name, guest, lasting, node_with, operator, queue_name,
};
use crate::vhost_access::PublishRequest;

#[test]
fn limits_of_connections_channels_and_queues_hold() {
    let node = node_with(".*", ".*", ".*");
    let broker = &node.broker;
    let mut client = connect(&node);
    client.declare("q");
    broker.set_vhost_limits(&operator(), "/", |limits| limits.queue_max = Some(1)).unwrap();
    client.declare("q");
    client.send(1, &queue::Declare { queue: b"q2", ..Default::default() });
    let text = "PRECONDITION_FAILED - cannot declare queue 'q2': queue limit in vhost '/' (1) is reached";
    assert_eq!(client.hear(), [channel_closed(406, text)]);

    broker.set_vhost_limits(&operator(), "/", |limits| limits.connection_max = Some(1)).unwrap();
    let heard = node.accept("127.0.0.1:1").try_log_in("ann", "pw", Table::EMPTY);
    let text = "NOT_ALLOWED - access to vhost '/' refused for user 'ann': connection limit (1) is reached";
    assert_eq!(heard.last(), Some(&connection_closed(530, text)));

    broker.set_vhost_limits(&operator(), "/", |limits| limits.connection_max = None).unwrap();
    broker.set_user_limits(&operator(), "ann", |limits| limits.connection_max = Some(1)).unwrap();
    let heard = node.accept("127.0.0.1:1").try_log_in("ann", "pw", Table::EMPTY);
    let text = "NOT_ALLOWED - connection refused for user 'ann': user connection limit (1) is reached";
    assert_eq!(heard.last(), Some(&connection_closed(530, text)));

    broker.set_user_limits(&operator(), "ann", |limits| limits.channel_max = Some(1)).unwrap();
    client.open_channel(2);
    client.send(3, &amqp::method::channel::Open::default());
    let text = "NOT_ALLOWED - number of channels opened for user 'ann' has reached the maximum allowed user limit of 1";
    assert_eq!(client.hear(), [connection_closed(530, text)]);
}

#[test]
fn channels_and_connections_that_ended_do_not_count_for_their_user_any_more() {
    let node = node_with(".*", ".*", ".*");
    let limit = |limits: &mut UserLimits| (limits.connection_max, limits.channel_max) = (Some(1), Some(1));
    node.broker.set_user_limits(&operator(), "ann", limit).unwrap();
    for round in 0..4 {
        let mut client = connect(&node);
        client.send(1, &amqp::method::channel::Close::default());
        assert_eq!(client.hear(), [Heard::Other("channel.close-ok")]);
        client.open_channel(2);
        // It is closed by the broker, and counts no more before the client says that it knows.
        client.get(2, "nosuch", true);
        assert!(matches!(client.hear_one(), Heard::ChannelClose { code: 404, .. }));
        client.open_channel(1);
        match round {
            0 => client.session.front.end(),
            1 => client.session.close_by_server("tonight"),
            2 => client.send(0, &connection::Close::default()),
            _ => client.send(1, &amqp::method::channel::Open::default()),
        }
        let heard = node.accept("127.0.0.1:1").try_log_in("ann", "pw", Table::EMPTY);
        assert_eq!(heard.last(), Some(&Heard::Other("connection.open-ok")), "in round {round}");
        node.broker.close_connections_of(&operator(), "ann", "next");
    }
}

#[test]
fn a_connection_that_ended_does_not_count_any_more() {
    let node = node_with(".*", ".*", ".*");
    node.broker.set_vhost_limits(&operator(), "/", |limits| limits.connection_max = Some(1)).unwrap();
    for _ in 0..3 {
        let mut client = connect(&node);
        client.session.front.end();
        node.broker.forget_connection(client.session.front.handle());
    }
    assert_eq!(node.broker.vhost_view("/").unwrap().connection_count, 0);
}

#[test]
fn what_a_connection_carried_stays_with_its_vhost() {
    let node = node_with(".*", ".*", ".*");
    let traffic =
        || node.broker.messages_in("/").map(|messages| (messages.received_len, messages.sent_len)).into_iter();
    assert_eq!(traffic().collect::<Vec<_>>(), [(0, 0)]);
    let mut ended = connect(&node);
    let mut open = connect(&node);
    ended.session.front.note_received(3, std::time::Instant::now());
    open.session.front.note_sent(4);
    open.session.front.report();
    ended.session.front.report();
    assert_eq!(traffic().collect::<Vec<_>>(), [(3, 4)]);
    ended.session.front.note_received(5, std::time::Instant::now());
    ended.session.front.end();
    node.broker.forget_connection(ended.session.front.handle());
    open.session.front.note_received(5, std::time::Instant::now());
    open.session.front.report();
    assert_eq!(traffic().collect::<Vec<_>>(), [(13, 4)]);
}

#[test]
fn a_rate_limit_stops_only_who_publishes_in_its_vhost() {
    let node = node_with(".*", ".*", ".*");
    node.broker.set_vhost_limits(&operator(), "/", |limits| limits.publish_rate_max_per_s = Some(10)).unwrap();
    let (mut publisher, mut reader) = (connect(&node), connect(&node));
    publisher.declare("q");
    publisher.publish(1, "", "q", TRANSIENT, b"x");
    assert!(!publisher.session.front.is_throttled());
    publisher.publish(1, "", "q", TRANSIENT, b"x");
    assert!(publisher.session.front.is_throttled() && !publisher.session.front.wants_input());
    reader.get(1, "q", true);
    assert!(!reader.session.front.is_throttled());
    node.broker.set_vhost_limits(&operator(), "/", |limits| limits.publish_rate_max_per_s = None).unwrap();
    assert!(publisher.session.front.end_throttling() && publisher.session.front.wants_input());
}

#[test]
fn a_transaction_is_paid_for_when_it_is_committed() {
    let node = node_with(".*", ".*", ".*");
    node.broker.set_vhost_limits(&operator(), "/", |limits| limits.publish_rate_max_per_s = Some(10)).unwrap();
    let mut publisher = connect(&node);
    publisher.declare("q");
    publisher.send(1, &amqp::method::tx::Select);
    for _ in 0..3 {
        publisher.publish(1, "", "q", TRANSIENT, b"x");
    }
    assert!(!publisher.session.front.is_throttled());
    publisher.send(1, &amqp::method::tx::Commit);
    assert!(publisher.session.front.is_throttled());
    assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, 3);
}

#[test]
fn who_publishes_without_a_channel_pays_and_waits_too() {
    let node = node_with(".*", ".*", ".*");
    node.broker.set_vhost_limits(&operator(), "/", |limits| limits.publish_rate_max_per_s = Some(10)).unwrap();
    let access = guest(&node);
    access.declare_queue(&lasting(&queue_name("q"))).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for (count, waits) in [(1, false), (2, true)] {
        let mut published = std::pin::pin!(access.retry_until_authorized(|access| {
            let (exchange, properties) = (&exchange_name(""), Properties::default());
            access.publish(&PublishRequest { exchange, routing_key: b"q", properties, body: b"" })
        }));
        assert_eq!(published.as_mut().poll(&mut context).is_pending(), waits);
        assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, count);
    }
    let mut publisher = connect(&node);
    publisher.publish(1, "", "q", TRANSIENT, b"x");
    assert!(publisher.session.front.is_throttled());
}
