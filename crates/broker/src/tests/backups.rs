//! A copy of a broker's directory is another broker with all that the first one had.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use amqp::method::{exchange, queue};
use amqp::table::Value;
use model::name::UserName;
use model::user::Tags;
use store::Store;
use store::file::Disk;

use super::client::{Client, Heard, PERSISTENT, TRANSIENT};
use super::node::Node;
use crate::control::{BackupError, PasswordChange, UserRequest};
use crate::events::{Event, EventSink};
use crate::identity::Actor;
use crate::options::Options;

const COPY: &str = "/copies/copy";

#[derive(Debug, Default)]
struct Sink(Mutex<Vec<Event>>);

impl EventSink for Sink {
    fn take(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// A broker on the copy, beside the other one.
fn start_copy(node: &Node) -> Node {
    let options = store::Options::small(PathBuf::from(COPY), 2);
    let (store, recovered) = Store::open_stepped(options, Arc::new(node.disk.clone())).unwrap();
    Node::over(node.disk.clone(), store, recovered, Options::default())
}

/// Takes what is in a queue: the first byte and the length of each message.
fn take_all(node: &Node, client: &mut Client, queue: &str) -> Vec<(u8, usize)> {
    let mut all = Vec::new();
    loop {
        client.get(1, queue, true);
        let mut heard = Vec::new();
        for _ in 0..4 {
            node.load();
            heard.append(&mut client.hear());
            node.sync();
        }
        match heard.as_slice() {
            [Heard::Message { body, .. }] => all.push((body[0], body.len())),
            [Heard::Other("basic.get-empty")] => return all,
            other => panic!("{other:?}"),
        }
    }
}

fn len_of(number: u8) -> usize {
    if number.is_multiple_of(7) { 6000 } else { 10 + usize::from(number) }
}

fn bind_queues(client: &mut Client) {
    for name in ["first", "second"] {
        client.declare(name);
    }
    let declare = exchange::Declare { exchange: b"fan", kind: b"fanout", durable: true, ..Default::default() };
    client.send(1, &declare);
    for queue in [b"first".as_slice(), b"second"] {
        client.send(1, &queue::Bind { queue, exchange: b"fan", ..Default::default() });
    }
    client.hear();
}

fn put_user(node: &Node, name: &str) {
    let request = UserRequest {
        name: UserName::parse(name.as_bytes()).unwrap(),
        password: PasswordChange::Plain("pw".to_owned()),
        second_password: PasswordChange::Keep,
        keeps_old_password: false,
        tags: Some(Tags::default()),
        limits: None,
    };
    node.broker.put_user(&Actor::broker(), request).unwrap();
}

#[test]
fn a_broker_on_a_backup_has_all_that_the_first_one_had_then() {
    let sink = Arc::new(Sink::default());
    let node = Node::with(Options { event_sink: Some(sink.clone()), ..Options::default() });
    let mut client = node.connect();
    bind_queues(&mut client);
    put_user(&node, "ann");
    for number in 0..20 {
        client.publish(1, "fan", "", PERSISTENT, &vec![number; len_of(number)]);
        if number == 9 {
            node.spill();
        }
    }
    client.publish(1, "", "first", TRANSIENT, b"transient");
    node.sync();
    let expected: Vec<_> = (0..20).map(|number| (number, len_of(number))).collect();

    let view = node.broker.backup(&Actor::broker(), Path::new(COPY)).unwrap();
    assert_eq!(view.dir, Path::new(COPY));
    assert!(0 < view.linked_len && view.linked_len < view.len, "{view:?}");
    let last = sink.0.lock().unwrap().last().cloned().unwrap();
    assert_eq!(
        (last.name, last.fields.as_table().get("name")),
        ("backup.created", Some(Value::LongStr(COPY.as_bytes())))
    );

    // What happens to the first one no longer concerns the copy.
    client.publish(1, "fan", "", PERSISTENT, b"later");
    assert_eq!(take_all(&node, &mut client, "second").len(), 21);
    client.send(1, &queue::Delete { queue: b"second", ..Default::default() });
    node.sync();
    while node.broker.engine.store.reclaim_once(&node.residents).unwrap().is_some() {}
    node.broker.engine.store.checkpoint_once().unwrap();

    let copy = start_copy(&node);
    assert!(copy.broker.user("ann").is_some());
    let mut client = copy.connect();
    for queue in ["first", "second"] {
        assert_eq!(take_all(&copy, &mut client, queue), expected, "{queue}");
    }
    // The bindings are there too. (The journal is as full of acks as it may be.)
    copy.spill();
    client.publish(1, "fan", "", PERSISTENT, b"new");
    copy.sync();
    for queue in ["first", "second"] {
        assert_eq!(take_all(&copy, &mut client, queue), [(b'n', 3)], "{queue}");
    }
}

#[test]
fn a_backup_that_is_refused_is_no_event() {
    let sink = Arc::new(Sink::default());
    let node = Node::with(Options { event_sink: Some(sink.clone()), ..Options::default() });
    node.disk.create_dir(Path::new(COPY)).unwrap();
    node.disk.create(&Path::new(COPY).join("a")).unwrap();
    let error = node.broker.backup(&Actor::broker(), Path::new(COPY)).unwrap_err();
    assert!(matches!(error, BackupError::Refused { .. }), "{error}");
    assert!(sink.0.lock().unwrap().iter().all(|event| event.name != "backup.created"));
}
