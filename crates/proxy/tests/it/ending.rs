//! Clients that disconnect, upstream connections that are lost, left or closed, and which clients are notified.

use amqp::method::{basic, queue};
use proxy::switchboard::{Notice, Options};

use crate::broker::{BrokerConnection, PASSWORD};
use crate::fixture::{Heard, World, ack, publisher, world};

#[test]
fn a_late_error_is_told_to_nobody_else() {
    let mut world = world();
    world.is_far = true;
    let first = world.join();
    world.say_hello(first, "u", PASSWORD, "/");
    for _ in 0..4 {
        world.arrive();
    }
    world.open_channel(first, 1);
    world.publish(first, 1, "missing", "of the first", b"x");
    world.leave(first);
    world.vanish(first);
    let second = world.open("u", PASSWORD, "/");
    world.open_channel(second, 1);
    world.publish(second, 1, "", "q", b"x");
    world.heard(second);
    for _ in 0..4 {
        world.arrive();
    }
    assert_eq!(world.heard(second), []);
    assert_eq!(world.board.counters().late_errors, 1);
    let expected = Notice::LateError {
        user: "u".to_owned(),
        vhost: "/".to_owned(),
        code: 404,
        text: "NOT_FOUND - of the first".to_owned(),
    };
    assert_eq!(world.notices, [expected]);
}

#[test]
fn an_error_of_who_has_gone_is_counted_also_where_it_did_more_than_publish() {
    let mut world = world();
    let id = publisher(&mut world);
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    world.is_far = true;
    world.publish(id, 1, "missing", "mine", b"x");
    world.vanish(id);
    world.is_far = false;
    world.settle();
    assert_eq!(world.board.counters().late_errors, 1);
}

#[test]
fn what_is_lost_of_clients_who_have_gone_is_counted() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    world.vanish(id);
    let connection = *world.brokers.keys().next().unwrap();
    world.cut(connection);
    assert_eq!(world.board.counters().late_losses, 1);
}

#[test]
fn channels_that_nobody_confirms_are_given_up_in_time() {
    let mut world = World::new(Options { upstream_heartbeat_s: 0, ..Options::default() });
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    world.vanish(id);
    world.pass_ms(119_000);
    assert_eq!(world.only_broker().channel_count(), 1);
    world.pass_ms(2_000);
    assert_eq!(world.only_broker().channel_count(), 0);
    assert_eq!(world.board.counters().late_losses, 1);
    assert!(matches!(&world.notices[..], [Notice::Unconfirmed { count: 1, .. }]), "{:?}", world.notices);
}

#[test]
fn a_lost_connection_is_told_to_those_who_had_something_on_it() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let (busy, idle, silent) = (publisher(&mut world), publisher(&mut world), publisher(&mut world));
    world.select_confirms(idle, 1);
    world.publish(idle, 1, "", "q", b"idle");
    world.only_broker().confirm(1, false);
    world.settle();
    world.publish(busy, 1, "", "q", b"busy");
    world.heard(idle);
    let connection = *world.brokers.keys().next().unwrap();
    world.cut(connection);
    let text = "CONNECTION_FORCED - the upstream connection was lost: cut".to_owned();
    assert_eq!(world.heard(busy), [Heard::ConnectionClosed { code: 320, text }]);
    assert_eq!((world.heard(idle), world.heard(silent)), (vec![], vec![]));
    world.publish(idle, 1, "", "q", b"again");
    world.only_broker().confirm(1, false);
    world.settle();
    assert_eq!(world.heard(idle), [ack(1, 2)], "it goes on over another connection, and goes on counting");
}

#[test]
fn the_upstreams_reason_is_told_as_it_is() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let busy = publisher(&mut world);
    world.publish(busy, 1, "", "q", b"busy");
    world.only_broker().close(320, b"CONNECTION_FORCED - Closed via management plugin");
    world.settle();
    let text = "CONNECTION_FORCED - Closed via management plugin".to_owned();
    assert_eq!(world.heard(busy), [Heard::ConnectionClosed { code: 320, text }]);
}

#[test]
fn connections_that_nobody_uses_are_closed_but_for_one() {
    let mut world = World::new(Options { upstream_channel_max: 1, pool_idle_ms: 60_000, ..Options::default() });
    let clients: Vec<_> = (0..4).map(|_| publisher(&mut world)).collect();
    for id in &clients {
        world.publish(*id, 1, "", "q", b"x");
    }
    assert_eq!(world.bodies().len(), 4);
    assert_eq!(world.brokers.len(), 4);
    for id in clients {
        world.vanish(id);
    }
    world.pass_ms(6_000);
    assert_eq!(world.brokers.len(), 1);
    world.pass_ms(60_000);
    assert_eq!(world.brokers.len(), 0);
}

#[test]
fn a_draining_connection_is_left_as_soon_as_nothing_is_under_way() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let (busy, idle) = (publisher(&mut world), publisher(&mut world));
    world.select_confirms(idle, 1);
    world.publish(idle, 1, "", "q", b"idle");
    world.only_broker().confirm(1, false);
    world.settle();
    world.publish(busy, 1, "", "q", b"busy");
    let connection = *world.brokers.keys().next().unwrap();
    world.board.drain_connection(connection, world.now_ms);
    world.settle();
    world.heard(idle);
    world.publish(idle, 1, "", "q", b"elsewhere");
    assert_eq!(world.brokers.len(), 2);
    for broker in world.brokers.values_mut() {
        broker.confirm(1, false);
    }
    world.settle();
    world.pass_ms(500);
    assert!(!world.brokers.contains_key(&connection), "it is closed");
    assert_eq!((world.heard(busy), world.heard(idle)), (vec![], vec![ack(1, 2)]));
}

/// A client that publishes without end always has something unconfirmed.
#[test]
fn who_always_has_something_under_way_leaves_a_draining_connection_too() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"one");
    let connection = *world.brokers.keys().next().unwrap();
    world.board.drain_connection(connection, world.now_ms);
    world.settle();
    // Another upstream connection is opened, for this one has no more room.
    world.publish(id, 1, "", "q", b"two");
    assert_eq!(world.brokers[&connection].published.len(), 2, "there was no other connection");
    world.publish(id, 1, "", "q", b"three");
    assert_eq!(world.bodies().len(), 2, "it waits until what is under way is confirmed");
    world.brokers.get_mut(&connection).unwrap().confirm(2, true);
    world.settle();
    assert_eq!(world.brokers[&connection].published.len(), 2);
    world.pass_ms(500);
    assert_eq!(world.bodies(), ["three"]);
    assert!(!world.brokers.contains_key(&connection), "no client is left there");
}

#[test]
fn who_waits_for_room_on_a_draining_connection_goes_elsewhere() {
    let mut world = world();
    let busy = publisher(&mut world);
    let connection = *world.brokers.keys().next().unwrap();
    world.stuck.insert(connection);
    world.publish(busy, 1, "", "q", &vec![0; (1 << 20) + 1]);
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"elsewhere");
    world.board.drain_connection(connection, world.now_ms);
    world.settle();
    world.pass_ms(500);
    assert_eq!(world.bodies(), ["elsewhere"]);
    assert_eq!(world.heard(id), []);
}

#[test]
fn a_connection_that_is_drained_is_replaced_also_where_there_may_be_no_more() {
    let mut world = World::new(Options { upstream_connection_max: 1, ..Options::default() });
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"one");
    let connection = *world.brokers.keys().next().unwrap();
    world.board.drain_connection(connection, world.now_ms);
    world.board.drain_connection(connection, world.now_ms);
    world.publish(id, 1, "", "q", b"two");
    world.publish(id, 1, "", "q", b"three");
    assert_eq!(world.brokers.len(), 2);
    world.brokers.get_mut(&connection).unwrap().confirm(2, true);
    world.settle();
    world.pass_ms(500);
    assert_eq!(world.bodies(), ["three"]);
    assert_eq!(world.board.upstream_connection_count(), 1, "no client is left there");
    let consumer = publisher(&mut world);
    world.call(consumer, 1, &basic::Consume { queue: b"mine", ..Default::default() });
    world.pass_ms(5_000);
    assert_eq!(world.board.upstream_connection_count(), 1, "the other one counts");
}

#[test]
fn what_a_client_said_before_its_end_is_done() {
    let mut world = World::new(Options { upstream_wait_ms: 2_000, ..Options::default() });
    let [first, second] = [(); 2].map(|()| publisher(&mut world));
    let connection = *world.brokers.keys().next().unwrap();
    world.is_reachable = false;
    world.cut(connection);
    for id in [first, second] {
        world.publish(id, 1, "", "q", b"last words");
        world.board.client_ended(id, world.now_ms);
        assert!(!world.is_over(id) && !world.board.client_wants(id).read);
    }
    world.is_reachable = true;
    world.settle();
    assert_eq!(world.bodies(), ["last words"; 2]);
    assert!(world.is_over(first) && world.is_over(second));
    let idle = publisher(&mut world);
    world.board.client_ended(idle, world.now_ms);
    assert!(world.is_over(idle), "it has nothing to say");
    let stranger = world.join();
    world.is_reachable = false;
    world.say_hello(stranger, "another", PASSWORD, "/");
    world.board.client_ended(stranger, world.now_ms);
    assert!(world.is_over(stranger), "no client waits for its login");
}

#[test]
fn what_a_client_said_before_its_end_is_not_kept_for_ever() {
    let mut world = World::new(Options { upstream_wait_ms: 2_000, ..Options::default() });
    let id = publisher(&mut world);
    let connection = *world.brokers.keys().next().unwrap();
    world.is_reachable = false;
    world.cut(connection);
    world.publish(id, 1, "", "q", b"last words");
    world.board.client_ended(id, world.now_ms);
    world.pass_ms(8_000);
    assert!(world.is_over(id));
}

#[test]
fn an_error_that_crosses_its_clients_close_is_told_in_the_log() {
    let mut world = world();
    let id = publisher(&mut world);
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    world.is_far = true;
    world.publish(id, 1, "missing", "q", b"x");
    world.call(id, 1, &amqp::method::channel::Close::default());
    world.is_far = false;
    world.settle();
    let errors = world.notices.iter().filter(|notice| matches!(notice, Notice::LateError { code: 404, .. })).count();
    assert_eq!((errors, world.board.counters().late_errors), (1, 1), "{:?}", world.notices);
}

#[test]
fn clients_are_told_why_all_ends_and_connections_go_when_all_is_confirmed() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    let refusal = proxy::switchboard::Refusal::new(amqp::ReplyCode::ConnectionForced, "the proxy stops");
    world.board.close_clients(&refusal, world.now_ms);
    world.settle();
    let text = "CONNECTION_FORCED - the proxy stops".to_owned();
    assert_eq!(world.heard(id), [Heard::ConnectionClosed { code: 320, text }]);
    assert!(!world.board.close_connections(world.now_ms), "a publish is not confirmed");
    world.only_broker().confirm(1, false);
    world.settle();
    assert!(world.board.close_connections(world.now_ms));
    world.settle();
    assert_eq!(world.board.upstream_connection_count(), 0);
}
