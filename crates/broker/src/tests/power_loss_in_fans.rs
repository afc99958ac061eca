//! Dead letters for two queues, one of which has just become full, while the power fails at each operation.

use amqp::method::exchange;
use amqp::table::Value;
use store::Random;

use super::client::{Client, Heard, PERSISTENT};
use super::exchange_types::{assert_done, bind};
use super::lives::Home;
use super::node::{NOW, Node};

const TTL_MS: i64 = 100;
const MESSAGE_COUNT: u8 = 3;
/// A commit of the journal has no room for two of these.
const BODY_LEN: usize = 20 << 10;

fn declare(client: &mut Client) {
    let text = |text: &'static str| Value::LongStr(text.as_bytes());
    let fan = exchange::Declare { exchange: b"fan", kind: b"fanout", durable: true, ..Default::default() };
    client.send(1, &fan);
    assert_done(client.hear_defined().expect("the power is on"));
    client.declare_with("source", &[("x-dead-letter-exchange", text("fan")), ("x-message-ttl", Value::I64(TTL_MS))]);
    client.declare_with("refusing", &[("x-max-length", Value::I64(1)), ("x-overflow", text("reject-publish"))]);
    client.declare("other");
    for name in ["refusing", "other"] {
        assert_done(bind(client, "fan", name, ""));
    }
}

/// The first bytes of the bodies of what is in a queue.
fn names_in(node: &Node, queue: &str) -> Vec<u8> {
    let mut client = node.connect();
    let mut names = Vec::new();
    loop {
        client.get(1, queue, false);
        match node.listen(&mut client).as_slice() {
            [Heard::Message { body, .. }] => names.push(body[0]),
            heard => {
                assert_eq!(heard, [Heard::Other("basic.get-empty")]);
                return names;
            }
        }
    }
}

/// The first fills the queue that refuses. For the second that queue looks once more whether it has room, and hands the first to a
/// consumer, with a mark in the journal: which must not take along that the second has left its own queue.
#[test]
fn what_one_of_two_queues_refuses_is_nowhere_at_no_time() {
    let mut is_whole = false;
    for operation in 0.. {
        let (home, mut random) = (Home::alone(operation), Random::new(operation));
        let node = home.begin(&mut random);
        node.at(NOW);
        let mut client = node.connect();
        declare(&mut client);
        let mut consumer = node.connect();
        consumer.consume(1, "refusing", "c", true);
        for name in 0..MESSAGE_COUNT {
            client.publish(1, "", "source", PERSISTENT, &vec![name; BODY_LEN]);
            node.sync();
            node.listen(&mut client);
        }
        // So the next delivery is to be written down before.
        node.broker.engine.close_watermarks(true);
        node.sync();
        node.cut_power_in(operation);
        node.at(NOW + TTL_MS as u64);
        while node.broker.engine.store.durable() < node.appended() && node.step().is_ok() {}
        is_whole |= node.broker.engine.store.durable() >= node.appended();
        drop((client, consumer));
        home.end(node, &mut random);

        let node = home.begin(&mut random);
        // Nothing expires meanwhile.
        node.at(NOW);
        let found = [names_in(&node, "source"), names_in(&node, "other")].concat();
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..MESSAGE_COUNT).collect::<Vec<_>>(), "power cut at operation {operation}: {found:?}");
        if is_whole {
            assert!(operation > 2, "the power went at no operation");
            return;
        }
    }
}
