//! The hashing exchanges: which queue gets how much, and what moves when destinations come and go.

use std::collections::{BTreeMap, BTreeSet};

use amqp::table::{Table, TableBuf, Value};
use model::ids::QueueId;
use proptest::prelude::*;
use routing::{
    BindError, BindingSpec, Declaration, Destination, ExchangeType, Exchanges, HashSeed, InvalidWeight, Routable,
    RouteScratch,
};

use crate::broker::{Vhost, declaration};

/// A vhost with queues bound by weights to the consistent hash exchange `x`.
fn bound(weights: &[(&str, &str)]) -> Vhost {
    let mut vhost = Vhost::new();
    vhost.declare("x", ExchangeType::ConsistentHash);
    for (queue, weight) in weights {
        vhost.add_queue(queue);
        vhost.bind("x", &format!("q:{queue}"), weight);
    }
    vhost
}

fn hashing(vhost: &mut Vhost, name: &str, argument: &str, value: &str) {
    let arguments = TableBuf::new().with(argument, Value::LongStr(value.as_bytes()));
    let kind = ExchangeType::ConsistentHash;
    let declaration = Declaration { arguments: arguments.as_table(), ..declaration(name, kind) };
    assert!(vhost.exchanges.declare(&declaration));
}

/// Where each of so many keys is routed.
fn map(vhost: &mut Vhost, key_count: usize) -> BTreeMap<String, String> {
    let keys = (0..key_count).map(|number| format!("order.{number}"));
    keys.map(|key| {
        let queues = vhost.route("x", &Routable::by_key(key.as_bytes()));
        assert_eq!(queues.len(), 1, "{key} goes to one queue");
        (key, queues.into_iter().next().expect("it has one"))
    })
    .collect()
}

fn counts(map: &BTreeMap<String, String>) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    map.values().for_each(|queue| *counts.entry(&**queue).or_default() += 1);
    counts
}

/// The keys that went elsewhere.
fn moved<'a>(before: &'a BTreeMap<String, String>, after: &'a BTreeMap<String, String>) -> Vec<(&'a str, &'a str)> {
    before.iter().map(|(key, queue)| (&**queue, &*after[key])).filter(|(from, to)| from != to).collect()
}

/// Within four standard deviations of what the weight says: one in sixteen thousand honest hashes fails, and hashes are fixed.
#[track_caller]
fn assert_share(found: usize, of: usize, share: f64) {
    let (expected, deviation) = (of as f64 * share, (of as f64 * share * (1.0 - share)).sqrt());
    assert!((found as f64 - expected).abs() <= 4.0 * deviation, "{found} of {of} instead of {expected:.0}");
}

#[test]
fn each_queue_gets_what_its_weight_says() {
    let weights = [("a", 1), ("b", 3), ("c", 6), ("d", 10)];
    let texts = weights.map(|(queue, weight)| (queue, weight.to_string()));
    let mut vhost = bound(&texts.each_ref().map(|(queue, weight)| (*queue, &**weight)));
    let map = map(&mut vhost, 20_000);
    let counts = counts(&map);
    for (queue, weight) in weights {
        assert_share(counts[queue], 20_000, f64::from(weight) / 20.0);
    }
}

#[test]
fn the_least_and_the_greatest_weight_share_as_they_should() {
    let mut vhost = bound(&[("small", "1"), ("large", "10000")]);
    let map = map(&mut vhost, 200_000);
    assert_share(counts(&map)["small"], 200_000, 1.0 / 10_001.0);
}

#[test]
fn a_new_queue_takes_its_share_and_nothing_else_moves() {
    let mut vhost = bound(&[("a", "2"), ("b", "2"), ("c", "4")]);
    let before = map(&mut vhost, 20_000);
    vhost.add_queue("d");
    vhost.bind("x", "q:d", "2");
    let after = map(&mut vhost, 20_000);
    let moved = moved(&before, &after);
    assert!(moved.iter().all(|(_, to)| *to == "d"));
    assert_share(moved.len(), 20_000, 2.0 / 10.0);
    for (queue, weight) in [("a", 2.0), ("b", 2.0), ("c", 4.0)] {
        assert_share(moved.iter().filter(|(from, _)| *from == queue).count(), moved.len(), weight / 8.0);
    }
}

#[test]
fn a_queue_that_goes_gives_its_keys_to_all_and_nothing_else_moves() {
    let mut vhost = bound(&[("a", "2"), ("b", "2"), ("c", "4"), ("d", "2")]);
    let before = map(&mut vhost, 20_000);
    vhost.delete_queue("d");
    let after = map(&mut vhost, 20_000);
    let moved = moved(&before, &after);
    assert!(moved.iter().all(|(from, _)| *from == "d"));
    assert_eq!(moved.len(), counts(&before)["d"]);
    for (queue, weight) in [("a", 2.0), ("b", 2.0), ("c", 4.0)] {
        assert_share(moved.iter().filter(|(_, to)| *to == queue).count(), moved.len(), weight / 8.0);
    }
    vhost.add_queue("d");
    vhost.bind("x", "q:d", "2");
    assert_eq!(map(&mut vhost, 20_000), before, "a queue of the same name gets the same keys");
}

#[test]
fn a_changed_weight_moves_keys_to_or_from_that_queue_only() {
    let mut vhost = bound(&[("a", "1"), ("b", "5"), ("c", "5")]);
    let before = map(&mut vhost, 10_000);
    vhost.bind("x", "q:a", "5");
    assert_eq!(map(&mut vhost, 10_000), before, "the least weight counts");
    vhost.unbind("x", "q:a", "1");
    let after = map(&mut vhost, 10_000);
    let moved = moved(&before, &after);
    assert!(!moved.is_empty() && moved.iter().all(|(_, to)| *to == "a"));
    assert_share(counts(&after)["a"], 10_000, 1.0 / 3.0);
}

#[test]
fn a_destination_bound_twice_stays_until_its_last_binding_goes() {
    let mut vhost = bound(&[("a", "1")]);
    for key in ["+1", "3", "2"] {
        vhost.bind("x", "q:a", key);
    }
    for key in ["3", "1", "+1"] {
        vhost.unbind("x", "q:a", key);
        assert_eq!(vhost.route("x", &Routable::by_key(b"k")), ["a"]);
        vhost.exchanges.check();
    }
    vhost.unbind("x", "q:a", "2");
    assert!(vhost.route("x", &Routable::by_key(b"k")).is_empty());
}

#[test]
fn a_binding_key_has_to_be_a_weight() {
    let mut vhost = bound(&[("a", "1")]);
    for (key, error) in [
        ("", InvalidWeight::NotAnInteger),
        ("many", InvalidWeight::NotAnInteger),
        ("0", InvalidWeight::TooSmall),
        ("10001", InvalidWeight::TooLarge),
    ] {
        assert_eq!(vhost.try_bind("x", "q:a", key, Table::EMPTY), Err(BindError::InvalidWeight(error)), "{key}");
    }
    assert_eq!(vhost.exchanges.binding_count(), 1);
    vhost.unbind("x", "q:a", "many");
}

#[test]
fn a_queue_and_an_exchange_of_one_name_are_two_destinations() {
    let mut vhost = bound(&[("a", "1")]);
    vhost.declare("a", ExchangeType::Fanout);
    vhost.add_queue("behind");
    vhost.bind("a", "q:behind", "");
    vhost.bind("x", "e:a", "1");
    let map = map(&mut vhost, 2_000);
    assert_share(counts(&map)["a"], 2_000, 0.5);
}

/// Counts the queues that so many messages go to.
fn queue_count<'a>(vhost: &mut Vhost, exchange: &str, messages: impl IntoIterator<Item = Routable<'a>>) -> usize {
    let queues: BTreeSet<_> = messages.into_iter().flat_map(|message| vhost.route(exchange, &message)).collect();
    queues.len()
}

#[test]
fn what_the_exchange_was_declared_with_is_hashed() {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let mut vhost = Vhost::with_queues(&NAMES);
    for (exchange, argument, value) in [
        ("header", "hash-header", "h"),
        ("message_id", "hash-property", "message_id"),
        ("correlation_id", "hash-property", "correlation_id"),
        ("timestamp", "hash-property", "timestamp"),
    ] {
        hashing(&mut vhost, exchange, argument, value);
        NAMES.iter().for_each(|name| vhost.bind(exchange, &format!("q:{name}"), "1"));
    }
    let texts: Vec<_> = (0..50).map(|number| number.to_string()).collect();
    let headers: Vec<_> = texts.iter().map(|text| TableBuf::new().with("h", Value::LongStr(text.as_bytes()))).collect();
    let by_header =
        headers.iter().map(|headers| Routable { headers: Some(headers.as_table()), ..Routable::by_key(b"") });
    assert_eq!(queue_count(&mut vhost, "header", by_header), 4);
    let ids = || texts.iter().map(|text| Some(text.as_bytes()));
    let by_message_id = ids().map(|message_id| Routable { message_id, ..Routable::by_key(b"") });
    assert_eq!(queue_count(&mut vhost, "message_id", by_message_id.clone()), 4);
    assert_eq!(queue_count(&mut vhost, "correlation_id", by_message_id), 1, "what is absent is one key");
    let by_correlation_id = ids().map(|correlation_id| Routable { correlation_id, ..Routable::by_key(b"") });
    assert_eq!(queue_count(&mut vhost, "correlation_id", by_correlation_id), 4);
    let by_timestamp = (0..50).map(|seconds| Routable { timestamp: Some(seconds), ..Routable::by_key(b"") });
    assert_eq!(queue_count(&mut vhost, "timestamp", by_timestamp), 4);
    for exchange in ["header", "message_id", "correlation_id", "timestamp"] {
        let by_key = texts.iter().map(|text| Routable::by_key(text.as_bytes()));
        assert_eq!(queue_count(&mut vhost, exchange, by_key), 1, "{exchange} does not hash keys");
        assert!(!vhost.route_fresh(exchange, &Routable::by_key(b"")).2, "{exchange} cannot be remembered by key");
    }
}

#[test]
fn the_keys_in_headers_count_for_a_modulus_only() {
    let mut vhost = bound(&[("a", "1"), ("b", "1"), ("c", "1")]);
    vhost.declare("modulus", ExchangeType::ModulusHash);
    ["q:a", "q:b", "q:c"].iter().for_each(|queue| vhost.bind("modulus", queue, ""));
    let more: Vec<[u8; 1]> = (0..30).map(|number| [number]).collect();
    let more: Vec<[&[u8]; 1]> = more.iter().map(|key| [&key[..]]).collect();
    for (exchange, expected) in [("x", 1), ("modulus", 3)] {
        assert!(vhost.route_fresh(exchange, &Routable::by_key(b"k")).2, "{exchange} is remembered");
        let messages = more.iter().map(|more_keys| Routable { more_keys, ..Routable::by_key(b"k") });
        assert_eq!(queue_count(&mut vhost, exchange, messages), expected, "{exchange}");
    }
}

#[test]
fn a_modulus_hash_shares_evenly_and_counts_bindings() {
    let mut vhost = Vhost::with_queues(&["a", "b", "c"]);
    vhost.declare("x", ExchangeType::ModulusHash);
    for (queue, key) in [("a", ""), ("b", "any"), ("c", ""), ("c", "twice")] {
        vhost.bind("x", &format!("q:{queue}"), key);
    }
    let before = map(&mut vhost, 8_000);
    let shares = counts(&before);
    for (queue, share) in [("a", 0.25), ("b", 0.25), ("c", 0.5)] {
        assert_share(shares[queue], 8_000, share);
    }
    vhost.unbind("x", "q:c", "");
    assert_share(counts(&map(&mut vhost, 8_000))["c"], 8_000, 1.0 / 3.0);
}

/// The same bindings made in another order, in another process (another seed), by queues of other ids.
fn elsewhere(kind: ExchangeType, bindings: &[(String, String)], seed: u64) -> (Exchanges, RouteScratch) {
    let mut exchanges = Exchanges::new(HashSeed::new(seed));
    exchanges.declare(&declaration("x", kind));
    for (number, (queue, key)) in bindings.iter().enumerate() {
        if exchanges.queue(queue.as_bytes()).is_none() {
            exchanges.queue_added(queue.as_bytes(), QueueId(seed * 1000 + number as u64), true);
        }
        let id = exchanges.queue(queue.as_bytes()).expect("it was added");
        let destination = Destination::Queue(id);
        let routing_key = key.as_bytes();
        let spec = BindingSpec { source: b"x", destination, routing_key, arguments: Table::EMPTY };
        exchanges.bind(&spec).expect("the binding is possible");
    }
    (exchanges, RouteScratch::new(seed))
}

fn destination((exchanges, scratch): &mut (Exchanges, RouteScratch), key: &[u8]) -> Vec<u8> {
    let routed = exchanges.route(b"x", &Routable::by_key(key), scratch).expect("the exchange exists");
    exchanges.queue_name(routed.queues[0]).expect("the queue exists").to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn neither_order_nor_ids_nor_seeds_matter(
        bindings in prop::collection::vec(("[a-h]", 1..6_u32), 1..12).prop_map(|bindings| {
            bindings.into_iter().map(|(queue, weight)| (queue, weight.to_string())).collect::<Vec<_>>()
        }).prop_flat_map(|bindings| (Just(bindings.clone()), Just(bindings).prop_shuffle())),
        kind in prop::sample::select(vec![ExchangeType::ConsistentHash, ExchangeType::ModulusHash]),
    ) {
        let mut one = elsewhere(kind, &bindings.0, 1);
        let mut other = elsewhere(kind, &bindings.1, 2);
        for number in 0..200_u32 {
            let key = number.to_be_bytes();
            prop_assert_eq!(destination(&mut one, &key), destination(&mut other, &key));
        }
    }
}
