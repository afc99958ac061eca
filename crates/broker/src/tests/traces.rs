//! What watchers of messages and the firehose get.

use std::sync::Arc;

use amqp::content::{ContentHeader, Properties, put_body_frames, put_header_encoded};
use amqp::frame::put_method;
use amqp::method::{basic, channel, confirm, exchange, queue};
use amqp::table::{Table, TableBuf, Value};
use engine::tap::{Event, Kind, Kinds, Scope, Sink, What};
use parking_lot::Mutex;

use super::client::{Client, Heard, PERSISTENT, TRANSIENT};
use super::exchange_types::{assert_done, bind, declare, publish_with};
use super::node::Node;
use super::operators::{block_on, exchange_name, guest, lasting, publish, queue_name};
use crate::binding_request::{BindingEnd, BindingRequest};
use crate::vhost_access::{AckMode, GetRequest, GotMessage};

/// Writes down what it hears, a word or two for each thing.
#[derive(Default)]
struct Diary {
    /// The only queue that it wants to hear of.
    queue: Option<&'static str>,
    lines: Mutex<Vec<String>>,
}

impl Sink for Diary {
    fn kinds(&self) -> Kinds {
        Kinds::ALL
    }

    fn wants(&self, scope: &Scope<'_>) -> bool {
        self.queue.is_none_or(|wanted| scope.queue.is_none_or(|queue| queue.name() == wanted))
    }

    fn take(&self, event: &Event<'_>) {
        let queue = event.queue.map(|queue| format!(" in {}", queue.name())).unwrap_or_default();
        let body = event.message.map(|message| format!(" {}", String::from_utf8_lossy(message.body)));
        let targets = event.targets().map(|targets| {
            let names: Vec<_> = targets.queues.iter().map(|queue| queue.name()).collect();
            format!(" to [{}]", names.join(","))
        });
        let more = match event.what {
            What::Delivered { is_redelivered: true, .. } | What::Got { is_redelivered: true, .. } => " again",
            What::DeadLettered { reason, .. } | What::Dropped(reason) => match reason {
                ::queue::DropReason::Expired => " expired",
                ::queue::DropReason::Rejected => " rejected",
                ::queue::DropReason::MaxLength => " maxlen",
                ::queue::DropReason::DeliveryLimit => " limit",
            },
            _ => "",
        };
        let by = event.client.map(|client| {
            let proxied = client.on_behalf_of.as_ref().map(|name| format!(" for {name}"));
            format!(" by {}{}", client.user, proxied.unwrap_or_default())
        });
        let by = by.unwrap_or_default();
        let (body, targets) = (body.unwrap_or_default(), targets.unwrap_or_default());
        self.lines.lock().push(format!("{}{body}{queue}{targets}{more}{by}", event.kind().name()));
    }
}

fn watched(node: &Node) -> Arc<Diary> {
    let diary = Arc::new(Diary::default());
    node.broker.engine.taps.add(diary.clone());
    diary
}

impl Diary {
    #[track_caller]
    fn check(&self, expected: &[&str]) {
        assert_eq!(std::mem::take(&mut *self.lines.lock()), expected);
    }
}

/// A node with a queue whose dead letters go to another.
fn node() -> (Node, Client) {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("dead");
    let arguments =
        [("x-dead-letter-exchange", Value::LongStr(b"")), ("x-dead-letter-routing-key", Value::LongStr(b"dead"))];
    client.declare_with("q", &arguments);
    (node, client)
}

#[test]
fn the_whole_life_of_a_message_is_told() {
    let (node, mut client) = node();
    client.consume(1, "q", "c", false);
    node.listen(&mut client);
    client.select_confirms(1);
    let diary = watched(&node);
    client.publish(1, "", "q", PERSISTENT, "m".as_bytes());
    node.listen(&mut client);
    diary.check(&[
        "published m to [q] by guest",
        "stored m by guest",
        "delivered m in q by guest",
        "confirmed m by guest",
    ]);
    client.send(1, &basic::Reject { delivery_tag: 1, requeue: true });
    node.listen(&mut client);
    diary.check(&["requeued m in q by guest", "delivered m in q again by guest"]);
    client.send(1, &basic::Reject { delivery_tag: 2, requeue: false });
    node.listen(&mut client);
    diary.check(&["rejected m in q by guest", "dead_lettered m in q to [dead] rejected"]);
    client.get(1, "dead", false);
    node.listen(&mut client);
    client.ack(1, 3, false);
    // As after a reject it counts as delivered before.
    diary.check(&["got m in dead again by guest", "acked m in dead by guest"]);
    client.send(1, &queue::Purge { queue: b"dead", ..Default::default() });
    node.listen(&mut client);
    diary.check(&["purged in dead"]);
}

/// A proxy's, of ours or not.
fn named(name: &[u8]) -> channel::OnBehalfOf<'_> {
    channel::OnBehalfOf { client: name }
}

/// A persistent publish to the queue `q` on channel 1, as bytes.
fn put_publish(bytes: &mut Vec<u8>, body: &str) {
    put_method(bytes, 1, &basic::Publish { routing_key: b"q", ..Default::default() });
    put_header_encoded(bytes, 1, body.len() as u64, PERSISTENT);
    put_body_frames(bytes, 1, body.as_bytes(), 131_072);
}

#[test]
fn a_publish_is_its_own_clients_whoever_has_the_channel_when_it_is_confirmed() {
    for is_closed in [true, false] {
        let (node, mut client) = node();
        client.send(1, &named(b"first"));
        client.select_confirms(1);
        let diary = watched(&node);
        // By one read: nothing is synced before the channel is another client's.
        let mut bytes = Vec::new();
        put_publish(&mut bytes, "one");
        if is_closed {
            put_method(&mut bytes, 1, &channel::Close { reply_code: 200, ..Default::default() });
            put_method(&mut bytes, 1, &channel::Open::default());
            put_method(&mut bytes, 1, &confirm::Select { no_wait: true });
        }
        put_method(&mut bytes, 1, &named(b"second"));
        put_publish(&mut bytes, "two");
        assert_eq!(client.send_bytes(&bytes), bytes.len());
        client.hear();
        diary.check(&[
            "published one to [q] by guest for first",
            "stored one by guest for first",
            "published two to [q] by guest for second",
            "stored two by guest for second",
        ]);
        node.listen(&mut client);
        diary.check(&["confirmed one by guest for first", "confirmed two by guest for second"]);
        // A channel that nothing was said of is the connection's own.
        client.open_channel(2);
        client.get(2, "q", true);
        node.listen(&mut client);
        diary.check(&["got one in q by guest"]);
    }
}

#[test]
fn a_long_name_of_a_proxys_client_is_cut() {
    let node = Node::new();
    let long = "n".repeat(254) + "é" + &"n".repeat(7000);
    let properties = TableBuf::new().with("on_behalf_of", Value::LongStr(long.as_bytes()));
    let mut client = node.accept("127.0.0.1:50000");
    let heard = client.try_log_in("guest", "guest", properties.as_table());
    assert_eq!(heard.last(), Some(&Heard::Other("connection.open-ok")));
    client.open_channel(1);
    let diary = watched(&node);
    client.publish(1, "", "nowhere", TRANSIENT, b"m");
    diary.check(&[&format!("published m to [] by guest for {}", "n".repeat(254))]);
    // What is no text takes three times its bytes.
    client.send(1, &named(&[0xff; 255]));
    client.publish(1, "", "nowhere", TRANSIENT, b"m");
    diary.check(&[&format!("published m to [] by guest for {}", "\u{fffd}".repeat(85))]);
}

#[test]
fn who_watches_no_longer_hears_nothing() {
    let (node, mut client) = node();
    let diary = watched(&node);
    client.publish(1, "", "nowhere", TRANSIENT, b"lost");
    diary.check(&["published lost to [] by guest"]);
    client.publish_as(
        1,
        &basic::Publish { routing_key: b"nowhere", mandatory: true, ..Default::default() },
        TRANSIENT,
        b"back",
    );
    diary.check(&["published back to [] by guest", "returned back by guest"]);
    let sink: Arc<dyn Sink> = diary.clone();
    node.broker.engine.taps.remove(&sink);
    client.publish(1, "", "q", TRANSIENT, b"m");
    diary.check(&[]);
    assert!(!node.broker.engine.taps.want(Kinds::ALL));
}

#[test]
fn a_queue_alone_can_be_watched() {
    let (node, mut client) = node();
    let diary = Arc::new(Diary { queue: Some("dead"), lines: Mutex::default() });
    node.broker.engine.taps.add(diary.clone());
    client.publish(1, "", "q", TRANSIENT, b"m");
    client.get(1, "q", true);
    node.listen(&mut client);
    client.publish(1, "", "dead", TRANSIENT, b"d");
    client.get(1, "dead", true);
    node.listen(&mut client);
    diary.lines.lock().retain(|line| line.contains(" in "));
    diary.check(&["got d in dead by guest"]);
}

#[test]
fn what_expires_or_is_too_much_is_told() {
    let node = Node::new();
    node.at(1_000);
    let mut client = node.connect();
    client.declare_with("short", &[("x-max-length", Value::I32(1)), ("x-message-ttl", Value::I32(500))]);
    let diary = watched(&node);
    client.publish(1, "", "short", TRANSIENT, b"a");
    client.publish(1, "", "short", TRANSIENT, b"b");
    diary.lines.lock().retain(|line| line.contains(" in "));
    diary.check(&["dropped a in short maxlen by guest"]);
    node.at(2_000);
    node.broker.run_due_timers();
    diary.check(&["expired b in short"]);
}

#[test]
fn what_waits_at_an_exchange_is_told() {
    let node = Node::new();
    node.at(1_720_000_000_000);
    let mut client = node.connect();
    client.declare("q");
    let kind = TableBuf::new().with("x-delayed-type", Value::LongStr(b"direct"));
    assert_done(declare(&mut client, "x", "x-delayed-message", kind.as_table()));
    assert_done(bind(&mut client, "x", "q", "k"));
    let diary = watched(&node);
    let headers = TableBuf::new().with("x-delay", Value::I32(1000));
    let mut properties = Vec::new();
    Properties { headers: Some(headers.as_table()), ..Properties::default() }.encode(&mut properties);
    client.publish(1, "x", "k", &properties, b"m");
    diary.check(&["published m to [] by guest", "delayed m by guest", "stored m by guest"]);
    node.at(1_720_000_001_000);
    while node.broker.run_due_timers() > 0 {}
    diary.check(&["released m to [q]"]);
}

/// What a queue that is bound to the firehose has.
fn traced(node: &Node) -> Vec<GotMessage> {
    let name = queue_name("traces");
    let get = GetRequest { queue: &name, count: 100, ack_mode: AckMode::AckRemove, body_len_max: None };
    block_on(guest(node).get(&get)).unwrap().0
}

fn node_with_firehose(key: &[u8]) -> (Node, Client) {
    let node = Node::new();
    let access = guest(&node);
    let (name, source) = (queue_name("traces"), exchange_name("amq.rabbitmq.trace"));
    access.declare_queue(&lasting(&name)).unwrap();
    let binding = BindingRequest {
        source: &source,
        destination: BindingEnd::Queue(&name),
        routing_key: key,
        arguments: Table::EMPTY,
    };
    access.bind(&binding).unwrap();
    let mut client = node.connect();
    client.declare("q");
    // So that no client has to wait for the mark of what is handed out.
    client.consume(1, "traces", "c", true);
    client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: true });
    node.sync();
    client.hear();
    (node, client)
}

fn shown(message: &GotMessage) -> (String, Vec<String>, String) {
    let headers = Properties::decode(&message.properties).unwrap().headers.unwrap();
    let fields = headers.iter().map(|(name, value)| {
        let name = String::from_utf8_lossy(name).into_owned();
        match value {
            Value::LongStr(text) => format!("{name}={}", String::from_utf8_lossy(text)),
            Value::I32(number) => format!("{name}={number}"),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| item.as_str().unwrap().to_owned()).collect();
                format!("{name}=[{}]", items.join(","))
            }
            Value::Table(table) => format!("{name}={{{}}}", table.iter().count()),
            other => format!("{name}={other:?}"),
        }
    });
    let key = String::from_utf8(message.routing_key.clone()).unwrap();
    (key, fields.collect(), String::from_utf8(message.body.clone()).unwrap())
}

/// The keys, headers and types that a RabbitMQ 4.3.6 was seen to send.
#[test]
fn the_firehose_is_rabbitmqs() {
    let (node, mut client) = node_with_firehose(b"#");
    client.publish(1, "", "q", TRANSIENT, b"before");
    assert!(traced(&node).is_empty());
    assert!(node.broker.trace_vhost("/", true));
    assert!(!node.broker.trace_vhost("none", true));
    client.publish(1, "", "q", PERSISTENT, b"m");
    client.get(1, "q", false);
    node.listen(&mut client);
    let connection = client.session.front.handle().name();
    let all: Vec<_> = traced(&node).iter().map(shown).collect();
    // Getting what is traced is traced no more than its publish is.
    let [published, delivered] = &all[..] else { panic!("{all:?}") };
    let expected = [
        "channel=1",
        &format!("connection={connection}"),
        "exchange_name=",
        "node=warren@localhost",
        "properties={1}",
        "routed_queues=[q]",
        "routing_keys=[q]",
        "user=guest",
        "vhost=/",
    ];
    assert_eq!((published.0.as_str(), published.2.as_str()), ("publish.", "m"));
    assert_eq!(published.1, expected);
    assert_eq!((delivered.0.as_str(), delivered.2.as_str()), ("deliver.q", "before"));
    let mut expected = expected.map(str::to_owned);
    expected[4] = "properties={0}".to_owned();
    expected[5] = "redelivered=0".to_owned();
    assert_eq!(delivered.1, expected);
    assert!(node.broker.trace_vhost("/", false));
    client.publish(1, "", "q", TRANSIENT, b"after");
    assert!(traced(&node).is_empty());
    assert!(!node.broker.engine.taps.want(Kinds::ALL), "nothing is looked at any more");
}

/// As a RabbitMQ 4.3.6 was seen to send them: as if the address were a queue.
#[test]
fn the_firehose_shows_direct_replies() {
    let (node, mut client) = node_with_firehose(b"#");
    client.consume(1, "amq.rabbitmq.reply-to", "replies", true);
    client.hear();
    let properties = Properties { reply_to: Some(b"amq.rabbitmq.reply-to"), ..Properties::default() };
    publish_with(&mut client, "", "q", properties, "request");
    client.get(1, "q", true);
    node.listen(&mut client);
    let header = client.last_header();
    let header = ContentHeader::decode(&header).expect("a content header");
    let address = String::from_utf8_lossy(header.properties.reply_to.expect("it is there")).into_owned();
    assert!(node.broker.trace_vhost("/", true));
    node.connect().publish(1, "", &address, TRANSIENT, b"reply");
    assert!(matches!(&client.hear()[..], [Heard::Message { .. }]));
    let all: Vec<_> = traced(&node).iter().map(shown).collect();
    let [published, delivered] = &all[..] else { panic!("{all:?}") };
    assert_eq!((published.0.as_str(), published.2.as_str()), ("publish.", "reply"));
    assert_eq!(published.1[5..7], [format!("routed_queues=[{address}]"), format!("routing_keys=[{address}]")]);
    assert_eq!((&*delivered.0, delivered.2.as_str()), (&*format!("deliver.{address}"), "reply"));
    assert_eq!(delivered.1[5..7], ["redelivered=0".to_owned(), format!("routing_keys=[{address}]")]);
}

#[test]
fn what_no_queue_is_bound_for_is_not_even_looked_at() {
    let (node, mut client) = node_with_firehose(b"deliver.q");
    client.send(1, &exchange::Declare { exchange: b"x", kind: b"fanout", ..Default::default() });
    client.hear();
    client.declare("other");
    node.broker.trace_vhost("/", true);
    let taps = &node.broker.engine.taps;
    let scope = |kind, queue| Scope { kind, vhost: "/", exchange: Some(b"x"), queue, client: None };
    let handle = |name: &str| node.broker.vhosts.get("/").unwrap().queue(name.as_bytes()).unwrap();
    assert!(!taps.has_listeners(&scope(Kind::Published, None)));
    let (bound, other) = (handle("q"), handle("other"));
    assert!(taps.has_listeners(&scope(Kind::Delivered, Some(&*bound))));
    assert!(!taps.has_listeners(&scope(Kind::Delivered, Some(&*other))));
    assert!(!taps.has_listeners(&scope(Kind::Acked, Some(&*bound))));
}

/// RabbitMQ names where a message would have been routed; the default exchange also names queues that do not exist.
#[test]
fn all_keys_are_told_those_too_that_are_hidden() {
    let (node, mut client) = node_with_firehose(b"publish.#");
    node.broker.trace_vhost("/", true);
    let keys = |keys: &[&str]| {
        keys.iter().fold(amqp::table::ArrayBuf::new(), |array, key| array.with(Value::LongStr(key.as_bytes())))
    };
    let (copies, hidden) = (keys(&["b", "nope"]), keys(&["b"]));
    let headers =
        TableBuf::new().with("CC", Value::Array(copies.as_array())).with("BCC", Value::Array(hidden.as_array()));
    let mut properties = Vec::new();
    Properties { headers: Some(headers.as_table()), ..Properties::default() }.encode(&mut properties);
    client.publish(1, "", "q", &properties, b"m");
    let all: Vec<_> = traced(&node).iter().map(shown).collect();
    assert_eq!(all[0].1[5..7], ["routed_queues=[b,nope,q]", "routing_keys=[q,b,nope,b]"]);
}

#[test]
fn what_is_published_over_http_is_traced() {
    let (node, _client) = node_with_firehose(b"publish.#");
    node.broker.trace_vhost("/", true);
    publish(&guest(&node), "", "q");
    let all: Vec<_> = traced(&node).iter().map(shown).collect();
    assert_eq!((all.len(), all[0].0.as_str(), all[0].2.as_str()), (1, "publish.", "body"));
}
