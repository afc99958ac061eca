//! Rates, and since when an object has rested: what was once reported wrongly.

use amqp::content::Properties;
use amqp::method::{self, exchange};
use amqp::table::Value;

use super::client::{Client, PERSISTENT, TRANSIENT};
use super::node::{NOW, Node};
use super::operators::{exchange_name, guest, operator, publish};
use super::statistics::{Ticks, channel, moving, queue, set};
use crate::statistics::Range;
use crate::statistics::numbers::{QUEUE, VHOST};
use crate::vhost::DeleteConditions;
use crate::vhost_access::PublishRequest;
use engine::statistics::{HISTORY_COUNT_MAX, HISTORY_COUNT_OF_LISTS_MAX};

const RANGE: Range = Range { age_ms: 20_000, step_ms: 5000, is_of_list: false };

/// The default vhost's rates that are not zero, without those of bytes.
fn of_vhost(node: &Node) -> Vec<(&'static str, f64)> {
    let mut rates = moving(&VHOST, &node.broker.vhost_numbers("/").expect("the vhost is there"));
    rates.retain(|(name, _)| !name.ends_with("_oct"));
    rates
}

fn publish_some(client: &mut Client, count: usize) {
    (0..count).for_each(|_| client.publish(1, "", "q", TRANSIENT, b"body"));
    client.session.front.report();
}

// The rate after a rest was the change divided by how long the rest had been.
#[test]
fn a_rate_after_a_rest_is_of_the_last_interval() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let mut ticks = Ticks(NOW);
    publish_some(&mut client, 1);
    (0..100).for_each(|_| ticks.tick(&node));
    publish_some(&mut client, 50);
    ticks.tick(&node);
    let of_queue = queue(&node, "q");
    assert_eq!(moving(&QUEUE, &of_queue.numbers()), [("publish", 10.0), ("messages_ready", 10.0)]);
    assert_eq!(node.broker.exchange_numbers("/", "").unwrap().rates, [10.0, 10.0]);
    assert_eq!(of_queue.incoming().iter().map(|edge| edge.rate).collect::<Vec<_>>(), [10.0]);
    assert_eq!(node.broker.publishers_of(&of_queue).iter().map(|publisher| publisher.rate).collect::<Vec<_>>(), [10.0]);
    assert_eq!(channel(&node, &mut client).numbers().rates[0], 10.0);
    assert_eq!(of_vhost(&node), [("publish", 10.0), ("messages_ready", 10.0)]);
}

#[test]
fn a_look_that_is_late_divides_by_the_time_there_was() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let mut ticks = Ticks(NOW);
    for wait_ms in [5000, 10_000] {
        publish_some(&mut client, 50);
        ticks.tick_after(&node, wait_ms);
    }
    assert_eq!(moving(&QUEUE, &queue(&node, "q").numbers()), [("publish", 5.0), ("messages_ready", 5.0)]);
    // The same for what begins with the late look.
    client.declare("r");
    (0..50).for_each(|_| client.publish(1, "", "r", TRANSIENT, b"body"));
    client.session.front.report();
    ticks.tick_after(&node, 10_000);
    assert_eq!(moving(&QUEUE, &queue(&node, "r").numbers()), [("publish", 5.0), ("messages_ready", 5.0)]);
}

// Only what a connection of the vhost did was seen in its rates.
#[test]
fn a_vhost_is_looked_at_when_nobody_is_connected() {
    let (node, mut client) = Node::standing();
    client.declare_with("q", &[("x-message-ttl", Value::I64(60_000))]);
    publish_some(&mut client, 50);
    let mut ticks = Ticks(NOW);
    (0..11).for_each(|_| ticks.tick(&node));
    assert_eq!(of_vhost(&node), []);
    ticks.tick(&node);
    assert_eq!(node.counts("q"), (0, 0));
    assert_eq!(of_vhost(&node), [("messages_ready", -10.0)]);
    let samples = node.broker.vhost_history("/", RANGE);
    assert_eq!(samples.iter().map(|sample| sample.numbers[13]).collect::<Vec<_>>(), [0, 50, 50, 50, 50]);
}

#[test]
fn a_vhost_is_looked_at_when_somebody_publishes_without_a_connection() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let mut ticks = Ticks(NOW);
    (0..3).for_each(|_| ticks.tick(&node));
    let access = guest(&node);
    for _ in 0..25 {
        assert!(publish(&access, "", "q"));
    }
    ticks.tick(&node);
    assert_eq!(of_vhost(&node), [("publish", 5.0), ("confirm", 5.0), ("messages_ready", 5.0)]);
    (0..3).for_each(|_| ticks.tick(&node));
    assert!(!publish(&access, "", "nowhere"));
    ticks.tick(&node);
    assert_eq!(of_vhost(&node), [("publish", 0.2), ("confirm", 0.2), ("return_unroutable", 0.2)]);
}

#[test]
fn a_vhost_is_looked_at_when_a_queue_goes_with_its_messages() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    publish_some(&mut client, 50);
    let mut ticks = Ticks(NOW);
    (0..5).for_each(|_| ticks.tick(&node));
    let vhost = node.broker.vhosts.get("/").unwrap();
    let handle = vhost.queue(b"q").unwrap();
    vhost.delete_queue(&node.broker, &handle, DeleteConditions::default());
    ticks.tick(&node);
    assert_eq!(of_vhost(&node), [("messages_ready", -10.0)]);
}

// Of what came over HTTP only queues and exchanges knew.
#[test]
fn what_is_published_without_a_channel_counts_as_over_one_that_confirms() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    node.listen(&mut client);
    client.session.front.report();
    let access = guest(&node);
    (0..5).for_each(|_| assert!(publish(&access, "", "q")));
    assert!(!publish(&access, "", "nowhere"));
    let of_vhost = node.broker.messages_in("/").unwrap();
    assert_eq!((of_vhost.published_to_confirm, of_vhost.confirmed, of_vhost.routed), (6, 6, 5));
    assert_eq!((of_vhost.sizes.count(), of_vhost.sizes.sum), (6, 24));
    // RabbitMQ publishes them as mandatory ones: what no queue wants comes back.
    assert_eq!((of_vhost.returned, of_vhost.dropped), (1, 0));
    assert_eq!(node.broker.exchange_numbers("/", "").unwrap().now, [6, 5]);
    let lasting = PublishRequest {
        exchange: &exchange_name(""),
        routing_key: b"q",
        properties: Properties { delivery_mode: Some(2), ..Properties::default() },
        body: b"body",
    };
    access.publish(&lasting).unwrap();
    assert_eq!(node.broker.messages_in("/").unwrap().written, 1);
}

#[test]
fn what_a_queue_refuses_is_not_confirmed_without_a_channel_either() {
    let (node, mut client) = Node::standing();
    let overflow = Value::LongStr(b"reject-publish");
    client.declare_with("q", &[("x-max-length", Value::I64(1)), ("x-overflow", overflow)]);
    let access = guest(&node);
    (0..3).for_each(|_| _ = publish(&access, "", "q"));
    let of_vhost = node.broker.messages_in("/").unwrap();
    assert_eq!((of_vhost.published_to_confirm, of_vhost.confirmed, of_vhost.refused), (3, 1, 2));
}

// A request for a queue's history took its `idle_since` away for as long as it was kept.
#[test]
fn who_looks_at_a_queue_does_not_wake_it() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let mut ticks = Ticks(NOW);
    publish_some(&mut client, 1);
    ticks.tick(&node);
    assert_eq!(queue(&node, "q").idle_since_ms(), None);
    ticks.tick(&node);
    let since_ms = Some(NOW + 5000);
    assert_eq!(queue(&node, "q").idle_since_ms(), since_ms);
    _ = node.broker.queue_history(&queue(&node, "q"), RANGE);
    _ = node.broker.connection_history(&channel(&node, &mut client).connection, RANGE);
    let of_channel = channel(&node, &mut client).idle_since_ms();
    (0..725).for_each(|_| {
        ticks.tick(&node);
        assert_eq!(queue(&node, "q").idle_since_ms(), since_ms);
        assert_eq!(channel(&node, &mut client).idle_since_ms(), of_channel);
    });
    publish_some(&mut client, 1);
    assert_eq!(queue(&node, "q").idle_since_ms(), None, "not only from the next look on");
}

// The first look at a queue took what there was then for what had been there before.
#[test]
fn the_first_look_at_a_queue_sees_what_has_come() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    publish_some(&mut client, 50);
    Ticks(NOW).tick(&node);
    assert_eq!(moving(&QUEUE, &queue(&node, "q").numbers()), [("publish", 10.0), ("messages_ready", 10.0)]);
}

#[test]
fn what_a_start_found_has_not_come_just_now() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    (0..50).for_each(|_| client.publish(1, "", "q", PERSISTENT, b"body"));
    node.listen(&mut client);
    let node = node.kill();
    node.at(NOW);
    let mut ticks = Ticks(NOW);
    ticks.tick(&node);
    assert_eq!(set(&QUEUE, &queue(&node, "q").numbers().now), [("messages_ready", 50)]);
    assert_eq!(moving(&QUEUE, &queue(&node, "q").numbers()), []);
    assert_eq!(of_vhost(&node), []);
    let mut client = node.connect();
    client.get(1, "q", true);
    node.listen(&mut client);
    ticks.tick(&node);
    assert_eq!(moving(&QUEUE, &queue(&node, "q").numbers())[0], ("get_no_ack", 0.2));
    assert!(moving(&QUEUE, &queue(&node, "q").numbers()).contains(&("messages_ready", -0.2)));
}

// What a vhost's clients did after its deletion was lost.
#[test]
fn what_happens_in_a_vhost_that_goes_is_counted_to_its_end() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    publish_some(&mut client, 3);
    node.broker.delete_vhost(&operator(), "/").unwrap();
    let counted = || {
        let all = node.broker.all_messages();
        (all.sizes.count(), all.ready_count, all.received_len)
    };
    assert_eq!(counted(), (3, 0, 0));
    client.session.front.note_received(100, std::time::Instant::now());
    client.session.front.report();
    assert_eq!(counted(), (3, 0, 100));
    client.session.front.end();
    node.broker.forget_connection(client.session.front.handle());
    drop(client);
    // When no client is left, and none looks any longer.
    let mut ticks = Ticks(NOW);
    (0..5).for_each(|_| ticks.tick(&node));
    assert_eq!([counted(), counted()], [(3, 0, 100); 2]);
}

// One list of very many began as many histories as there may be, and no other queue got one for an hour.
#[test]
fn lists_leave_room_for_who_looks_at_one() {
    let (node, _client) = Node::standing();
    let mut ticks = Ticks(NOW);
    ticks.tick(&node);
    // Nothing else counts towards the bound.
    _ = node.broker.vhost_history("/", RANGE);
    let list = Range { is_of_list: true, ..RANGE };
    let has_history = |name: &str, range| !node.broker.exchange_history("/", name, range).is_empty();
    let begun = |prefix: &str, count: usize, range: Range| {
        (0..count).filter(|number| has_history(&format!("{prefix}{number}"), range)).count()
    };
    assert_eq!(begun("a", 3000, list), HISTORY_COUNT_OF_LISTS_MAX);
    assert_eq!(begun("b", 3000, RANGE), HISTORY_COUNT_MAX - HISTORY_COUNT_OF_LISTS_MAX);
    // Those that are still asked for stay, the others make room.
    for _ in 0..13 {
        ticks.tick(&node);
        assert!(has_history("a7", list) && has_history("b7", RANGE));
    }
    assert!(!has_history("new", RANGE));
    ticks.tick(&node);
    assert!(has_history("a7", list) && has_history("b7", RANGE) && has_history("new", RANGE));
    assert_eq!(begun("c", 3000, RANGE), HISTORY_COUNT_MAX - 3);
}

#[test]
fn where_there_is_room_a_history_stays_that_nobody_asks_for() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let mut ticks = Ticks(NOW);
    ticks.tick(&node);
    let long = Range { age_ms: 600_000, ..RANGE };
    let steps = || {
        let mut numbers: Vec<_> = node.broker.exchange_history("/", "", long).iter().map(|one| one.numbers).collect();
        numbers.dedup();
        numbers.len()
    };
    assert_eq!(steps(), 1, "nothing has happened");
    for _ in 0..3 {
        publish_some(&mut client, 1);
        (0..20).for_each(|_| ticks.tick(&node));
    }
    assert_eq!(steps(), 4, "a look of now knows the last change only");
}

// What was deleted was remembered, and took up room, for an hour.
#[test]
fn what_is_gone_has_no_history() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.send(1, &exchange::Declare { exchange: b"x", kind: b"fanout", ..Default::default() });
    publish_some(&mut client, 1);
    let mut other = node.connect();
    let (of_queue, of_channel) = (queue(&node, "q"), channel(&node, &mut other));
    _ = node.broker.queue_history(&of_queue, RANGE);
    _ = node.broker.exchange_history("/", "x", RANGE);
    _ = node.broker.channel_history(&of_channel, RANGE);
    _ = node.broker.connection_history(&of_channel.connection, RANGE);
    let (statistics, of_engine) = (&node.broker.statistics, &node.broker.engine.statistics);
    assert_eq!(of_engine.history_count(), 4);
    client.send(1, &method::queue::Delete { queue: b"q", ..Default::default() });
    node.listen(&mut client);
    client.send(1, &exchange::Delete { exchange: b"x", ..Default::default() });
    node.listen(&mut client);
    for client in [&mut other, &mut client] {
        client.session.front.end();
        node.broker.forget_connection(client.session.front.handle());
    }
    assert_eq!(of_engine.history_count(), 0);
    // A caller that still knows them gets nothing, and begins nothing.
    assert_eq!(node.broker.queue_history(&of_queue, RANGE), []);
    assert_eq!(node.broker.channel_history(&of_channel, RANGE), []);
    let mut ticks = Ticks(NOW);
    (0..4).for_each(|_| ticks.tick(&node));
    assert_eq!((of_engine.history_count(), of_engine.queues.count(), statistics.connections.count()), (0, 0, 0));
}

// Reads and writes were summed up over connections that are open: the node's counters fell when one closed.
#[test]
fn what_a_connection_carried_counts_when_it_has_gone() {
    let (node, client) = Node::standing();
    let other = node.connect();
    for handle in [client.session.front.handle(), other.session.front.handle()] {
        handle.traffic.received(100);
        handle.traffic.received(100);
        handle.traffic.sent(100);
    }
    assert_eq!(node.broker.traffic_count(), (4, 2));
    node.broker.forget_connection(other.session.front.handle());
    node.broker.forget_connection(other.session.front.handle());
    assert_eq!(node.broker.traffic_count(), (4, 2));
}
