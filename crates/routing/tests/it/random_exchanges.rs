//! The random exchanges, and what a history is to see.

use std::collections::BTreeMap;

use routing::{ExchangeType, Routable};

use crate::broker::Vhost;

const RANDOM: [ExchangeType; 2] = [ExchangeType::Random, ExchangeType::LocalRandom];

#[test]
fn each_binding_is_as_likely_as_any_other() {
    for kind in RANDOM {
        let mut vhost = Vhost::with_queues(&["a", "b", "c"]);
        vhost.declare("x", kind);
        for (queue, key) in [("q:a", ""), ("q:b", ""), ("q:c", ""), ("q:c", "twice")] {
            vhost.bind("x", queue, key);
        }
        let mut counts = BTreeMap::<String, u32>::new();
        for _ in 0..8_000 {
            let queues = vhost.route("x", &Routable { more_keys: &[b"more"], ..Routable::by_key(b"same") });
            assert_eq!(queues.len(), 1);
            *counts.entry(queues[0].clone()).or_default() += 1;
        }
        for (queue, expected) in [("a", 2_000_u32), ("b", 2_000), ("c", 4_000)] {
            assert!(counts[queue].abs_diff(expected) < 200, "{kind:?}: {counts:?}");
        }
    }
}

#[test]
fn a_choice_is_not_remembered() {
    for kind in RANDOM {
        let mut vhost = Vhost::with_queues(&["a"]);
        vhost.declare("x", kind);
        vhost.declare("f", ExchangeType::Fanout);
        vhost.bind("x", "q:a", "");
        vhost.bind("f", "e:x", "");
        assert!(!vhost.route_fresh("x", &Routable::by_key(b"k")).2);
        assert!(!vhost.route_fresh("f", &Routable::by_key(b"k")).2, "nor when another exchange leads there");
    }
}

#[test]
fn nothing_bound_asks_the_alternate() {
    for kind in
        [ExchangeType::ConsistentHash, ExchangeType::ModulusHash, RANDOM[0], RANDOM[1], ExchangeType::RecentHistory]
    {
        let mut vhost = Vhost::with_queues(&["a", "other"]);
        vhost.declare("alternate", ExchangeType::Fanout);
        vhost.bind("alternate", "q:other", "");
        vhost.declare_with_alternate("x", kind, "alternate");
        assert_eq!(vhost.route("x", &Routable::by_key(b"k")), ["other"], "{kind:?}");
        vhost.bind("x", "q:a", "1");
        assert_eq!(vhost.route("x", &Routable::by_key(b"k")), ["a"], "{kind:?}");
    }
}

#[test]
fn every_history_on_the_way_is_named() {
    let mut vhost = Vhost::with_queues(&["a"]);
    for (name, kind) in
        [("h1", ExchangeType::RecentHistory), ("h2", ExchangeType::RecentHistory), ("f", ExchangeType::Fanout)]
    {
        vhost.declare(name, kind);
    }
    vhost.declare_with_alternate("d", ExchangeType::Direct, "h1");
    vhost.bind("h1", "e:f", "");
    vhost.bind("f", "e:h2", "");
    vhost.bind("h2", "e:h1", "");
    vhost.bind("h2", "q:a", "whatever");
    let message = Routable::by_key(b"k");
    assert_eq!(vhost.route("h1", &message), ["a"]);
    assert_eq!(vhost.histories("h1", &message), ["h1", "h2"]);
    assert_eq!(vhost.histories("f", &message), ["h2", "h1"]);
    assert_eq!(vhost.histories("d", &message), ["h1", "h2"], "an alternate exchange, too");
    assert!(vhost.histories("amq.fanout", &message).is_empty());
    assert!(!vhost.route_fresh("f", &message).2, "a history is to see every message");
}
