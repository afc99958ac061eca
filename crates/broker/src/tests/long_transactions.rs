//! Transactions longer than all that the journal and memory may hold before publishers wait.

use amqp::method::tx;
use store::Random;

use super::client::{Heard, PERSISTENT};
use super::lives::Home;
use super::node::{NOW, Node};

/// Each as long as a journal file, and all longer than what may be in memory.
const BODY_LEN: usize = 32 << 10;
const COUNT: u64 = 300;

fn commit_long(node: &Node) {
    let mut client = node.connect();
    client.send(1, &tx::Select);
    for _ in 0..COUNT {
        client.publish(1, "", "q", PERSISTENT, &[7; BODY_LEN]);
    }
    client.send(1, &tx::Commit);
    assert!(!node.broker.engine.store.is_congested(), "what was in a transaction is let in");
}

/// Another client publishes and has its confirm, while the broker does what it does in the background.
#[track_caller]
fn assert_publishers_go_on(node: &Node, when: &str) {
    let mut client = node.connect();
    client.select_confirms(1);
    client.publish(1, "", "q", PERSISTENT, b"m");
    for _ in 0..1_000 {
        node.retire_due().expect("the disk works");
        node.step().expect("the disk works");
        if matches!(client.hear().as_slice(), [Heard::Ack { .. }]) {
            return;
        }
    }
    panic!("publishers wait for ever {when}");
}

#[test]
fn publishers_go_on_behind_one_and_after_a_kill() {
    let (home, mut random) = (Home::alone(0), Random::new(0));
    let mut node = home.begin(&mut random);
    node.at(NOW);
    node.connect().declare("q");
    commit_long(&node);
    assert_publishers_go_on(&node, "behind it");
    for life in 0..3 {
        home.end(node, &mut random);
        node = home.begin(&mut random);
        node.at(NOW);
        assert_publishers_go_on(&node, "after a kill");
        assert_eq!(node.counts("q").0, COUNT + 2 + life);
    }
}

#[test]
fn publishers_go_on_when_the_process_dies_right_behind_one() {
    let (home, mut random) = (Home::alone(0), Random::new(0));
    let node = home.begin(&mut random);
    node.at(NOW);
    node.connect().declare("q");
    commit_long(&node);
    node.sync();
    home.end(node, &mut random);
    let node = home.begin(&mut random);
    node.at(NOW);
    assert_publishers_go_on(&node, "after a kill");
    assert_eq!(node.counts("q").0, COUNT + 1);
}
