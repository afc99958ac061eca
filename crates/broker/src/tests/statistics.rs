//! What is counted, how fast, and what is remembered of it. `rates` and `ways` have what went wrong once.

use std::path::Path;

use amqp::method::{basic, confirm, exchange, queue};

use super::client::{Client, PERSISTENT, TRANSIENT};
use super::node::{NOW, Node};
use crate::options::Options;
use crate::statistics::numbers::{CHANNEL, QUEUE, VHOST};
use crate::statistics::{DeathStrategy, Range, Rates};
use crate::view::{ChannelView, Numbers, QueueView};

/// The names of numbers that are not zero, with them.
pub(super) fn set<const N: usize>(names: &[&'static str; N], numbers: &[u64; N]) -> Vec<(&'static str, u64)> {
    names.iter().copied().zip(numbers.iter().copied()).filter(|(_, number)| *number > 0).collect()
}

/// The rates that are not zero.
pub(super) fn moving<const N: usize>(names: &[&'static str; N], numbers: &Numbers<N>) -> Vec<(&'static str, f64)> {
    names.iter().copied().zip(numbers.rates).filter(|(_, rate)| *rate != 0.0).collect()
}

pub(super) fn queue(node: &Node, name: &str) -> QueueView {
    node.broker.queue_view("/", name).expect("the queue is there")
}

pub(super) fn channel(node: &Node, client: &mut Client) -> ChannelView {
    client.session.front.report();
    let views = node.broker.channel_views();
    let is_its =
        |view: &ChannelView| view.connection.connected_at_ms() == client.session.front.handle().connected_at_ms;
    views.into_iter().rfind(is_its).expect("it has a channel")
}

/// Looks at everything, five seconds later each time.
pub(super) struct Ticks(pub(super) u64);

impl Ticks {
    pub(super) fn tick(&mut self, node: &Node) {
        self.tick_after(node, 5000);
    }

    /// Looks at everything so many milliseconds later.
    pub(super) fn tick_after(&mut self, node: &Node, wait_ms: u64) {
        self.0 += wait_ms;
        node.at(self.0);
        node.broker.tick(Path::new("/"), self.0);
    }
}

#[test]
fn a_queue_counts_each_way_in_which_messages_leave() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    node.sync();
    assert_eq!(set(&QUEUE, &queue(&node, "q").numbers().now), []);
    for number in 0..8 {
        let properties = if number % 2 == 0 { PERSISTENT } else { TRANSIENT };
        client.publish(1, "", "q", properties, b"body");
    }
    for no_ack in [true, false] {
        client.get(1, "q", no_ack);
        node.listen(&mut client);
    }
    client.send(1, &basic::Nack { delivery_tag: 2, multiple: false, requeue: true });
    client.get(1, "q", false);
    node.listen(&mut client);
    client.ack(1, 3, false);
    let mut consumer = node.connect();
    consumer.send(1, &basic::Qos { prefetch_count: 4, ..Default::default() });
    consumer.consume(1, "q", "c", false);
    node.listen(&mut consumer);
    consumer.ack(1, 3, true);
    node.listen(&mut consumer);
    consumer.send(1, &basic::Cancel { consumer_tag: b"c", no_wait: false });
    node.listen(&mut consumer);
    let mut taker = node.connect();
    taker.consume(1, "q", "t", true);
    node.listen(&mut taker);
    client.get(1, "q", true);
    node.listen(&mut client);
    let expected = [
        ("publish", 8),
        ("get", 2),
        ("get_no_ack", 1),
        ("get_empty", 1),
        ("deliver", 6),
        ("redeliver", 1),
        ("ack", 4),
        ("disk_writes", 4),
        ("messages_unacknowledged", 3),
    ];
    assert_eq!(set(&QUEUE, &queue(&node, "q").numbers().now), expected);
}

#[test]
fn what_is_rejected_is_given_up_and_not_acknowledged() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    for _ in 0..3 {
        client.publish(1, "", "q", TRANSIENT, b"body");
        client.get(1, "q", false);
        node.listen(&mut client);
    }
    client.send(1, &basic::Reject { delivery_tag: 1, requeue: false });
    client.send(1, &basic::Nack { delivery_tag: 3, multiple: true, requeue: false });
    node.listen(&mut client);
    assert_eq!(set(&QUEUE, &queue(&node, "q").numbers().now), [("publish", 3), ("get", 3)]);
    let [rejected, ..] = node.broker.all_messages().classic.deaths;
    assert_eq!(rejected[DeathStrategy::Disabled as usize], 3);
}

#[test]
fn consumers_that_are_full_leave_no_room() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let share = |after_ms: u64| {
        let queue = node.broker.vhosts.get("/").and_then(|vhost| vhost.queue(b"q")).unwrap();
        let share = queue.capacity.share(NOW + after_ms);
        (share * 100.0).round()
    };
    client.publish(1, "", "q", TRANSIENT, b"no consumer is there to take it");
    assert_eq!(share(1000), 100.0);
    let mut consumer = node.connect();
    consumer.send(1, &basic::Qos { prefetch_count: 2, ..Default::default() });
    consumer.consume(1, "q", "c", false);
    client.publish(1, "", "q", TRANSIENT, b"taken, too");
    node.listen(&mut consumer);
    assert_eq!(share(1000), 100.0);
    client.publish(1, "", "q", TRANSIENT, b"one too many");
    assert_eq!((share(0), share(1000), share(2000)), (100.0, 50.0, 25.0));
    node.broker.engine.clock.set(NOW + 1000);
    consumer.ack(1, 1, false);
    node.listen(&mut consumer);
    assert_eq!((share(1000), share(2000)), (50.0, 75.0));
}

#[test]
fn a_channel_and_its_vhost_count_what_becomes_of_publishes() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.send(1, &confirm::Select { no_wait: false });
    for _ in 0..5 {
        client.publish(1, "", "q", PERSISTENT, &[1; 200]);
    }
    client.publish(1, "", "nowhere", TRANSIENT, b"");
    let mandatory = basic::Publish { routing_key: b"nowhere", mandatory: true, ..Default::default() };
    client.publish_as(1, &mandatory, TRANSIENT, b"");
    node.listen(&mut client);
    let view = channel(&node, &mut client);
    let expected = [("publish", 7), ("confirm", 7), ("return_unroutable", 1), ("drop_unroutable", 1)];
    assert_eq!(set(&CHANNEL, &view.numbers().now), expected);
    let of_vhost = node.broker.messages_in("/").unwrap();
    assert_eq!((of_vhost.published_to_confirm, of_vhost.routed, of_vhost.written), (7, 5, 5));
    assert_eq!((of_vhost.sizes.count(), of_vhost.sizes.sum, of_vhost.sizes.counts[1]), (7, 1000, 5));
    let expected = [
        ("publish", 7),
        ("confirm", 7),
        ("return_unroutable", 1),
        ("drop_unroutable", 1),
        ("disk_writes", 5),
        ("messages_ready", 5),
    ];
    assert_eq!(set(&VHOST, &node.broker.messages_numbers().now)[..6], expected);
    assert_eq!(queue(&node, "q").sizes().counts[1], 5);
}

#[test]
fn rates_are_of_the_last_two_looks_and_rest_with_the_queue() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    node.sync();
    let mut ticks = Ticks(NOW);
    ticks.tick(&node);
    for _ in 0..50 {
        client.publish(1, "", "q", TRANSIENT, b"body");
    }
    client.session.front.report();
    ticks.tick(&node);
    let of_queue = queue(&node, "q").numbers();
    assert_eq!(moving(&QUEUE, &of_queue), [("publish", 10.0), ("messages_ready", 10.0)]);
    assert_eq!(moving(&CHANNEL, &channel(&node, &mut client).numbers()), [("publish", 10.0)]);
    let of_vhost = node.broker.vhost_numbers("/").unwrap();
    assert_eq!(moving(&VHOST, &of_vhost)[..2], [("publish", 10.0), ("messages_ready", 10.0)]);
    assert_eq!(node.broker.exchange_numbers("/", "").unwrap().rates, [10.0, 10.0]);
    ticks.tick(&node);
    assert_eq!(moving(&QUEUE, &queue(&node, "q").numbers()), []);
    assert_eq!(moving(&VHOST, &node.broker.vhost_numbers("/").unwrap()), []);
    client.publish(1, "", "q", TRANSIENT, b"body");
    ticks.tick(&node);
    assert_eq!(moving(&QUEUE, &queue(&node, "q").numbers()), [("publish", 0.2), ("messages_ready", 0.2)]);
}

#[test]
fn nobody_looks_at_what_rests() {
    let (node, mut client) = Node::standing();
    for number in 0..20 {
        client.declare(&format!("q{number}"));
    }
    client.publish(1, "", "q7", TRANSIENT, b"body");
    client.session.front.report();
    let (statistics, of_engine) = (&node.broker.statistics, &node.broker.engine.statistics);
    assert!(of_engine.queues.count() > 0);
    let mut ticks = Ticks(NOW);
    // For an hour it has a history, which is looked at with the others.
    (0..725).for_each(|_| ticks.tick(&node));
    let counts = [
        of_engine.queues.count(),
        of_engine.exchanges.count(),
        of_engine.edges.count(),
        statistics.connections.count(),
        of_engine.vhosts.count(),
    ];
    assert_eq!(counts, [0; 5]);
}

#[test]
fn what_is_deleted_is_not_kept_by_those_who_look() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.publish(1, "", "q", TRANSIENT, b"body");
    client.session.front.report();
    let mut ticks = Ticks(NOW);
    ticks.tick(&node);
    client.send(1, &queue::Delete { queue: b"q", ..Default::default() });
    node.listen(&mut client);
    assert_eq!(node.broker.all_messages().ready_count, 0);
    (0..3).for_each(|_| ticks.tick(&node));
    assert_eq!((node.broker.engine.statistics.queues.count(), node.broker.engine.statistics.edges.count()), (0, 0));
}

#[test]
fn it_is_known_who_publishes_to_a_queue() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let direct = exchange::Declare { exchange: b"x", kind: b"direct", ..Default::default() };
    client.send(1, &direct);
    for key in ["k", "l"] {
        let (exchange, routing_key) = (b"x".as_slice(), key.as_bytes());
        client.send(1, &queue::Bind { queue: b"q", exchange, routing_key, ..Default::default() });
    }
    node.listen(&mut client);
    let mut other = node.connect();
    for _ in 0..3 {
        other.publish(1, "x", "k", TRANSIENT, b"body");
        other.publish(1, "x", "l", TRANSIENT, b"body");
        other.publish(1, "x", "nowhere", TRANSIENT, b"body");
    }
    client.publish(1, "", "q", TRANSIENT, b"body");
    let of_queue = queue(&node, "q");
    let incoming = of_queue.incoming();
    let mut incoming: Vec<_> = incoming.iter().map(|edge| (edge.other.name.as_str(), edge.published)).collect();
    incoming.sort_unstable();
    assert_eq!(incoming, [("", 1), ("x", 6)]);
    let mut publishers: Vec<_> =
        node.broker.publishers_of(&of_queue).iter().map(|publisher| publisher.published).collect();
    publishers.sort_unstable();
    assert_eq!(publishers, [1, 6]);
    // What no queue wants has been published to the exchange, too.
    let to_exchange = node.broker.publishers_to("/", "x");
    assert_eq!(to_exchange.iter().map(|publisher| publisher.published).collect::<Vec<_>>(), [9]);
    assert_eq!(node.broker.exchange_numbers("/", "x").unwrap().now, [9, 6]);
    let outgoing = node.broker.outgoing_of("/", "x");
    assert_eq!(outgoing.iter().map(|edge| (edge.other.name.as_str(), edge.published)).collect::<Vec<_>>(), [("q", 6)]);
    let publishes = channel(&node, &mut other).publishes();
    assert_eq!(publishes.iter().map(|edge| (edge.other.name.as_str(), edge.published)).collect::<Vec<_>>(), [("x", 9)]);
}

#[test]
fn an_exchange_that_comes_back_counts_from_zero() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let fanout = exchange::Declare { exchange: b"x", kind: b"fanout", ..Default::default() };
    let bind = queue::Bind { queue: b"q", exchange: b"x", ..Default::default() };
    for expected in [2, 1] {
        client.send(1, &fanout);
        client.send(1, &bind);
        for _ in 0..expected {
            client.publish(1, "x", "", TRANSIENT, b"body");
        }
        node.listen(&mut client);
        assert_eq!(node.broker.exchange_numbers("/", "x").unwrap().now, [expected; 2]);
        assert_eq!(queue(&node, "q").incoming().iter().map(|edge| edge.published).collect::<Vec<_>>(), [expected]);
        client.send(1, &exchange::Delete { exchange: b"x", ..Default::default() });
        node.listen(&mut client);
        assert_eq!(node.broker.exchange_numbers("/", "x"), None);
    }
}

#[test]
fn history_begins_with_the_first_change_and_ends_an_hour_after_the_last() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    let mut ticks = Ticks(NOW);
    let range = Range { age_ms: 20_000, step_ms: 5000, is_of_list: false };
    let lengths = |node: &Node| {
        let samples = node.broker.queue_history(&queue(node, "q"), range);
        samples.iter().map(|sample| sample.numbers[10]).collect::<Vec<_>>()
    };
    client.publish(1, "", "q", TRANSIENT, b"body");
    ticks.tick(&node);
    for _ in 0..3 {
        client.publish(1, "", "q", TRANSIENT, b"body");
        ticks.tick(&node);
    }
    (0..2).for_each(|_| ticks.tick(&node));
    assert_eq!(lengths(&node), [4, 4, 4, 3, 2], "no request had asked for it before");
    // An hour later nothing has happened, and no request has asked again.
    (0..725).for_each(|_| ticks.tick(&node));
    assert_eq!(node.broker.engine.statistics.queues.count(), 0);
    assert_eq!(lengths(&node), [4, 4, 4, 4, 4], "nothing has changed for long");
    client.publish(1, "", "q", TRANSIENT, b"body");
    ticks.tick(&node);
    assert_eq!(lengths(&node), [5, 4, 4, 4, 4]);
    let of_node = node.broker.messages_history(range);
    assert_eq!(of_node.len(), 5, "the node is always remembered");
}

/// As RabbitMQ: a caller that asks for the first time gets averages of the time that it asks for, in which there was nothing at first.
#[test]
fn the_first_look_at_a_young_queue_sees_how_fast_it_grew() {
    let (node, mut client) = Node::standing();
    let mut ticks = Ticks(NOW);
    (0..10).for_each(|_| ticks.tick(&node));
    client.declare("q");
    for _ in 0..2 {
        (0..100).for_each(|_| client.publish(1, "", "q", TRANSIENT, b"body"));
        ticks.tick(&node);
    }
    let range = Range { age_ms: 60_000, step_ms: 5000, is_of_list: false };
    let published = |node: &Node| {
        let samples = node.broker.queue_history(&queue(node, "q"), range);
        samples.iter().map(|sample| sample.numbers[10]).collect::<Vec<_>>()
    };
    assert_eq!(published(&node), [200, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Of one that is older than what is asked for it is known how it was all the time.
    client.declare("old");
    (0..2).for_each(|_| client.publish(1, "", "old", TRANSIENT, b"body"));
    for _ in 0..20 {
        client.publish(1, "", "old", TRANSIENT, b"body");
        ticks.tick(&node);
    }
    let samples = node.broker.queue_history(&queue(&node, "old"), range);
    let expected: Vec<u64> = (10..=22).rev().collect();
    assert_eq!(samples.iter().map(|sample| sample.numbers[10]).collect::<Vec<_>>(), expected);
    // One that has done nothing had done nothing before either.
    client.declare("idle");
    assert_eq!(node.broker.queue_history(&queue(&node, "idle"), range).len(), 13);
}

#[test]
fn without_rates_nobody_is_watched_and_counters_count() {
    let mut options = Options::default();
    options.statistics.rates = Rates::None;
    let node = Node::with(options);
    let mut client = node.connect();
    client.declare("q");
    client.publish(1, "", "q", TRANSIENT, b"body");
    client.session.front.report();
    assert_eq!(node.broker.engine.statistics.queues.count(), 0);
    assert_eq!(set(&QUEUE, &queue(&node, "q").numbers().now), [("publish", 1), ("messages_ready", 1)]);
    let range = Range { age_ms: 20_000, step_ms: 5000, is_of_list: false };
    assert_eq!(node.broker.queue_history(&queue(&node, "q"), range), []);
    assert_eq!(node.broker.messages_history(range), []);
}

#[test]
fn a_message_has_waited_from_its_publish_to_its_delivery() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.publish(1, "", "q", TRANSIENT, b"one");
    node.at(NOW + 40_000);
    client.publish(1, "", "q", TRANSIENT, b"two");
    node.at(NOW + 40_600);
    let mut consumer = node.connect();
    consumer.consume(1, "q", "c", true);
    node.listen(&mut consumer);
    let waits = queue(&node, "q").waits();
    assert_eq!((waits.count(), waits.sum), (2, 41_200));
    assert_eq!((waits.counts[5], waits.counts[8]), (1, 1));
}
