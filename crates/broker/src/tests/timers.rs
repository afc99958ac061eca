//! Queues that are looked after at a time, by a clock that tests set.

use crate::front::Protocol as _;
use std::time::Duration;

use amqp::content::{ContentHeader, Properties, properties_bytes, put_header_encoded};
use amqp::frame::put_method;
use amqp::method::{basic, queue};
use amqp::table::{TableBuf, Value};

use super::node::{Node, open};
use crate::options::Options;

const NOW_MS: u64 = 1_000_000;

#[test]
fn an_unused_queue_goes_at_its_millisecond_and_not_before() {
    let node = Node::new();
    node.broker.engine.clock.set(NOW_MS);
    let mut client = node.connect();
    let arguments = TableBuf::new().with("x-expires", Value::I32(50));
    let declare = queue::Declare { queue: b"q", arguments: arguments.as_table(), ..Default::default() };
    client.send(1, &declare);
    client.hear_one();
    let is_there = |at_ms| {
        node.broker.engine.clock.set(at_ms);
        node.broker.run_due_timers();
        node.broker.queue_counts("/", "q").is_some()
    };
    assert!(is_there(NOW_MS + 49));
    // A passive declaration is a use, too.
    client.send(1, &queue::Declare { passive: true, ..declare });
    client.hear_one();
    assert!(is_there(NOW_MS + 98));
    assert!(!is_there(NOW_MS + 99));
}

#[test]
fn an_entry_that_an_earlier_one_has_replaced_brings_no_other() {
    let node = Node::new();
    node.broker.engine.clock.set(NOW_MS);
    let mut client = node.connect();
    client.declare_with("q", &[("x-expires", Value::I32(10_000))]);
    // Each is due earlier than the one before, which has been taken: each brings an entry of its own.
    for expiration in [&b"400"[..], b"300", b"200", b"100"] {
        client.publish_with("q", Properties { expiration: Some(expiration), ..Default::default() }, "m");
        client.get(1, "q", true);
        node.listen(&mut client);
    }
    assert!(node.broker.engine.timers.entry_count() > 1);
    for at_ms in (0..1_000).step_by(50) {
        node.broker.engine.clock.set(NOW_MS + at_ms);
        node.broker.run_due_timers();
    }
    // The one that counts, and the one that the queue began with, whose time has not come.
    assert_eq!(node.broker.engine.timers.entry_count(), 2);
}

/// The system's clock is an hour back from one moment to the next.
#[test]
fn what_waits_does_not_notice_that_the_system_s_clock_was_set() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("q");
    let properties = Properties { expiration: Some(b"1800000"), delivery_mode: Some(2), ..Properties::default() };
    let mut header = Vec::new();
    ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut header);
    let mut publish = Vec::new();
    put_method(&mut publish, 1, &basic::Publish { routing_key: b"q", ..Default::default() });
    put_header_encoded(&mut publish, 1, 0, properties_bytes(&header));
    let before_ms = node.broker.engine.clock.now_ms();
    client.session.receive(&publish, before_ms);
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    node.broker.engine.compare_clock(Duration::ZERO, wall + Duration::from_secs(3600));
    assert!(node.broker.engine.clock.now_ms() < before_ms + 60_000, "time goes on as it did");
    node.sync();
    // Before the restart the system's clock was set forward, and is here what it is: an hour less than the broker believes.
    let node = node.kill();
    assert!(node.broker.engine.clock.now_ms() + 3_000_000 < before_ms, "it goes on from there");
    node.broker.run_due_timers();
    assert_eq!(node.counts("q"), (1, 0));
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    node.broker.engine.compare_clock(Duration::ZERO, wall - Duration::from_secs(7200));
    node.sync();
    // A node takes over whose clock is right, and that knows the time of the messages.
    let disk = node.disk.clone();
    disk.kill_process();
    let (store, mut recovered) = open(&disk, 1).expect("the store opens");
    crate::go_on_by_time(&mut recovered, -3_600_000);
    let node = Node::over(disk, store, recovered, Options::default());
    assert!(node.broker.engine.clock.now_ms() + 3_000_000 < before_ms, "it uses the time that it is given");
    node.broker.run_due_timers();
    assert_eq!(node.counts("q"), (1, 0));
    let node = node.kill();
    node.broker.run_due_timers();
    assert_eq!(node.counts("q"), (0, 0), "after two hours it has expired");
}
