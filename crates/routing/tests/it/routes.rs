//! The way from exchange to exchange.

use amqp::table::{Table, TableBuf, Value};
use model::ids::QueueId;
use routing::ExchangeType::{Direct, Fanout, Headers, Topic};
use routing::{
    BindingSpec, Declaration, Destination, ExchangeType, Exchanges, HashSeed, NoSuchExchange, Routable, RouteScratch,
};

use crate::broker::Vhost;

fn key(key: &str) -> Routable<'_> {
    Routable::by_key(key.as_bytes())
}

#[test]
fn the_default_exchange_knows_queues_by_name() {
    let mut vhost = Vhost::with_queues(&["q", "r"]);
    assert_eq!(vhost.route("", &key("q")), ["q"]);
    assert!(vhost.route("", &key("none")).is_empty());
    vhost.delete_queue("q");
    assert!(vhost.route_cached("", "q").is_empty());
    vhost.add_queue("q");
    assert_eq!(vhost.route_cached("", "q"), ["q"]);
}

#[test]
fn no_exchange_is_not_the_same_as_no_queue() {
    let vhost = Vhost::new();
    let mut scratch = RouteScratch::new(1);
    assert_eq!(vhost.exchanges.route(b"nowhere", &key("k"), &mut scratch), Err(NoSuchExchange));
    let routed = vhost.exchanges.route(b"amq.direct", &key("k"), &mut scratch).expect("it exists");
    assert!(routed.queues.is_empty() && !routed.is_internal && routed.is_cacheable);
    assert!(vhost.exchanges.route(b"amq.rabbitmq.trace", &key("k"), &mut scratch).expect("it exists").is_internal);
}

#[test]
fn a_queue_that_matches_often_gets_the_message_once() {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.declare("x", Topic);
    vhost.bind("x", "q:q", "a.*");
    vhost.bind("x", "q:q", "#");
    vhost.bind("x", "e:amq.fanout", "a.b");
    vhost.bind("amq.fanout", "q:q", "");
    assert_eq!(vhost.route("x", &key("a.b")), ["q"]);
}

#[test]
fn cc_and_bcc_keys_add_queues() {
    let mut vhost = Vhost::with_queues(&["q", "r", "s"]);
    for name in ["q", "r", "s"] {
        vhost.bind("amq.direct", &format!("q:{name}"), name);
        vhost.bind("amq.topic", &format!("q:{name}"), name);
    }
    let message = Routable { more_keys: &[b"r", b"none", b"q"], ..key("q") };
    for exchange in ["", "amq.direct", "amq.topic"] {
        let (queues, _, is_cacheable) = vhost.route_fresh(exchange, &message);
        assert_eq!((queues, is_cacheable), (vec!["q".to_owned(), "r".to_owned()], false), "{exchange:?}");
    }
}

#[test]
fn cycles_are_cut() {
    let mut vhost = Vhost::with_queues(&["q", "r"]);
    vhost.declare("x", Fanout);
    vhost.declare("y", Fanout);
    vhost.bind("x", "e:x", "");
    vhost.bind("x", "e:y", "");
    vhost.bind("y", "e:x", "");
    vhost.bind("x", "q:q", "");
    vhost.bind("y", "q:r", "");
    assert_eq!(vhost.route("x", &key("")), ["q", "r"]);
    assert_eq!(vhost.route("y", &key("")), ["q", "r"]);
}

#[test]
fn what_matches_nothing_goes_to_the_alternate() {
    let mut vhost = Vhost::with_queues(&["q", "spare"]);
    vhost.declare_with_alternate("x", Direct, "alternate");
    vhost.bind("x", "q:q", "k");
    assert_eq!(vhost.route_fresh("x", &key("other")), (vec![], false, true)); // it need not exist
    vhost.declare("alternate", Fanout);
    assert_eq!(vhost.route_fresh("x", &key("other")), (vec![], true, true));
    vhost.bind("alternate", "q:spare", "");
    assert_eq!(vhost.route_fresh("x", &key("other")), (vec!["spare".to_owned()], true, true));
    assert_eq!(vhost.route_fresh("x", &key("k")), (vec!["q".to_owned()], false, true));
}

#[test]
fn alternates_form_chains_and_circles() {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.declare_with_alternate("x", Direct, "y");
    vhost.declare_with_alternate("y", Direct, "z");
    vhost.declare_with_alternate("z", Direct, "x");
    assert!(vhost.route("x", &key("k")).is_empty());
    vhost.bind("z", "q:q", "k");
    assert_eq!(vhost.route("x", &key("k")), ["q"]);
    assert_eq!(vhost.route("y", &key("k")), ["q"]);
}

#[test]
fn an_exchange_that_matched_has_no_use_for_its_alternate() {
    let mut vhost = Vhost::with_queues(&["spare"]);
    vhost.declare_with_alternate("x", Fanout, "alternate");
    vhost.declare("alternate", Fanout);
    vhost.declare("dead-end", Fanout);
    vhost.bind("alternate", "q:spare", "");
    vhost.bind("x", "e:dead-end", "");
    assert_eq!(vhost.route_fresh("x", &key("k")), (vec![], false, true));
    // Even if all that matched had been asked before.
    vhost.declare("first", Fanout);
    vhost.bind("first", "e:x", "");
    vhost.bind("first", "e:dead-end", "");
    assert!(vhost.route("first", &key("k")).is_empty());
}

#[test]
fn an_alternate_further_on_is_asked() {
    let mut vhost = Vhost::with_queues(&["q", "spare"]);
    vhost.declare_with_alternate("inner", Direct, "alternate");
    vhost.declare("alternate", Fanout);
    vhost.bind("alternate", "q:spare", "");
    vhost.bind("amq.fanout", "e:inner", "");
    vhost.bind("amq.fanout", "q:q", "");
    assert_eq!(vhost.route_fresh("amq.fanout", &key("k")), (vec!["q".to_owned(), "spare".to_owned()], true, true));
}

#[test]
fn the_alternate_of_a_policy_yields_to_the_declared_one() {
    let mut vhost = Vhost::with_queues(&["declared", "policy"]);
    vhost.declare_with_alternate("x", Direct, "declared");
    vhost.declare("y", Direct);
    for name in ["declared", "policy"] {
        vhost.declare(name, Fanout);
        vhost.bind(name, &format!("q:{name}"), "");
    }
    assert!(vhost.route_cached("y", "k").is_empty());
    for exchange in ["x", "y"] {
        assert!(vhost.exchanges.set_policy_alternate(exchange.as_bytes(), Some(b"policy")));
    }
    assert_eq!(vhost.route_cached("x", "k"), ["declared"]);
    assert_eq!(vhost.route_cached("y", "k"), ["policy"]);
    assert!(vhost.exchanges.set_policy_alternate(b"y", None));
    assert!(vhost.route_cached("y", "k").is_empty());
    assert!(!vhost.exchanges.set_policy_alternate(b"nowhere", None));
}

#[test]
fn the_default_exchange_is_no_alternate_and_has_none() {
    let mut vhost = Vhost::with_queues(&["q", "r"]);
    vhost.declare_with_alternate("x", Direct, "");
    assert_eq!(vhost.route_fresh("x", &key("q")), (vec![], false, true));
    vhost.exchanges.set_policy_alternate(b"", Some(b"amq.fanout"));
    vhost.bind("amq.fanout", "q:r", "");
    assert!(vhost.route("", &key("none")).is_empty());
}

#[test]
fn a_headers_exchange_anywhere_on_the_way_forbids_caching() {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.declare("x", Topic);
    vhost.declare("h", Headers);
    vhost.bind("x", "e:h", "by.headers");
    vhost.bind("x", "q:q", "by.key");
    assert!(vhost.route_fresh("x", &key("by.key")).2);
    assert!(!vhost.route_fresh("x", &key("by.headers")).2);
    assert!(!vhost.route_fresh("h", &key("")).2);
}

#[test]
fn one_scratch_serves_several_vhosts() {
    let (mut small, mut large) = (Vhost::with_queues(&["q"]), Vhost::new());
    small.bind("amq.fanout", "q:q", "");
    for number in 0..1000 {
        large.add_queue(&format!("q{number}"));
        large.bind("amq.fanout", &format!("q:q{number}"), "");
    }
    let mut scratch = RouteScratch::new(1);
    for _ in 0..3 {
        for (vhost, count) in [(&small, 1), (&large, 1000)] {
            let routed = vhost.exchanges.route(b"amq.fanout", &key(""), &mut scratch).expect("it exists");
            assert_eq!(routed.queues.len(), count);
        }
    }
}

#[test]
fn a_delayed_message_waits_where_it_first_can() {
    let mut exchanges = Exchanges::new(HashSeed::fixed());
    let arguments = TableBuf::new().with("x-delayed-type", Value::LongStr(b"topic"));
    for (name, kind, arguments) in
        [(&b"first"[..], ExchangeType::Fanout, TableBuf::new()), (b"delayed", ExchangeType::DelayedMessage, arguments)]
    {
        exchanges.declare(&Declaration {
            name,
            kind,
            is_durable: true,
            is_auto_delete: false,
            is_internal: false,
            alternate: None,
            arguments: arguments.as_table(),
        });
    }
    exchanges.queue_added(b"q", QueueId(1), true);
    exchanges.queue_added(b"now", QueueId(2), true);
    let mut bind = |source: &'static [u8], destination: Destination<'_>, routing_key: &'static [u8]| {
        let spec = BindingSpec { source, destination, routing_key, arguments: Table::EMPTY };
        assert_eq!(exchanges.bind(&spec), Ok(true));
    };
    bind(b"first", Destination::Exchange(b"delayed"), b"");
    bind(b"delayed", Destination::Queue(QueueId(1)), b"a.*");
    bind(b"first", Destination::Queue(QueueId(2)), b"");
    let mut scratch = RouteScratch::new(1);
    let delayed = Routable { is_delayed: true, ..Routable::by_key(b"a.b") };
    let mut route = |exchanges: &Exchanges, message: &Routable<'_>| {
        let routed = exchanges.route(b"first", message, &mut scratch).unwrap();
        let mut queues = routed.queues.to_vec();
        queues.sort_unstable();
        let delays: Vec<_> = routed.delays.iter().map(|delay| exchanges.name_of(*delay).to_vec()).collect();
        (queues, delays, routed.is_cacheable)
    };
    let everywhere = vec![QueueId(1), QueueId(2)];
    assert_eq!(route(&exchanges, &delayed), (everywhere.clone(), vec![], true), "no exchange delays yet");
    assert!(exchanges.set_delaying(b"delayed", true));
    assert!(!exchanges.set_delaying(b"missing", true));
    assert_eq!(route(&exchanges, &delayed), (vec![QueueId(2)], vec![b"delayed".to_vec()], true));
    assert_eq!(route(&exchanges, &Routable::by_key(b"a.b")), (everywhere, vec![], true), "others go by as ever");
}
