//! Which client gets a connection of its own, and that nothing is lost on the way there.

use amqp::method::{basic, channel, queue};
use proxy::switchboard::Options;

use crate::broker::BrokerConnection;
use crate::fixture::{Heard, World, ack, last, method, publish_in, publisher, world};

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
fn a_connection_that_nobody_uses_makes_room_for_one_that_is_needed() {
    let mut world = World::new(Options { upstream_connection_max: 1, ..Options::default() });
    let id = publisher(&mut world);
    world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
    world.pass_ms(1_000);
    let delivered = Heard::Delivered { channel: 1, routing_key: "mine".to_owned(), body: b"mine".to_vec() };
    assert_eq!(world.heard(id), [method(1, "basic.consume-ok"), delivered]);
    assert_eq!(world.brokers.len(), 1);
}

#[test]
fn nobody_is_in_its_own_way_to_a_connection() {
    let mut world = World::new(Options { upstream_connection_max: 1, ..Options::default() });
    let id = publisher(&mut world);
    world.publish(id, 1, "", "q", b"x");
    world.call(id, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
    world.pass_ms(1_000);
    let heard = world.heard(id);
    assert!(heard.contains(&method(1, "basic.consume-ok")), "{heard:?}");
    assert_eq!(world.board.upstream_connection_count(), 1);
}

#[test]
fn a_queue_for_which_a_connection_was_closed_closes_nobody_elses_again() {
    let mut world = world();
    let (id, neighbour) = (publisher(&mut world), publisher(&mut world));
    let get = basic::Get { queue: b"stream", no_ack: true, ..Default::default() };
    let text = b"NOT_IMPLEMENTED - basic.get not supported by stream queues queue 'stream' in vhost '/'";
    world.is_far = true;
    for who in [id, neighbour] {
        world.call(who, 1, &queue::Declare { queue: b"mine", durable: true, ..Default::default() });
    }
    // Until the upstream connection for it is there, and all on it is answered.
    for _ in 0..9 {
        world.arrive();
    }
    world.call(id, 1, &get);
    let connection = *world.brokers.keys().last().unwrap();
    let broker = world.brokers.get_mut(&connection).unwrap();
    assert_eq!(broker.methods.last().unwrap(), "basic.get");
    broker.output.clear();
    broker.close(540, text);
    world.is_far = false;
    world.settle();
    let closed = Heard::ConnectionClosed { code: 540, text: String::from_utf8_lossy(text).into_owned() };
    assert_eq!(world.heard(id).last(), Some(&closed));
    assert_eq!(world.heard(neighbour), [method(1, "queue.declare-ok")]);
    let again = publisher(&mut world);
    let count = world.brokers.len();
    world.call(again, 1, &get);
    assert_eq!(world.brokers.len(), count + 1, "it goes over a connection of its own");
    assert_eq!(last(&mut world).methods.last().unwrap(), "basic.get");
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
    let connection = *world.brokers.keys().last().unwrap();
    let output = std::mem::take(&mut world.brokers.get_mut(&connection).unwrap().output);
    assert!(output.is_empty(), "it has arrived");
    world.call(id, 1, &basic::Get { queue: b"mine", no_ack: true, ..Default::default() });
    let output = std::mem::take(&mut world.brokers.get_mut(&connection).unwrap().output);
    let (first, rest) = output.split_at(output.len() - 3);
    world.board.upstream_received(connection, first, world.now_ms);
    world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
    world.board.drain_connection(connection, world.now_ms);
    for _ in 0..4 {
        world.arrive();
    }
    world.board.upstream_received(connection, rest, world.now_ms);
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
    assert_eq!(world.board.report(|_| (String::new(), None)).own_connection_count, 0, "it waits for the answer");
    world.is_far = false;
    world.settle();
    let delivered = Heard::Delivered { channel: 1, routing_key: "mine".to_owned(), body: b"mine".to_vec() };
    assert_eq!(world.heard(id), [method(1, "basic.consume-ok"), delivered], "and does not hear it");
}

#[test]
fn a_connection_that_is_needed_no_more_harms_nobody() {
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
fn a_client_may_go_before_the_connection_that_was_its_own() {
    let mut world = world();
    let id = publisher(&mut world);
    world.call(id, 1, &basic::Consume { queue: b"mine", consumer_tag: b"c", ..Default::default() });
    let connection = *world.brokers.keys().last().unwrap();
    world.is_far = true;
    last(&mut world).close(320, b"CONNECTION_FORCED - Closed via management plugin");
    // The shell carries the upstream connection's last words after the client's.
    let bytes = std::mem::take(&mut last(&mut world).output);
    world.board.upstream_received(connection, &bytes, world.now_ms);
    world.board.client_gone(id, world.now_ms);
    world.clients.remove(&id);
    world.board.tick(world.now_ms);
    assert!(world.board.upstream_wants(connection).close);
    world.settle();
}
