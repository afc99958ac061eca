//! What clients share, and what they do not notice of each other.

use amqp::method::{basic, channel, connection, queue};
use proxy::switchboard::{ClientId, Notice, Options};

use crate::broker::{BrokerConnection, PASSWORD};
use crate::fixture::{Heard, World, publish, publish_in};

fn world() -> World {
    World::new(Options::default())
}

fn ack(channel: u16, tag: u64) -> Heard {
    Heard::Ack { channel, tag, is_multiple: false }
}

fn method(channel: u16, name: &str) -> Heard {
    Heard::Method(channel, name.to_owned())
}

/// A client with a channel, and nothing heard of either.
fn publisher(world: &mut World) -> ClientId {
    let id = world.open("u", PASSWORD, "/");
    world.open_channel(id, 1);
    world.heard(id);
    id
}

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
fn who_consumes_gets_a_connection_of_its_own() {
    let mut world = world();
    let (first, second) = (publisher(&mut world), publisher(&mut world));
    world.publish(second, 1, "", "q", b"x");
    world.call(first, 1, &basic::Qos { prefetch_count: 7, ..Default::default() });
    world.call(first, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
    let delivered = Heard::Delivered { channel: 1, routing_key: "mine".to_owned(), body: b"mine".to_vec() };
    assert_eq!(world.heard(first), [method(1, "basic.qos-ok"), method(1, "basic.consume-ok"), delivered]);
    assert_eq!(world.brokers.len(), 2);
    let own = world.brokers.values().last().unwrap();
    assert_eq!(own.methods, ["channel.open", "basic.qos", "basic.consume"]);
    world.call(first, 1, &basic::Ack { delivery_tag: 1, multiple: false });
    assert_eq!(world.brokers.values().last().unwrap().methods.last().unwrap(), "basic.ack");
    world.leave(first);
    assert_eq!(world.heard(first), [method(0, "connection.close-ok")]);
    assert_eq!(world.brokers.len(), 1, "its connection goes with it");
    assert_eq!(world.heard(second), []);
}

#[test]
fn who_moves_loses_neither_confirms_nor_answers() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    world.select_confirms(id, 1);
    world.publish(id, 1, "", "q", b"one");
    world.publish(id, 1, "", "q", b"two");
    world.call(id, 1, &queue::Declare { queue: b"declared", durable: true, ..Default::default() });
    world.call(id, 1, &basic::Consume { queue: b"", consumer_tag: b"c", ..Default::default() });
    assert_eq!(world.heard(id), [method(1, "confirm.select-ok")], "what it published comes first");
    for broker in world.brokers.values_mut() {
        broker.confirm(2, true);
    }
    world.settle();
    let delivered = Heard::Delivered { channel: 1, routing_key: "declared".to_owned(), body: b"declared".to_vec() };
    let many = Heard::Ack { channel: 1, tag: 2, is_multiple: true };
    assert_eq!(world.heard(id), [many, method(1, "queue.declare-ok"), method(1, "basic.consume-ok"), delivered]);
    world.publish(id, 1, "", "q", b"three");
    for broker in world.brokers.values_mut() {
        broker.confirm(1, false);
    }
    world.settle();
    assert_eq!(world.heard(id), [ack(1, 3)], "it goes on counting");
}

#[test]
fn a_message_that_is_too_long_to_hold_goes_over_its_own_connection() {
    let mut world = world();
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"short");
    let body = vec![7; (16 << 20) + 1];
    world.publish(id, 1, "", "q", &body);
    let lens: Vec<usize> =
        world.brokers.values().flat_map(|broker| &broker.published).map(|message| message.body.len()).collect();
    assert_eq!(lens, [5, body.len()]);
    assert_eq!(world.brokers.len(), 2);
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
    let line = *world.brokers.keys().next().unwrap();
    world.cut(line);
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
fn lines_that_nobody_uses_are_closed_but_for_one() {
    let mut world = World::new(Options { line_channel_max: 1, pool_idle_ms: 60_000, ..Options::default() });
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
fn clients_wait_where_there_may_be_no_more_connections() {
    let mut world = World::new(Options { line_channel_max: 1, pool_line_max: 2, ..Options::default() });
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
fn a_draining_line_is_left_as_soon_as_nothing_is_under_way() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let (busy, idle) = (publisher(&mut world), publisher(&mut world));
    world.select_confirms(idle, 1);
    world.publish(idle, 1, "", "q", b"idle");
    world.only_broker().confirm(1, false);
    world.settle();
    world.publish(busy, 1, "", "q", b"busy");
    let line = *world.brokers.keys().next().unwrap();
    world.board.drain_line(line, world.now_ms);
    world.settle();
    world.heard(idle);
    world.publish(idle, 1, "", "q", b"elsewhere");
    assert_eq!(world.brokers.len(), 2);
    for broker in world.brokers.values_mut() {
        broker.confirm(1, false);
    }
    world.settle();
    world.pass_ms(500);
    assert!(!world.brokers.contains_key(&line), "it is closed");
    assert_eq!((world.heard(busy), world.heard(idle)), (vec![], vec![ack(1, 2)]));
}

#[test]
fn clients_are_told_why_all_ends_and_lines_go_when_all_is_confirmed() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    let refusal = proxy::switchboard::Refusal::new(amqp::ReplyCode::ConnectionForced, "the proxy stops");
    world.board.close_clients(&refusal, world.now_ms);
    world.settle();
    let text = "CONNECTION_FORCED - the proxy stops".to_owned();
    assert_eq!(world.heard(id), [Heard::ConnectionClosed { code: 320, text }]);
    assert!(!world.board.close_lines(world.now_ms), "a publish is not confirmed");
    world.only_broker().confirm(1, false);
    world.settle();
    assert!(world.board.close_lines(world.now_ms));
    world.settle();
    assert_eq!(world.board.line_count(), 0);
}

#[test]
fn operators_see_pools_and_lines() {
    let mut world = world();
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    let report = world.board.report(|_| ("here".to_owned(), None));
    assert_eq!(report.line_count, 1);
    assert_eq!((report.client_count, report.open_client_count, report.waiting_client_count), (1, 1, 0));
    let [pool] = &report.pools[..] else { panic!("{:?}", report.pools) };
    assert_eq!((&*pool.user, &*pool.vhost, pool.client_count), ("u", "/", 1));
    let [line] = &pool.lines[..] else { panic!("{:?}", pool.lines) };
    assert_eq!((&*line.upstream, line.is_open, line.channel_count, line.used_channel_count), ("here", true, 1, 1));
}

/// The client's own connection to the broker, which is the last one.
fn last(world: &mut World) -> &mut BrokerConnection {
    world.brokers.values_mut().last().unwrap()
}

#[test]
fn a_client_may_go_before_the_line_that_was_its_own() {
    let mut world = world();
    let id = publisher(&mut world);
    world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
    let line = *world.brokers.keys().last().unwrap();
    world.is_far = true;
    last(&mut world).close(320, b"CONNECTION_FORCED - Closed via management plugin");
    // The shell carries the line's last words after the client's.
    let bytes = std::mem::take(&mut last(&mut world).output);
    world.board.line_received(line, &bytes, world.now_ms);
    world.board.client_gone(id, world.now_ms);
    world.clients.remove(&id);
    world.board.tick(world.now_ms);
    assert!(world.board.line_wants(line).close);
    world.settle();
}

#[test]
fn a_message_that_is_coming_is_not_cut_off() {
    let mut world = world();
    let id = publisher(&mut world);
    world.is_far = true;
    world.call(id, 1, &basic::Get { queue: b"mine", no_ack: true, ..Default::default() });
    for _ in 0..4 {
        world.arrive();
    }
    // The client asks for what needs another connection while half of the answer is there.
    let line = *world.brokers.keys().last().unwrap();
    let output = std::mem::take(&mut world.brokers.get_mut(&line).unwrap().output);
    assert!(output.is_empty(), "it has arrived");
    world.call(id, 1, &basic::Get { queue: b"mine", no_ack: true, ..Default::default() });
    let output = std::mem::take(&mut world.brokers.get_mut(&line).unwrap().output);
    let (first, rest) = output.split_at(output.len() - 3);
    world.board.line_received(line, first, world.now_ms);
    world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
    world.board.drain_line(line, world.now_ms);
    for _ in 0..4 {
        world.arrive();
    }
    world.board.line_received(line, rest, world.now_ms);
    world.is_far = false;
    world.settle();
    let got = || Heard::Got { channel: 1, routing_key: "mine".to_owned(), body: b"mine".to_vec() };
    let delivered = Heard::Delivered { channel: 1, routing_key: "mine".to_owned(), body: b"mine".to_vec() };
    assert_eq!(world.heard(id), [got(), got(), method(1, "basic.consume-ok"), delivered]);
}

#[test]
fn what_need_not_be_answered_is_done_before_what_follows() {
    let mut world = world();
    let id = publisher(&mut world);
    world.is_far = true;
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, no_wait: true, ..Default::default() });
    for _ in 0..4 {
        world.arrive();
    }
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, no_wait: true, ..Default::default() });
    world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
    assert_eq!(world.board.report(|_| (String::new(), None)).own_line_count, 0, "it waits for the answer");
    world.is_far = false;
    world.settle();
    let delivered = Heard::Delivered { channel: 1, routing_key: "mine".to_owned(), body: b"mine".to_vec() };
    assert_eq!(world.heard(id), [method(1, "basic.consume-ok"), delivered], "and does not hear it");
}

#[test]
fn without_names_the_queue_is_the_key_too() {
    let mut world = world();
    let id = publisher(&mut world);
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    let line = *world.brokers.keys().last().unwrap();
    world.cut(line);
    world.heard(id);
    world.call(id, 1, &queue::Bind { exchange: b"amq.direct", ..Default::default() });
    assert_eq!(world.heard(id), [method(1, "queue.bind-ok")]);
    assert_eq!(last(&mut world).bound, ["mine mine"]);
}

#[test]
fn numbers_that_an_upstream_cannot_read_harm_nobody_else() {
    use amqp::{ContentHeader, Frame, Properties, TableBuf, Value};
    let mut world = world();
    let (other, id) = (publisher(&mut world), publisher(&mut world));
    world.publish(other, 1, "", "q", b"x");
    let headers = TableBuf::new().with("x", Value::F64(f64::NAN));
    let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
    let mut bytes = Vec::new();
    amqp::frame::put_method(&mut bytes, 1, &basic::Publish { routing_key: b"q", ..Default::default() });
    let mut header = Vec::new();
    ContentHeader { class_id: 60, body_len: 0, properties }.encode(&mut header);
    amqp::frame::put_frame(&mut bytes, &Frame { kind: amqp::FrameKind::Header, channel: 1, payload: &header });
    world.say(id, &bytes);
    assert_eq!(world.brokers.len(), 2);
    assert_eq!(last(&mut world).published.len(), 1, "it goes over a connection of its own");
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
fn channels_that_nobody_confirms_are_given_up_in_time() {
    let mut world = World::new(Options { line_heartbeat_s: 0, ..Options::default() });
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
fn what_is_lost_of_clients_who_have_gone_is_counted() {
    let mut world = world();
    world.new_broker = BrokerConnection::hesitant;
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    world.vanish(id);
    let line = *world.brokers.keys().next().unwrap();
    world.cut(line);
    assert_eq!(world.board.counters().late_losses, 1);
}

#[test]
fn a_client_holds_so_much_in_all_and_not_on_each_channel() {
    let mut world = world();
    let id = publisher(&mut world);
    world.open_channel(id, 2);
    let first = publish_in(1, "", "q", false, &vec![7; 12 << 20], 1 << 16);
    let second = publish_in(2, "", "q", false, &vec![8; 12 << 20], 1 << 16);
    // All but its last frame.
    let (begun, rest) = first.split_at(first.len() - (1 << 16) - 8);
    world.say(id, begun);
    assert_eq!(world.brokers.len(), 1);
    world.say(id, &second);
    assert_eq!(world.brokers.len(), 2, "it goes on over its own connection");
    world.say(id, rest);
    let lens: Vec<usize> = last(&mut world).published.iter().map(|message| message.body.len()).collect();
    assert_eq!(lens, [12 << 20; 2]);
}

#[test]
fn calls_find_a_place_where_there_may_be_one_line_only() {
    let mut world = World::new(Options { line_max: 1, ..Options::default() });
    let (publishing, calling) = (publisher(&mut world), publisher(&mut world));
    world.publish(publishing, 1, "", "q", b"x");
    for _ in 0..2 {
        world.call(calling, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
        assert_eq!(world.heard(calling), [method(1, "queue.declare-ok")]);
    }
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

#[test]
fn a_line_that_is_needed_no_more_harms_nobody() {
    let mut world = world();
    let id = publisher(&mut world);
    world.is_far = true;
    world.publish(id, 1, "missing", "mine", b"x");
    world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
    world.is_far = false;
    world.settle();
    let closed = Heard::ChannelClosed { channel: 1, code: 404, text: "NOT_FOUND - mine".to_owned() };
    assert_eq!(world.heard(id), [closed]);
    world.pass_ms(20_000);
    assert_eq!(world.heard(id), [], "it is not closed for a line that it does not need");
    assert_eq!(world.brokers.len(), 1, "which is closed");
    world.call(id, 1, &channel::CloseOk);
    world.open_channel(id, 1);
    world.publish(id, 1, "", "q", b"anew");
    assert_eq!(world.bodies(), ["anew"]);
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
