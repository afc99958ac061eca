//! When declarations and bindings are answered: what was answered is there, whatever happens next.

use amqp::frame::put_method;
use amqp::method::{EncodeMethod, exchange, queue};
use amqp::table::Value;

use super::client::{Client, Heard, table_of};
use super::node::{Node, open};
use crate::options::Options;
use store::file::SimDisk;

/// A node whose answers wait for the disk, and a client.
fn prepared() -> (Node, Client) {
    let disk = SimDisk::new(1);
    let (store, recovered) = open(&disk, 1).expect("the store opens");
    let node = Node::over(disk, store, recovered, Options::default());
    let client = node.connect();
    node.sync();
    (node, client)
}

fn queue_named(queue: &str) -> queue::Declare<'_> {
    queue::Declare { queue: queue.as_bytes(), durable: true, ..Default::default() }
}

fn exchange_named(exchange: &str) -> exchange::Declare<'_> {
    exchange::Declare { exchange: exchange.as_bytes(), kind: b"fanout", durable: true, ..Default::default() }
}

fn bound<'a>(queue: &'a str, exchange: &'a str) -> queue::Bind<'a> {
    queue::Bind { queue: queue.as_bytes(), exchange: exchange.as_bytes(), ..Default::default() }
}

fn frame(channel: u16, method: &impl EncodeMethod) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_method(&mut bytes, channel, method);
    bytes
}

#[track_caller]
fn assert_waits(node: &Node, client: &mut Client, method: &impl EncodeMethod, answer: &str) {
    client.send(1, method);
    assert_eq!(client.hear(), [], "{answer} before the sync");
    node.sync();
    assert_name(&client.hear_one(), answer);
}

#[track_caller]
fn assert_at_once(client: &mut Client, method: &impl EncodeMethod, answer: &str) {
    client.send(1, method);
    assert_name(&client.hear_one(), answer);
}

#[track_caller]
fn assert_name(heard: &Heard, answer: &str) {
    let name = match heard {
        Heard::Other(name) => name,
        Heard::DeclareOk { .. } => "queue.declare-ok",
        Heard::DeleteOk(_) => "queue.delete-ok",
        Heard::PurgeOk(_) => "queue.purge-ok",
        other => panic!("{other:?}"),
    };
    assert_eq!(name, answer);
}

#[test]
fn what_lasts_is_answered_after_the_sync() {
    let (node, mut client) = prepared();
    assert_waits(&node, &mut client, &queue_named("q"), "queue.declare-ok");
    assert_waits(&node, &mut client, &exchange_named("x"), "exchange.declare-ok");
    assert_waits(&node, &mut client, &exchange_named("y"), "exchange.declare-ok");
    assert_waits(&node, &mut client, &bound("q", "x"), "queue.bind-ok");
    let ends = (b"x", b"y");
    let bind = exchange::Bind { source: ends.0, destination: ends.1, ..Default::default() };
    assert_waits(&node, &mut client, &bind, "exchange.bind-ok");
    let unbind = exchange::Unbind { source: ends.0, destination: ends.1, ..Default::default() };
    assert_waits(&node, &mut client, &unbind, "exchange.unbind-ok");
    let unbind = queue::Unbind { queue: b"q", exchange: b"x", ..Default::default() };
    assert_waits(&node, &mut client, &unbind, "queue.unbind-ok");
    let delete = exchange::Delete { exchange: b"y", ..Default::default() };
    assert_waits(&node, &mut client, &delete, "exchange.delete-ok");
    let delete = queue::Delete { queue: b"q", ..Default::default() };
    assert_waits(&node, &mut client, &delete, "queue.delete-ok");
}

#[test]
fn what_does_not_last_is_answered_at_once() {
    let (_node, mut client) = prepared();
    let exclusive = queue::Declare { exclusive: true, ..queue_named("mine") };
    assert_at_once(&mut client, &exclusive, "queue.declare-ok");
    assert_at_once(&mut client, &queue::Declare { durable: false, ..queue_named("t") }, "queue.declare-ok");
    assert_at_once(&mut client, &exchange::Declare { durable: false, ..exchange_named("x") }, "exchange.declare-ok");
    assert_at_once(&mut client, &bound("t", "x"), "queue.bind-ok");
    assert_at_once(&mut client, &bound("mine", "amq.fanout"), "queue.bind-ok");
}

#[test]
fn who_finds_a_definition_there_waits_like_who_made_it() {
    let (node, mut first) = prepared();
    let mut others: Vec<_> = (0..4).map(|_| node.connect()).collect();
    first.send(1, &exchange_named("x"));
    first.send_bytes(&frame(1, &queue_named("q")));
    first.send_bytes(&frame(1, &bound("q", "x")));
    others[0].send(1, &queue_named("q"));
    others[1].send(1, &queue::Declare { passive: true, ..queue_named("q") });
    others[2].send(1, &exchange_named("x"));
    others[3].send(1, &bound("q", "x"));
    assert_eq!(first.hear(), []);
    others.iter_mut().for_each(|client| assert_eq!(client.hear(), []));
    node.sync();
    assert_eq!(first.hear().len(), 3);
    others.iter_mut().for_each(|client| assert_eq!(client.hear().len(), 1));
    assert_at_once(&mut others[0], &queue_named("q"), "queue.declare-ok");
    assert_at_once(&mut others[3], &bound("q", "x"), "queue.bind-ok");
    // Messages that others publish are nothing that it would wait for.
    first.publish(1, "", "q", super::client::PERSISTENT, b"m");
    assert_at_once(&mut others[1], &queue::Declare { passive: true, ..queue_named("q") }, "queue.declare-ok");
}

#[test]
fn many_that_come_together_share_a_sync_and_are_answered_in_order() {
    const COUNT: usize = 300;
    let (node, mut client) = prepared();
    client.open_channel(2);
    let names: Vec<String> = (0..COUNT).map(|number| format!("q{number}")).collect();
    let declare = |(number, name): (usize, &String)| {
        // Now and then a client does not wait for an answer.
        frame(1 + (number % 2) as u16, &queue::Declare { no_wait: number % 10 == 9, ..queue_named(name) })
    };
    let frames: Vec<u8> = names.iter().enumerate().flat_map(declare).collect();
    assert_eq!(client.send_bytes(&frames), frames.len(), "all of one read are done");
    let more = frame(1, &bound("q0", "amq.fanout"));
    assert_eq!(client.send_bytes(&more), more.len(), "and those of the next");
    assert_eq!(client.hear(), []);
    let mut step_count = 0;
    let mut heard = Vec::new();
    while heard.len() <= COUNT * 9 / 10 {
        node.step().expect("the disk works");
        step_count += 1;
        assert!(step_count <= 8, "each has a sync of its own");
        heard.append(&mut client.hear());
    }
    let answered = names.iter().enumerate().filter(|(number, _)| number % 10 != 9).map(|(_, name)| name);
    for (heard, name) in heard.iter().zip(answered) {
        assert!(matches!(heard, Heard::DeclareOk { queue, .. } if queue == name), "{heard:?} for {name}");
    }
    assert_eq!(heard.last(), Some(&Heard::Other("queue.bind-ok")));
}

#[test]
fn what_defines_nothing_waits_until_the_answers_have_left() {
    let (node, mut client) = prepared();
    let definitions = [frame(1, &queue_named("a")), frame(1, &queue_named("b"))].concat();
    let consume = frame(1, &amqp::method::basic::Consume { queue: b"a", ..Default::default() });
    let frames = [&definitions[..], &consume, &frame(1, &queue_named("c"))].concat();
    assert_eq!(client.send_bytes(&frames), definitions.len());
    assert!(!client.session.front.wants_bytes(), "not even what defines something, behind it");
    node.sync();
    let heard = client.hear();
    assert!(matches!(&heard[..], [Heard::DeclareOk { .. }, Heard::DeclareOk { .. }]), "{heard:?}");
    let rest = &frames[definitions.len()..];
    assert_eq!(client.send_bytes(rest), rest.len());
    assert_eq!(client.hear_one(), Heard::Other("basic.consume-ok"));
    node.sync();
    assert_name(&client.hear_one(), "queue.declare-ok");
}

#[test]
fn a_refusal_does_not_overtake_the_answers_before_it() {
    let (node, mut client) = prepared();
    let arguments = table_of(&[("x-max-length", Value::I64(1))]);
    let other = queue::Declare { arguments: arguments.as_table(), ..queue_named("a") };
    let frames = [frame(1, &queue_named("a")), frame(1, &other), frame(1, &queue_named("b"))].concat();
    assert_eq!(client.send_bytes(&frames), frames.len());
    assert_eq!(client.hear(), []);
    node.sync();
    let heard = client.hear();
    assert!(matches!(&heard[..], [Heard::DeclareOk { .. }, Heard::ChannelClose { code: 406, .. }]), "{heard:?}");
    assert!(node.broker.queue_counts("/", "b").is_none(), "the channel was closed by then");
}

#[test]
fn an_operator_may_have_definitions_answered_at_once() {
    let node = Node::with(Options { answers_definitions_at_once: true, ..Options::default() });
    let mut client = node.connect();
    assert_at_once(&mut client, &queue_named("q"), "queue.declare-ok");
    assert_at_once(&mut client, &bound("q", "amq.fanout"), "queue.bind-ok");
    assert!(node.broker.engine.store.durable() < node.appended());
    // A deletion waits nevertheless.
    client.send(1, &queue::Delete { queue: b"q", ..Default::default() });
    assert_eq!(client.hear(), []);
}
