//! What an alarm of the upstream holds up: publishes, and not those that only ask.

use amqp::method::{basic, channel, connection, queue};
use proxy::switchboard::{ClientId, Options, UpstreamConnectionId};

use crate::broker::BrokerConnection;
use crate::fixture::{Heard, World, method, publisher, world};

fn declare() -> queue::Declare<'static> {
    queue::Declare { queue: b"mine", durable: true, ..Default::default() }
}

/// The upstream connection on which declarations go: the second.
fn calls_connection(world: &World) -> UpstreamConnectionId {
    *world.brokers.keys().nth(1).expect("there are two")
}

fn block(world: &mut World, connection: UpstreamConnectionId, is_blocked: bool) {
    let broker = world.brokers.get_mut(&connection).unwrap();
    match is_blocked {
        true => broker.send(0, &connection::Blocked { reason: b"low on memory" }),
        false => broker.send(0, &connection::Unblocked),
    }
    world.settle();
}

/// A client that has declared and published, on an upstream connection that an alarm has stopped for it.
fn stopped_client(world: &mut World) -> (ClientId, UpstreamConnectionId) {
    let id = publisher(world);
    world.call(id, 1, &declare());
    let connection = calls_connection(world);
    world.publish(id, 1, "", "q", b"first");
    assert_eq!(world.brokers[&connection].published.len(), 1, "where its queue is known");
    block(world, connection, true);
    assert_eq!(world.heard(id), [method(1, "queue.declare-ok"), method(0, "connection.blocked")]);
    (id, connection)
}

#[test]
fn who_only_asks_does_so_elsewhere_while_an_alarm_holds() {
    let mut world = world();
    let (_, stopped) = stopped_client(&mut world);
    let asking = publisher(&mut world);
    world.call(asking, 1, &declare());
    world.call(asking, 1, &basic::Get { queue: b"q", no_ack: true, ..Default::default() });
    let got = Heard::Got { channel: 1, routing_key: "q".to_owned(), body: b"q".to_vec() };
    assert_eq!(world.heard(asking), [method(1, "queue.declare-ok"), got]);
    assert_eq!(world.brokers.len(), 3);
    let methods = world.brokers[&stopped].methods.len();
    world.call(asking, 1, &declare());
    assert_eq!(world.brokers[&stopped].methods.len(), methods);
}

#[test]
fn who_has_asked_before_the_alarm_asks_elsewhere_after_it() {
    let mut world = world();
    let early = publisher(&mut world);
    world.call(early, 1, &declare());
    let (_, stopped) = {
        let id = publisher(&mut world);
        world.call(id, 1, &declare());
        world.publish(id, 1, "", "q", b"first");
        (id, calls_connection(&world))
    };
    block(&mut world, stopped, true);
    world.heard(early);
    world.call(early, 1, &declare());
    assert_eq!(world.heard(early), [method(0, "connection.unblocked"), method(1, "queue.declare-ok")]);
    assert_eq!(world.brokers.len(), 3);
}

#[test]
fn who_publishes_after_asking_stops_no_other_connection() {
    let mut world = world();
    let (_, stopped) = stopped_client(&mut world);
    let id = publisher(&mut world);
    world.call(id, 1, &declare());
    world.publish(id, 1, "", "q", b"second");
    assert_eq!(world.brokers[&stopped].published.len(), 2);
    assert_eq!(world.heard(id), [method(1, "queue.declare-ok"), method(0, "connection.blocked")]);
    assert_eq!(world.brokers.len(), 3);
    block(&mut world, stopped, false);
    assert_eq!(world.heard(id), [method(0, "connection.unblocked")]);
    world.call(id, 1, &declare());
    assert_eq!(world.heard(id), [method(1, "queue.declare-ok")]);
}

#[test]
fn who_waits_for_a_connection_that_an_alarm_has_stopped_goes_on_with_its_end() {
    let mut world = World::new(Options {
        upstream_connection_max: 3,
        pool_connection_max: 1,
        upstream_channel_max: 1,
        ..Options::default()
    });
    // No other client finds a channel among those that publish.
    let publishing = publisher(&mut world);
    world.publish(publishing, 1, "", "q", b"x");
    let (first, stopped) = stopped_client(&mut world);
    let [second, waiting] = [(); 2].map(|()| publisher(&mut world));
    world.call(second, 1, &declare());
    assert_eq!(world.heard(second), [method(1, "queue.declare-ok")]);
    world.call(waiting, 1, &declare());
    world.call(first, 1, &channel::Close::default());
    assert_eq!(world.heard(waiting), [], "there is a channel, on a line that is stopped");
    block(&mut world, stopped, false);
    assert_eq!(world.heard(waiting), [method(1, "queue.declare-ok")]);
}

#[test]
fn what_is_under_way_is_not_waited_for_without_end_but_for_an_alarm() {
    for is_blocked in [false, true] {
        let mut world = World::new(Options { upstream_heartbeat_s: 0, ..Options::default() });
        world.new_broker = BrokerConnection::hesitant;
        let id = publisher(&mut world);
        world.publish(id, 1, "", "q", b"never confirmed");
        let connection = *world.brokers.keys().next().unwrap();
        if is_blocked {
            block(&mut world, connection, true);
        }
        world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
        world.pass_ms(119_000);
        world.heard(id);
        world.pass_ms(2_000);
        let text = "CONNECTION_FORCED - pending requests were neither confirmed nor answered within 120 s";
        let closed = Heard::ConnectionClosed { code: 320, text: text.to_owned() };
        assert_eq!(world.heard(id), if is_blocked { vec![] } else { vec![closed] });
    }
}
