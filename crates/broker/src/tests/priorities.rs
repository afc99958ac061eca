//! Queues with priorities, in memory and in segments.

use amqp::content::Properties;
use amqp::method::{basic, queue};
use amqp::table::Value;

use super::client::{Client, Heard};
use super::node::{NOW, Node};

fn publish(client: &mut Client, queue: &str, priority: u8, body: &str) {
    client.publish_with(queue, Properties { priority: Some(priority), ..Properties::default() }, body);
}

fn declare(client: &mut Client, queue: &str, more: &[(&str, Value<'_>)]) {
    client.declare_with(queue, &[&[("x-max-priority", Value::I64(5))], more].concat());
}

#[test]
fn the_highest_priority_goes_first_and_in_each_the_oldest() {
    let node = Node::new();
    let mut client = node.connect();
    declare(&mut client, "q", &[]);
    for (priority, body) in [(0, "a"), (5, "b"), (3, "c"), (9, "as high as it gets"), (0, "d"), (3, "e")] {
        publish(&mut client, "q", priority, body);
    }
    client.publish_with("q", Properties::default(), "without one");
    assert_eq!(node.drain("q"), ["b", "as high as it gets", "c", "e", "a", "d", "without one"]);
}

/// The backlog is in segments, in part read again, and grows meanwhile; then the same after a restart.
#[test]
fn the_highest_priority_goes_first_from_segments_too() {
    for is_restarted in [false, true] {
        let node = Node::new();
        let mut client = node.connect();
        declare(&mut client, "q", &[]);
        let mut expected: Vec<(u8, usize)> = Vec::new();
        for number in 0..120 {
            let priority = (number * 7 % 6) as u8;
            publish(&mut client, "q", priority, &format!("{priority} {number} {}", ".".repeat(400)));
            expected.push((priority, number));
            if number % 30 == 29 {
                node.spill();
            }
            if number == 70 {
                node.unload();
            }
        }
        let node = match is_restarted {
            false => node,
            true => {
                node.sync();
                node.kill()
            }
        };
        expected.sort_by_key(|(priority, number)| (u8::MAX - priority, *number));
        let drained = node.drain("q");
        let drained: Vec<(u8, usize)> = drained
            .iter()
            .map(|body| {
                let mut words = body.split(' ').map(|word| word.parse::<usize>().unwrap_or(0));
                (words.next().unwrap() as u8, words.next().unwrap())
            })
            .collect();
        assert_eq!(drained, expected, "restarted: {is_restarted}");
    }
}

#[test]
fn each_priority_expires_by_its_own_head() {
    let (node, mut client) = Node::standing();
    declare(&mut client, "q", &[("x-message-ttl", Value::I64(100))]);
    publish(&mut client, "q", 5, "high and old");
    publish(&mut client, "q", 1, "low and old");
    node.at(NOW + 50);
    publish(&mut client, "q", 5, "high and new");
    publish(&mut client, "q", 1, "low and new");
    node.spill();
    node.unload();
    for _ in 0..3 {
        node.at(NOW + 100);
        node.load();
    }
    assert_eq!(node.counts("q"), (2, 0));
    node.sync();
    let node = node.kill();
    node.broker.engine.clock.set(NOW + 100);
    assert_eq!(node.drain("q"), ["high and new", "low and new"]);
}

/// Seqs of several priorities lie between each other, so a purge of one has to leave out the unacked ones of another.
#[test]
fn a_purge_leaves_unacked_messages_of_every_priority() {
    for is_spilled in [false, true] {
        let node = Node::new();
        let mut client = node.connect();
        declare(&mut client, "q", &[]);
        for number in 0..30 {
            let body = format!("{number} {}", ".".repeat(300));
            publish(&mut client, "q", (number % 3) as u8, &body);
        }
        if is_spilled {
            node.spill();
            node.unload();
        }
        // All ten of the highest priority, and four of the next.
        for _ in 0..14 {
            client.get(1, "q", false);
            node.listen(&mut client);
        }
        node.unload();
        client.send(1, &queue::Purge { queue: b"q", ..Default::default() });
        assert_eq!(node.listen(&mut client), [Heard::PurgeOk(16)]);
        assert_eq!(node.counts("q"), (0, 14));
        node.sync();
        let node = node.kill();
        let drained = node.drain_marked("q");
        let numbers: Vec<&str> = drained.iter().map(|(body, _)| body.split(' ').next().unwrap()).collect();
        let expected = ["2", "5", "8", "11", "14", "17", "20", "23", "26", "29", "1", "4", "7", "10"];
        assert_eq!(numbers, expected, "spilled: {is_spilled}");
        assert!(drained.iter().all(|(_, redelivered)| *redelivered));
    }
}

#[test]
fn what_comes_back_goes_before_its_equals_only() {
    let node = Node::new();
    let mut client = node.connect();
    declare(&mut client, "q", &[]);
    for (priority, body) in [(1, "a"), (1, "b")] {
        publish(&mut client, "q", priority, body);
    }
    client.get(1, "q", false);
    node.listen(&mut client);
    publish(&mut client, "q", 2, "urgent");
    client.send(1, &basic::Nack { delivery_tag: 1, multiple: false, requeue: true });
    let marked = node.drain_marked("q");
    let marked: Vec<(&str, bool)> = marked.iter().map(|(body, redelivered)| (body.as_str(), *redelivered)).collect();
    assert_eq!(marked, [("urgent", false), ("a", true), ("b", false)]);
}

#[test]
fn the_head_makes_room_however_high_its_priority_is() {
    let node = Node::new();
    let mut client = node.connect();
    declare(&mut client, "q", &[("x-max-length", Value::I64(2))]);
    for (priority, body) in [(0, "a"), (5, "b"), (0, "c")] {
        publish(&mut client, "q", priority, body);
    }
    assert_eq!(node.drain("q"), ["a", "c"]);
}
