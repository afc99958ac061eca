//! Messages that wait at an exchange: until when, what becomes of them then, and over restarts.

use amqp::content::Properties;
use amqp::frame::put_method;
use amqp::method::{basic, exchange, queue};
use amqp::table::{ArrayBuf, TableBuf, Value};
use model::policy::{ApplyTo, PolicyKind};
use serde_json::json;

use super::client::{Client, Heard};
use super::exchange_types::{assert_done, bind, bind_exchange, declare, publish_with, take_all};
use super::node::Node;
use super::operators::{block_on, exchange_name, guest, operator, queue_name, vhost};
use crate::control::{ControlError, DelayedFilter, DelayedMessage, PolicyRequest};
use crate::inside::{AckMode, GetRequest, GotMessage, PublishRequest};
use crate::limits::OUTBOX_WINDOW_LEN;
use crate::options::Options;

const START_MS: u64 = 1_720_000_000_000;

fn delayed_type(name: &str) -> TableBuf {
    TableBuf::new().with("x-delayed-type", Value::LongStr(name.as_bytes()))
}

/// A node whose clock stands still, with the delayed exchange `x` and the queue `q`, which is bound to it by `k`.
fn node() -> (Node, Client) {
    node_with(Options::default())
}

fn node_with(options: Options) -> (Node, Client) {
    let node = Node::with(options);
    node.broker.clock.set(START_MS);
    let mut client = node.connect();
    client.declare("q");
    assert_done(declare(&mut client, "x", "x-delayed-message", delayed_type("direct").as_table()));
    assert_done(bind(&mut client, "x", "q", "k"));
    (node, client)
}

fn restarted(node: Node, after_ms: u64) -> (Node, Client) {
    node.sync();
    let node = node.kill();
    pass(&node, after_ms);
    let client = node.connect();
    (node, client)
}

/// So much time after the start it is; what is due by then is done.
fn pass(node: &Node, after_ms: u64) {
    node.broker.clock.set(START_MS + after_ms);
    settle_down(node);
}

fn settle_down(node: &Node) {
    while node.broker.look_after_due_queues() > 0 || node.broker.store.load_once(&node.residents) {}
}

fn headers(delay: Value<'_>) -> TableBuf {
    TableBuf::new().with("x-delay", delay)
}

fn delay_by(client: &mut Client, exchange: &str, key: &str, delay_ms: i64, body: &str) {
    let headers = headers(Value::I64(delay_ms));
    let properties = Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
    publish_with(client, exchange, key, properties, body);
}

/// The journal is not behind any more, and publishers are listened to.
fn catch_up(node: &Node, client: &mut Client) {
    if !client.session.wants_input() {
        node.spill();
        client.hear();
    }
}

#[track_caller]
fn assert_waiting(node: &Node, exchange: &str, expected: u64) {
    let view = node.broker.exchange_view("/", exchange).unwrap();
    assert_eq!(view.messages_delayed, Some(expected));
}

fn ready(node: &Node, queue: &str) -> u64 {
    node.broker.queue_counts("/", queue).unwrap().ready
}

/// What is in a queue, with its properties. The queue does not last: no mark of what is handed out is waited for.
fn got(node: &Node, queue: &str) -> Vec<GotMessage> {
    let name = queue_name(queue);
    let request = GetRequest { queue: &name, count: 100, ack_mode: AckMode::AckRemove, body_len_max: None };
    block_on(guest(node).get(&request)).unwrap().0
}

fn delay_of(message: &GotMessage) -> Option<i64> {
    let headers = Properties::decode(&message.properties).unwrap().headers?;
    headers.get("x-delay")?.as_i64()
}

#[test]
fn a_message_comes_when_it_is_due_and_not_before() {
    let (node, mut client) = node();
    for (delay_ms, body) in [(2000, "second"), (1000, "first"), (2000, "third")] {
        delay_by(&mut client, "x", "k", delay_ms, body);
    }
    assert_waiting(&node, "x", 3);
    pass(&node, 999);
    assert_eq!((ready(&node, "q"), node.broker.counters.dropped_unroutable.get()), (0, 0));
    pass(&node, 1000);
    assert_eq!(take_all(&node, &mut client, "q"), ["first"]);
    assert_waiting(&node, "x", 2);
    pass(&node, 2000);
    assert_eq!(take_all(&node, &mut client, "q"), ["second", "third"]);
    assert_waiting(&node, "x", 0);
}

#[test]
fn what_asks_for_no_delay_goes_at_once() {
    let (node, mut client) = node();
    for value in [Value::I32(0), Value::I64(-5), Value::LongStr(b"soon"), Value::Bool(true), Value::F64(0.5)] {
        let headers = headers(value);
        publish_with(
            &mut client,
            "x",
            "k",
            Properties { headers: Some(headers.as_table()), ..Default::default() },
            "b",
        );
    }
    publish_with(&mut client, "x", "k", Properties::default(), "b");
    assert_eq!(take_all(&node, &mut client, "q").len(), 6);
    assert_waiting(&node, "x", 0);
}

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
        let now = node.broker.clock.now_ms() - START_MS;
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
    assert_eq!(node.broker.counters.dropped_unroutable.get(), 1);
    assert_waiting(&node, "x", 0);
}

#[test]
fn a_consumer_sees_the_delay_negated_and_all_else_unchanged() {
    let (node, mut client) = node();
    client.send(1, &queue::Declare { queue: b"t", ..Default::default() });
    client.hear_one();
    assert_done(bind(&mut client, "x", "t", "k"));
    let headers = TableBuf::new().with("a", Value::I32(1)).with("x-delay", Value::U16(100)).with("b", Value::Void);
    let properties = Properties {
        headers: Some(headers.as_table()),
        user_id: Some(b"guest"),
        message_id: Some(b"m"),
        priority: Some(3),
        ..Properties::default()
    };
    publish_with(&mut client, "x", "k", properties, "body");
    pass(&node, 100);
    let messages = got(&node, "t");
    let [message] = messages.as_slice() else { panic!("{messages:?}") };
    let seen = Properties::decode(&message.properties).unwrap();
    let names: Vec<_> = seen.headers.unwrap().iter().map(|(name, _)| name.to_vec()).collect();
    assert_eq!(names, [b"a".to_vec(), b"x-delay".to_vec(), b"b".to_vec()]);
    assert_eq!(delay_of(message), Some(-100));
    assert_eq!((seen.user_id, seen.message_id, seen.priority), (properties.user_id, properties.message_id, Some(3)));
    assert_eq!(
        (&message.exchange[..], &message.routing_key[..], &message.body[..]),
        (&b"x"[..], &b"k"[..], &b"body"[..])
    );
}

#[test]
fn time_to_live_counts_from_the_release() {
    let (node, mut client) = node();
    let headers = headers(Value::I32(1000));
    let properties =
        Properties { headers: Some(headers.as_table()), expiration: Some(b"500"), ..Properties::default() };
    publish_with(&mut client, "x", "k", properties, "body");
    pass(&node, 1000);
    assert_eq!(ready(&node, "q"), 1);
    pass(&node, 1499);
    assert_eq!(ready(&node, "q"), 1);
    pass(&node, 1500);
    assert_eq!(ready(&node, "q"), 0);
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

fn publish_mandatory(client: &mut Client, key: &str) -> Vec<Heard> {
    let headers = headers(Value::I32(100));
    let mut header = Vec::new();
    let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
    amqp::content::ContentHeader { class_id: 60, body_len: 1, properties }.encode(&mut header);
    let mut bytes = Vec::new();
    let method = basic::Publish { exchange: b"x", routing_key: key.as_bytes(), mandatory: true, ..Default::default() };
    put_method(&mut bytes, 1, &method);
    amqp::content::put_header_encoded(&mut bytes, 1, 1, amqp::content::properties_bytes(&header));
    amqp::content::put_body_frames(&mut bytes, 1, b"m", 131_072);
    client.send_bytes(&bytes);
    client.hear()
}

#[test]
fn a_mandatory_message_is_returned_if_it_has_no_queue_now_and_waits_nevertheless() {
    let (node, mut client) = node();
    client.select_confirms(1);
    let ack = |tag| Heard::Ack { tag, multiple: false };
    assert_eq!(publish_mandatory(&mut client, "k"), [ack(1)]);
    let returned = Heard::Returned { code: 312, body: b"m".to_vec() };
    assert_eq!(publish_mandatory(&mut client, "nowhere"), [returned, ack(2)]);
    assert_waiting(&node, "x", 2);
    assert_done(bind(&mut client, "x", "q", "nowhere"));
    pass(&node, 100);
    assert_eq!(ready(&node, "q"), 2);
}

#[test]
fn as_by_the_plugin_every_mandatory_one_is_returned_if_that_is_wanted() {
    let (node, mut client) = node_with(Options { returns_every_delayed: true, ..Options::default() });
    assert_eq!(publish_mandatory(&mut client, "k"), [Heard::Returned { code: 312, body: b"m".to_vec() }]);
    assert_waiting(&node, "x", 1);
}

#[test]
fn a_persistent_message_is_confirmed_when_it_is_durable_and_others_at_once() {
    let (node, mut client) = node();
    node.sync();
    client.select_confirms(1);
    delay_by(&mut client, "x", "k", 1000, "lasting");
    assert!(client.hear().is_empty(), "it is not durable yet");
    node.sync();
    assert_eq!(client.hear(), [Heard::Ack { tag: 1, multiple: false }]);
    let headers = headers(Value::I32(1000));
    publish_with(&mut client, "x", "k", Properties { headers: Some(headers.as_table()), ..Default::default() }, "b");
    assert_eq!(client.hear(), [Heard::Ack { tag: 2, multiple: false }]);
}

#[test]
fn what_waits_outlives_a_restart_and_what_was_released_does_not_come_back() {
    let (node, mut client) = node();
    for (delay_ms, body) in [(100, "first"), (5_000, "second"), (60_000, "third")] {
        delay_by(&mut client, "x", "k", delay_ms, body);
    }
    let headers = headers(Value::I32(5_000));
    publish_with(&mut client, "x", "k", Properties { headers: Some(headers.as_table()), ..Default::default() }, "t");
    pass(&node, 100);
    assert_waiting(&node, "x", 3);
    let (node, mut client) = restarted(node, 200);
    assert_eq!(take_all(&node, &mut client, "q"), ["first"]);
    assert_waiting(&node, "x", 2);
    node.spill();
    let (node, mut client) = restarted(node, 6_000);
    assert_eq!(take_all(&node, &mut client, "q"), ["second"], "it was due while nobody was there");
    delay_by(&mut client, "x", "k", 54_000, "fourth");
    pass(&node, 60_000);
    assert_eq!(take_all(&node, &mut client, "q"), ["third", "fourth"]);
    let (node, mut client) = restarted(node, 70_000);
    assert!(take_all(&node, &mut client, "q").is_empty());
    assert_waiting(&node, "x", 0);
}

#[test]
fn what_lies_in_segments_is_read_before_it_is_due() {
    let (node, mut client) = node();
    for number in 0..500 {
        delay_by(&mut client, "x", "k", 60_000 + number * 10, &number.to_string());
        catch_up(&node, &mut client);
    }
    node.spill();
    node.unload();
    assert_waiting(&node, "x", 500);
    for after_ms in (55_000..66_000).step_by(500) {
        pass(&node, after_ms);
    }
    let expected: Vec<_> = (0..500).map(|number| number.to_string()).collect();
    assert_eq!(take_all(&node, &mut client, "q"), expected);
    assert_waiting(&node, "x", 0);
}

#[test]
fn a_deleted_exchange_takes_with_it_what_waits() {
    let (node, mut client) = node();
    delay_by(&mut client, "x", "k", 100, "lost");
    client.send(1, &exchange::Delete { exchange: b"x", ..Default::default() });
    node.sync();
    assert_done(client.hear_one());
    assert!(node.broker.delays.all().is_empty());
    assert_done(declare(&mut client, "x", "x-delayed-message", delayed_type("direct").as_table()));
    assert_done(bind(&mut client, "x", "q", "k"));
    pass(&node, 100);
    assert_eq!(ready(&node, "q"), 0);
    assert_waiting(&node, "x", 0);
    let (node, _client) = restarted(node, 100);
    assert_waiting(&node, "x", 0);
    assert!(node.broker.delays.all().is_empty());
}

#[test]
fn a_deleted_vhost_takes_with_it_what_waits() {
    let (node, mut client) = node();
    delay_by(&mut client, "x", "k", 100, "lost");
    node.broker.delete_vhost(&operator(), "/").unwrap();
    assert!(node.broker.delays.all().is_empty());
    pass(&node, 100);
    node.sync();
    let node = node.kill();
    assert!(node.broker.delays.all().is_empty());
}

fn delay_by_policy(node: &Node, settings: serde_json::Value) {
    let serde_json::Value::Object(definition) = settings else { panic!("no object") };
    let request = PolicyRequest {
        vhost: vhost("/"),
        name: "p".to_owned(),
        kind: PolicyKind::User,
        pattern: "^(amq\\.direct|x)$".to_owned(),
        apply_to: ApplyTo::Exchanges,
        priority: 0,
        definition,
    };
    node.broker.put_policy(&operator(), request).unwrap();
}

#[test]
fn a_policy_has_any_exchange_delay_and_what_waits_outlives_it() {
    let (node, mut client) = node();
    assert_done(bind(&mut client, "amq.direct", "q", "k"));
    delay_by(&mut client, "amq.direct", "k", 100, "not delayed");
    assert_eq!(take_all(&node, &mut client, "q"), ["not delayed"]);
    delay_by_policy(&node, json!({"delayed-message": true}));
    delay_by(&mut client, "amq.direct", "k", 100, "delayed");
    assert_eq!(ready(&node, "q"), 0);
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "p").unwrap();
    delay_by(&mut client, "amq.direct", "k", 100, "not delayed any more");
    assert_eq!(take_all(&node, &mut client, "q"), ["not delayed any more"]);
    let (node, mut client) = restarted(node, 100);
    assert_eq!(take_all(&node, &mut client, "q"), ["delayed"]);
}

#[test]
fn a_release_rate_is_kept_to() {
    let (node, mut client) = node();
    delay_by_policy(&node, json!({"delayed-release-rate": 100}));
    for number in 0..200 {
        delay_by(&mut client, "x", "k", 1000, &number.to_string());
        catch_up(&node, &mut client);
    }
    let mut counts = Vec::new();
    for second in 1..4 {
        for millisecond in 0..1000 {
            pass(&node, second * 1000 + millisecond);
        }
        counts.push(ready(&node, "q"));
    }
    assert_eq!(counts, [105, 200, 200]);
}

#[test]
fn what_consumers_cannot_take_is_released_little_by_little() {
    let (node, mut client) = node();
    let mut consumer = node.connect();
    consumer.consume(1, "q", "c", true);
    consumer.hear();
    for _ in 0..30 {
        // More than is on its way to a consumer that does not read, and than waits where none is behind.
        publish_with(&mut client, "", "q", Properties::default(), &"b".repeat(OUTBOX_WINDOW_LEN as usize / 8));
        node.spill();
    }
    delay_by(&mut client, "x", "k", 1000, "one that is behind the others");
    for _ in 0..600 {
        delay_by(&mut client, "x", "k", 1001, "");
        catch_up(&node, &mut client);
    }
    for (after_ms, waiting) in [(1000, 600), (1001, 472), (1002, 344)] {
        pass(&node, after_ms);
        assert_waiting(&node, "x", waiting);
    }
    while ready(&node, "q") > 0 {
        consumer.hear();
        settle_down(&node);
    }
    assert_waiting(&node, "x", 344);
    pass(&node, 1003);
    assert_waiting(&node, "x", 0);
}

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
    client.publish(1, "x", "k", super::client::PERSISTENT, b"now");
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
    let inside = guest(&node);
    let headers = headers(Value::I32(100));
    let publish = |key: &[u8]| {
        let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
        let exchange = exchange_name("x");
        inside.publish(&PublishRequest { exchange: &exchange, routing_key: key, properties, body: b"b" }).unwrap().0
    };
    assert!(publish(b"k") && !publish(b"nowhere"));
    assert_waiting(&node, "x", 2);
    pass(&node, 100);
    assert_eq!(ready(&node, "q"), 1);
}

#[test]
fn who_may_not_publish_may_not_delay() {
    let node = super::operators::node_with("", "^q$", "");
    let mut guest_client = node.connect();
    assert_done(declare(&mut guest_client, "x", "x-delayed-message", delayed_type("direct").as_table()));
    let mut ann = super::operators::connect(&node);
    delay_by(&mut ann, "x", "k", 100, "refused");
    let heard = ann.hear();
    assert!(matches!(heard.as_slice(), [Heard::ChannelClose { code: 403, .. }]), "{heard:?}");
    assert_waiting(&node, "x", 0);
}

/// Waits for what operators are answered; what has to be read for it is read.
fn wait_for<T>(node: &Node, answer: impl Future<Output = T>) -> T {
    let mut answer = std::pin::pin!(answer);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..10_000 {
        if let std::task::Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
            return answer;
        }
        node.load();
    }
    panic!("nobody answers");
}

/// Twenty messages, a second apart and numbered, of which the even ones have the header `even`; in memory or in segments.
fn twenty(is_spilled: bool) -> (Node, Client) {
    let (node, mut client) = node();
    for number in 0..20 {
        let mut headers = headers(Value::I64(10_000 + number * 1000));
        if number % 2 == 0 {
            headers = headers.with("even", Value::I64(number));
        }
        let properties =
            Properties { headers: Some(headers.as_table()), delivery_mode: Some(2), ..Properties::default() };
        let key = if number < 10 { "k" } else { "other" };
        publish_with(&mut client, "x", key, properties, &number.to_string());
    }
    if is_spilled {
        node.spill();
    }
    (node, client)
}

fn listed(node: &Node, filter: &DelayedFilter, after: Option<&str>, count: usize) -> (Vec<u64>, Option<String>) {
    let page = wait_for(node, node.broker.delayed_page("/", "x", filter, after, count)).unwrap();
    let number = |message: &DelayedMessage| (message.due_ms - START_MS - 10_000) / 1000;
    (page.messages.iter().map(number).collect(), page.next)
}

#[test]
fn what_waits_is_listed_page_by_page() {
    for is_spilled in [false, true] {
        let (node, _client) = twenty(is_spilled);
        let all = DelayedFilter::default();
        let (first, next) = listed(&node, &all, None, 15);
        assert_eq!(first, (0..15).collect::<Vec<_>>(), "{is_spilled}");
        let (rest, next) = listed(&node, &all, next.as_deref(), 15);
        assert_eq!((rest, next), ((15..20).collect(), None));
        let due =
            DelayedFilter { due_from_ms: Some(START_MS + 13_000), due_to_ms: Some(START_MS + 15_000), ..all.clone() };
        assert_eq!(listed(&node, &due, None, 100).0, [3, 4, 5]);
        let keyed = DelayedFilter { routing_key: Some(b"other".to_vec()), ..all.clone() };
        assert_eq!(listed(&node, &keyed, None, 3).0, [10, 11, 12]);
        let even = DelayedFilter { header: Some(("even".to_owned(), None)), ..keyed.clone() };
        assert_eq!(listed(&node, &even, None, 100).0, [10, 12, 14, 16, 18]);
        let one = DelayedFilter { header: Some(("even".to_owned(), Some("4".to_owned()))), ..all };
        assert_eq!(listed(&node, &one, None, 100).0, [4]);
    }
}

fn id_of(node: &Node, number: usize) -> String {
    let page = wait_for(node, node.broker.delayed_page("/", "x", &DelayedFilter::default(), None, 100)).unwrap();
    page.messages[number].id.clone()
}

#[test]
fn one_that_waits_is_seen_cancelled_and_gone_for_good() {
    for is_spilled in [false, true] {
        let (node, _client) = twenty(is_spilled);
        let id = id_of(&node, 7);
        let message = wait_for(&node, node.broker.delayed_message("/", "x", &id)).unwrap();
        assert_eq!(
            (message.body.as_deref(), &message.routing_key[..], message.is_durable),
            (Some(&b"7"[..]), &b"k"[..], true)
        );
        wait_for(&node, node.broker.cancel_delayed("/", "x", &id)).unwrap();
        let again = wait_for(&node, node.broker.cancel_delayed("/", "x", &id));
        assert!(matches!(again, Err(ControlError::NotFound(_))), "{again:?}");
        assert_waiting(&node, "x", 19);
        let (node, mut client) = restarted(node, 30_000);
        let expected: Vec<_> = (0..10).filter(|number| *number != 7).map(|number| number.to_string()).collect();
        assert_eq!(take_all(&node, &mut client, "q"), expected);
    }
}

#[test]
fn many_that_wait_are_cancelled_at_once() {
    for is_spilled in [false, true] {
        let (node, _client) = twenty(is_spilled);
        let even = DelayedFilter { header: Some(("even".to_owned(), None)), ..DelayedFilter::default() };
        let cancelled = wait_for(&node, node.broker.cancel_all_delayed("/", "x", &even)).unwrap();
        assert_eq!((cancelled.count, cancelled.is_partial), (10, false));
        let (node, mut client) = restarted(node, 30_000);
        assert_eq!(take_all(&node, &mut client, "q"), ["1", "3", "5", "7", "9"]);
        assert_waiting(&node, "x", 0);
    }
}

#[test]
fn one_that_waits_is_put_off_or_released_at_once() {
    for is_spilled in [false, true] {
        let (node, mut client) = twenty(is_spilled);
        let (second, ninth) = (id_of(&node, 2), id_of(&node, 9));
        let put_off = node.broker.reschedule_delayed("/", "x", &second, Some(START_MS + 60_000));
        let (id, _) = wait_for(&node, put_off).unwrap();
        assert_ne!(id, second);
        wait_for(&node, node.broker.reschedule_delayed("/", "x", &ninth, None)).unwrap();
        settle_down(&node);
        assert_eq!(take_all(&node, &mut client, "q"), ["9"]);
        let (node, mut client) = restarted(node, 59_999);
        let expected: Vec<_> = [0, 1, 3, 4, 5, 6, 7, 8].map(|number| number.to_string()).to_vec();
        assert_eq!(take_all(&node, &mut client, "q"), expected);
        pass(&node, 60_000);
        assert_eq!(take_all(&node, &mut client, "q"), ["2"]);
    }
}

#[test]
fn what_is_no_id_is_refused() {
    let (node, _client) = node();
    for id in ["", "7", "a-b", "1-", "99999999999999999-1"] {
        let answer = wait_for(&node, node.broker.cancel_delayed("/", "x", id));
        assert!(matches!(answer, Err(ControlError::Invalid(_))), "{id}: {answer:?}");
    }
    let answer = wait_for(&node, node.broker.cancel_delayed("/", "amq.direct", "1-1"));
    assert!(matches!(answer, Err(ControlError::NotFound(_))), "{answer:?}");
}
