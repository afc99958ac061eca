//! What publishers say while their upstream is away is kept.

use std::path::PathBuf;
use std::sync::Arc;

use amqp::method::{basic, channel, confirm, connection, queue};
use proxy::spool::{self, NextPublish, Spool};
use proxy::switchboard::{ClientId, Options};
use store::file::SimDisk;

use crate::broker::{BrokerConnection, PASSWORD};
use crate::fixture::{Heard, World};

/// A world with a spool, whose only upstream was there once for a user `u`, and is not now.
fn away(len_max: u64) -> (World, Arc<Spool>) {
    let options = spool::Options { dir: PathBuf::from("/spool"), len_max, age_max_ms: None, login_fresh_ms: 600_000 };
    let spool = Spool::open(options, Arc::new(SimDisk::new(1))).unwrap();
    warm_up(&spool);
    let mut world = World::new(Options { login_fresh_ms: 5_000, upstream_heartbeat_s: 0, ..Options::default() });
    world.board.set_spool(spool.clone());
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"before");
    world.leave(id);
    world.vanish(id);
    go_away(&mut world);
    (world, spool)
}

/// What [`warm_up`] keeps.
const WARM_UP_COUNT: u64 = 1;

/// Has the first files made, so that no time has to pass for that later.
fn warm_up(spool: &Spool) {
    while spool.is_full() {
        std::thread::yield_now();
    }
    spool.keep("warm", "/", &[b"x"], 0).unwrap();
    spool.accepted("warm", b"s", "/", 0);
    let job = spool.claim(0).unwrap();
    let NextPublish::Publish(seq, _) = spool.take(job.spool_queue) else { panic!("it was kept") };
    spool.settle(job.spool_queue, &[seq], false, 0);
    spool.release(job.spool_queue, Ok(()), 0);
    while spool.report().unwritten_len > 0 || spool.is_full() {
        std::thread::yield_now();
    }
}

fn go_away(world: &mut World) {
    world.is_reachable = false;
    let connections: Vec<_> = world.brokers.keys().copied().collect();
    connections.into_iter().for_each(|connection| world.cut(connection));
}

fn come_back(world: &mut World) {
    world.is_reachable = true;
    world.pass_ms(500);
}

fn publisher(world: &mut World) -> ClientId {
    let id = world.open("u", PASSWORD, "/");
    world.open_channel(id, 1);
    world.heard(id);
    id
}

fn publish(world: &mut World, id: ClientId, body: &str) {
    world.publish(id, 1, "", "q", body.as_bytes());
}

/// The same, and a publisher of which the message `1` was kept.
fn one_kept() -> (World, Arc<Spool>, ClientId) {
    let (mut world, spool) = away(1 << 20);
    let id = publisher(&mut world);
    publish(&mut world, id, "1");
    world.pass_ms(1_000);
    (world, spool, id)
}

/// Bodies on the queue of `u` at `/`, which are sent on by this.
fn send_on(world: &mut World, spool: &Spool) -> Vec<String> {
    let job = spool.claim(world.now_ms).expect("there is something, and a user to send it on for");
    assert_eq!((&*job.user, &*job.secret, &*job.vhost), ("u", PASSWORD, "/"));
    let mut bodies = Vec::new();
    while let NextPublish::Publish(seq, publish) = spool.take(job.spool_queue) {
        let frames = publish.frames();
        // The body is the last frame: 7 bytes before it, one after it.
        let (mut at, mut body) = (0, &frames[..0]);
        while at < frames.len() {
            let len = u32::from_be_bytes(frames[at + 3..at + 7].try_into().unwrap()) as usize;
            body = &frames[at + 7..at + 7 + len];
            at += len + 8;
        }
        bodies.push(String::from_utf8(body.to_vec()).unwrap());
        spool.settle(job.spool_queue, &[seq], false, world.now_ms);
    }
    spool.release(job.spool_queue, Ok(()), world.now_ms);
    world.board.spool_changed(world.now_ms);
    world.settle();
    bodies
}

#[test]
fn a_publish_waits_for_a_moment_and_is_kept() {
    let (mut world, spool) = away(1 << 20);
    let id = publisher(&mut world);
    publish(&mut world, id, "1");
    publish(&mut world, id, "2");
    world.pass_ms(500);
    assert_eq!(spool.report().count(), 0, "it may come back at any moment");
    world.pass_ms(500);
    assert_eq!(spool.report().count(), 2);
    publish(&mut world, id, "3");
    assert_eq!(spool.report().count(), 3, "now it is known to be away");
    let other = publisher(&mut world);
    publish(&mut world, other, "4");
    world.leave(other);
    assert_eq!(world.heard(other), [Heard::Method(0, "connection.close-ok".to_owned())]);
    world.pass_ms(60_000);
    assert!(!world.is_over(id), "nothing is asked of the upstream");
    assert_eq!(spool.report().counters.kept, WARM_UP_COUNT + 4);
    assert_eq!(send_on(&mut world, &spool), ["1", "2", "3", "4"]);
}

#[test]
fn what_comes_later_stays_behind_what_was_kept() {
    let (mut world, spool, id) = one_kept();
    come_back(&mut world);
    publish(&mut world, id, "2");
    let other = publisher(&mut world);
    publish(&mut world, other, "3");
    assert_eq!((world.bodies(), spool.report().count()), (vec![], 3), "no forwarder has sent on what was kept");
    assert_eq!(send_on(&mut world, &spool), ["1", "2", "3"]);
    publish(&mut world, id, "4");
    assert_eq!((world.bodies(), spool.report().count()), (vec!["4".to_owned()], 0), "the usual way again");
}

#[test]
fn who_would_be_the_last_waits_for_the_end() {
    let (mut world, spool, id) = one_kept();
    come_back(&mut world);
    let job = spool.claim(world.now_ms).unwrap();
    spool.sends(job.spool_queue, world.now_ms);
    let NextPublish::Publish(seq, _) = spool.take(job.spool_queue) else { panic!("there is one") };
    publish(&mut world, id, "2");
    assert_eq!((world.bodies(), spool.report().count()), (vec![], 1));
    spool.settle(job.spool_queue, &[seq], false, world.now_ms);
    world.board.spool_changed(world.now_ms);
    world.settle();
    assert_eq!((world.bodies(), spool.report().count()), (vec!["2".to_owned()], 0));
}

#[test]
fn who_waits_for_the_end_is_kept_if_the_upstream_goes_again() {
    let (mut world, spool, id) = one_kept();
    come_back(&mut world);
    let job = spool.claim(world.now_ms).unwrap();
    spool.sends(job.spool_queue, world.now_ms);
    publish(&mut world, id, "2");
    assert_eq!(spool.report().count(), 1);
    go_away(&mut world);
    spool.release(job.spool_queue, Err("it is gone".to_owned()), world.now_ms);
    world.board.spool_changed(world.now_ms);
    world.settle();
    assert_eq!(spool.report().count(), 2);
    assert!(!world.is_over(id));
}

#[test]
fn who_wants_confirms_waits_as_without_a_spool() {
    let (mut world, spool) = away(1 << 20);
    let id = publisher(&mut world);
    world.select_confirms(id, 1);
    world.heard(id);
    publish(&mut world, id, "to be confirmed");
    world.pass_ms(14_500);
    assert_eq!((world.heard(id), spool.report().count()), (vec![], 0));
    world.pass_ms(1_000);
    let text = "CONNECTION_FORCED - no upstream connection within 15 s".to_owned();
    assert_eq!(world.heard(id), [Heard::ConnectionClosed { code: 320, text }]);
    assert_eq!(spool.report().count(), 0);
}

#[test]
fn a_channel_says_nothing_else_before_what_was_kept_of_it_is_sent_on() {
    let (mut world, spool, id) = one_kept();
    world.call(id, 1, &confirm::Select { no_wait: false });
    publish(&mut world, id, "2");
    world.call(id, 1, &queue::Declare { queue: b"q", durable: true, ..Default::default() });
    come_back(&mut world);
    assert_eq!((world.heard(id), world.bodies()), (vec![], vec![]));
    assert_eq!(send_on(&mut world, &spool), ["1"]);
    let select_ok = Heard::Method(1, "confirm.select-ok".to_owned());
    let ack = Heard::Ack { channel: 1, tag: 1, is_multiple: false };
    assert_eq!(world.heard(id), [select_ok, ack, Heard::Method(1, "queue.declare-ok".to_owned())]);
    assert_eq!(world.bodies(), ["2"]);
}

#[test]
fn another_channel_is_not_held_back() {
    let (mut world, spool, id) = one_kept();
    come_back(&mut world);
    world.open_channel(id, 2);
    world.call(id, 2, &queue::Declare { queue: b"q", durable: true, ..Default::default() });
    let heard = ["channel.open-ok", "queue.declare-ok"].map(|name| Heard::Method(2, name.to_owned()));
    assert_eq!((world.heard(id), spool.report().count()), (heard.to_vec(), 1));
}

#[test]
fn a_client_gets_no_connection_of_its_own_before_what_was_kept_of_it_is_sent_on() {
    let (mut world, spool, id) = one_kept();
    come_back(&mut world);
    world.open_channel(id, 2);
    world.heard(id);
    world.call(id, 2, &basic::Consume { queue: b"q", consumer_tag: b"c", ..Default::default() });
    publish(&mut world, id, "2");
    assert_eq!((world.heard(id), world.bodies()), (vec![], vec![]));
    assert_eq!(send_on(&mut world, &spool), ["1"]);
    assert_eq!(world.heard(id)[0], Heard::Method(2, "basic.consume-ok".to_owned()));
    assert_eq!(world.bodies(), ["2"]);
}

#[test]
fn who_does_not_stay_has_a_connection_dialled_all_the_same() {
    let (mut world, spool) = away(1 << 20);
    let first = publisher(&mut world);
    publish(&mut world, first, "1");
    world.pass_ms(1_000);
    world.vanish(first);
    world
        .wanted
        .drain(..)
        .for_each(|connection| world.board.upstream_lost(connection, "no broker is there", world.now_ms));
    let second = publisher(&mut world);
    publish(&mut world, second, "2");
    world.vanish(second);
    assert_eq!((spool.report().count(), world.wanted.len()), (2, 1));
}

#[test]
fn a_channel_can_be_closed_with_something_kept() {
    let (mut world, _spool, id) = one_kept();
    world.call(id, 1, &channel::Close::default());
    assert_eq!(world.heard(id), [Heard::Method(1, "channel.close-ok".to_owned())]);
}

#[test]
fn who_finds_no_room_waits_for_some() {
    let (mut world, spool) = away(500);
    let id = publisher(&mut world);
    for number in 0..5 {
        publish(&mut world, id, &format!("{number}{}", "x".repeat(100)));
    }
    world.pass_ms(1_000);
    let count = spool.report().count() as usize;
    assert!((1..5).contains(&count) && !world.is_over(id));
    come_back(&mut world);
    assert_eq!(send_on(&mut world, &spool).len(), count);
    let rest: Vec<String> = world.bodies().into_iter().map(|body| body[..1].to_owned()).collect();
    assert_eq!(rest, ["0", "1", "2", "3", "4"][count..]);
}

#[test]
fn who_finds_no_room_for_too_long_is_told_so() {
    let (mut world, _spool) = away(100);
    let id = publisher(&mut world);
    publish(&mut world, id, &"x".repeat(200));
    world.pass_ms(16_000);
    let text = "CONNECTION_FORCED - the spool is full, and no upstream connection was available within 15 s".to_owned();
    assert_eq!(world.heard(id), [Heard::ConnectionClosed { code: 320, text }]);
}

#[test]
fn a_login_that_was_seen_is_believed_for_longer_while_nobody_can_be_asked() {
    let (mut world, spool) = away(1 << 20);
    world.pass_ms(60_000);
    let id = world.open("u", PASSWORD, "/");
    world.open_channel(id, 1);
    publish(&mut world, id, "1");
    assert_eq!(world.heard(id), [], "it is asked first");
    world.pass_ms(3_000);
    assert_eq!((world.heard(id), spool.report().count()), (vec![Heard::Method(1, "channel.open-ok".to_owned())], 1));
    // The next publisher does not wait: its login is known by now.
    let next = publisher(&mut world);
    publish(&mut world, next, "2");
    assert_eq!(spool.report().count(), 2);
    for (user, password, vhost) in [("u", &b"wrong"[..], "/"), ("v", PASSWORD, "/"), ("u", PASSWORD, "elsewhere")] {
        let stranger = world.open(user, password, vhost);
        world.open_channel(stranger, 1);
        world.pass_ms(14_000);
        assert_eq!(world.heard(stranger), [], "{user} {password:?} {vhost}");
        world.pass_ms(4_000);
        assert!(matches!(world.heard(stranger)[..], [Heard::ConnectionClosed { code: 320, .. }]));
    }
    world.pass_ms(600_000);
    let late = world.open("u", PASSWORD, "/");
    world.pass_ms(10_000);
    assert_eq!(world.board.client_output(late), b"");
    world.open_channel(late, 1);
    assert_eq!(world.heard(late), [], "that was too long ago");
}

#[test]
fn a_login_that_is_refused_is_believed_no_more() {
    let (mut world, spool) = away(1 << 20);
    world.new_broker = BrokerConnection::unwelcoming;
    world.is_reachable = true;
    world.pass_ms(60_000);
    let id = world.open("u", PASSWORD, "/");
    assert!(matches!(world.heard(id)[..], [Heard::ConnectionClosed { code: 403, .. }]));
    world.is_reachable = false;
    let id = world.open("u", PASSWORD, "/");
    world.open_channel(id, 1);
    publish(&mut world, id, "1");
    world.pass_ms(10_000);
    assert_eq!((world.heard(id), spool.report().count()), (vec![], 0));
}

#[test]
fn half_a_publish_is_not_kept() {
    let (mut world, spool) = away(1 << 20);
    let id = publisher(&mut world);
    let bytes = crate::fixture::publish(1, "", "q", false, b"whole");
    for end in 1..bytes.len() {
        let id = publisher(&mut world);
        world.say(id, &bytes[..end]);
        world.pass_ms(1_500);
        world.vanish(id);
    }
    assert_eq!(spool.report().count(), 0);
    world.say(id, &bytes[..20]);
    world.say(id, &bytes[20..]);
    world.pass_ms(1_500);
    assert_eq!(spool.report().count(), 1);
    assert_eq!(send_on(&mut world, &spool), ["whole"]);
}

#[test]
fn a_client_that_is_let_in_no_more_hears_of_it_and_is_not_kept() {
    let (mut world, spool, id) = one_kept();
    assert_eq!(spool.report().count(), 1);
    world.new_broker = BrokerConnection::unwelcoming;
    come_back(&mut world);
    publish(&mut world, id, "2");
    world.pass_ms(2_000);
    let heard = world.heard(id);
    assert!(matches!(heard[..], [Heard::ConnectionClosed { code: 403, .. }]), "{heard:?}");
    assert_eq!(spool.report().count(), 1, "what it says now is not sent on in another user's name");
}

#[test]
fn who_is_let_in_is_not_let_in_everywhere() {
    let (mut world, _spool) = away(1 << 20);
    // It comes as far as the vhost, which no upstream has ever let it into.
    let id = world.open("u", PASSWORD, "nowhere");
    world.pass_ms(7_000);
    come_back(&mut world);
    world.pass_ms(1_000);
    let heard = world.heard(id);
    assert!(matches!(heard[..], [Heard::ConnectionClosed { code: 530, .. }]), "{heard:?}");
}

#[test]
fn what_is_on_its_way_is_not_overtaken_by_what_is_kept() {
    let (mut world, spool) = away(1 << 20);
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    publish(&mut world, id, "1");
    world.pass_ms(1_000);
    come_back(&mut world);
    assert_eq!(send_on(&mut world, &spool), ["1"]);
    publish(&mut world, id, "2");
    assert_eq!(world.bodies(), ["2"]);
    // Another thread keeps something of the same user.
    spool.keep("u", "/", &[&crate::fixture::publish(1, "", "q", false, b"of another")], world.now_ms).unwrap();
    publish(&mut world, id, "3");
    assert_eq!((world.bodies().len(), spool.report().count()), (1, 1), "the second one is not confirmed");
    world.only_broker().confirm(1, false);
    world.settle();
    assert_eq!(spool.report().count(), 2);
    assert_eq!(send_on(&mut world, &spool), ["of another", "3"]);
}

#[test]
fn a_channel_waits_for_its_own_messages_and_not_for_those_of_others() {
    let (mut world, spool, id) = one_kept();
    let other = publisher(&mut world);
    publish(&mut world, other, "2");
    world.select_confirms(id, 1);
    come_back(&mut world);
    assert_eq!(world.heard(id), []);
    let job = spool.claim(world.now_ms).unwrap();
    let NextPublish::Publish(first, _) = spool.take(job.spool_queue) else { panic!("there are two") };
    spool.settle(job.spool_queue, &[first], false, world.now_ms);
    world.board.spool_changed(world.now_ms);
    world.settle();
    assert_eq!(world.heard(id), [Heard::Method(1, "confirm.select-ok".to_owned())]);
    assert_eq!(spool.report().count(), 1);
}

#[test]
fn what_is_published_with_a_token_is_not_kept() {
    let token = b"eyJhbGciOiJub25l.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl";
    let (mut world, spool) = away(1 << 20);
    spool.accepted("u", token, "/", world.now_ms);
    let id = world.open("u", token, "/");
    world.pass_ms(5_000);
    world.open_channel(id, 1);
    publish(&mut world, id, "1");
    world.pass_ms(5_000);
    assert_eq!(spool.report().count(), 0);
}

#[test]
fn what_is_kept_of_a_user_is_not_sent_on_with_a_token() {
    let (mut world, spool) = away(1 << 20);
    spool.keep("u", "/", &[b"x"], world.now_ms).unwrap();
    come_back(&mut world);
    let token = b"eyJgood.whose.sign";
    world.open("u", token, "/");
    assert_eq!(&*spool.claim(world.now_ms).unwrap().secret, PASSWORD, "a client with a token may say any name");
}

#[test]
fn what_was_kept_before_a_new_secret_is_not_overtaken_after_it() {
    let (mut world, spool) = away(1 << 20);
    let id = publisher(&mut world);
    publish(&mut world, id, "1");
    world.pass_ms(2_500);
    assert_eq!(spool.report().count(), 1);
    come_back(&mut world);
    world.call(id, 0, &connection::UpdateSecret { new_secret: b"eyJgood.whose.sign", reason: b"" });
    publish(&mut world, id, "2");
    assert_eq!((world.heard(id), world.bodies()), (vec![], vec![]));
    let job = spool.claim(world.now_ms).unwrap();
    let NextPublish::Publish(first, _) = spool.take(job.spool_queue) else { panic!("it was kept") };
    spool.settle(job.spool_queue, &[first], false, world.now_ms);
    world.board.spool_changed(world.now_ms);
    world.settle();
    assert_eq!(world.heard(id), [Heard::Method(0, "connection.update-secret-ok".to_owned())]);
    assert_eq!(world.bodies(), ["2"]);
}

#[test]
fn who_waits_for_room_goes_on_when_its_own_connection_is_there() {
    let (mut world, spool) = away(200);
    spool.keep("other", "/", &[&[0; 180]], world.now_ms).unwrap();
    let id = publisher(&mut world);
    publish(&mut world, id, "1");
    world.pass_ms(2_000);
    assert_eq!(spool.report().counters.full, 1, "however often it looks");
    come_back(&mut world);
    assert_eq!(world.bodies(), ["1"]);
}

#[test]
fn who_was_there_until_the_connection_was_lost_is_believed_from_then_on() {
    let (mut world, spool) = away(1 << 20);
    come_back(&mut world);
    let id = publisher(&mut world);
    publish(&mut world, id, "0");
    world.pass_ms(3_600_000);
    go_away(&mut world);
    publish(&mut world, id, "1");
    world.pass_ms(1_500);
    world.vanish(id);
    assert!(spool.claim(world.now_ms).is_some(), "it can be sent on in its name");
    let id = publisher(&mut world);
    publish(&mut world, id, "2");
    world.pass_ms(2_500);
    assert_eq!(spool.report().count(), 2);
}

#[test]
fn that_there_may_be_no_more_connections_is_no_absence() {
    let (mut world, spool) = away(1 << 20);
    world.board.set_options(Options { upstream_connection_max: 1, ..Options::default() });
    come_back(&mut world);
    let other = world.open("other", PASSWORD, "/");
    world.open_channel(other, 1);
    world.call(other, 1, &basic::Consume { queue: b"q", consumer_tag: b"c", ..Default::default() });
    let id = publisher(&mut world);
    publish(&mut world, id, "1");
    world.pass_ms(5_000);
    assert_eq!(spool.report().count(), 0);
}
