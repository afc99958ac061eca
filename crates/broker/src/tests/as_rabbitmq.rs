//! Small things that clients notice, as RabbitMQ 4.3 does them.

use amqp::content::{ContentHeader, Properties};
use amqp::frame::put_method;
use amqp::method::{basic, channel, queue, tx};
use amqp::table::Value;

use super::client::{Client, Heard, PERSISTENT, TRANSIENT};
use super::exchange_types::{assert_done, publish_with};
use super::node::Node;

#[test]
fn what_a_commit_makes_room_for_is_sent_before_a_cancellation_behind_it() {
    let (node, mut client) = Node::standing();
    client.declare("q");
    client.publish(1, "", "q", TRANSIENT, b"first");
    client.publish(1, "", "q", TRANSIENT, b"second");
    node.sync();
    client.send(1, &tx::Select);
    client.send(1, &basic::Qos { prefetch_count: 1, ..Default::default() });
    client.consume(1, "q", "c", false);
    let heard = node.listen(&mut client);
    let Some(Heard::Message { tag, .. }) = heard.last() else { panic!("{heard:?}") };
    let mut frames = Vec::new();
    put_method(&mut frames, 1, &basic::Ack { delivery_tag: *tag, multiple: false });
    put_method(&mut frames, 1, &tx::Commit);
    put_method(&mut frames, 1, &basic::Cancel { consumer_tag: b"c", ..Default::default() });
    let mut heard = Vec::new();
    let mut taken_len = 0;
    while taken_len < frames.len() {
        taken_len += client.send_bytes(&frames[taken_len..]);
        heard.append(&mut node.listen(&mut client));
    }
    let bodies: Vec<_> = heard.iter().filter(|heard| matches!(heard, Heard::Message { .. })).collect();
    assert!(matches!(bodies[..], [Heard::Message { redelivered: false, .. }]), "{heard:?}");
    let others: Vec<_> = heard.iter().filter(|heard| matches!(heard, Heard::Other(_))).collect();
    assert_eq!(others, [&Heard::Other("tx.commit-ok"), &Heard::Other("basic.cancel-ok")]);
    assert_eq!(node.counts("q"), (0, 1), "the client has it");
}

#[test]
fn an_answer_to_a_close_that_was_never_sent_is_504() {
    let (_node, mut client) = Node::standing();
    client.send(7, &channel::CloseOk);
    let heard = client.hear_one();
    let Heard::ConnectionClose { code: 504, text } = &heard else { panic!("{heard:?}") };
    assert_eq!(text, "CHANNEL_ERROR - expected 'channel.open'");
}

#[test]
fn closes_that_cross_are_answered_once_each() {
    let (_node, mut client) = Node::standing();
    client.open_channel(2);
    client.send(1, &queue::Purge { queue: b"nowhere", ..Default::default() });
    assert!(matches!(client.hear_one(), Heard::ChannelClose { code: 404, .. }));
    // It has not heard that yet.
    client.send(1, &channel::Close::default());
    assert_eq!(client.hear_one(), Heard::Other("channel.close-ok"));
    client.send(1, &channel::CloseOk);
    assert_eq!(client.hear(), []);
    client.open_channel(1);
    client.send(1, &channel::Close::default());
    assert_eq!(client.hear_one(), Heard::Other("channel.close-ok"));
    client.send(1, &channel::CloseOk);
    assert!(matches!(client.hear_one(), Heard::ConnectionClose { code: 504, .. }));
}

/// The reply-to that a server receives from a requester that waits.
fn reply_to(node: &Node, client: &mut Client) -> String {
    client.consume(1, "amq.rabbitmq.reply-to", "replies", true);
    assert_done(client.hear_one());
    client.declare("requests");
    let properties = Properties { reply_to: Some(b"amq.rabbitmq.reply-to"), ..Properties::default() };
    publish_with(client, "", "requests", properties, "request");
    client.get(1, "requests", true);
    let heard = node.listen(client);
    assert!(matches!(heard[..], [Heard::Message { .. }]), "{heard:?}");
    let header = client.last_header();
    let header = ContentHeader::decode(&header).expect("a content header");
    String::from_utf8(header.properties.reply_to.expect("it is there").to_vec()).expect("a name")
}

#[test]
fn the_address_of_a_requester_has_two_parts_and_nothing_is_bound_to_it() {
    let (node, mut client) = Node::standing();
    let address = reply_to(&node, &mut client);
    let parts: Vec<_> = address.strip_prefix("amq.rabbitmq.reply-to.").expect("its prefix").split('.').collect();
    assert!(parts.len() == 2 && parts.iter().all(|part| part.len() >= 8), "{address}");
    let mut other = node.connect();
    let text = "ACCESS_REFUSED - cannot bind or unbind to a volatile (direct reply-to) queue".to_owned();
    let refused = Heard::ChannelClose { code: 403, text };
    let (queue, exchange) = (address.as_bytes(), b"amq.direct");
    other.send(1, &queue::Bind { queue, exchange, ..Default::default() });
    assert_eq!(other.hear_one(), refused);
    other.send(1, &channel::CloseOk);
    other.open_channel(1);
    other.send(1, &queue::Unbind { queue: b"amq.rabbitmq.reply-to.a.b", exchange, ..Default::default() });
    assert_eq!(other.hear_one(), refused);
}

fn to_dead<'a>(kind: &'a str, more: &[(&'a str, Value<'a>)]) -> Vec<(&'a str, Value<'a>)> {
    let text = |text: &'a str| Value::LongStr(text.as_bytes());
    let to =
        [("x-queue-type", text(kind)), ("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text("d"))];
    [&to[..], more].concat()
}

#[test]
fn a_rejected_message_is_new_to_a_classic_queue_whose_consumer_waits_for_it() {
    for (source, dead, is_marked) in
        [("classic", "classic", false), ("quorum", "classic", false), ("classic", "quorum", true)]
    {
        for waits in [false, true] {
            let (node, mut client) = Node::standing();
            client.declare_with("d", &[("x-queue-type", Value::LongStr(dead.as_bytes()))]);
            client.declare_with("q", &to_dead(source, &[]));
            node.sync();
            let mut waiting = node.connect();
            if waits {
                waiting.consume(1, "d", "c", false);
                node.listen(&mut waiting);
            }
            client.publish(1, "", "q", PERSISTENT, b"m");
            client.get(1, "q", false);
            let heard = node.listen(&mut client);
            let [Heard::Message { tag, .. }] = heard.as_slice() else { panic!("{heard:?}") };
            client.send(1, &basic::Reject { delivery_tag: *tag, requeue: false });
            if !waits {
                waiting.consume(1, "d", "c", false);
            }
            let heard = node.listen(&mut waiting);
            let Some(Heard::Message { redelivered, .. }) = heard.last() else { panic!("{heard:?}") };
            assert_eq!(*redelivered, is_marked || !waits, "{source} to {dead}, who waits: {waits}");
        }
    }
}

#[test]
fn a_dead_letter_counts_as_held_as_often_as_it_failed() {
    let (node, mut client) = Node::standing();
    client.declare_with("d", &[("x-queue-type", Value::LongStr(b"quorum"))]);
    client.declare_with("q", &to_dead("quorum", &[]));
    client.publish(1, "", "q", PERSISTENT, b"m");
    let take = |client: &mut Client, queue: &str| {
        client.get(1, queue, false);
        let heard = node.listen(client);
        let [Heard::Message { tag, .. }] = heard.as_slice() else { panic!("{heard:?}") };
        (*tag, ["x-acquired-count", "x-delivery-count"].map(|name| client.last_number(name)))
    };
    // As recorded from RabbitMQ: returned twice, rejected once, and rejected for good.
    for (requeue, expected) in [(true, [None, None]), (true, [Some(1), None]), (false, [Some(2), None])] {
        let (delivery_tag, counts) = take(&mut client, "q");
        assert_eq!(counts, expected);
        match requeue {
            true => client.send(1, &basic::Nack { delivery_tag, requeue, ..Default::default() }),
            false => client.send(1, &basic::Reject { delivery_tag, requeue }),
        }
    }
    let (delivery_tag, counts) = take(&mut client, "d");
    assert_eq!(counts, [Some(1), Some(1)]);
    client.send(1, &basic::Nack { delivery_tag, requeue: true, ..Default::default() });
    let (delivery_tag, counts) = take(&mut client, "d");
    assert_eq!(counts, [Some(1), Some(1)], "it was held here once");
    client.send(1, &basic::Nack { delivery_tag, requeue: true, ..Default::default() });
    assert_eq!(take(&mut client, "d").1, [Some(2), Some(1)]);
}
