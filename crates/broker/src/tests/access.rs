//! Permissions of users: given, changed and taken away, at once, for connected clients, too.

use std::sync::Arc;

use amqp::content::{ContentHeader, Properties};
use amqp::method::{connection, queue};
use amqp::table::{ArrayBuf, Table, TableBuf, Value};
use model::user::{Tags, TopicPermission};

use super::client::{Client, Heard, TRANSIENT};
use super::node::Node;
use super::operators::{
    block_on, channel_closed, connect, connection_closed, exchange_name, guest, lasting, node_with, operator,
    over_http, permit, plain, queue_name, request, user, vhost,
};
use crate::control::{ControlError, PasswordChange, UserRequest};
use crate::identity::{Actor, Identity, Interface, Origin};
use crate::vhost_access::PublishRequest;

#[test]
fn a_new_user_logs_in_and_a_deleted_one_is_thrown_out() {
    let node = node_with(".*", ".*", ".*");
    let mut client = connect(&node);
    node.broker.delete_user(&operator(), "ann").unwrap();
    assert_eq!(client.hear(), [connection_closed(320, "CONNECTION_FORCED - user 'ann' is deleted")]);
    let heard = node.accept("127.0.0.1:1").try_log_in("ann", "pw", Table::EMPTY);
    assert_eq!(heard, [Heard::Other("connection.start")]);
    assert!(matches!(node.broker.delete_user(&operator(), "ann"), Err(ControlError::NotFound(_))));
}

#[test]
fn two_passwords_are_valid_while_one_takes_the_place_of_the_other() {
    let node = node_with("", "", "");
    let can_log_in = |password: &str| {
        node.accept("127.0.0.1:1").try_log_in("ann", password, Table::EMPTY).last()
            == Some(&Heard::Other("connection.open-ok"))
    };
    let change = UserRequest { keeps_old_password: true, ..request("ann", plain("new")) };
    node.broker.put_user(&operator(), change).unwrap();
    assert!(can_log_in("new") && can_log_in("pw") && !can_log_in("other"));
    let change = UserRequest { second_password: PasswordChange::Clear, ..request("ann", PasswordChange::Keep) };
    node.broker.put_user(&operator(), change).unwrap();
    assert!(can_log_in("new") && !can_log_in("pw"));
    node.broker.put_user(&operator(), request("ann", PasswordChange::Clear)).unwrap();
    assert!(!can_log_in("new"));
}

#[test]
fn failures_lock_out_even_the_right_password() {
    let node = node_with("", "", "");
    let log_in = |password: &str| node.accept("192.0.2.9:1").try_log_in("ann", password, Table::EMPTY).last().cloned();
    for _ in 0..20 {
        assert_eq!(log_in("wrong"), Some(Heard::Other("connection.start")));
    }
    assert_eq!(log_in("pw"), Some(Heard::Other("connection.start")));
    let elsewhere = node.accept("192.0.2.10:1").try_log_in("guest", "guest", Table::EMPTY);
    assert_eq!(elsewhere, [Heard::Other("connection.start")], "guest is local");
    let view = node.broker.auth_attempts(Interface::Amqp);
    assert_eq!((view.succeeded, view.failed), (0, 22));
    node.broker.reset_auth_attempts();
    let view = node.broker.auth_attempts(Interface::Amqp);
    assert_eq!((view.succeeded, view.failed), (0, 0));
}

#[test]
fn revoked_publishing_is_refused_at_the_next_publish() {
    let node = node_with("", ".*", "");
    let mut client = connect(&node);
    guest(&node).declare_queue(&lasting(&queue_name("q"))).unwrap();
    for _ in 0..3 {
        client.publish(1, "", "q", TRANSIENT, b"x");
    }
    assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, 3);
    permit(&node, "", "^other$", "");
    client.publish(1, "", "q", TRANSIENT, b"x");
    let text = "ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'ann'";
    assert_eq!(client.hear(), [channel_closed(403, text)]);
    assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, 3);
}

#[test]
fn revoked_reading_cancels_consumers() {
    let node = node_with("", "", ".*");
    let mut client = connect(&node);
    for name in ["kept", "lost"] {
        guest(&node).declare_queue(&lasting(&queue_name(name))).unwrap();
        client.consume(1, name, name, true);
    }
    node.sync();
    client.hear();
    permit(&node, "", "", "^kept$");
    assert_eq!(client.hear(), [Heard::Other("basic.cancel")]);
    let consumers: Vec<String> = node.broker.consumer_views().iter().map(|consumer| consumer.tag()).collect();
    assert_eq!(consumers, ["kept"]);
    assert_eq!(node.broker.queue_view("/", "lost").unwrap().consumer_count(), 0);
}

#[test]
fn revoked_reading_is_refused_at_the_next_consume_and_get() {
    // Whether the connection has heard of it before the method comes, or not.
    for hears_first in [true, false] {
        let node = node_with("", "", ".*");
        let mut client = connect(&node);
        guest(&node).declare_queue(&lasting(&queue_name("q"))).unwrap();
        client.open_channel(2);
        client.consume(1, "q", "first", true);
        assert_eq!(client.hear(), [Heard::Other("basic.consume-ok")]);
        permit(&node, "", "", "");
        if hears_first {
            assert_eq!(client.hear(), [Heard::Other("basic.cancel")]);
        }
        client.consume(1, "q", "second", true);
        client.get(2, "q", true);
        let text = "ACCESS_REFUSED - read access to queue 'q' in vhost '/' refused for user 'ann'";
        let refused = channel_closed(403, text);
        assert_eq!(client.hear(), [refused.clone(), refused], "hears first: {hears_first}");
        assert!(node.broker.consumer_views().is_empty());
    }
}

#[test]
fn a_permission_taken_away_leaves_nothing() {
    let node = node_with(".*", ".*", ".*");
    let mut client = connect(&node);
    client.declare("q");
    node.broker.delete_permission(&operator(), "ann", "/").unwrap();
    client.send(1, &queue::Declare { queue: b"q", durable: true, ..Default::default() });
    let text = "ACCESS_REFUSED - configure access to queue 'q' in vhost '/' refused for user 'ann'";
    assert_eq!(client.hear(), [channel_closed(403, text)]);
    let heard = node.accept("127.0.0.1:1").try_log_in("ann", "pw", Table::EMPTY);
    let text = "NOT_ALLOWED - access to vhost '/' refused for user 'ann'";
    assert_eq!(heard.last(), Some(&connection_closed(530, text)));
}

#[test]
fn topic_permissions_are_about_routing_keys_of_topic_exchanges() {
    let node = node_with(".*", ".*", ".*");
    let mut client = connect(&node);
    client.declare("q");
    client.publish(1, "amq.topic", "z", TRANSIENT, b"");
    let rules = TopicPermission::parse(vhost("/"), user("ann"), exchange_name("amq.topic"), "^{username}\\.", "^r");
    node.broker.put_topic_permission(&operator(), rules.unwrap()).unwrap();
    client.publish(1, "amq.topic", "ann.x", TRANSIENT, b"");
    client.publish(1, "amq.direct", "z", TRANSIENT, b"");
    client.send(1, &queue::Bind { queue: b"q", exchange: b"amq.topic", routing_key: b"r.#", ..Default::default() });
    assert_eq!(client.hear(), [Heard::Other("queue.bind-ok")]);
    client.publish(1, "amq.topic", "z", TRANSIENT, b"");
    let text = "ACCESS_REFUSED - write access to topic 'z' in exchange 'amq.topic' in vhost '/' refused for user 'ann'";
    assert_eq!(client.hear(), [channel_closed(403, text)]);
    client.send(1, &amqp::method::channel::CloseOk);
    client.open_channel(1);
    client.send(1, &queue::Bind { queue: b"q", exchange: b"amq.topic", routing_key: b"z.#", ..Default::default() });
    let text =
        "ACCESS_REFUSED - read access to topic 'z.#' in exchange 'amq.topic' in vhost '/' refused for user 'ann'";
    assert_eq!(client.hear(), [channel_closed(403, text)]);
    node.broker.delete_topic_permissions(&operator(), "ann", "/", None).unwrap();
    client.send(1, &amqp::method::channel::CloseOk);
    client.open_channel(1);
    client.publish(1, "amq.topic", "z", TRANSIENT, b"");
    assert_eq!(client.hear(), []);
}

/// Properties with a CC or BCC header of these keys.
fn sender_selected(header: &str, keys: &[&str]) -> TableBuf {
    let keys = keys.iter().fold(ArrayBuf::new(), |keys, key| keys.with(Value::LongStr(key.as_bytes())));
    TableBuf::new().with(header, Value::Array(keys.as_array()))
}

#[test]
fn topic_permissions_are_about_the_keys_in_cc_and_bcc_too() {
    let node = node_with(".*", ".*", ".*");
    let mut client = connect(&node);
    client.declare("q");
    client.send(1, &queue::Bind { queue: b"q", exchange: b"amq.topic", routing_key: b"#", ..Default::default() });
    client.hear();
    let rules = TopicPermission::parse(vhost("/"), user("ann"), exchange_name("amq.topic"), "^mine", ".*").unwrap();
    node.broker.put_topic_permission(&operator(), rules).unwrap();
    let actor = Actor { identity: Arc::new(Identity::stored(node.broker.user("ann").unwrap())), origin: over_http() };
    let access = block_on(node.broker.enter(&actor, "/")).unwrap();
    let text = "write access to topic 'yours' in exchange 'amq.topic' in vhost '/' refused for user 'ann'".to_owned();
    for header in ["CC", "BCC"] {
        for (keys, is_allowed) in [(&["mine.2", "mine.3"][..], true), (&["mine.2", "yours"], false)] {
            let headers = sender_selected(header, keys);
            let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
            let (exchange, routing_key) = (&exchange_name("amq.topic"), &b"mine"[..]);
            let result = access.publish(&PublishRequest { exchange, routing_key, properties, body: b"" });
            let mut encoded = Vec::new();
            ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut encoded);
            client.publish(1, "amq.topic", "mine", &encoded[12..], b"");
            if is_allowed {
                assert!(result.unwrap().is_routed);
                assert_eq!(client.hear(), []);
            } else {
                assert_eq!(result.unwrap_err().text, text);
                assert_eq!(client.hear(), [channel_closed(403, &format!("ACCESS_REFUSED - {text}"))]);
                client.send(1, &amqp::method::channel::CloseOk);
                client.open_channel(1);
            }
        }
    }
    assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, 4);
}

#[test]
fn protected_users_are_changed_from_the_host_only() {
    let node = node_with(".*", ".*", ".*");
    let protected = UserRequest { tags: Some(Tags::parse("protected")), ..request("saved", PasswordChange::Clear) };
    node.broker.put_user(&operator(), protected.clone()).unwrap();
    let by = |interface| Actor { origin: Origin { peer: None, interface }, ..operator() };
    let refused = |result: Result<_, ControlError>| assert!(matches!(result, Err(ControlError::Invalid(_))));
    refused(node.broker.put_user(&by(Interface::Http), request("saved", PasswordChange::Clear)));
    refused(node.broker.delete_user(&by(Interface::Http), "saved"));
    node.broker.put_user(&by(Interface::ControlSocket), protected).unwrap();
    node.broker.delete_user(&by(Interface::ControlSocket), "saved").unwrap();
}

/// Logs in up to connection.tune-ok.
fn log_in_only(node: &Node) -> Client {
    let mut client = node.accept("127.0.0.1:40000");
    client.send_bytes(&amqp::frame::PROTOCOL_HEADER);
    let (client_properties, mechanism) = (Table::EMPTY, &b"PLAIN"[..]);
    client.send(0, &connection::StartOk { client_properties, mechanism, response: b"\0ann\0pw", locale: b"en_US" });
    client.send(0, &connection::TuneOk { channel_max: 2047, frame_max: 131_072, heartbeat: 0 });
    client.hear();
    client
}

#[test]
fn tags_taken_away_between_login_and_open_are_gone() {
    let node = node_with(".*", ".*", ".*");
    let tagged = |tags: &str| UserRequest { tags: Some(Tags::parse(tags)), ..request("ann", PasswordChange::Keep) };
    node.broker.put_user(&operator(), tagged("impersonator")).unwrap();
    let mut client = log_in_only(&node);
    node.broker.put_user(&operator(), tagged("")).unwrap();
    client.send(0, &connection::Open { virtual_host: b"/", ..Default::default() });
    assert_eq!(client.hear(), [Heard::Other("connection.open-ok")]);
    client.open_channel(1);
    let properties = Properties { user_id: Some(b"bob"), ..Properties::default() };
    let mut encoded = Vec::new();
    ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut encoded);
    client.publish(1, "amq.fanout", "", &encoded[12..], b"");
    let text = "PRECONDITION_FAILED - user_id property set to 'bob' but authenticated user was 'ann'";
    assert_eq!(client.hear(), [channel_closed(406, text)]);
}

#[test]
fn who_is_deleted_while_it_opens_is_thrown_out_or_not_let_in() {
    let node = node_with(".*", ".*", ".*");
    for round in 0..500 {
        node.broker.put_user(&operator(), request("ann", plain("pw"))).unwrap();
        permit(&node, ".*", ".*", ".*");
        let mut client = log_in_only(&node);
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                node.broker.delete_user(&operator(), "ann").unwrap();
            });
            start.wait();
            client.send(0, &connection::Open { virtual_host: b"/", ..Default::default() });
        });
        let last = client.hear().pop();
        let is_closed = matches!(last, Some(Heard::ConnectionClose { code: 320 | 530, .. }));
        assert!(is_closed, "{last:?} in round {round}");
        client.session.front.end();
        node.broker.forget_connection(client.session.front.handle());
    }
}
