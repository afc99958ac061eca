//! What clients share, and what they do not notice of each other.

use amqp::method::{basic, channel, connection, queue};
use proxy::switchboard::Options;

use crate::broker::BrokerConnection;
use crate::fixture::{Heard, World, ack, last, method, publish, publish_in, publisher, world};

#[test]
fn publishers_share_a_connection_and_its_channels() {
    let mut world = world();
    for number in 0..50 {
        let id = publisher(&mut world);
        world.publish(id, 1, "", "q", format!("{number}").as_bytes());
        world.leave(id);
        assert_eq!(world.heard(id), [method(0, "connection.close-ok")]);
        world.vanish(id);
    }
    assert_eq!(world.dialled, 1);
    let broker = world.only_broker();
    assert_eq!(broker.channel_count(), 1, "one is used by all, one after the other");
    assert_eq!(broker.published.len(), 50);
    assert_eq!(world.board.counters().channels_reused, 49);
}

#[test]
fn nobody_waits_for_the_confirms_of_others() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    for _ in 0..20 {
        let id = publisher(&mut world);
        world.publish(id, 1, "", "q", b"x");
        world.leave(id);
        assert_eq!(world.heard(id), [method(0, "connection.close-ok")]);
        world.vanish(id);
    }
    assert_eq!(world.only_broker().published.len(), 20);
    assert_eq!(world.only_broker().channel_count(), 20, "as many as there are on their way");
    world.only_broker().confirm(9, false);
    world.settle();
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    assert_eq!(world.only_broker().channel_count(), 20);
}

#[test]
fn confirms_are_counted_for_each_client() {
    let mut world = world();
    let first = publisher(&mut world);
    for _ in 0..5 {
        world.publish(first, 1, "", "q", b"first");
    }
    assert_eq!(world.heard(first), [], "it did not ask for confirms");
    world.select_confirms(first, 1);
    world.publish(first, 1, "", "q", b"first");
    assert_eq!(world.heard(first), [method(1, "confirm.select-ok"), ack(1, 1)]);
    world.call(first, 1, &channel::Close::default());
    let second = publisher(&mut world);
    world.select_confirms(second, 1);
    world.publish(second, 1, "", "q", b"second");
    world.publish(second, 1, "", "q", b"second");
    assert_eq!(world.heard(second), [method(1, "confirm.select-ok"), ack(1, 1), ack(1, 2)]);
    assert_eq!(world.only_broker().channel_count(), 1);
}

#[test]
fn a_confirm_of_many_is_one_for_the_client_too() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"before");
    world.select_confirms(id, 1);
    for _ in 0..3 {
        world.publish(id, 1, "", "q", b"x");
    }
    world.heard(id);
    world.only_broker().confirm(3, true);
    world.settle();
    assert_eq!(world.heard(id), [Heard::Ack { channel: 1, tag: 2, is_multiple: true }]);
}

#[test]
fn an_error_closes_the_channel_that_made_it() {
    let mut world = world();
    let (first, second) = (publisher(&mut world), publisher(&mut world));
    world.publish(second, 1, "", "q", b"x");
    world.publish(first, 1, "missing", "mine", b"x");
    let closed = Heard::ChannelClosed { channel: 1, code: 404, text: "NOT_FOUND - mine".to_owned() };
    assert_eq!(world.heard(first), [closed]);
    // What it sent before it knew is not looked at.
    world.publish(first, 1, "", "q", b"lost");
    world.call(first, 1, &channel::CloseOk);
    world.open_channel(first, 1);
    world.publish(first, 1, "", "q", b"anew");
    assert_eq!(world.heard(first), [method(1, "channel.open-ok")]);
    assert_eq!(world.heard(second), []);
    assert_eq!(world.bodies(), ["x", "anew"]);
}

#[test]
fn a_returned_message_comes_back_to_its_publisher() {
    let mut world = world();
    let (first, second) = (publisher(&mut world), publisher(&mut world));
    world.say(first, &publish(1, "", "nowhere", true, b"of the first"));
    world.say(second, &publish(1, "", "nowhere", true, b"of the second"));
    for (id, body) in [(first, "of the first"), (second, "of the second")] {
        let returned =
            Heard::Returned { channel: 1, routing_key: "nowhere".to_owned(), body: body.as_bytes().to_vec() };
        assert_eq!(world.heard(id), [returned]);
    }
}

#[test]
fn half_a_message_is_never_sent() {
    let whole = publish_in(1, "", "q", false, &[7; 100], 30);
    for len in 0..whole.len() {
        let mut world = world();
        let id = publisher(&mut world);
        world.say(id, &whole[..len]);
        world.vanish(id);
        let next = publisher(&mut world);
        world.publish(next, 1, "", "q", b"next");
        assert_eq!(world.bodies(), ["next"], "after {len} bytes");
        assert!(!world.only_broker().has_half_a_message());
    }
}

#[test]
fn contents_on_several_channels_may_be_interleaved() {
    let mut world = world();
    let id = publisher(&mut world);
    world.open_channel(id, 2);
    let (first, second) = (publish_in(1, "", "a", false, b"aaaa", 2), publish_in(2, "", "b", false, b"bbbb", 2));
    let frames = |bytes: &[u8]| {
        let (mut rest, mut frames) = (bytes, Vec::new());
        while let Some((_, len)) = amqp::frame::decode_frame(rest, 0).unwrap() {
            frames.push(rest[..len].to_vec());
            rest = &rest[len..];
        }
        frames
    };
    for (one, other) in frames(&first).into_iter().zip(frames(&second)) {
        world.say(id, &one);
        world.say(id, &other);
    }
    assert_eq!(world.bodies(), ["aaaa", "bbbb"]);
}

#[test]
fn gets_without_acks_share_and_their_channel_is_not_used_again() {
    let mut world = world();
    let id = publisher(&mut world);
    world.call(id, 1, &basic::Get { queue: b"mine", no_ack: true, ..Default::default() });
    let got = Heard::Got { channel: 1, routing_key: "mine".to_owned(), body: b"mine".to_vec() };
    assert_eq!(world.heard(id), [got]);
    world.call(id, 1, &channel::Close::default());
    assert_eq!(world.heard(id), [method(1, "channel.close-ok")]);
    assert_eq!(world.brokers.len(), 2, "calls have connections of their own");
    assert!(world.brokers.values().all(|broker| broker.channel_count() == 0));
}

#[test]
fn blocking_is_told_to_whom_it_concerns() {
    let mut world = world();
    let (first, second) = (publisher(&mut world), publisher(&mut world));
    world.publish(first, 1, "", "q", b"x");
    world.only_broker().send(0, &connection::Blocked { reason: b"low on memory" });
    world.settle();
    assert_eq!(world.heard(first), [method(0, "connection.blocked")]);
    assert_eq!(world.heard(second), [], "it publishes nothing");
    world.publish(second, 1, "", "q", b"x");
    assert_eq!(world.heard(second), [method(0, "connection.blocked")]);
    world.only_broker().send(0, &connection::Unblocked);
    world.settle();
    assert_eq!(world.heard(first), [method(0, "connection.unblocked")]);
    assert_eq!(world.heard(second), [method(0, "connection.unblocked")]);
}

#[test]
fn clients_wait_where_there_may_be_no_more_connections() {
    let mut world = World::new(Options { upstream_channel_max: 1, pool_connection_max: 2, ..Options::default() });
    let clients: Vec<_> = (0..3).map(|_| publisher(&mut world)).collect();
    for (number, id) in clients.iter().enumerate() {
        world.publish(*id, 1, "", "q", format!("{number}").as_bytes());
    }
    assert_eq!(world.bodies().len(), 2);
    world.vanish(clients[0]);
    assert_eq!(world.bodies().len(), 3);
    assert_eq!(world.brokers.len(), 2);
}

#[test]
fn operators_see_pools_and_connections() {
    let mut world = world();
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    let report = world.board.report(|_| ("here".to_owned(), None));
    assert_eq!(report.upstream_connection_count, 1);
    assert_eq!((report.client_count, report.open_client_count, report.waiting_client_count), (1, 1, 0));
    let [pool] = &report.pools[..] else { panic!("{:?}", report.pools) };
    assert_eq!((&*pool.user, &*pool.vhost, pool.client_count), ("u", "/", 1));
    let [connection] = &pool.connections[..] else { panic!("{:?}", pool.connections) };
    assert_eq!(
        (&*connection.upstream, connection.is_open, connection.channel_count, connection.used_channel_count),
        ("here", true, 1, 1)
    );
}

#[test]
fn without_names_the_queue_is_the_key_too() {
    let mut world = world();
    let id = publisher(&mut world);
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    let connection = *world.brokers.keys().last().unwrap();
    world.cut(connection);
    world.heard(id);
    world.call(id, 1, &queue::Bind { exchange: b"amq.direct", ..Default::default() });
    assert_eq!(world.heard(id), [method(1, "queue.bind-ok")]);
    assert_eq!(last(&mut world).bound, ["mine mine"]);
}

#[test]
fn who_uses_a_blocked_connection_no_more_is_told_so() {
    let mut world = world();
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    world.only_broker().send(0, &connection::Blocked { reason: b"low on memory" });
    world.settle();
    world.call(id, 1, &channel::Close::default());
    let expected = [method(0, "connection.blocked"), method(1, "channel.close-ok"), method(0, "connection.unblocked")];
    assert_eq!(world.heard(id), expected);
}

#[test]
fn calls_find_a_place_where_there_may_be_one_connection_only() {
    let mut world = World::new(Options { upstream_connection_max: 1, ..Options::default() });
    let (publishing, calling) = (publisher(&mut world), publisher(&mut world));
    world.publish(publishing, 1, "", "q", b"x");
    for _ in 0..2 {
        world.call(calling, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
        assert_eq!(world.heard(calling), [method(1, "queue.declare-ok")]);
    }
    assert_eq!(world.brokers.len(), 1);
}

#[test]
fn who_calls_where_there_may_be_one_connection_only_gets_a_channel_that_is_freed() {
    let mut world = World::new(Options { upstream_connection_max: 1, upstream_channel_max: 1, ..Options::default() });
    world.new_broker = BrokerConnection::hesitant;
    let (publishing, calling) = (publisher(&mut world), publisher(&mut world));
    world.publish(publishing, 1, "", "q", b"x");
    world.call(calling, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    assert_eq!(world.heard(calling), [], "the only channel is another's");
    world.leave(publishing);
    world.only_broker().confirm(1, false);
    world.settle();
    assert_eq!(world.heard(calling), [method(1, "queue.declare-ok")]);
    assert_eq!(world.brokers.len(), 1);
}

#[test]
fn answers_come_in_the_order_of_questions() {
    let mut world = world();
    let id = publisher(&mut world);
    world.is_far = true;
    let mut bytes = Vec::new();
    amqp::frame::put_method(&mut bytes, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    amqp::frame::put_method(&mut bytes, 1, &basic::Qos { prefetch_count: 1, ..Default::default() });
    amqp::frame::put_method(&mut bytes, 1, &amqp::confirm::Select { no_wait: false });
    world.say(id, &bytes);
    world.is_far = false;
    world.settle();
    let expected = ["queue.declare-ok", "basic.qos-ok", "confirm.select-ok"].map(|name| method(1, name));
    assert_eq!(world.heard(id), expected);
}
