//! Exchanges with queues of their own: what policies make of them, what their names mean, what a restart finds.

use std::collections::{BTreeMap, HashSet};

use amqp::method::{basic, channel, exchange, queue};
use amqp::table::Table;
use model::arguments::QueueType;
use model::policy::{ApplyTo, PolicyKind};
use serde_json::json;

use super::client::{Client, Heard, PERSISTENT};
use super::exchange_types::{assert_done, bind, declare, take_all};
use super::node::{Node, open};
use super::operators::{channel_closed, connect, node_with, operator, permit, vhost};
use crate::control::{PolicyRequest, VhostRequest};
use crate::options::Options;
use crate::view::{BindingEndView, BindingFilter};

fn set_policy(node: &Node, name: &str, priority: i64, settings: serde_json::Value) {
    let serde_json::Value::Object(definition) = settings else { panic!("no object") };
    let request = PolicyRequest {
        vhost: vhost("/"),
        name: name.to_owned(),
        kind: PolicyKind::User,
        pattern: "^x".to_owned(),
        apply_to: ApplyTo::Exchanges,
        priority,
        definition,
    };
    node.broker.put_policy(&operator(), request).unwrap();
}

fn set_shards(node: &Node, count: u64, routing_key: &str) {
    set_policy(node, "shards", 0, json!({"shards-per-node": count, "routing-key": routing_key}));
}

fn drop_policy(node: &Node, name: &str) {
    node.broker.delete_policy(&operator(), PolicyKind::User, "/", name).unwrap();
}

/// A node whose policy wants so many shards, with the durable exchange `x`, and a client.
fn sharded(count: u64) -> (Node, Client) {
    let node = Node::new();
    set_shards(&node, count, "");
    let mut client = node.connect();
    assert_done(declare(&mut client, "x", "x-modulus-hash", Table::EMPTY));
    (node, client)
}

fn shard(number: u64) -> String {
    format!("sharding: x - warren@localhost - {number}")
}

/// The queues there are, each with the keys by which it is bound to `x`.
fn queues(node: &Node) -> BTreeMap<String, Vec<String>> {
    let views = node.broker.queue_views("/");
    let mut queues: BTreeMap<_, _> =
        views.iter().map(|queue| (queue.definition().name.to_string(), Vec::new())).collect();
    for binding in
        node.broker.binding_views("/", BindingFilter::All).into_iter().filter(|binding| binding.source == "x")
    {
        let BindingEndView::Queue(name) = binding.destination else { panic!("{binding:?}") };
        queues.get_mut(&name).unwrap().push(String::from_utf8(binding.routing_key).unwrap());
    }
    queues
}

/// Shards of these numbers, all bound by these keys.
fn shards(numbers: &[u64], keys: &[&str]) -> BTreeMap<String, Vec<String>> {
    numbers.iter().map(|number| (shard(*number), keys.iter().map(|key| (*key).to_owned()).collect())).collect()
}

fn consumer_counts(node: &Node, numbers: &[u64]) -> Vec<u64> {
    numbers.iter().map(|number| node.broker.queue_view("/", &shard(*number)).unwrap().consumer_count()).collect()
}

#[track_caller]
fn consume(client: &mut Client, queue: &str, tag: &str) {
    client.consume(1, queue, tag, false);
    assert_eq!(client.hear_one(), Heard::Other("basic.consume-ok"));
}

/// What a refusal says that closes the channel, which is opened again.
#[track_caller]
fn refusal(client: &mut Client) -> (u16, String) {
    let Heard::ChannelClose { code, text } = client.hear_one() else { panic!("no refusal") };
    client.send(1, &channel::CloseOk);
    client.open_channel(1);
    (code, text)
}

#[test]
fn shards_come_with_the_policy_or_with_the_exchange() {
    let (node, mut client) = sharded(2);
    assert_eq!(queues(&node), shards(&[0, 1], &[""]));
    let (later, mut other) = (Node::new(), node.connect());
    let mut early = later.connect();
    assert_done(declare(&mut early, "x", "fanout", Table::EMPTY));
    assert_eq!(queues(&later), BTreeMap::new());
    set_shards(&later, 2, "key");
    assert_eq!(queues(&later), shards(&[0, 1], &["key"]));
    let view = later.broker.queue_view("/", &shard(0)).unwrap();
    assert!(view.definition().is_durable && view.definition().arguments.table().is_empty());
    // Declaring the exchange again makes nothing again.
    assert_done(declare(&mut client, "x", "x-modulus-hash", Table::EMPTY));
    assert_done(declare(&mut other, "x", "x-modulus-hash", Table::EMPTY));
    assert_eq!(queues(&node), shards(&[0, 1], &[""]));
}

#[test]
fn shards_of_an_exchange_that_does_not_last_do_not_last_either() {
    let node = Node::new();
    set_shards(&node, 1, "");
    let mut client = node.connect();
    client.send(1, &exchange::Declare { exchange: b"x", kind: b"fanout", ..Default::default() });
    assert_done(client.hear_one());
    assert!(!node.broker.queue_view("/", &shard(0)).unwrap().definition().is_durable);
    node.sync();
    assert_eq!(queues(&node.kill()), BTreeMap::new());
}

#[test]
fn a_greater_number_adds_shards_and_a_smaller_one_changes_nothing() {
    let (node, mut client) = sharded(1);
    set_shards(&node, 3, "");
    assert_eq!(queues(&node), shards(&[0, 1, 2], &[""]));
    set_shards(&node, 1, "");
    assert_eq!(queues(&node), shards(&[0, 1, 2], &[""]));
    // Messages go to all three still, and so do consumers.
    for tag in ["a", "b", "c"] {
        consume(&mut client, "x", tag);
    }
    assert_eq!(consumer_counts(&node, &[0, 1, 2]), [1, 1, 1]);
    set_shards(&node, 0, "");
    assert_eq!(queues(&node), shards(&[0, 1, 2], &[""]));
}

#[test]
fn another_key_binds_all_shards_anew() {
    let (node, _client) = sharded(3);
    set_shards(&node, 2, "");
    set_shards(&node, 2, "key");
    assert_eq!(queues(&node), shards(&[0, 1, 2], &["key"]));
    // A policy of more weight counts at once, and no longer when it is deleted.
    set_policy(&node, "stronger", 1, json!({"shards-per-node": 4, "routing-key": "other"}));
    assert_eq!(queues(&node), shards(&[0, 1, 2, 3], &["other"]));
    drop_policy(&node, "stronger");
    assert_eq!(queues(&node), shards(&[0, 1, 2, 3], &["key"]));
}

#[test]
fn without_the_policy_shards_are_unbound_and_keep_their_messages() {
    let (node, mut client) = sharded(3);
    client.publish(1, "x", "k", PERSISTENT, b"m");
    set_shards(&node, 1, "");
    drop_policy(&node, "shards");
    assert_eq!(queues(&node), shards(&[0, 1, 2], &[]));
    client.get(1, "x", false);
    assert_eq!(refusal(&mut client), (404, "NOT_FOUND - no queue 'x' in vhost '/'".to_owned()));
    set_shards(&node, 2, "");
    let mut bound = shards(&[0, 1], &[""]);
    bound.extend(shards(&[2], &[]));
    assert_eq!(queues(&node), bound);
    let kept: Vec<_> = (0..3).flat_map(|number| take_all(&node, &mut client, &shard(number))).collect();
    assert_eq!(kept, ["m"]);
}

#[test]
fn what_somebody_unbinds_or_deletes_stays_so_until_the_sharding_changes() {
    let (node, mut client) = sharded(2);
    let (first, second) = (shard(0), shard(1));
    client.send(1, &queue::Delete { queue: first.as_bytes(), ..Default::default() });
    node.sync();
    assert_eq!(client.hear_one(), Heard::DeleteOk(0));
    client.send(1, &queue::Unbind { queue: second.as_bytes(), exchange: b"x", ..Default::default() });
    assert_eq!(client.hear_one(), Heard::Other("queue.unbind-ok"));
    set_policy(&node, "other", -1, json!({"alternate-exchange": "amq.fanout"}));
    drop_policy(&node, "other");
    assert_eq!(queues(&node), shards(&[1], &[]));
    set_shards(&node, 3, "");
    assert_eq!(queues(&node), shards(&[0, 1, 2], &[""]));
}

#[test]
fn an_exchange_that_comes_again_gets_its_shards_back() {
    let (node, mut client) = sharded(2);
    client.publish(1, "x", "k", PERSISTENT, b"m");
    client.send(1, &exchange::Delete { exchange: b"x", ..Default::default() });
    node.sync();
    assert_done(client.hear_one());
    client.get(1, "x", true);
    assert_eq!(refusal(&mut client).0, 404);
    assert_eq!(queues(&node), shards(&[0, 1], &[]));
    assert_done(declare(&mut client, "x", "fanout", Table::EMPTY));
    assert_eq!(queues(&node), shards(&[0, 1], &[""]));
    client.publish(1, "x", "k", PERSISTENT, b"n");
    let mut all: Vec<_> = [0, 1].into_iter().flat_map(|number| take_all(&node, &mut client, &shard(number))).collect();
    all.sort();
    assert_eq!(all, ["m", "n", "n"]);
}

#[test]
fn a_restart_finds_the_same_shards_and_makes_those_that_are_missing() {
    let (node, mut client) = sharded(3);
    let ids = |node: &Node| -> HashSet<_> {
        node.broker.queue_views("/").iter().map(|queue| queue.definition().id).collect()
    };
    client.publish(1, "x", "k", PERSISTENT, b"m");
    let before = ids(&node);
    node.sync();
    let node = node.kill();
    assert_eq!((queues(&node), ids(&node)), (shards(&[0, 1, 2], &[""]), before));
    let mut client = node.connect();
    let kept: Vec<_> = (0..3).flat_map(|number| take_all(&node, &mut client, &shard(number))).collect();
    assert_eq!(kept, ["m"]);
    consume(&mut client, "x", "c");
    client.send(1, &queue::Delete { queue: shard(1).as_bytes(), ..Default::default() });
    node.sync();
    let node = node.kill();
    assert_eq!(queues(&node), shards(&[0, 1, 2], &[""]));
}

#[test]
fn a_node_that_got_another_name_goes_on_with_the_shards_it_has() {
    let (node, _client) = sharded(2);
    node.sync();
    node.disk.kill_process();
    let disk = node.disk.clone();
    drop(node);
    let (store, recovered) = open(&disk, 2).expect("the store opens");
    let options = Options { node: "warren@elsewhere".into(), ..Options::default() };
    let node = Node::over(disk, store, recovered, options);
    assert_eq!(queues(&node), shards(&[0, 1], &[""]));
    let mut client = node.connect();
    consume(&mut client, "x", "a");
    consume(&mut client, "x", "b");
    assert_eq!(consumer_counts(&node, &[0, 1]), [1, 1]);
    client.declare("x");
    assert_eq!(queues(&node), shards(&[0, 1], &[""]));
    set_shards(&node, 3, "");
    assert!(queues(&node).contains_key("sharding: x - warren@elsewhere - 2"));
}

#[test]
fn consumers_of_the_name_get_the_shard_with_the_fewest() {
    let (node, mut client) = sharded(3);
    consume(&mut client, &shard(0), "direct");
    for tag in ["a", "b", "c", "d"] {
        consume(&mut client, "x", tag);
    }
    assert_eq!(consumer_counts(&node, &[0, 1, 2]), [2, 2, 1]);
    client.send(1, &basic::Cancel { consumer_tag: b"direct", ..Default::default() });
    client.send(1, &basic::Cancel { consumer_tag: b"a", ..Default::default() });
    assert_eq!(client.hear().len(), 2);
    assert_eq!(consumer_counts(&node, &[0, 1, 2]), [1, 1, 1]);
    let mut listed: Vec<_> = node.broker.consumer_views().iter().map(|view| view.queue().1.to_owned()).collect();
    listed.sort();
    assert_eq!(listed, [shard(0), shard(1), shard(2)]);
}

#[test]
fn consumers_that_come_at_the_same_time_are_spread_as_evenly() {
    let (node, _client) = sharded(4);
    let come = || {
        let mut client = node.connect();
        (0..25).for_each(|number| consume(&mut client, "x", &format!("consumer-{number}")));
        client
    };
    let clients: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(come)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(clients.len(), 8);
    assert_eq!(consumer_counts(&node, &[0, 1, 2, 3]), [50, 50, 50, 50]);
}

#[test]
fn who_gets_by_the_name_gets_from_a_shard() {
    let (node, mut client) = sharded(1);
    client.publish(1, "x", "k", PERSISTENT, b"m");
    client.get(1, "x", true);
    node.sync();
    assert!(matches!(client.hear_one(), Heard::Message { body, .. } if body == b"m"));
    client.get(1, "x", true);
    assert_eq!(client.hear_one(), Heard::Other("basic.get-empty"));
}

#[test]
fn declaring_the_name_declares_the_first_shard() {
    let (node, mut client) = sharded(2);
    client.send(1, &queue::Declare { queue: b"x", durable: true, ..Default::default() });
    let first = Heard::DeclareOk { queue: shard(0), ready_count: 0, consumer_count: 0 };
    assert_eq!(client.hear_one(), first);
    client.send(1, &queue::Declare { queue: b"x", passive: true, ..Default::default() });
    assert_eq!(client.hear_one(), first);
    // It is the channel's last queue by its own name.
    client.send(1, &queue::Purge::default());
    node.sync();
    assert_eq!(client.hear_one(), Heard::PurgeOk(0));
    client.send(1, &queue::Declare { queue: b"x", durable: true, auto_delete: true, ..Default::default() });
    let text = format!(
        "PRECONDITION_FAILED - inequivalent arg 'auto_delete' for queue '{}' in vhost '/': received 'true' but current is 'false'",
        shard(0)
    );
    assert_eq!(refusal(&mut client), (406, text));
    assert_eq!(queues(&node), shards(&[0, 1], &[""]));
}

#[test]
fn what_cannot_be_done_to_all_shards_is_refused() {
    let (_node, mut client) = sharded(2);
    let text = |what: &str| (406, format!("PRECONDITION_FAILED - Can't {what} sharded queue: <<\"x\">>"));
    client.send(1, &queue::Delete { queue: b"x", ..Default::default() });
    assert_eq!(refusal(&mut client), text("delete"));
    client.send(1, &queue::Bind { queue: b"x", exchange: b"amq.fanout", ..Default::default() });
    assert_eq!(refusal(&mut client), text("bind"));
    client.send(1, &queue::Unbind { queue: b"x", exchange: b"amq.fanout", ..Default::default() });
    assert_eq!(refusal(&mut client), text("unbind"));
    client.send(1, &queue::Purge { queue: b"x", ..Default::default() });
    assert_eq!(refusal(&mut client), text("purge"));
    assert_done(bind(&mut client, "amq.fanout", &shard(0), "k"));
}

#[test]
fn no_shards_are_found_where_there_are_none() {
    let (node, mut client) = sharded(0);
    let text = (406, "PRECONDITION_FAILED - Error finding sharded queue for: <<\"x\">>".to_owned());
    client.consume(1, "x", "c", false);
    assert_eq!(refusal(&mut client), text);
    client.get(1, "x", false);
    assert_eq!(refusal(&mut client), text);
    client.declare("x");
    assert_eq!(queues(&node), shards(&[0], &[]));
}

#[test]
fn a_queue_of_the_same_name_keeps_it() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("x");
    client.publish(1, "", "x", PERSISTENT, b"m");
    assert_done(declare(&mut client, "x", "fanout", Table::EMPTY));
    set_shards(&node, 1, "");
    assert_eq!(take_all(&node, &mut client, "x"), ["m"]);
    client.send(1, &queue::Purge { queue: b"x", ..Default::default() });
    node.sync();
    assert_eq!(client.hear_one(), Heard::PurgeOk(0));
    client.send(1, &queue::Delete { queue: b"x", ..Default::default() });
    node.sync();
    assert_eq!(client.hear_one(), Heard::DeleteOk(0));
    consume(&mut client, "x", "c");
    assert_eq!(consumer_counts(&node, &[0]), [1]);
}

#[test]
fn the_shard_has_to_be_permitted_and_not_the_name() {
    let node = node_with("", "", "^x$");
    set_shards(&node, 1, "");
    assert_done(declare(&mut node.connect(), "x", "fanout", Table::EMPTY));
    let mut client = connect(&node);
    client.consume(1, "x", "c", false);
    let text = format!("ACCESS_REFUSED - read access to queue '{}' in vhost '/' refused for user 'ann'", shard(0));
    assert_eq!(client.hear_one(), channel_closed(403, &text));
    permit(&node, "", "", "^sharding");
    let mut client = connect(&node);
    consume(&mut client, "x", "c");
}

#[test]
fn an_exchange_that_cannot_have_shards_gets_none() {
    let node = Node::new();
    set_shards(&node, 2, "");
    let mut client = node.connect();
    // Its bindings' keys are weights.
    assert_done(declare(&mut client, "x", "x-consistent-hash", Table::EMPTY));
    assert_eq!(queues(&node), BTreeMap::new());
    set_shards(&node, 2, "10");
    assert_eq!(queues(&node), shards(&[0, 1], &["10"]));
    let long = "x".repeat(250);
    assert_done(declare(&mut client, &long, "fanout", Table::EMPTY));
    assert_eq!(queues(&node).len(), 2);
    client.get(1, &long, true);
    assert_eq!(refusal(&mut client).0, 406);
}

#[test]
fn as_many_shards_are_made_as_the_vhost_may_have_queues() {
    let node = Node::new();
    node.broker.set_vhost_limits(&operator(), "/", |limits| limits.queue_max = Some(2)).unwrap();
    set_shards(&node, 4, "");
    assert_done(declare(&mut node.connect(), "x", "fanout", Table::EMPTY));
    assert_eq!(queues(&node), shards(&[0, 1], &[""]));
}

#[test]
fn new_shards_get_what_their_exchange_has_kept() {
    let node = Node::new();
    let mut client = node.connect();
    assert_done(declare(&mut client, "x", "x-recent-history", Table::EMPTY));
    client.publish(1, "x", "k", PERSISTENT, b"m");
    node.sync();
    client.hear();
    set_shards(&node, 1, "");
    assert_eq!(take_all(&node, &mut client, &shard(0)), ["m"]);
}

#[test]
fn shards_are_of_the_vhosts_default_type_if_they_last() {
    let node = Node::new();
    let request = VhostRequest { default_queue_type: Some("quorum".to_owned()), ..VhostRequest::named(vhost("/")) };
    node.broker.put_vhost(&operator(), request).unwrap();
    set_shards(&node, 1, "");
    let mut client = node.connect();
    assert_done(declare(&mut client, "x", "fanout", Table::EMPTY));
    let queue_type = |name: &str| node.broker.queue_view("/", name).unwrap().definition().arguments.queue_type();
    assert_eq!(queue_type(&shard(0)), QueueType::Quorum);
    client.declare("x");
    client.send(1, &exchange::Declare { exchange: b"x2", kind: b"fanout", ..Default::default() });
    assert_done(client.hear_one());
    assert_eq!(queue_type("sharding: x2 - warren@localhost - 0"), QueueType::Classic);
}

#[test]
fn an_exclusive_queue_is_nobodys_shard() {
    let node = Node::new();
    let mut owner = node.connect();
    owner.send(1, &queue::Declare { queue: shard(0).as_bytes(), exclusive: true, ..Default::default() });
    assert!(matches!(owner.hear_one(), Heard::DeclareOk { .. }));
    set_shards(&node, 2, "");
    assert_done(declare(&mut node.connect(), "x", "fanout", Table::EMPTY));
    let mut expected = shards(&[1], &[""]);
    expected.extend(shards(&[0], &[]));
    assert_eq!(queues(&node), expected);
}
