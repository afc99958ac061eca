//! What queues give up, on its way to other queues.

use std::path::PathBuf;
use std::sync::Arc;

use amqp::content::Properties;
use amqp::method::{basic, queue};
use amqp::table::Value;
use model::policy::PolicyKind;
use serde_json::json;
use store::file::SimDisk;
use store::{Random, Store};

use super::client::{Client, Heard, PERSISTENT};
use super::lives::Home;
use super::node::{NOW, Node};
use super::operators::operator;
use super::policies::policy;
use crate::options::Options;
use crate::view::SetAsideView;

/// How long a dead letter waits that has found no place.
const RETRY_MS: u64 = 5_000;

fn to_queue(name: &str) -> [(&'static str, Value<'_>); 2] {
    [("x-dead-letter-exchange", Value::LongStr(b"")), ("x-dead-letter-routing-key", Value::LongStr(name.as_bytes()))]
}

/// A node whose queue `q` gives up what is older than 100 ms and keeps it until it has arrived in `d`, which takes one message.
fn keeping_dead_letters() -> (Node, Client) {
    let (node, mut client) = Node::standing();
    let text = |text: &'static str| Value::LongStr(text.as_bytes());
    client.declare_with(
        "q",
        &[
            &to_queue("d")[..],
            &[
                ("x-queue-type", text("quorum")),
                ("x-overflow", text("reject-publish")),
                ("x-dead-letter-strategy", text("at-least-once")),
                ("x-message-ttl", Value::I64(100)),
            ],
        ]
        .concat(),
    );
    client.declare_with("d", &[("x-max-length", Value::I64(1)), ("x-overflow", text("reject-publish"))]);
    (node, client)
}

fn publish_numbers(client: &mut Client, queue: &str, count: usize) {
    for number in 0..count {
        client.publish(1, "", queue, PERSISTENT, format!("{number}").as_bytes());
    }
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

fn nack(client: &mut Client, delivery_tag: u64) {
    client.send(1, &basic::Nack { delivery_tag, multiple: false, requeue: false });
}

#[test]
fn dead_letters_arrive_in_order() {
    let (node, mut client) = Node::standing();
    client.declare("d");
    client.declare_with("q", &[&to_queue("d")[..], &[("x-message-ttl", Value::I64(100))]].concat());
    // More than are brought on at once.
    for number in 0..700 {
        client.publish(1, "", "q", PERSISTENT, format!("{number}").as_bytes());
        if number % 100 == 99 {
            node.listen(&mut client);
        }
    }
    node.at(NOW + 100);
    assert_eq!((node.counts("q"), node.counts("d"), node.set_aside_count("q")), ((0, 0), (700, 0), 0));
    assert_eq!(node.drain("d"), numbers(0..700));
}

/// Wherever the power fails, a message is in one of the two queues, and not in both.
fn leave_and_arrive_at_once(home_of: fn(u64) -> Home) {
    let (mut moved, mut unmoved) = (0, 0);
    for seed in 0..60 {
        let (home, mut random) = (home_of(seed), Random::new(seed));
        let node = home.begin(&mut random);
        node.at(NOW);
        let mut client = node.connect();
        client.declare("d");
        client.declare_with("q", &[&to_queue("d")[..], &[("x-message-ttl", Value::I64(100))]].concat());
        publish_numbers(&mut client, "q", 10);
        node.sync();
        node.at(NOW + 100);
        assert_eq!(node.counts("d"), (10, 0));
        node.cut_power_in(seed % 4);
        while node.broker.engine.store.durable() < node.appended() && node.step().is_ok() {}
        drop(client);
        home.end(node, &mut random);
        let node = home.begin(&mut random);
        node.broker.engine.clock.set(NOW);
        match (node.drain("q"), node.drain("d")) {
            (q, d) if q.is_empty() && d == numbers(0..10) => moved += 1,
            (q, d) if d.is_empty() && q == numbers(0..10) => unmoved += 1,
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(moved > 5 && unmoved > 5, "{moved} moved, {unmoved} did not");
}

#[test]
fn a_dead_letter_leaves_and_arrives_in_one_batch_of_the_journal() {
    leave_and_arrive_at_once(Home::alone);
}

#[test]
fn a_dead_letter_leaves_and_arrives_at_once_whoever_leads() {
    leave_and_arrive_at_once(Home::of_three);
}

/// Ends the process behind each commit in turn, where each batch of the journal is a commit of its own.
#[test]
fn no_batch_has_only_the_leaving_or_only_the_arrival_of_a_dead_letter() {
    let mut step_count = 0;
    loop {
        let disk = SimDisk::new(1);
        let mut options = store::Options::small(PathBuf::from("/data"), 1);
        options.journal.commit_len_max = 1;
        let (store, recovered) = Store::open_stepped(options, Arc::new(disk.clone())).unwrap();
        let node = Node::over(disk.clone(), store, recovered, Options::default());
        node.at(NOW);
        let mut client = node.connect();
        client.declare("d");
        client.declare_with("q", &[&to_queue("d")[..], &[("x-message-ttl", Value::I64(100))]].concat());
        publish_numbers(&mut client, "q", 3);
        node.sync();
        node.at(NOW + 100);
        assert_eq!(node.counts("d"), (3, 0));
        (0..step_count).for_each(|_| node.broker.engine.store.step_journal().unwrap());
        let is_all = node.broker.engine.store.durable() == node.broker.engine.store.appended();
        disk.kill_process();
        drop((client, node));
        let node = Node::on(disk);
        node.broker.engine.clock.set(NOW);
        let found = (node.drain("q"), node.drain("d"));
        let expected = if is_all { (Vec::new(), numbers(0..3)) } else { (numbers(0..3), Vec::new()) };
        let is_either = found == expected || !is_all && found == (Vec::new(), numbers(0..3));
        assert!(is_either, "after {step_count} commits: {found:?}");
        if is_all {
            break;
        }
        step_count += 1;
        assert!(step_count < 20, "it never ends");
    }
    assert!(step_count > 0, "it was durable from the start");
}

#[test]
fn a_dead_letter_goes_on_from_queue_to_queue() {
    let (node, mut client) = Node::standing();
    for (queue, next) in [("a", "b"), ("b", "c")] {
        client.declare_with(queue, &[&to_queue(next)[..], &[("x-max-length", Value::I64(1))]].concat());
    }
    client.declare_with("c", &to_queue("a"));
    publish_numbers(&mut client, "a", 4);
    assert_eq!((node.counts("a"), node.counts("b"), node.counts("c")), ((1, 0), (1, 0), (2, 0)));
    assert_eq!(node.drain("c"), numbers(0..2));
}

#[test]
fn a_message_that_would_go_round_without_a_rejection_is_dropped() {
    let (node, mut client) = Node::standing();
    for (queue, next) in [("a", "b"), ("b", "a")] {
        client.declare_with(queue, &[&to_queue(next)[..], &[("x-message-ttl", Value::I64(10))]].concat());
    }
    client.publish(1, "", "a", PERSISTENT, b"m");
    node.at(NOW + 10);
    assert_eq!((node.counts("a"), node.counts("b")), ((0, 0), (1, 0)));
    node.at(NOW + 20);
    assert_eq!((node.counts("a"), node.counts("b")), ((0, 0), (0, 0)));
    client.publish(1, "", "a", PERSISTENT, b"rejected once");
    node.at(NOW + 30);
    client.get(1, "b", false);
    node.listen(&mut client);
    nack(&mut client, 1);
    assert_eq!((node.counts("a"), node.counts("b")), ((1, 0), (0, 0)));
}

#[test]
fn a_rejected_message_whose_body_is_in_a_segment_is_read_for_its_journey() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("d");
    client.declare_with("q", &to_queue("d"));
    publish_numbers(&mut client, "q", 3);
    node.spill();
    for _ in 0..3 {
        client.get(1, "q", false);
        node.listen(&mut client);
    }
    node.unload();
    for tag in [2, 1, 3] {
        nack(&mut client, tag);
    }
    for _ in 0..3 {
        node.load();
    }
    assert_eq!((node.counts("q"), node.set_aside_count("q")), ((0, 0), 0));
    node.sync();
    let node = node.kill();
    assert_eq!((node.drain("q"), node.drain("d")), (numbers(0..0), ["1", "0", "2"].map(str::to_owned).to_vec()));
}

#[test]
fn a_message_that_is_being_read_goes_nowhere_when_nobody_wants_it_any_more() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("d");
    client.declare("q");
    let dead_letters = json!({"dead-letter-exchange": "", "dead-letter-routing-key": "d"});
    node.broker.put_policy(&operator(), policy("p", "^q", 0, dead_letters)).unwrap();
    client.publish(1, "", "q", PERSISTENT, b"m");
    node.spill();
    client.get(1, "q", false);
    node.listen(&mut client);
    node.unload();
    nack(&mut client, 1);
    assert_eq!(node.set_aside_count("q"), 1);
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", "p").unwrap();
    node.load();
    assert_eq!((node.set_aside_count("q"), node.counts("q"), node.counts("d")), (0, (0, 0), (0, 0)));
    node.sync();
    assert_eq!(node.kill().drain("q"), [""; 0]);
}

#[test]
fn a_dead_letter_of_a_full_queue_is_tried_again_and_never_lost() {
    let (node, mut client) = keeping_dead_letters();
    publish_numbers(&mut client, "q", 3);
    node.at(NOW + 100);
    assert_eq!((node.counts("q"), node.set_aside_count("q"), node.counts("d")), ((0, 0), 2, (1, 0)));
    assert_eq!(node.drain("d"), ["0"]);
    node.at(NOW + 100 + RETRY_MS - 1);
    assert_eq!(node.counts("d"), (0, 0));
    node.at(NOW + 100 + RETRY_MS);
    assert_eq!((node.set_aside_count("q"), node.counts("d")), (1, (1, 0)));
    node.sync();
    let node = node.kill();
    // After the restart it is given up once more.
    let start = NOW + 2 * RETRY_MS;
    node.at(start);
    assert_eq!((node.set_aside_count("q"), node.counts("d")), (1, (1, 0)));
    assert_eq!(node.drain("d"), ["1"]);
    node.at(start + RETRY_MS);
    assert_eq!((node.set_aside_count("q"), node.counts("d")), (0, (1, 0)));
    assert_eq!(node.drain("d"), ["2"]);
    node.sync();
    let node = node.kill();
    assert_eq!((node.drain("q"), node.drain("d")), (numbers(0..0), numbers(0..0)));
}

#[test]
fn listings_say_how_many_have_found_no_place_and_count_each_once() {
    let (node, mut client) = keeping_dead_letters();
    let check = |dead_letter_count, dropped_count| {
        let view = node.broker.queue_view("/", "q").unwrap();
        let expected = SetAsideView { dead_letter_count, delayed_count: 0 };
        assert_eq!((node.broker.set_aside_of(&view), view.dropped_count()), (expected, dropped_count));
        assert_eq!(view.loss_counts().given_up, [0, dropped_count, 0, 0], "expired");
    };
    publish_numbers(&mut client, "q", 3);
    check(0, 0);
    node.at(NOW + 100);
    check(2, 3);
    node.at(NOW + 100 + RETRY_MS);
    check(2, 3);
    assert_eq!(node.drain("d"), ["0"]);
    node.at(NOW + 100 + 2 * RETRY_MS);
    check(1, 3);
}

#[test]
fn a_dead_letter_without_a_queue_arrives_once_there_is_one() {
    let (node, mut client) = keeping_dead_letters();
    client.send(1, &queue::Delete { queue: b"d", ..Default::default() });
    node.listen(&mut client);
    publish_numbers(&mut client, "q", 1);
    node.at(NOW + 100);
    assert_eq!(node.set_aside_count("q"), 1);
    client.declare("d");
    node.at(NOW + 100 + RETRY_MS);
    assert_eq!((node.set_aside_count("q"), node.drain("d")), (0, numbers(0..1)));
}

#[test]
fn what_waits_for_a_place_is_found_by_a_checkpoint() {
    let (node, mut client) = keeping_dead_letters();
    publish_numbers(&mut client, "q", 3);
    node.at(NOW + 100);
    assert_eq!(node.set_aside_count("q"), 2);
    node.spill();
    node.broker.engine.store.checkpoint_once().unwrap();
    let node = node.kill();
    node.broker.engine.clock.set(NOW);
    assert_eq!(node.drain("q"), ["1", "2"]);
}

#[test]
fn what_waits_for_a_place_goes_there_from_its_segment() {
    let (node, mut client) = keeping_dead_letters();
    publish_numbers(&mut client, "q", 3);
    node.at(NOW + 100);
    assert_eq!(node.drain("d"), ["0"]);
    node.spill();
    node.unload();
    node.at(NOW + 100 + RETRY_MS);
    node.load();
    assert_eq!((node.set_aside_count("q"), node.drain("d")), (1, numbers(1..2)));
    node.at(NOW + 100 + 2 * RETRY_MS);
    node.load();
    node.at(NOW + 100 + 3 * RETRY_MS);
    node.load();
    assert_eq!((node.set_aside_count("q"), node.drain("d")), (0, numbers(2..3)));
}

#[test]
fn a_message_that_failed_too_often_and_waits_for_a_place_keeps_its_count() {
    let (node, mut client) = Node::standing();
    let text = |text: &'static str| Value::LongStr(text.as_bytes());
    let more = [
        ("x-queue-type", text("quorum")),
        ("x-overflow", text("reject-publish")),
        ("x-dead-letter-strategy", text("at-least-once")),
        ("x-delivery-limit", Value::I64(2)),
    ];
    client.declare_with("q", &[&to_queue("d")[..], &more].concat());
    client.publish(1, "", "q", PERSISTENT, b"m");
    for tag in 1..=3 {
        client.get(1, "q", false);
        node.listen(&mut client);
        client.send(1, &basic::Reject { delivery_tag: tag, requeue: true });
    }
    assert_eq!((node.counts("q"), node.set_aside_count("q")), ((0, 0), 1));
    node.spill();
    node.broker.engine.store.checkpoint_once().unwrap();
    let node = node.kill();
    node.at(NOW);
    let mut client = node.connect();
    client.get(1, "q", false);
    node.listen(&mut client);
    // It has come back too often before: once more is too often again.
    client.send(1, &basic::Reject { delivery_tag: 1, requeue: true });
    assert_eq!((node.counts("q"), node.set_aside_count("q")), ((0, 0), 1));
}

#[test]
fn a_purge_takes_dead_letters_that_have_found_no_place() {
    let (node, mut client) = keeping_dead_letters();
    publish_numbers(&mut client, "q", 3);
    node.at(NOW + 100);
    publish_numbers(&mut client, "q", 1);
    client.send(1, &queue::Purge { queue: b"q", ..Default::default() });
    assert_eq!(node.listen(&mut client), [Heard::PurgeOk(3)]);
    assert_eq!(node.set_aside_count("q"), 0);
    let node = node.kill();
    assert_eq!((node.drain("q"), node.drain("d")), (numbers(0..0), numbers(0..1)));
}

#[test]
fn a_dead_letter_says_where_it_died_and_keeps_no_time_to_live() {
    let (node, mut client) = Node::standing();
    client.declare("d");
    client.declare_with("q", &to_queue("d"));
    client.publish_with("q", Properties { expiration: Some(b"10"), ..Properties::default() }, "m");
    node.at(NOW + 10);
    node.at(NOW + 1_000_000);
    assert_eq!(node.counts("d"), (1, 0));
    client.get(1, "d", false);
    node.listen(&mut client);
    let header = client.last_header();
    let header = amqp::content::ContentHeader::decode(&header).unwrap();
    assert_eq!(header.properties.expiration, None);
    let headers = header.properties.headers.unwrap();
    assert_eq!(headers.get("x-first-death-reason"), Some(Value::LongStr(b"expired")));
    assert_eq!(headers.get("x-first-death-queue"), Some(Value::LongStr(b"q")));
    let Some(Value::Array(deaths)) = headers.get("x-death") else { panic!("{headers:?}") };
    let Some(Value::Table(death)) = deaths.iter().next() else { panic!("{deaths:?}") };
    assert_eq!(death.get("original-expiration"), Some(Value::LongStr(b"10")));
    assert_eq!(death.get("time"), Some(Value::Timestamp((NOW + 10) / 1000)));
}
