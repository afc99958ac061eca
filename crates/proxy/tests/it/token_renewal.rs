//! Clients on shared upstream connections that have a newer token.

use amqp::method::{basic, connection};
use proxy::switchboard::{ClientId, Notice, Options};

use crate::broker::{BrokerConnection, PASSWORD};
use crate::fixture::{Heard, World, ack, last, method, world};

/// Tokens of the holder `u`: `{"sub":"u"}`.
const TOKEN: &[u8] = b"eyJgood.eyJzdWIiOiJ1In0.sign0";
const NEWER: &[u8] = b"eyJgood.eyJzdWIiOiJ1In0.sign1";
const FORGED: &[u8] = b"eyJbad.eyJzdWIiOiJ1In0.sign2";
/// One of the holder `v`.
const ANOTHERS: &[u8] = b"eyJgood.eyJzdWIiOiJ2In0.sign3";

/// A client that came with a token, with a channel.
fn token_publisher(world: &mut World) -> ClientId {
    let id = world.open("u", TOKEN, "/");
    world.open_channel(id, 1);
    world.heard(id);
    id
}

fn renew(world: &mut World, id: ClientId, token: &[u8]) {
    world.call(id, 0, &connection::UpdateSecret { new_secret: token, reason: b"it is time" });
}

fn renewed() -> Heard {
    method(0, "connection.update-secret-ok")
}

/// What came over connections with this secret.
fn bodies_of(world: &World, secret: &[u8]) -> Vec<String> {
    let brokers = world.brokers.values().filter(|broker| broker.password == secret);
    let published = brokers.flat_map(|broker| &broker.published);
    published.map(|message| String::from_utf8_lossy(&message.body).into_owned()).collect()
}

#[test]
fn what_is_said_after_a_newer_token_goes_over_connections_of_that() {
    let mut world = world();
    let (id, other) = (token_publisher(&mut world), token_publisher(&mut world));
    world.publish(id, 1, "", "q", b"before");
    renew(&mut world, id, NEWER);
    assert_eq!(world.heard(id), [renewed()]);
    world.publish(id, 1, "", "q", b"after");
    world.publish(other, 1, "", "q", b"another's");
    assert_eq!(bodies_of(&world, TOKEN), ["before", "another's"]);
    assert_eq!(bodies_of(&world, NEWER), ["after"]);
    assert_eq!((world.heard(id), world.heard(other)), (vec![], vec![]));
    assert_eq!(world.board.counters().moved, 0, "it needs no line of its own");
}

#[test]
fn who_has_the_same_newer_token_shares_its_connections() {
    let mut world = world();
    let (id, other) = (token_publisher(&mut world), token_publisher(&mut world));
    for client in [id, other] {
        renew(&mut world, client, NEWER);
        assert_eq!(world.heard(client), [renewed()]);
        world.publish(client, 1, "", "q", b"after");
    }
    assert_eq!(world.dialled, 2, "one with the password, one with the token");
    assert_eq!(bodies_of(&world, NEWER), ["after", "after"]);
    renew(&mut world, id, NEWER);
    assert_eq!(world.heard(id), [renewed()], "it is the one that it has");
    assert_eq!(world.dialled, 2);
}

#[test]
fn confirms_come_before_the_answer_and_go_on_counting_after_it() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let id = token_publisher(&mut world);
    world.select_confirms(id, 1);
    world.heard(id);
    world.publish(id, 1, "", "q", b"before");
    renew(&mut world, id, NEWER);
    world.publish(id, 1, "", "q", b"after");
    assert_eq!(world.heard(id), []);
    world.only_broker().confirm(1, false);
    world.settle();
    assert_eq!(world.heard(id), [ack(1, 1), renewed()]);
    assert_eq!(bodies_of(&world, NEWER), ["after"]);
    for broker in world.brokers.values_mut() {
        broker.confirm(1, false);
    }
    world.settle();
    assert_eq!(world.heard(id), [ack(1, 2)]);
}

#[test]
fn a_token_that_is_refused_closes_its_client_alone() {
    let mut world = world();
    let (id, other) = (token_publisher(&mut world), token_publisher(&mut world));
    world.publish(id, 1, "", "q", b"before");
    renew(&mut world, id, FORGED);
    let text = "NOT_ALLOWED - New secret was refused by one of the backends";
    assert_eq!(world.heard(id), [Heard::ConnectionClosed { code: 530, text: text.to_owned() }]);
    assert!(matches!(&world.notices[..], [Notice::LoginRefused { user, .. }] if user == "u"), "{:?}", world.notices);
    world.publish(other, 1, "", "q", b"after");
    assert_eq!((world.heard(other), bodies_of(&world, TOKEN)), (vec![], vec!["before".to_owned(), "after".to_owned()]));
}

#[test]
fn a_token_that_was_believed_says_nothing_of_the_next() {
    let mut world = world();
    let id = token_publisher(&mut world);
    for (token, is_good) in [(NEWER, true), (FORGED, false)] {
        renew(&mut world, id, token);
        assert_eq!(world.heard(id) == [renewed()], is_good);
    }
}

#[test]
fn another_ones_token_and_what_is_none_are_the_upstreams_to_judge() {
    for (secret, newer) in [(TOKEN, ANOTHERS), (PASSWORD, NEWER), (TOKEN, PASSWORD), (TOKEN, b"eyJgood.nothing.sign4")]
    {
        let mut world = world();
        let id = world.open("u", secret, "/");
        world.heard(id);
        renew(&mut world, id, newer);
        assert_eq!(world.heard(id), [renewed()]);
        assert_eq!(last(&mut world).secrets, [newer], "on a connection of its own");
    }
}

#[test]
fn connections_of_a_token_that_nobody_has_any_more_are_closed() {
    let mut world = world();
    let id = token_publisher(&mut world);
    world.publish(id, 1, "", "q", b"before");
    renew(&mut world, id, NEWER);
    world.pass_ms(1_000);
    let secrets: Vec<_> = world.brokers.values().map(|broker| broker.password.clone()).collect();
    assert_eq!(secrets, [NEWER]);
}

#[test]
fn what_was_learnt_of_a_user_holds_with_a_newer_token() {
    let mut world = world();
    let id = token_publisher(&mut world);
    world.publish(id, 1, "", "q", b"before");
    world.only_broker().close(530, b"NOT_ALLOWED - number of channels opened (2) has reached the maximum");
    world.settle();
    let [first, second] = [(); 2].map(|()| token_publisher(&mut world));
    for client in [first, second] {
        renew(&mut world, client, NEWER);
        world.publish(client, 1, "", "q", b"after");
    }
    assert_eq!(bodies_of(&world, NEWER).len(), 2);
    let counts: Vec<_> = world.brokers.values().map(|broker| broker.channel_count()).collect();
    assert!(counts.iter().all(|count| *count <= 1), "{counts:?}");
}

#[test]
fn a_queue_that_had_a_connection_closed_is_known_with_a_newer_token() {
    let mut world = world();
    let id = token_publisher(&mut world);
    world
        .only_broker()
        .close(540, b"NOT_IMPLEMENTED - basic.get not supported by stream queues queue 's' in vhost '/'");
    world.settle();
    renew(&mut world, id, NEWER);
    world.call(id, 1, &basic::Get { queue: b"s", no_ack: true, ..Default::default() });
    assert_eq!(world.board.counters().moved, 1);
}

#[test]
fn a_vhost_that_a_token_does_not_open_is_told_in_the_upstreams_words() {
    let mut world = world();
    let id = token_publisher(&mut world);
    let text = "NOT_ALLOWED - access to vhost '/' refused for user 'u'";
    world.new_broker = || BrokerConnection::refusing(530, "NOT_ALLOWED - access to vhost '/' refused for user 'u'");
    renew(&mut world, id, NEWER);
    assert_eq!(world.heard(id), [Heard::ConnectionClosed { code: 530, text: text.to_owned() }]);
}

#[test]
fn a_token_that_is_too_long_for_a_login_is_told_on_a_connection_of_ones_own() {
    let mut world = world();
    let id = token_publisher(&mut world);
    let long = [NEWER, &[b'a'; 4_000]].concat();
    renew(&mut world, id, &long);
    assert_eq!(world.heard(id), [renewed()]);
    assert_eq!(last(&mut world).secrets, [long]);
    assert_eq!(world.board.counters().moved, 1);
}

#[test]
fn nobody_waits_for_ever_for_a_word_on_a_token() {
    let mut world = World::new(Options { upstream_wait_ms: 2_000, ..Options::default() });
    let id = token_publisher(&mut world);
    world.is_reachable = false;
    renew(&mut world, id, NEWER);
    world.pass_ms(1_500);
    assert_eq!(world.heard(id), []);
    world.pass_ms(500);
    let text = "CONNECTION_FORCED - no upstream connection within 2 s";
    assert_eq!(world.heard(id), [Heard::ConnectionClosed { code: 320, text: text.to_owned() }]);
}

#[test]
fn a_client_that_goes_while_its_token_is_looked_at_leaves_nothing() {
    let mut world = world();
    let id = token_publisher(&mut world);
    world.is_far = true;
    renew(&mut world, id, NEWER);
    world.vanish(id);
    world.is_far = false;
    world.settle();
    world.pass_ms(700_000);
    assert_eq!(world.board.upstream_connection_count(), 0);
    assert!(world.board.report(|_| (String::new(), None)).pools.is_empty());
}

#[test]
fn a_connection_that_was_wanted_before_is_not_used_with_a_newer_token() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let id = token_publisher(&mut world);
    world.open_channel(id, 2);
    world.select_confirms(id, 2);
    world.publish(id, 2, "", "q", b"before");
    world.heard(id);
    // What asks for an upstream connection of its own fails while that waits for the confirm.
    world.is_far = true;
    world.publish(id, 1, "missing", "q", b"nowhere");
    world.call(id, 1, &basic::Consume { queue: b"q", ..Default::default() });
    world.arrive();
    world.arrive();
    world.arrive();
    world.is_far = false;
    world.settle();
    assert!(matches!(&world.heard(id)[..], [Heard::ChannelClosed { channel: 1, .. }]));
    assert_eq!(world.brokers.len(), 2);
    renew(&mut world, id, NEWER);
    let all = world.brokers.values_mut();
    all.for_each(|broker| broker.confirm(1, false));
    world.settle();
    assert_eq!(world.heard(id), [ack(2, 1), renewed()]);
    world.call(id, 2, &basic::Consume { queue: b"q", ..Default::default() });
    assert_eq!(last(&mut world).password, NEWER);
    let with_password = world.brokers.values().filter(|broker| broker.password == TOKEN).count();
    assert_eq!(with_password, 1, "the one that is shared");
}
