//! How much one thread moves before others have their turn: no chain of moves keeps a thread, a lock or the journal.
//!
//! Here the timers' thread runs only when a test runs it. What a client's own turn leaves over is seen to wait for it.

use std::path::Path;

use amqp::method::{basic, queue};
use amqp::table::{Table, Value};
use store::file::SimDisk;

use super::client::{Client, Heard, PERSISTENT};
use super::exchange_types::{self, assert_done};
use super::node::{NOW, Node};

/// As `engine` has it: sections of a turn, and messages, with the last section's.
const TURN_BATCH_COUNT: usize = 256;
const TURN_MESSAGE_COUNT_MAX: u64 = 4_096 + 256;
/// How long a dead letter waits that has found no place.
const RETRY_MS: u64 = 5_000;

/// A broker where time stands still, and a client of it.
fn standing() -> (Node, Client) {
    let node = Node::roomy(SimDisk::new(1));
    node.at(NOW);
    let client = node.connect();
    (node, client)
}

fn text(text: &str) -> Value<'_> {
    Value::LongStr(text.as_bytes())
}

/// A queue whose dead letters go to another, by the default exchange.
fn declare(client: &mut Client, name: &str, next: &str, more: &[(&str, Value<'_>)]) {
    let to_next = [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text(next))];
    client.declare_with(name, &[&to_next[..], more].concat());
}

/// Such a queue whose messages expire at once.
fn declare_passing(client: &mut Client, name: &str, next: &str) {
    declare(client, name, next, &[("x-message-ttl", Value::I64(0))]);
}

fn get_and_reject(node: &Node, client: &mut Client, queue: &str, tag: u64) {
    client.get(1, queue, false);
    let heard = node.listen(client);
    assert!(heard.iter().any(|heard| matches!(heard, Heard::Message { .. })), "{heard:?}");
    client.send(1, &basic::Reject { delivery_tag: tag, requeue: false });
}

/// Another client publishes, gets and declares, whatever is going on.
#[track_caller]
fn assert_serves_others(node: &Node) {
    node.relieve();
    let mut bystander = node.connect();
    bystander.declare("bystander");
    bystander.select_confirms(1);
    bystander.publish(1, "", "bystander", PERSISTENT, b"m");
    assert_eq!(node.listen(&mut bystander), [Heard::Ack { tag: 1, multiple: false }]);
    bystander.get(1, "bystander", true);
    assert!(matches!(node.listen(&mut bystander)[..], [Heard::Message { .. }]));
    bystander.send(1, &queue::Delete { queue: b"bystander", ..Default::default() });
    assert!(matches!(node.listen(&mut bystander)[..], [Heard::DeleteOk(0)]));
}

/// One publish and one reject of it kept a worker busy for ever.
#[test]
fn a_rejection_before_the_circle_does_not_keep_it_going() {
    let (node, mut client) = standing();
    declare_passing(&mut client, "b", "b");
    declare(&mut client, "a", "b", &[]);
    client.publish(1, "", "a", PERSISTENT, b"m");
    get_and_reject(&node, &mut client, "a", 1);
    assert_serves_others(&node);
    assert_eq!(node.broker.run_due_timers(), 0, "nothing is left to do");
    assert_eq!((node.counts("b"), node.set_aside_count("b")), ((0, 0), 0));
}

/// The same with a short quorum queue, which gave up to itself what it had too much of.
#[test]
fn a_short_queue_of_itself_drops_what_it_has_too_much_of_after_a_rejection() {
    let (node, mut client) = standing();
    declare(&mut client, "q", "q", &[("x-queue-type", text("quorum")), ("x-max-length", Value::I64(2))]);
    for body in [b"1", b"2"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    get_and_reject(&node, &mut client, "q", 1);
    for body in [b"3", b"4", b"5"] {
        client.publish(1, "", "q", PERSISTENT, body);
    }
    assert_eq!(node.broker.run_due_timers(), 0, "nothing is left to do");
    assert_eq!((node.drain("q"), node.set_aside_count("q")), (vec!["4".to_owned(), "5".to_owned()], 0));
}

#[test]
fn a_long_chain_of_deaths_goes_on_in_later_turns() {
    const LAST: usize = 2 * TURN_BATCH_COUNT + 10;
    let (node, mut client) = standing();
    for at in 0..LAST {
        declare_passing(&mut client, &format!("q{at}"), &format!("q{}", at + 1));
    }
    client.declare(&format!("q{LAST}"));
    node.relieve();
    let is_there = |node: &Node| node.counts(&format!("q{LAST}")) == (1, 0);
    client.publish(1, "", "q0", PERSISTENT, b"m");
    let mut turn_count = 1;
    while !is_there(&node) {
        assert_serves_others(&node);
        assert!(node.broker.run_due_timers() > 0, "the rest is due");
        turn_count += 1;
        assert!(turn_count < 10, "it does not arrive");
    }
    // More than by steps alone: with each death its headers get longer, and bytes count as well.
    assert!(turn_count >= 3, "{turn_count}");
    node.at(NOW);
    assert!(is_there(&node), "it stays there");
}

/// The power fails in the middle of the chain. The start ends, and the message arrives.
#[test]
fn a_start_ends_whatever_chain_of_deaths_is_under_way() {
    const LAST: usize = 2 * TURN_BATCH_COUNT + 10;
    let (node, mut client) = standing();
    for at in 0..LAST {
        declare_passing(&mut client, &format!("q{at}"), &format!("q{}", at + 1));
    }
    client.declare(&format!("q{LAST}"));
    node.relieve();
    client.publish(1, "", "q0", PERSISTENT, b"m");
    node.sync();
    assert_eq!(node.counts(&format!("q{LAST}")), (0, 0), "it is under way");
    drop(client);
    node.disk.kill_process();
    let node = Node::roomy(node.disk.clone());
    assert_eq!(node.counts(&format!("q{LAST}")), (0, 0), "a start moves no more than a turn");
    assert_serves_others(&node);
    node.at(NOW);
    assert_eq!(node.drain(&format!("q{LAST}")), ["m"]);
}

#[test]
fn a_turn_of_many_dead_letters_ends_and_the_rest_is_due() {
    const COUNT: u64 = 10_000;
    let (node, mut client) = standing();
    client.declare("d");
    declare(&mut client, "q", "d", &[("x-message-ttl", Value::I64(100))]);
    for number in 0..COUNT {
        client.publish(1, "", "q", PERSISTENT, format!("{number}").as_bytes());
        if number % 100 == 99 {
            node.listen(&mut client);
            node.relieve();
        }
    }
    node.broker.engine.clock.set(NOW + 100);
    let mut before = 0;
    for turn in 0.. {
        assert!(turn < 20, "they do not arrive");
        assert!(node.broker.run_due_timers() > 0, "the rest is due");
        let arrived = node.counts("d").0;
        assert!(arrived > before && arrived - before <= TURN_MESSAGE_COUNT_MAX, "{before} and then {arrived}");
        before = arrived;
        if arrived == COUNT {
            break;
        }
        assert_serves_others(&node);
    }
    let numbers: Vec<_> = (0..COUNT).map(|number| number.to_string()).collect();
    assert_eq!((node.counts("q"), node.set_aside_count("q")), ((0, 0), 0));
    assert_eq!(node.drain("d"), numbers, "in order");
}

/// Each death makes two of one.
#[test]
fn what_multiplies_as_it_dies_is_brought_on_in_turns() {
    const LAYERS: usize = 13;
    let (node, mut client) = standing();
    for layer in 0..=LAYERS {
        let exchange = format!("x{layer}");
        assert_done(exchange_types::declare(&mut client, &exchange, "fanout", Table::EMPTY));
        for side in ["left", "right"] {
            let (name, next) = (format!("{side}{layer}"), format!("x{}", layer + 1));
            match layer == LAYERS {
                true => client.declare(&name),
                false => {
                    let arguments = [("x-dead-letter-exchange", text(&next)), ("x-message-ttl", Value::I64(0))];
                    client.declare_with(&name, &arguments);
                }
            }
            assert_done(exchange_types::bind(&mut client, &exchange, &name, ""));
        }
    }
    node.relieve();
    client.publish(1, "x0", "", PERSISTENT, b"m");
    let arrived =
        |node: &Node| ["left", "right"].map(|side| node.counts(&format!("{side}{LAYERS}")).0).iter().sum::<u64>();
    assert!(arrived(&node) < 2 << LAYERS, "more than a turn");
    assert_serves_others(&node);
    node.at(NOW);
    assert_eq!(arrived(&node), 2 << LAYERS);
}

/// Dead letters that found no place are tried again piece by piece, and those that find none still wait for their time.
#[test]
fn what_found_no_place_is_tried_again_in_pieces() {
    const COUNT: u64 = 2_500;
    let (node, mut client) = standing();
    let keeping = [
        ("x-queue-type", text("quorum")),
        ("x-overflow", text("reject-publish")),
        ("x-dead-letter-strategy", text("at-least-once")),
        ("x-message-ttl", Value::I64(100)),
    ];
    declare(&mut client, "q", "d", &keeping);
    for number in 0..COUNT {
        client.publish(1, "", "q", PERSISTENT, format!("{number}").as_bytes());
        if number % 100 == 99 {
            node.listen(&mut client);
            node.relieve();
        }
    }
    node.at(NOW + 100);
    assert_eq!(node.set_aside_count("q"), COUNT);
    node.at(NOW + 100 + RETRY_MS);
    assert_eq!((node.broker.run_due_timers(), node.set_aside_count("q")), (0, COUNT), "they wait for their time again");
    client.declare("d");
    node.broker.engine.clock.set(NOW + 100 + 2 * RETRY_MS);
    node.broker.run_due_timers();
    let arrived = node.counts("d").0;
    assert!(arrived > 0 && arrived <= 1_024, "{arrived}");
    assert_serves_others(&node);
    node.at(NOW + 100 + 2 * RETRY_MS);
    assert_eq!((node.counts("d").0, node.set_aside_count("q")), (COUNT, 0));
}

/// A client that rejects as fast as it gets makes a message come round as often as it likes. It is counted.
#[test]
fn what_comes_round_is_counted() {
    let (node, mut client) = standing();
    declare(&mut client, "work", "wait", &[]);
    declare_passing(&mut client, "wait", "work");
    client.publish(1, "", "work", PERSISTENT, b"m");
    let came_round = |queue: &str| node.broker.queue_view("/", queue).unwrap().came_round_count();
    for tag in 1..=5 {
        get_and_reject(&node, &mut client, "work", tag);
    }
    // The first time it had not been in either.
    assert_eq!((came_round("work"), came_round("wait")), (5, 4));
}

#[test]
fn what_comes_round_faster_than_retries_is_named_as_long_as_it_does() {
    let (node, mut client) = standing();
    declare(&mut client, "work", "wait", &[]);
    declare_passing(&mut client, "wait", "work");
    client.publish(1, "", "work", PERSISTENT, b"m");
    let named = || {
        let loops = node.broker.dead_letter_loops().into_iter();
        loops.map(|circle| (circle.vhost, circle.queue, circle.rate)).collect::<Vec<_>>()
    };
    let tick = |seconds: u64| node.broker.tick(Path::new("/"), NOW + 1000 * seconds);
    (1..=501).for_each(|tag| get_and_reject(&node, &mut client, "work", tag));
    tick(5);
    assert_eq!(named(), [("/".into(), "work".into(), 100.2), ("/".into(), "wait".into(), 100.0)]);
    // Retries come back, too, but make no loop.
    (502..=900).for_each(|tag| get_and_reject(&node, &mut client, "work", tag));
    tick(10);
    assert_eq!(named(), []);
}
