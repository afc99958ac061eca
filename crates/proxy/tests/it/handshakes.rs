//! Which clients are let in, and which upstream decides that.

use amqp::TableBuf;
use amqp::frame::put_method;
use amqp::method::{basic, connection};
use proxy::switchboard::{ClientId, Notice, Options};

use crate::broker::{BrokerConnection, PASSWORD};
use crate::fixture::{Heard, World, hello_with};

fn refused(code: u16, text: &str) -> Vec<Heard> {
    vec![Heard::ConnectionClosed { code, text: text.to_owned() }]
}

#[test]
fn a_login_is_the_upstreams_to_judge() {
    let mut world = World::new(Options::default());
    let wrong = world.open("u", b"wrong", "/");
    assert_eq!(world.heard(wrong), refused(403, "ACCESS_REFUSED - no"));
    assert!(matches!(&world.notices[..], [Notice::LoginRefused { user, .. }] if user == "u"), "{:?}", world.notices);
    let right = world.open("u", PASSWORD, "/");
    assert_eq!(world.heard(right), []);
    world.open_channel(right, 1);
    assert_eq!(world.heard(right), [Heard::Method(1, "channel.open-ok".to_owned())]);
    let wrong = world.open("u", b"wrong", "/");
    assert_eq!(
        world.heard(wrong),
        refused(403, "ACCESS_REFUSED - no"),
        "what is known of one password says nothing of another"
    );
}

#[test]
fn a_vhost_is_the_upstreams_to_judge() {
    let mut world = World::new(Options::default());
    let id = world.open("u", PASSWORD, "nowhere");
    assert_eq!(world.heard(id), refused(530, "NOT_ALLOWED - vhost"));
    assert!(world.board.upstream_connection_count() <= 1);
}

#[test]
fn what_was_good_lately_is_not_asked_again() {
    let mut world = World::new(Options::default());
    world.open("u", PASSWORD, "/");
    assert_eq!(world.dialled, 1, "the line that checked the login is the pool's first");
    world.is_reachable = false;
    let second = world.open("u", PASSWORD, "/");
    world.open_channel(second, 1);
    assert_eq!(world.heard(second), [Heard::Method(1, "channel.open-ok".to_owned())]);
    // Another vhost, or another password, is another matter.
    let other = world.open("u", PASSWORD, "other");
    let wrong = world.open("u", b"wrong", "/");
    assert!(world.heard(other).is_empty() && world.heard(wrong).is_empty());
    assert_eq!(world.board.client_count(), 4);
}

#[test]
fn an_acceptance_is_forgotten_in_time_and_renewed_before() {
    let options = Options { login_fresh_ms: 10_000, pool_idle_ms: 1, ..Options::default() };
    let mut world = World::new(options);
    let first = world.open("u", PASSWORD, "/");
    world.leave(first);
    world.vanish(first);
    world.pass_ms(11_000);
    assert_eq!(world.board.upstream_connection_count(), 0);
    world.is_reachable = false;
    let second = world.join();
    world.say_hello(second, "u", PASSWORD, "/");
    assert_eq!(world.dialled, 2, "it is asked again");
    world.is_reachable = true;
    world.settle();
    world.open_channel(second, 1);
    assert_eq!(world.heard(second).len(), 1);
    world.pass_ms(6_000);
    let third = world.open("u", PASSWORD, "/");
    assert_eq!(world.heard(third), [], "it need not wait");
    assert_eq!(world.dialled, 3, "and none after it");
    assert_eq!(world.board.upstream_connection_count(), 1, "the connection that asked is closed again");
}

#[test]
fn many_who_come_at_once_ask_once() {
    let mut world = World::new(Options::default());
    world.is_reachable = false;
    let clients: Vec<_> = (0..100).map(|_| world.open("u", PASSWORD, "/")).collect();
    assert_eq!(world.dialled, 1);
    world.is_reachable = true;
    world.settle();
    for id in clients {
        world.open_channel(id, 1);
        assert_eq!(world.heard(id), [Heard::Method(1, "channel.open-ok".to_owned())]);
    }
    assert_eq!(world.dialled, 1);
}

#[test]
fn nobody_is_kept_waiting_for_ever() {
    let mut world = World::new(Options::default());
    world.is_reachable = false;
    let id = world.open("u", PASSWORD, "/");
    world.pass_ms(15_500);
    assert_eq!(world.heard(id), refused(320, "CONNECTION_FORCED - no upstream connection within 15 s"));
    world.pass_ms(5_500);
    assert!(world.is_over(id), "it has not agreed, and is gone all the same");
}

#[test]
fn who_waits_for_an_upstream_in_vain_is_told_why_and_so_is_the_log() {
    let mut world = World::new(Options { upstream_wait_ms: 1_500, ..Options::default() });
    world.is_reachable = false;
    let ids = [(); 2].map(|()| world.open("u", PASSWORD, "/"));
    world.last_error("it is asleep");
    world.pass_ms(1_500);
    let text = "no upstream connection within 1.5 s: it is asleep".to_owned();
    for id in ids {
        // A client that is not logged in yet does not learn where upstreams are.
        let told = "CONNECTION_FORCED - no upstream connection within 1.5 s: the proxy's log contains the reason";
        assert_eq!(world.heard(id), refused(320, told));
    }
    let Some(Notice::GaveUp { user, text: told, count }) = world.notices.pop() else { panic!("{:?}", world.notices) };
    assert_eq!((&*user, told, count), ("u", text, 2));
    assert!(world.notices.is_empty(), "{:?}", world.notices);
}

#[test]
fn who_waits_in_vain_for_his_login_and_cannot_be_told_is_only_closed() {
    let mut world = World::new(Options::default());
    world.is_reachable = false;
    let id = world.join();
    world.say(id, &hello_with(&TableBuf::new(), "u", PASSWORD, "/"));
    world.pass_ms(15_000);
    assert!(world.is_over(id));
    assert_eq!(world.heard(id), []);
    assert!(matches!(&world.notices[..], [Notice::GaveUp { .. }]), "{:?}", world.notices);
}

#[test]
fn a_reason_is_told_that_an_upstream_gave_for_a_connection_of_ones_own() {
    let mut world = World::new(Options::default());
    let id = world.open("u", PASSWORD, "/");
    world.open_channel(id, 1);
    world.is_reachable = false;
    world.call(id, 1, &basic::Consume { queue: b"q", ..Default::default() });
    world.last_error("it is asleep");
    world.heard(id);
    world.pass_ms(15_000);
    assert_eq!(world.heard(id), refused(320, "CONNECTION_FORCED - no upstream connection within 15 s: it is asleep"));
}

#[test]
fn the_words_are_told_with_which_an_upstream_refuses_all_connections_of_ones_own() {
    let mut world = World::new(Options::default());
    let id = world.open("u", PASSWORD, "/");
    world.open_channel(id, 1);
    world.heard(id);
    world.new_broker =
        || BrokerConnection::refusing(530, "NOT_ALLOWED - connection refused: node connection limit (1) is reached");
    world.call(id, 1, &basic::Consume { queue: b"q", ..Default::default() });
    world.pass_ms(15_000);
    let text = "CONNECTION_FORCED - no upstream connection within 15 s: \
                the upstream hung up";
    assert_eq!(world.heard(id), refused(320, text));
}

#[test]
fn who_says_nothing_is_closed() {
    let mut world = World::new(Options::default());
    let id = world.join();
    world.say(id, b"AMQP");
    world.pass_ms(10_500);
    assert!(world.is_over(id));
}

#[test]
fn another_protocol_is_answered_with_ours() {
    let mut world = World::new(Options::default());
    let id = world.board.client_joined(world.now_ms);
    world.board.client_received(id, b"AMQP\x03\x01\x00\x00", world.now_ms);
    assert_eq!(world.board.client_output(id), b"AMQP\x00\x00\x09\x01");
    assert!(world.board.client_wants(id).close);
}

#[test]
fn a_new_secret_is_the_upstreams_to_judge() {
    let mut world = World::new(Options::default());
    let (other, id) = (world.open("u", PASSWORD, "/"), world.open("u", PASSWORD, "/"));
    world.open_channel(id, 1);
    world.publish(id, 1, "", "q", b"before");
    world.heard(id);
    world.call(id, 0, &connection::UpdateSecret { new_secret: b"new", reason: b"" });
    assert_eq!(world.heard(id), [Heard::Method(0, "connection.update-secret-ok".to_owned())]);
    let secrets: Vec<_> = world.brokers.values().map(|broker| broker.secrets.clone()).collect();
    assert_eq!(secrets, [vec![], vec![b"new".to_vec()]], "it is told on a connection of its own");
    assert_eq!(world.heard(other), []);
}

/// A client that wants a heartbeat each 4 seconds.
fn beating(world: &mut World) -> ClientId {
    let id = world.join();
    let mut hello = crate::fixture::hello("u", PASSWORD, "/");
    let at = hello.windows(4).position(|bytes| bytes == [0, 10, 0, 31]).unwrap() + 10;
    hello[at..at + 2].copy_from_slice(&4u16.to_be_bytes());
    world.say(id, &hello);
    id
}

#[test]
fn heartbeats_are_kept_with_each_side() {
    let mut world = World::new(Options { client_heartbeat_s: 0, ..Options::default() });
    let id = beating(&mut world);
    for _ in 0..4 {
        world.pass_ms(4_000);
        world.say(id, &amqp::frame::HEARTBEAT_FRAME);
    }
    assert!(!world.is_over(id));
    world.pass_ms(8_500);
    assert!(world.is_over(id), "two of them did not come");
}

#[test]
fn who_is_not_listened_to_for_a_while_is_not_silent() {
    let mut world = World::new(Options::default());
    let id = beating(&mut world);
    world.board.client_paused(id, true, world.now_ms);
    world.pass_ms(30_000);
    world.board.client_paused(id, false, world.now_ms);
    world.pass_ms(7_500);
    assert!(!world.is_over(id));
    world.pass_ms(1_000);
    assert!(world.is_over(id));
}

#[test]
fn a_user_without_room_is_told_so() {
    let mut world = World::new(Options { asks_for_clients: true, ..Options::default() });
    let id = world.open("unwelcome", PASSWORD, "/");
    assert_eq!(world.heard(id), refused(530, "NOT_ALLOWED - no room"));
    let id = world.open("u", PASSWORD, "/");
    assert_eq!(world.heard(id), []);
}

#[test]
fn an_upstream_that_says_nothing_is_left() {
    let mut world = World::new(Options::default());
    world.is_far = true;
    let id = world.open("u", PASSWORD, "/");
    let before = world.dialled;
    for broker in world.brokers.values_mut() {
        broker.output.clear();
    }
    world.pass_ms(5_500);
    assert_eq!(world.dialled, before + 1, "another is tried");
    world.is_far = false;
    world.settle();
    assert_eq!(world.heard(id), []);
}

#[test]
fn logins_are_renewed_where_there_may_be_no_more_connections() {
    let options =
        Options { login_fresh_ms: 10_000, pool_connection_max: 1, upstream_connection_max: 1, ..Options::default() };
    let mut world = World::new(options);
    world.open("u", PASSWORD, "/");
    for _ in 0..4 {
        world.pass_ms(11_000);
        let id = world.open("u", PASSWORD, "/");
        world.open_channel(id, 1);
        assert_eq!(world.heard(id).len(), 1);
        assert_eq!(world.board.upstream_connection_count(), 1);
    }
}

#[test]
fn a_limit_of_the_upstream_says_nothing_of_the_login() {
    let options = Options { login_fresh_ms: 10_000, ..Options::default() };
    let mut world = World::new(options);
    world.open("u", PASSWORD, "/");
    world.new_broker = BrokerConnection::full;
    world.pass_ms(11_000);
    let id = world.open("u", PASSWORD, "/");
    world.open_channel(id, 1);
    assert_eq!(world.heard(id), [Heard::Method(1, "channel.open-ok".to_owned())]);
}

const NODE_IS_FULL: &str = "NOT_ALLOWED - connection refused: node connection limit (1) is reached";

#[test]
fn clients_wait_for_another_upstream_while_one_lets_nobody_in() {
    let mut world = World::new(Options::default());
    world.new_broker = || BrokerConnection::refusing(530, NODE_IS_FULL);
    let id = world.open("u", PASSWORD, "/");
    assert_eq!(world.heard(id), []);
    world.new_broker = BrokerConnection::new;
    world.pass_ms(1_000);
    world.open_channel(id, 1);
    assert_eq!(world.heard(id), [Heard::Method(1, "channel.open-ok".to_owned())]);
}

#[test]
fn upstream_of_a_clients_own_is_opened_elsewhere_while_an_upstream_lets_nobody_in() {
    let mut world = World::new(Options::default());
    let id = world.open("u", PASSWORD, "/");
    world.open_channel(id, 1);
    world.heard(id);
    world.new_broker = || BrokerConnection::refusing(320, "CONNECTION_FORCED - shutdown");
    world.call(id, 1, &basic::Consume { queue: b"q", ..Default::default() });
    world.pass_ms(1_000);
    assert_eq!(world.heard(id), []);
    world.new_broker = BrokerConnection::new;
    world.pass_ms(1_000);
    assert_eq!(world.heard(id).first(), Some(&Heard::Method(1, "basic.consume-ok".to_owned())));
}

#[test]
fn logins_may_be_asked_for_each_time() {
    let mut world = World::new(Options { login_fresh_ms: 0, ..Options::default() });
    for _ in 0..3 {
        let before = world.dialled;
        let id = world.open("u", PASSWORD, "/");
        world.open_channel(id, 1);
        assert_eq!(world.heard(id), [Heard::Method(1, "channel.open-ok".to_owned())]);
        assert!(world.dialled > before);
    }
}

#[test]
fn the_socket_of_a_client_that_has_closed_is_its_own_to_close() {
    let mut world = World::new(Options::default());
    let mut close = Vec::new();
    put_method(&mut close, 0, &connection::Close { reply_code: 200, ..Default::default() });
    let mut close_ok = Vec::new();
    put_method(&mut close_ok, 0, &connection::CloseOk);
    let ids = [(); 2].map(|()| {
        let id = world.board.client_joined(world.now_ms);
        world.board.client_received(id, b"AMQP\0\0\x09\x01", world.now_ms);
        world.board.client_received(id, &close, world.now_ms);
        assert!(world.board.client_output(id).ends_with(&close_ok));
        id
    });
    let is_read = |world: &World, id| world.board.client_wants(id).read && !world.board.client_wants(id).close;
    let len = world.board.client_output(ids[0]).len();
    world.board.client_received(ids[0], &close, world.now_ms);
    assert_eq!(world.board.client_output(ids[0])[len..], close_ok, "and once more, if it asks again");
    world.board.client_received(ids[0], b"what it still had to say", world.now_ms);
    assert!(is_read(&world, ids[0]) && is_read(&world, ids[1]));
    world.board.client_ended(ids[0], world.now_ms);
    assert!(world.board.client_wants(ids[0]).close);
    world.pass_ms(29_500);
    assert!(is_read(&world, ids[1]));
    world.pass_ms(1_000);
    assert!(world.board.client_wants(ids[1]).close, "it is not waited for for ever");
}
