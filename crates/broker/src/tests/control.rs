//! What operators change takes effect at once, for who is connected, too; and is still there after a crash.

use std::sync::Arc;

use amqp::content::{ContentHeader, Properties};
use amqp::method::{basic, connection, exchange, queue};
use amqp::table::{ArrayBuf, Table, TableBuf, Value};
use model::definition::UserPermission;
use model::name::{ExchangeName, QueueName, UserName, VhostName};
use model::policy::{ApplyTo, PolicyKind};
use model::user::{Permission, Tags, TopicPermission, UserLimits};
use serde_json::json;

use super::client::{Client, Heard, TRANSIENT};
use super::node::Node;
use crate::control::{ControlError, PasswordChange, PolicyRequest, UserRequest, VhostRequest};
use crate::identity::{Actor, Identity, Interface, Origin};
use crate::inside::{
    AckMode, BindingEnd, BindingRequest, ExchangeRequest, GetRequest, Inside, PublishRequest, QueueRequest,
};
use crate::options::Options;
use crate::view::BindingFilter;

fn vhost(name: &str) -> VhostName {
    VhostName::parse(name.as_bytes()).unwrap()
}

fn user(name: &str) -> UserName {
    UserName::parse(name.as_bytes()).unwrap()
}

fn queue_name(name: &str) -> QueueName {
    QueueName::parse(name.as_bytes()).unwrap()
}

fn exchange_name(name: &str) -> ExchangeName {
    ExchangeName::parse(name.as_bytes()).unwrap()
}

fn operator() -> Actor {
    Actor::broker()
}

fn request(name: &str, password: PasswordChange) -> UserRequest {
    UserRequest {
        name: user(name),
        password,
        second_password: PasswordChange::Keep,
        keeps_old_password: false,
        tags: Some(Tags::default()),
        limits: None,
    }
}

fn plain(password: &str) -> PasswordChange {
    PasswordChange::Plain(password.to_owned())
}

fn permit(node: &Node, configure: &str, write: &str, read: &str) {
    let permission = Permission::parse(configure, write, read).unwrap();
    let given = UserPermission { vhost: vhost("/"), user: user("ann"), permission };
    node.broker.put_permission(&operator(), given).unwrap();
}

/// A node on which `ann` may do what the three patterns say.
fn node_with(configure: &str, write: &str, read: &str) -> Node {
    let node = Node::new();
    node.broker.put_user(&operator(), request("ann", plain("pw"))).unwrap();
    permit(&node, configure, write, read);
    node
}

fn connect(node: &Node) -> Client {
    let mut client = node.accept("127.0.0.1:40000");
    client.log_in("ann", "pw");
    client.open_channel(1);
    client
}

fn guest(node: &Node) -> Inside {
    let identity = Identity::stored(node.broker.user("guest").unwrap());
    let actor = Actor { identity: Arc::new(identity), origin: over_http() };
    block_on(node.broker.enter(&actor, "/")).unwrap()
}

fn over_http() -> Origin {
    Origin { peer: None, interface: Interface::Http }
}

fn channel_closed(code: u16, text: &str) -> Heard {
    Heard::ChannelClose { code, text: text.to_owned() }
}

fn connection_closed(code: u16, text: &str) -> Heard {
    Heard::ConnectionClose { code, text: text.to_owned() }
}

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
    let inside = block_on(node.broker.enter(&actor, "/")).unwrap();
    let text = "write access to topic 'yours' in exchange 'amq.topic' in vhost '/' refused for user 'ann'".to_owned();
    for header in ["CC", "BCC"] {
        for (keys, is_allowed) in [(&["mine.2", "mine.3"][..], true), (&["mine.2", "yours"], false)] {
            let headers = sender_selected(header, keys);
            let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
            let (exchange, routing_key) = (&exchange_name("amq.topic"), &b"mine"[..]);
            let result = inside.publish(&PublishRequest { exchange, routing_key, properties, body: b"" });
            let mut encoded = Vec::new();
            ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut encoded);
            client.publish(1, "amq.topic", "mine", &encoded[12..], b"");
            if is_allowed {
                assert!(result.unwrap().0);
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
            0 => client.session.end(),
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
        client.session.end();
        node.broker.forget_connection(&client.session.handle);
    }
    assert_eq!(node.broker.vhost_view("/").unwrap().connection_count, 0);
}

#[test]
fn what_a_connection_carried_stays_with_its_vhost() {
    let node = node_with(".*", ".*", ".*");
    let traffic = || node.broker.vhost_traffic().into_values().map(|traffic| (traffic.received_len, traffic.sent_len));
    assert_eq!(traffic().collect::<Vec<_>>(), [(0, 0)]);
    let mut ended = connect(&node);
    let open = connect(&node);
    ended.session.handle.traffic.received(3);
    open.session.handle.traffic.sent(4);
    assert_eq!(traffic().collect::<Vec<_>>(), [(3, 4)]);
    ended.session.end();
    node.broker.forget_connection(&ended.session.handle);
    open.session.handle.traffic.received(10);
    assert_eq!(traffic().collect::<Vec<_>>(), [(13, 4)]);
}

#[test]
fn nothing_comes_into_a_vhost_that_is_deleted() {
    let node = node_with(".*", ".*", ".*");
    // Somebody who was in it before, and whom nobody has told yet.
    let inside = block_on(node.broker.enter(&operator(), "/")).unwrap();
    node.broker.delete_vhost(&operator(), "/").unwrap();
    let refused = inside.declare_queue(&lasting(&queue_name("late"))).unwrap_err();
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
    assert!(!inside.declare_exchange(&request).unwrap().is_new);
    node.sync();
    let node = node.kill();
    node.broker.put_vhost(&operator(), VhostRequest::named(vhost("/"))).unwrap();
    node.sync();
    let node = node.kill();
    assert!(node.broker.queue_views("/").is_empty());
    assert!(node.broker.exchange_view("/", "late").is_none());
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
        assert!(first.position.is_some() && second.position.is_some());
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

fn policy(name: &str, pattern: &str, priority: i64, settings: serde_json::Value) -> PolicyRequest {
    let serde_json::Value::Object(definition) = settings else { panic!("no object") };
    PolicyRequest {
        vhost: vhost("/"),
        name: name.to_owned(),
        kind: PolicyKind::User,
        pattern: pattern.to_owned(),
        apply_to: ApplyTo::All,
        priority,
        definition,
    }
}

#[test]
fn a_policy_gives_exchanges_an_alternate_at_once_and_takes_it_again() {
    let node = Node::new();
    let inside = guest(&node);
    inside.declare_queue(&lasting(&queue_name("q"))).unwrap();
    let (source, q) = (exchange_name("amq.fanout"), queue_name("q"));
    let destination = BindingEnd::Queue(&q);
    let binding = BindingRequest { source: &source, destination, routing_key: b"", arguments: Table::EMPTY };
    inside.bind(&binding).unwrap();
    let is_routed = || publish(&inside, "amq.direct", "nowhere");
    assert!(!is_routed());
    let settings = json!({"alternate-exchange": "amq.fanout"});
    let (changed, warnings) = node.broker.put_policy(&operator(), policy("p", "^amq\\.direct$", 0, settings)).unwrap();
    assert!(changed.is_new && warnings.is_empty() && is_routed());
    let stronger = json!({"alternate-exchange": "amq.topic"});
    node.broker.put_policy(&operator(), policy("stronger", "direct", 1, stronger)).unwrap();
    assert!(!is_routed());
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "stronger").unwrap();
    assert!(is_routed());
    let name =
        |node: &Node, queue: &str| node.broker.queue_view("/", queue).unwrap().policy().user.map(|p| p.name.clone());
    node.broker.put_policy(&operator(), policy("queues", "^q", 0, json!({}))).unwrap();
    assert_eq!(name(&node, "q").as_deref(), Some("queues"));
    node.sync();
    let node = node.kill();
    assert_eq!(name(&node, "q").as_deref(), Some("queues"));
    assert!(publish(&guest(&node), "amq.direct", "nowhere"));
}

#[test]
fn many_policies_are_set_and_deleted_at_once_or_not_at_all() {
    let node = Node::new();
    guest(&node).declare_queue(&lasting(&queue_name("q"))).unwrap();
    let put = |policies: &[PolicyRequest]| node.broker.put_policies(&operator(), policies.to_vec());
    let holds = |node: &Node| node.broker.queue_view("/", "q").unwrap().policy().user.map(|p| p.name.to_string());
    let weak = policy("weak", "^q", 0, json!({"queue-mode": "lazy"}));
    let strong = policy("strong", "^q", 5, json!({}));
    assert!(put(&[weak.clone(), policy("bad", "^q", 9, json!({"nosuch": 1}))]).is_err());
    assert_eq!((holds(&node), node.broker.policies(PolicyKind::User).len()), (None, 0));
    let (changed, warnings) = put(&[weak.clone(), strong.clone(), weak.clone()]).unwrap();
    assert!(changed.is_new && changed.position.is_some());
    assert_eq!((holds(&node).as_deref(), warnings.len()), (Some("strong"), 2));
    assert!(!put(&[weak, strong]).unwrap().0.is_new);
    let delete = |name: &str| node.broker.delete_policies(&operator(), "/", |policy| *policy.name == *name).unwrap();
    assert_eq!((delete("strong").0, delete("strong").0, holds(&node).as_deref()), (1, 0, Some("weak")));
    node.sync();
    let node = node.kill();
    assert_eq!(holds(&node).as_deref(), Some("weak"));
}

#[test]
fn everything_that_was_changed_is_there_after_a_crash() {
    let node = node_with("^c", "^w", "^r");
    let broker = &node.broker;
    let change = VhostRequest {
        description: Some("shop".to_owned()),
        tags: Some(vec!["a".to_owned()]),
        default_queue_type: Some("classic".to_owned()),
        is_protected: Some(true),
        ..VhostRequest::named(vhost("shop"))
    };
    assert!(broker.put_vhost(&operator(), change).unwrap().is_new);
    broker.set_vhost_limits(&operator(), "shop", |limits| limits.queue_max = Some(7)).unwrap();
    broker.set_user_limits(&operator(), "ann", |limits| limits.channel_max = Some(9)).unwrap();
    let rules = TopicPermission::parse(vhost("/"), user("ann"), exchange_name("amq.topic"), "w", "r").unwrap();
    broker.put_topic_permission(&operator(), rules.clone()).unwrap();
    broker.put_global_parameter(&operator(), "cluster_name", json!("burrow")).unwrap();
    node.sync();
    let node = node.kill();
    let broker = &node.broker;
    let shop = broker.vhost_view("shop").unwrap().facts;
    assert_eq!((&*shop.metadata.description, shop.limits.queue_max, shop.is_protected), ("shop", Some(7), true));
    assert_eq!(broker.user("ann").unwrap().limits.channel_max, Some(9));
    assert_eq!(broker.topic_permissions(), [Arc::new(rules)]);
    assert_eq!(broker.cluster_name(), "burrow");
    let given = broker.permissions().into_iter().find(|given| given.user.as_str() == "ann").unwrap();
    assert_eq!(given.permission, Permission::parse("^c", "^w", "^r").unwrap());
    let properties = broker.server_properties.read().clone();
    assert_eq!(properties.as_table().get("cluster_name"), Some(Value::LongStr(b"burrow")));
}

#[test]
fn the_default_type_of_a_vhost_is_written_into_new_durable_queues() {
    let node = Node::new();
    let change = VhostRequest { default_queue_type: Some("classic".to_owned()), ..VhostRequest::named(vhost("/")) };
    node.broker.put_vhost(&operator(), change).unwrap();
    let inside = guest(&node);
    let (lasting_name, transient_name) = (queue_name("lasting"), queue_name("transient"));
    assert!(inside.declare_queue(&lasting(&lasting_name)).unwrap().is_new);
    assert!(!inside.declare_queue(&lasting(&lasting_name)).unwrap().is_new);
    let transient = QueueRequest { is_durable: false, ..lasting(&transient_name) };
    inside.declare_queue(&transient).unwrap();
    let has_type = |name: &str| {
        let view = node.broker.queue_view("/", name).unwrap();
        view.definition().arguments.table().get("x-queue-type").is_some()
    };
    assert!(has_type("lasting") && !has_type("transient"));
    let unbuilt = VhostRequest { default_queue_type: Some("quorum".to_owned()), ..VhostRequest::named(vhost("/")) };
    assert!(matches!(node.broker.put_vhost(&operator(), unbuilt), Err(ControlError::Invalid(_))));
}

fn lasting(name: &QueueName) -> QueueRequest<'_> {
    QueueRequest { name, is_durable: true, is_auto_delete: false, is_exclusive: false, arguments: Table::EMPTY }
}

fn publish(inside: &Inside, exchange: &str, routing_key: &str) -> bool {
    let request = PublishRequest {
        exchange: &exchange_name(exchange),
        routing_key: routing_key.as_bytes(),
        properties: Properties::default(),
        body: b"body",
    };
    inside.publish(&request).unwrap().0
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn messages_are_got_and_given_back_or_removed() {
    let node = Node::new();
    let inside = guest(&node);
    let name = queue_name("q");
    inside.declare_queue(&lasting(&name)).unwrap();
    for _ in 0..3 {
        assert!(publish(&inside, "", "q"));
    }
    // So that nobody has to wait for the mark of what was handed out.
    let mut client = node.connect();
    client.consume(1, "q", "c", true);
    client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: true });
    for _ in 0..3 {
        publish(&inside, "", "q");
    }
    node.sync();
    client.hear();
    let counts = || node.broker.queue_counts("/", "q").unwrap();
    let start = counts().ready;
    let get = |count, ack_mode, body_len_max| {
        let request = GetRequest { queue: &name, count, ack_mode, body_len_max };
        block_on(inside.get(&request)).unwrap().0
    };
    let got = get(2, AckMode::AckRequeue, Some(2));
    assert_eq!((got.len(), &got[0].body[..], got[0].body_len), (2, &b"bo"[..], 4));
    assert_eq!((counts().ready, counts().unacked), (start, 0));
    assert!(get(1, AckMode::RejectRequeue, None)[0].is_redelivered);
    let got = get(100, AckMode::AckRemove, None);
    assert_eq!((got.len() as u64, got.last().unwrap().remaining_count), (start, 0));
    assert_eq!((counts().ready, counts().unacked), (0, 0));
    assert!(get(1, AckMode::AckRemove, None).is_empty());
}

#[test]
fn who_does_not_wait_for_its_messages_leaves_them_in_the_queue() {
    let node = Node::new();
    let inside = guest(&node);
    let name = queue_name("q");
    inside.declare_queue(&lasting(&name)).unwrap();
    publish(&inside, "", "q");
    let request = GetRequest { queue: &name, count: 1, ack_mode: AckMode::AckRemove, body_len_max: None };
    {
        // The mark of what was handed out is not durable, and nobody makes it so.
        let mut got = Box::pin(inside.get(&request));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(got.as_mut().poll(&mut context).is_pending());
        assert_eq!(node.broker.queue_counts("/", "q").unwrap().unacked, 1);
    }
    let counts = node.broker.queue_counts("/", "q").unwrap();
    assert_eq!((counts.ready, counts.unacked), (1, 0));
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

#[test]
fn events_go_to_whoever_has_bound_a_queue() {
    let node = node_with(".*", ".*", ".*");
    let inside = guest(&node);
    let (name, source) = (queue_name("events"), exchange_name("amq.rabbitmq.event"));
    inside.declare_queue(&lasting(&name)).unwrap();
    let destination = BindingEnd::Queue(&name);
    for routing_key in [&b"queue.*"[..], b"permission.#", b"connection.created"] {
        let binding = BindingRequest { source: &source, destination, routing_key, arguments: Table::EMPTY };
        inside.bind(&binding).unwrap();
    }
    // So that nobody has to wait for the mark of what is handed out.
    let mut client = node.connect();
    client.consume(1, "events", "c", true);
    client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: true });
    node.sync();
    client.hear();
    inside.declare_queue(&lasting(&queue_name("other"))).unwrap();
    inside.purge_queue(&queue_name("other")).unwrap();
    let _connected = connect(&node);
    permit(&node, "", "", "");
    node.sync();
    let get = GetRequest { queue: &name, count: 10, ack_mode: AckMode::AckRemove, body_len_max: None };
    let (messages, _) = block_on(inside.get(&get)).unwrap();
    let text = |value: Option<Value<'_>>| value.and_then(|value| value.as_str().map(str::to_owned));
    let events: Vec<_> = messages
        .iter()
        .map(|message| {
            let headers = Properties::decode(&message.properties).unwrap().headers.unwrap();
            let who = text(headers.get("user_who_performed_action")).unwrap();
            assert!(headers.get("timestamp_in_ms").is_some() && message.body.is_empty());
            (String::from_utf8(message.routing_key.clone()).unwrap(), text(headers.get("name")), who)
        })
        .collect();
    let event = |key: &str, name: Option<&str>, who: &str| (key.to_owned(), name.map(str::to_owned), who.to_owned());
    let expected = [
        event("queue.created", Some("other"), "guest"),
        event("queue.purged", Some("other"), "guest"),
        event("connection.created", Some("127.0.0.1:40000 -> 127.0.0.1:5672"), "ann"),
        event("permission.created", None, "local-operator"),
    ];
    assert_eq!(events, expected);
}

#[test]
fn what_goes_with_something_else_or_by_itself_is_told_too() {
    let node = node_with(".*", ".*", ".*");
    let inside = guest(&node);
    let (name, source) = (queue_name("events"), exchange_name("amq.rabbitmq.event"));
    inside.declare_queue(&lasting(&name)).unwrap();
    let destination = BindingEnd::Queue(&name);
    let binding = BindingRequest { source: &source, destination, routing_key: b"*.deleted", arguments: Table::EMPTY };
    inside.bind(&binding).unwrap();
    let mut client = connect(&node);
    // So that nobody has to wait for the mark of what is handed out.
    client.consume(1, "events", "c", true);
    client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: true });
    node.sync();
    client.hear();
    for (exchange, auto_delete) in [(&b"by-queue"[..], true), (b"deleted", false), (b"by-unbind", true)] {
        let kind = b"fanout";
        client.send(1, &exchange::Declare { exchange, kind, durable: true, auto_delete, ..Default::default() });
    }
    for (queue, auto_delete) in [(&b"auto"[..], true), (b"asked", false), (b"kept", false)] {
        client.send(1, &queue::Declare { queue, durable: true, auto_delete, ..Default::default() });
    }
    for (exchange, queue) in
        [(&b"by-queue"[..], &b"auto"[..]), (b"amq.fanout", b"asked"), (b"deleted", b"kept"), (b"by-unbind", b"kept")]
    {
        client.send(1, &queue::Bind { queue, exchange, routing_key: b"k", ..Default::default() });
    }
    client.consume(1, "auto", "last", true);
    client.send(1, &basic::Cancel { consumer_tag: b"last", no_wait: true });
    client.send(1, &queue::Delete { queue: b"asked", no_wait: true, ..Default::default() });
    client.send(1, &exchange::Delete { exchange: b"deleted", no_wait: true, ..Default::default() });
    let (queue, exchange, routing_key) = (&b"kept"[..], &b"by-unbind"[..], &b"k"[..]);
    client.send(1, &queue::Unbind { queue, exchange, routing_key, ..Default::default() });
    client.send(1, &queue::Declare { queue: b"own", exclusive: true, auto_delete: true, ..Default::default() });
    client.consume(1, "own", "own", true);
    client.send(1, &amqp::method::channel::Close::default());
    node.sync();
    client.hear();
    let get = GetRequest { queue: &name, count: 20, ack_mode: AckMode::AckRemove, body_len_max: None };
    let (messages, _) = block_on(inside.get(&get)).unwrap();
    let described = |message: &crate::inside::GotMessage| {
        let headers = Properties::decode(&message.properties).unwrap().headers.unwrap();
        let text = |name| headers.get(name).and_then(|value| value.as_str().map(str::to_owned));
        let about = text("name").or_else(|| Some(format!("{}-{}", text("source_name")?, text("destination_name")?)));
        let (what, who) = (String::from_utf8_lossy(&message.routing_key), text("user_who_performed_action"));
        format!("{what} {} {}", about.unwrap_or_default(), who.unwrap())
    };
    let events: Vec<String> = messages.iter().map(described).filter(|event| !event.starts_with("consumer")).collect();
    let expected = [
        "exchange.deleted by-queue rmq-internal",
        "binding.deleted by-queue-auto rmq-internal",
        "queue.deleted auto rmq-internal",
        "binding.deleted amq.fanout-asked rmq-internal",
        "queue.deleted asked ann",
        "exchange.deleted deleted ann",
        "binding.deleted deleted-kept ann",
        "exchange.deleted by-unbind ann",
        "binding.deleted by-unbind-kept ann",
        "queue.deleted own rmq-internal",
    ];
    assert_eq!(events, expected);
}

#[test]
fn what_is_listed_is_how_things_stand() {
    let node = node_with(".*", ".*", ".*");
    let mut client = connect(&node);
    client.declare("q");
    client.select_confirms(1);
    client.send(1, &basic::Qos { prefetch_count: 5, ..Default::default() });
    client.hear();
    client.consume(1, "q", "c", false);
    for _ in 0..7 {
        client.publish(1, "", "q", TRANSIENT, b"four");
    }
    node.sync();
    client.hear();
    client.session.report();
    let queue = node.broker.queue_view("/", "q").unwrap();
    assert_eq!((queue.ready_count(), queue.unacked_count(), queue.consumer_count()), (2, 5, 1));
    assert_eq!((queue.ready_bytes(), queue.unacked_bytes()), (8, 20));
    let [channel] = &node.broker.channel_views()[..] else { panic!("one channel") };
    assert_eq!((channel.number, channel.unacked_count, channel.consumer_count), (1, 5, 1));
    assert_eq!((channel.is_confirming, channel.is_transactional, channel.prefetch_count), (true, false, 5));
    let [connection] = &node.broker.connection_views()[..] else { panic!("one connection") };
    assert_eq!((connection.opened().unwrap().user, connection.channel_count()), ("ann", 1));
    assert_eq!(connection.name(), "127.0.0.1:40000 -> 127.0.0.1:5672");
    let [consumer] = &node.broker.consumer_views()[..] else { panic!("one consumer") };
    assert_eq!((consumer.tag(), consumer.queue(), consumer.prefetch_count()), ("c".to_owned(), ("/", "q"), 5));
    let totals = node.broker.totals(|_| true);
    assert_eq!((totals.queues, totals.channels, totals.consumers, totals.unacked_count), (1, 1, 1, 5));
    let bindings = node.broker.binding_views("/", BindingFilter::ToQueue(&queue_name("q")));
    assert_eq!((bindings.len(), &*bindings[0].source), (1, ""));
}

#[test]
fn a_connection_is_closed_by_its_name_or_by_its_user() {
    let node = node_with(".*", ".*", ".*");
    let mut client = connect(&node);
    let name = node.broker.connection_views()[0].name();
    node.broker.close_connection(&operator(), &name, "tonight").unwrap();
    assert_eq!(client.hear(), [connection_closed(320, "CONNECTION_FORCED - tonight")]);
    assert!(node.broker.close_connection(&operator(), "nosuch", "").is_err());
    assert_eq!(node.broker.close_connections_of(&operator(), "nobody", ""), 0);
}

#[test]
fn a_rate_limit_stops_only_who_publishes_in_its_vhost() {
    let node = node_with(".*", ".*", ".*");
    node.broker.set_vhost_limits(&operator(), "/", |limits| limits.publish_rate_max_per_s = Some(10)).unwrap();
    let (mut publisher, mut reader) = (connect(&node), connect(&node));
    publisher.declare("q");
    publisher.publish(1, "", "q", TRANSIENT, b"x");
    assert!(!publisher.session.is_throttled());
    publisher.publish(1, "", "q", TRANSIENT, b"x");
    assert!(publisher.session.is_throttled() && !publisher.session.wants_input());
    reader.get(1, "q", true);
    assert!(!reader.session.is_throttled());
    node.broker.set_vhost_limits(&operator(), "/", |limits| limits.publish_rate_max_per_s = None).unwrap();
    assert!(publisher.session.end_throttling() && publisher.session.wants_input());
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
    assert!(!publisher.session.is_throttled());
    publisher.send(1, &amqp::method::tx::Commit);
    assert!(publisher.session.is_throttled());
    assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, 3);
}

#[test]
fn who_publishes_without_a_channel_pays_and_waits_too() {
    let node = node_with(".*", ".*", ".*");
    node.broker.set_vhost_limits(&operator(), "/", |limits| limits.publish_rate_max_per_s = Some(10)).unwrap();
    let inside = guest(&node);
    inside.declare_queue(&lasting(&queue_name("q"))).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for (count, waits) in [(1, false), (2, true)] {
        let mut published = std::pin::pin!(inside.settled(|inside| {
            let (exchange, properties) = (&exchange_name(""), Properties::default());
            inside.publish(&PublishRequest { exchange, routing_key: b"q", properties, body: b"" })
        }));
        assert_eq!(published.as_mut().poll(&mut context).is_pending(), waits);
        assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, count);
    }
    let mut publisher = connect(&node);
    publisher.publish(1, "", "q", TRANSIENT, b"x");
    assert!(publisher.session.is_throttled());
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
        client.session.end();
        node.broker.forget_connection(&client.session.handle);
    }
}

#[test]
fn arguments_of_exchanges_and_bindings_are_kept() {
    let node = Node::new();
    let arguments = TableBuf::new().with("alternate-exchange", Value::LongStr(b"amq.fanout"));
    let mut client = node.connect();
    let declare = exchange::Declare {
        exchange: b"x",
        kind: b"topic",
        durable: true,
        arguments: arguments.as_table(),
        ..Default::default()
    };
    client.send(1, &declare);
    client.hear();
    let view = node.broker.exchange_view("/", "x").unwrap();
    assert_eq!(view.definition.arguments.table(), arguments.as_table());
    assert!(node.broker.exchange_views("/").iter().any(|view| view.definition.name.is_default()));
}
