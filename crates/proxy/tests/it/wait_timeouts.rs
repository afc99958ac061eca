//! How long clients wait for what, and that one wait says nothing of the next.

use amqp::method::{basic, connection, queue};
use proxy::switchboard::{ClientId, Options, UpstreamConnectionId};

use crate::broker::BrokerConnection;
use crate::fixture::{World, method, publisher};

const UPSTREAM_WAIT_MS: u64 = 15_000;

/// Brokers confirm when a test has them confirm.
fn hesitant_world(options: Options) -> World {
    let mut world = World::new(Options { upstream_heartbeat_s: 0, client_heartbeat_s: 0, ..options });
    world.new_broker = BrokerConnection::hesitant;
    world
}

fn first_connection(world: &World) -> UpstreamConnectionId {
    *world.brokers.keys().next().unwrap()
}

fn consume(world: &mut World, id: ClientId) {
    world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
}

fn confirm(world: &mut World, connection: UpstreamConnectionId) {
    world.brokers.get_mut(&connection).unwrap().confirm(usize::MAX, false);
    world.settle();
}

/// A client that has published, which is not confirmed, and wants to consume.
fn waiting_client(world: &mut World) -> (ClientId, UpstreamConnectionId) {
    let id = publisher(world);
    world.publish(id, 1, "", "q", b"x");
    consume(world, id);
    (id, first_connection(world))
}

fn is_consuming(world: &mut World, id: ClientId) -> bool {
    world.heard(id).contains(&method(1, "basic.consume-ok"))
}

#[test]
fn who_has_waited_through_an_alarm_is_not_closed_with_its_end() {
    let mut world = hesitant_world(Options::default());
    let (id, connection) = waiting_client(&mut world);
    let broker = world.brokers.get_mut(&connection).unwrap();
    broker.send(0, &connection::Blocked { reason: b"low on memory" });
    world.settle();
    world.pass_ms(600_000);
    world.brokers.get_mut(&connection).unwrap().send(0, &connection::Unblocked);
    world.settle();
    world.pass_ms(119_000);
    confirm(&mut world, connection);
    assert!(is_consuming(&mut world, id));
}

#[test]
fn a_client_that_waited_for_confirms_has_the_whole_timeout_for_a_connection() {
    let mut world = hesitant_world(Options::default());
    let (id, connection) = waiting_client(&mut world);
    world.pass_ms(100_000);
    // Its own upstream connection was open already, and is lost.
    let own = *world.brokers.keys().last().unwrap();
    world.is_reachable = false;
    world.cut(own);
    confirm(&mut world, connection);
    world.pass_ms(UPSTREAM_WAIT_MS - 500);
    assert_eq!(world.heard(id), []);
    world.is_reachable = true;
    world.settle();
    assert!(is_consuming(&mut world, id));
}

#[test]
fn a_client_that_waited_for_confirms_has_the_whole_timeout_for_the_pool() {
    let mut world = hesitant_world(Options::default());
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    let connection = first_connection(&world);
    world.brokers.get_mut(&connection).unwrap().confirm(1, false);
    world.settle();
    world.publish(id, 1, "", "q", b"x");
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    world.pass_ms(100_000);
    world.is_reachable = false;
    confirm(&mut world, connection);
    world.pass_ms(UPSTREAM_WAIT_MS - 500);
    assert_eq!(world.heard(id), []);
    world.is_reachable = true;
    world.settle();
    assert_eq!(world.heard(id), [method(1, "queue.declare-ok")]);
}

/// An upstream connection to which nothing more can be written, and on which one client has a channel.
fn stuck_connection(world: &mut World) -> (ClientId, UpstreamConnectionId) {
    let id = publisher(world);
    world.select_confirms(id, 1);
    let connection = first_connection(world);
    world.stuck.insert(connection);
    world.publish(id, 1, "", "q", &vec![0; (1 << 20) + 1]);
    (id, connection)
}

/// A disconnected client whose last words wait for room on this upstream connection.
fn gone_client(world: &mut World) -> (ClientId, UpstreamConnectionId) {
    let (_, connection) = stuck_connection(world);
    let id = publisher(world);
    world.publish(id, 1, "", "q", b"last words");
    world.board.client_ended(id, world.now_ms);
    (id, connection)
}

#[test]
fn a_client_that_waited_for_confirms_has_the_whole_timeout_for_room() {
    let mut world = hesitant_world(Options::default());
    let (id, other) = (publisher(&mut world), publisher(&mut world));
    for client in [id, other] {
        world.publish(client, 1, "", "q", b"x");
    }
    let connection = first_connection(&world);
    world.board.drain_connection(connection, world.now_ms);
    world.settle();
    world.publish(other, 1, "", "q", b"x");
    let third = publisher(&mut world);
    world.publish(third, 1, "", "q", b"x");
    let new = *world.brokers.keys().find(|new| **new != connection).unwrap();
    world.publish(id, 1, "", "q", b"waits for its confirm, to leave");
    world.pass_ms(100_000);
    world.is_reachable = false;
    world.cut(new);
    world.stuck.insert(connection);
    world.publish(other, 1, "", "q", &vec![0; (1 << 20) + 1]);
    world.brokers.get_mut(&connection).unwrap().confirm_first(1);
    world.settle();
    world.pass_ms(UPSTREAM_WAIT_MS - 500);
    assert!(!world.is_over(id));
}

#[test]
fn who_has_gone_does_not_wait_for_room_for_ever() {
    let mut world = hesitant_world(Options::default());
    let (id, connection) = gone_client(&mut world);
    world.pass_ms(119_500);
    assert!(!world.is_over(id));
    world.pass_ms(6_000);
    assert!(world.is_over(id));
    world.stuck.remove(&connection);
    world.settle();
    assert!(!world.bodies().contains(&"last words".to_owned()));
}

#[test]
fn who_has_gone_is_heard_out_after_a_long_wait_for_room() {
    let mut world = hesitant_world(Options::default());
    let (id, connection) = gone_client(&mut world);
    world.pass_ms(119_000);
    world.stuck.remove(&connection);
    world.settle();
    assert!(world.bodies().contains(&"last words".to_owned()));
    assert!(world.is_over(id));
}

#[test]
fn a_client_that_has_gone_has_the_whole_timeout_for_each_wait() {
    let mut world = hesitant_world(Options::default());
    let (id, other) = (publisher(&mut world), publisher(&mut world));
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    world.publish(id, 1, "", "q", b"x");
    world.publish(other, 1, "", "q", b"x");
    let (connection, calls) = (first_connection(&world), *world.brokers.keys().nth(1).unwrap());
    world.board.drain_connection(calls, world.now_ms);
    let third = publisher(&mut world);
    world.call(third, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    world.publish(id, 1, "", "q", b"last words");
    world.board.client_ended(id, world.now_ms);
    world.pass_ms(100_000);
    // It is let go on just when there is no room.
    world.stuck.insert(connection);
    world.publish(other, 1, "", "q", &vec![0; (1 << 20) + 1]);
    confirm(&mut world, calls);
    world.pass_ms(100_000);
    world.stuck.remove(&connection);
    world.settle();
    assert!(world.bodies().contains(&"last words".to_owned()));
}

#[test]
fn who_reads_slowly_after_a_long_wait_is_not_closed_for_that() {
    let mut world = hesitant_world(Options::default());
    let id = publisher(&mut world);
    world.deaf.insert(id);
    world.open_channel(id, 2);
    let long = [b'q'; 255];
    let get = basic::Get { queue: &long, no_ack: true, ..Default::default() };
    while world.board.client_output(id).len() < (1 << 20) - 600 {
        world.call(id, 2, &get);
    }
    world.is_far = true;
    world.call(id, 2, &get);
    world.publish(id, 1, "", "q", b"x");
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    world.pass_ms(100_000);
    world.arrive();
    assert!(world.board.client_output(id).len() > 1 << 20);
    let connection = first_connection(&world);
    world.is_far = false;
    confirm(&mut world, connection);
    world.pass_ms(UPSTREAM_WAIT_MS);
    world.deaf.clear();
    world.settle();
    assert!(world.heard(id).contains(&method(1, "queue.declare-ok")));
}

#[test]
fn what_a_client_said_before_its_socket_broke_is_done() {
    let mut world = hesitant_world(Options::default());
    let (_, connection) = stuck_connection(&mut world);
    let id = publisher(&mut world);
    world.deaf.insert(id);
    world.open_channel(id, 2);
    world.publish(id, 1, "", "q", b"last words");
    assert!(world.board.client_broke(id, world.now_ms) && world.board.client_output(id).is_empty());
    world.stuck.remove(&connection);
    world.settle();
    assert!(world.bodies().contains(&"last words".to_owned()));
    assert!(world.is_over(id));
    let idle = publisher(&mut world);
    assert!(!world.board.client_broke(idle, world.now_ms), "it has nothing to say");
}

#[test]
fn nobody_is_given_messages_over_a_broken_socket() {
    let mut world = World::new(Options::default());
    let id = publisher(&mut world);
    consume(&mut world, id);
    let own = *world.brokers.keys().last().unwrap();
    world.stuck.insert(own);
    for _ in 0..2 {
        world.publish(id, 1, "", "q", &vec![0; (1 << 20) + 1]);
    }
    assert!(!world.board.client_broke(id, world.now_ms), "it consumes");
    let id = publisher(&mut world);
    for is_far in [false, true, true] {
        world.is_far = is_far;
        world.call(id, 1, &basic::Get { queue: b"q", no_ack: true, ..Default::default() });
    }
    assert!(!world.board.client_broke(id, world.now_ms), "it gets");
}

#[test]
fn who_has_gone_does_not_wait_for_the_end_of_an_alarm() {
    let mut world = hesitant_world(Options::default());
    let (id, connection) = waiting_client(&mut world);
    world.brokers.get_mut(&connection).unwrap().send(0, &connection::Blocked { reason: b"low on memory" });
    world.settle();
    world.board.client_ended(id, world.now_ms);
    world.pass_ms(119_500);
    assert!(!world.is_over(id));
    world.pass_ms(6_000);
    assert!(world.is_over(id));
}

#[test]
fn nothing_more_is_said_to_who_has_gone() {
    let mut world = hesitant_world(Options::default());
    let id = world.join();
    let mut hello = crate::fixture::hello("u", crate::broker::PASSWORD, "/");
    let at = hello.windows(4).position(|bytes| bytes == [0, 10, 0, 31]).unwrap() + 10;
    hello[at..at + 2].copy_from_slice(&4u16.to_be_bytes());
    world.say(id, &hello);
    world.open_channel(id, 1);
    world.publish(id, 1, "", "q", b"x");
    consume(&mut world, id);
    world.board.client_ended(id, world.now_ms);
    world.deaf.insert(id);
    let connection = first_connection(&world);
    world.brokers.get_mut(&connection).unwrap().send(0, &connection::Blocked { reason: b"low on memory" });
    world.settle();
    world.pass_ms(60_000);
    assert!(world.board.client_output(id).is_empty(), "a heartbeat, or a word on the alarm");
}

#[test]
fn what_was_said_before_the_end_is_done_when_answers_can_be_written() {
    let mut world = hesitant_world(Options::default());
    let id = publisher(&mut world);
    world.deaf.insert(id);
    world.call(id, 1, &basic::Get { queue: &[b'q'; 255], no_ack: true, ..Default::default() });
    while world.board.client_output(id).len() <= 1 << 20 {
        world.call(id, 1, &basic::Get { queue: &[b'q'; 255], no_ack: true, ..Default::default() });
    }
    world.publish(id, 1, "", "q", b"last words");
    world.board.client_ended(id, world.now_ms);
    assert!(!world.is_over(id) && world.bodies().is_empty());
    world.deaf.clear();
    world.settle();
    assert_eq!(world.bodies(), ["last words"]);
    assert!(world.is_over(id));
}
