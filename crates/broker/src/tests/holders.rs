//! What a consumer leaves behind, however it ends, precedes all that is ready.

use crate::front::Protocol as _;
use amqp::frame::put_method;
use amqp::method::{basic, channel, connection};
use amqp::table::Value;

use super::client::{Client, Heard, TRANSIENT};
use super::node::{NOW, Node};

const TYPES: [&str; 2] = ["classic", "quorum"];
const COUNT: usize = 8;

fn declare(client: &mut Client, queue_type: &str, arguments: &[(&str, Value<'_>)]) {
    let queue_type = [("x-queue-type", Value::LongStr(queue_type.as_bytes()))];
    client.declare_with("q", &[arguments, &queue_type[..]].concat());
}

fn declare_single_active(client: &mut Client, queue_type: &str) {
    declare(client, queue_type, &[("x-single-active-consumer", Value::Bool(true))]);
}

/// Messages with the numbers `from` up to before `end` as bodies.
fn publish(client: &mut Client, numbers: std::ops::Range<usize>) {
    for number in numbers {
        client.publish(1, "", "q", TRANSIENT, number.to_string().as_bytes());
    }
}

fn consumer(node: &Node, prefetch_count: u16, priority: i32) -> Client {
    let mut client = node.connect();
    consume(&mut client, 1, "c", prefetch_count, priority);
    node.listen(&mut client);
    client
}

fn consume(client: &mut Client, channel: u16, tag: &str, prefetch_count: u16, priority: i32) {
    client.send(channel, &basic::Qos { prefetch_count, ..Default::default() });
    let arguments = super::client::table_of(&[("x-priority", Value::I32(priority))]);
    let arguments = arguments.as_table();
    client
        .send(channel, &basic::Consume { queue: b"q", consumer_tag: tag.as_bytes(), arguments, ..Default::default() });
}

/// The numbers that a client has heard.
fn numbers(node: &Node, client: &mut Client) -> Vec<usize> {
    marked(node, client).into_iter().map(|(number, _)| number).collect()
}

/// The numbers that a client has heard, and whether they are marked redelivered.
fn marked(node: &Node, client: &mut Client) -> Vec<(usize, bool)> {
    let number = |heard| match heard {
        Heard::Message { body, redelivered, .. } => {
            Some((String::from_utf8(body).unwrap().parse().unwrap(), redelivered))
        }
        _ => None,
    };
    node.listen(client).into_iter().filter_map(number).collect()
}

fn close_channel(client: &mut Client) {
    client.send(1, &channel::Close { reply_code: 200, reply_text: b"", class_id: 0, method_id: 0 });
}

fn close_connection(client: &mut Client) {
    client.send(0, &connection::Close { reply_code: 200, reply_text: b"", class_id: 0, method_id: 0 });
}

fn lose(client: &mut Client) {
    client.session.front.end();
}

fn fail_channel(client: &mut Client) {
    client.ack(1, 1_000, false);
}

fn fail_connection(client: &mut Client) {
    client.send(7, &basic::Qos::default());
}

fn be_closed(client: &mut Client) {
    client.session.close_by_server("enough");
}

fn cancel(client: &mut Client) {
    client.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: false });
}

/// In one write.
fn cancel_and_give_back(client: &mut Client) {
    let mut bytes = Vec::new();
    put_method(&mut bytes, 1, &basic::Nack { delivery_tag: 0, multiple: true, requeue: true });
    put_method(&mut bytes, 1, &basic::Cancel { consumer_tag: b"c", no_wait: false });
    client.send_bytes(&bytes);
}

type End = fn(&mut Client);

/// All that end what a consumer holds, too.
const ENDS: [(&str, End); 7] = [
    ("channel.close", close_channel),
    ("connection.close", close_connection),
    ("lost", lose),
    ("channel error", fail_channel),
    ("connection error", fail_connection),
    ("closed by the server", be_closed),
    ("cancelled and given back", cancel_and_give_back),
];

#[test]
fn the_next_active_consumer_begins_with_what_the_last_one_held() {
    for queue_type in TYPES {
        for (name, end) in ENDS {
            for prefetch_count in [1, 3] {
                for is_heard in [true, false] {
                    let node = Node::new();
                    let mut publisher = node.connect();
                    declare_single_active(&mut publisher, queue_type);
                    let mut first = consumer(&node, prefetch_count, 0);
                    let mut second = consumer(&node, 0, 0);
                    publish(&mut publisher, 0..COUNT);
                    if is_heard {
                        let held: Vec<usize> = (0..prefetch_count.into()).collect();
                        assert_eq!(numbers(&node, &mut first), held);
                    }
                    end(&mut first);
                    let heard = numbers(&node, &mut second);
                    let case = format!("{queue_type}, {name}, prefetch {prefetch_count}, heard: {is_heard}");
                    assert_eq!(heard, (0..COUNT).collect::<Vec<_>>(), "{case}");
                    assert_eq!(node.counts("q"), (0, COUNT as u64), "{case}");
                }
            }
        }
    }
}

#[test]
fn the_next_active_consumer_begins_with_what_was_on_its_way_to_one_that_is_cancelled() {
    for queue_type in TYPES {
        let node = Node::new();
        let mut publisher = node.connect();
        declare_single_active(&mut publisher, queue_type);
        let (mut first, mut second) = (consumer(&node, 3, 0), consumer(&node, 0, 0));
        publish(&mut publisher, 0..1);
        assert_eq!(numbers(&node, &mut first), [0]);
        publish(&mut publisher, 1..COUNT);
        cancel(&mut first);
        // What it has got is still its own.
        assert_eq!(numbers(&node, &mut second), (1..COUNT).collect::<Vec<_>>(), "{queue_type}");
        assert_eq!(numbers(&node, &mut first), [0; 0]);
    }
}

#[test]
fn the_next_active_consumer_may_be_of_another_priority() {
    for queue_type in TYPES {
        for priorities in [[5, 0, 3], [0, 0, -1], [0, 7, 0]] {
            let node = Node::new();
            let mut publisher = node.connect();
            declare_single_active(&mut publisher, queue_type);
            let mut consumers = priorities.map(|priority| consumer(&node, 2, priority));
            publish(&mut publisher, 0..COUNT);
            let mut active = Vec::new();
            for _ in 0..consumers.len() {
                let heard = consumers.each_mut().map(|each| numbers(&node, each));
                let at = heard.iter().position(|numbers| !numbers.is_empty()).expect("one is active");
                assert_eq!(heard[at], [0, 1], "{queue_type}, {priorities:?}");
                consumers[at].session.front.end();
                active.push(priorities[at]);
            }
            assert!(active.is_sorted_by(|left, right| left >= right) || queue_type == "classic", "{active:?}");
            assert_eq!(node.counts("q"), (COUNT as u64, 0));
        }
    }
}

#[test]
fn consumers_that_end_together_give_back_together() {
    for queue_type in TYPES {
        let node = Node::new();
        let mut publisher = node.connect();
        declare_single_active(&mut publisher, queue_type);
        let mut first = node.connect();
        first.open_channel(2);
        consume(&mut first, 1, "one", 3, 0);
        consume(&mut first, 2, "two", 3, 0);
        node.listen(&mut first);
        let mut second = consumer(&node, 0, 0);
        publish(&mut publisher, 0..COUNT);
        assert_eq!(numbers(&node, &mut first), [0, 1, 2]);
        close_connection(&mut first);
        let expected: Vec<_> = (0..COUNT).map(|number| (number, number < 3)).collect();
        assert_eq!(
            marked(&node, &mut second),
            expected,
            "{queue_type}: what went to the channel's other consumer was never sent"
        );
    }
}

#[test]
fn a_group_goes_on_with_what_its_holder_gave_back() {
    for queue_type in TYPES {
        for (name, end) in ENDS {
            let node = Node::new();
            let mut publisher = node.connect();
            declare(&mut publisher, queue_type, &[("x-message-group-header", Value::LongStr(b"order"))]);
            let (mut first, mut second) = (consumer(&node, 2, 0), consumer(&node, 0, 0));
            let headers = super::client::table_of(&[("order", Value::LongStr(b"a"))]);
            for number in 0..COUNT {
                let properties = amqp::content::Properties { headers: Some(headers.as_table()), ..Default::default() };
                publisher.publish_with("q", properties, &number.to_string());
            }
            assert_eq!(numbers(&node, &mut first), [0, 1]);
            assert_eq!(numbers(&node, &mut second), [0; 0]);
            end(&mut first);
            assert_eq!(numbers(&node, &mut second), (0..COUNT).collect::<Vec<_>>(), "{queue_type}, {name}");
        }
    }
}

#[test]
fn the_next_active_consumer_begins_with_what_a_late_one_held() {
    let (node, mut publisher) = Node::standing();
    declare(
        &mut publisher,
        "quorum",
        &[("x-single-active-consumer", Value::Bool(true)), ("x-consumer-timeout", Value::I64(1_000))],
    );
    let (mut first, mut second) = (consumer(&node, 3, 0), consumer(&node, 0, 0));
    publish(&mut publisher, 0..COUNT);
    assert_eq!(numbers(&node, &mut first), [0, 1, 2]);
    node.at(NOW + 3_000);
    assert_eq!(numbers(&node, &mut second), (0..COUNT).collect::<Vec<_>>());
}

#[test]
fn an_exclusive_consumers_successor_begins_with_what_it_held() {
    for (name, end) in ENDS {
        let node = Node::new();
        let mut publisher = node.connect();
        declare(&mut publisher, "classic", &[]);
        let mut first = node.connect();
        first.send(1, &basic::Qos { prefetch_count: 3, ..Default::default() });
        let method = basic::Consume { queue: b"q", consumer_tag: b"c", exclusive: true, ..Default::default() };
        first.send(1, &method);
        publish(&mut publisher, 0..COUNT);
        assert_eq!(numbers(&node, &mut first), [0, 1, 2]);
        end(&mut first);
        let mut second = node.connect();
        second.consume(1, "q", "c", false);
        assert_eq!(numbers(&node, &mut second), (0..COUNT).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn what_several_consumers_of_a_channel_give_back_at_once_is_back_at_once() {
    for multiple in [true, false] {
        let node = Node::new();
        let mut client = node.connect();
        declare(&mut client, "classic", &[]);
        client.send(1, &basic::Qos { prefetch_count: 1, ..Default::default() });
        client.consume(1, "q", "one", false);
        client.consume(1, "q", "two", false);
        publish(&mut client, 0..3);
        assert_eq!(numbers(&node, &mut client), [0, 1]);
        client.ack(1, 1, false);
        // The first consumer has what came last.
        assert_eq!(numbers(&node, &mut client), [2]);
        if multiple {
            client.send(1, &basic::Nack { delivery_tag: 3, multiple, requeue: true });
        } else {
            client.send(1, &basic::Recover { requeue: true });
        }
        assert_eq!(numbers(&node, &mut client), [1, 2], "{multiple}");
    }
}

#[test]
fn who_ends_in_the_same_write_is_given_nothing_more() {
    type Put = fn(&mut Vec<u8>);
    let ends: [Put; 3] = [
        |bytes| put_method(bytes, 1, &basic::Cancel { consumer_tag: b"c", no_wait: false }),
        |bytes| put_method(bytes, 1, &channel::Close { reply_code: 200, reply_text: b"", class_id: 0, method_id: 0 }),
        |bytes| {
            put_method(bytes, 0, &connection::Close { reply_code: 200, reply_text: b"", class_id: 0, method_id: 0 })
        },
    ];
    let ack: Put = |bytes| put_method(bytes, 1, &basic::Ack { delivery_tag: 1, multiple: false });
    let reject: Put = |bytes| put_method(bytes, 1, &basic::Reject { delivery_tag: 2, requeue: false });
    let nack: Put = |bytes| {
        put_method(bytes, 1, &basic::Nack { delivery_tag: 0, multiple: true, requeue: false });
    };
    let requeue: Put = |bytes| put_method(bytes, 1, &basic::Reject { delivery_tag: 1, requeue: true });
    let requeue_all: Put = |bytes| {
        put_method(bytes, 1, &basic::Nack { delivery_tag: 2, multiple: true, requeue: true });
    };
    let recover: Put = |bytes| put_method(bytes, 1, &basic::Recover { requeue: true });
    // What is settled and how, how many of the two that are held are still in the queue.
    let settlings: [(&str, &[Put], usize); 8] = [
        ("ack, reject", &[ack, reject], 0),
        ("reject, ack", &[reject, ack], 0),
        ("nack", &[nack], 0),
        ("requeue, reject", &[requeue, reject], 1),
        ("requeue_all", &[requeue_all], 2),
        ("recover", &[recover], 2),
        ("recover twice", &[recover, recover], 2),
        ("requeue, recover", &[requeue, recover], 2),
    ];
    for queue_type in TYPES {
        for (end, put_end) in ends.iter().enumerate() {
            for (name, settling, held_count) in settlings {
                let node = Node::new();
                let mut publisher = node.connect();
                declare(&mut publisher, queue_type, &[]);
                publish(&mut publisher, 0..6);
                let mut client = consumer(&node, 2, 0);
                let mut bytes = Vec::new();
                settling.iter().for_each(|put| put(&mut bytes));
                put_end(&mut bytes);
                client.send_bytes(&bytes);
                let held = (0..held_count).map(|number| (number.to_string(), true));
                let never_sent = (2..6).map(|number| (number.to_string(), false));
                let left: Vec<_> = held.chain(never_sent).collect();
                assert_eq!(node.drain_marked("q"), left, "{queue_type}, {name}, end {end}");
            }
        }
    }
}

#[test]
fn many_consumers_leave_in_several_visits() {
    const MANY: usize = 2 * crate::limits::LEAVING_COUNT_MAX + 100;
    for queue_type in TYPES {
        for (name, end) in [("channel.close", close_channel as End), ("lost", lose)] {
            let node = Node::new();
            let mut publisher = node.connect();
            declare(&mut publisher, queue_type, &[]);
            let mut first = node.connect();
            first.send(1, &basic::Qos { prefetch_count: 1, ..Default::default() });
            for number in 0..MANY {
                let tag = number.to_string();
                let method =
                    basic::Consume { queue: b"q", consumer_tag: tag.as_bytes(), no_wait: true, ..Default::default() };
                first.send(1, &method);
            }
            for from in (0..MANY).step_by(100) {
                publish(&mut publisher, from..MANY.min(from + 100));
                node.sync();
                node.relieve();
            }
            assert_eq!(numbers(&node, &mut first).len(), MANY);
            let mut second = consumer(&node, 0, 0);
            end(&mut first);
            let heard = numbers(&node, &mut second);
            assert!(heard.is_sorted() || queue_type == "quorum", "{name}");
            assert_eq!((heard.len(), node.counts("q")), (MANY, (0, MANY as u64)), "{queue_type}, {name}");
        }
    }
}
