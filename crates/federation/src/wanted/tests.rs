//! What policies make of upstreams.

use amqp::TableBuf;
use model::arguments::{ExchangeArguments, ExchangeType, QueueArguments};
use model::ids::QueueId;
use model::name::{ExchangeName, QueueName};
use model::policy::Policy;
use serde_json::{Value as Json, json};

use super::*;

fn vhost() -> VhostName {
    VhostName::parse(b"here").unwrap()
}

fn upstreams(parameters: &[(&str, &str, Json)]) -> Upstreams {
    let parameter = |(component, name, value): &(&str, &str, Json)| VhostParameter {
        vhost: vhost(),
        component: (*component).into(),
        name: (*name).into(),
        value: value.clone(),
    };
    let all: Vec<_> = parameters.iter().map(parameter).collect();
    Upstreams::of(&all, "c")
}

fn exchange(name: &str) -> definition::Exchange {
    definition::Exchange {
        vhost: vhost(),
        name: ExchangeName::parse(name.as_bytes()).unwrap(),
        exchange_type: ExchangeType::Topic,
        is_durable: true,
        is_auto_delete: false,
        is_internal: false,
        arguments: ExchangeArguments::default(),
    }
}

fn queue(name: &str, arguments: &TableBuf) -> definition::Queue {
    definition::Queue {
        vhost: vhost(),
        name: QueueName::parse(name.as_bytes()).unwrap(),
        id: QueueId(1),
        is_durable: true,
        is_auto_delete: false,
        is_exclusive: false,
        arguments: QueueArguments::from_stored(arguments.clone()).unwrap(),
    }
}

fn subject(fed: Fed, choice: Choice) -> Subject {
    Subject { fed, policy: "p".into(), choice }
}

#[track_caller]
fn check(upstreams: &Upstreams, choice: Choice, expected: &[(&str, &str)]) {
    let subject = subject(Fed::Exchange(exchange("x")), choice);
    let links: Vec<_> = upstreams.links(&subject).map(|link| (link.id.upstream, link.id.upstream_name)).collect();
    let links: Vec<_> = links.iter().map(|(upstream, name)| (&**upstream, &**name)).collect();
    assert_eq!(links, expected);
}

#[test]
fn a_policy_names_an_upstream_a_set_or_a_pattern() {
    let upstreams = upstreams(&[
        (FEDERATION_UPSTREAM, "a-1", json!({"uri": "amqp://a"})),
        (FEDERATION_UPSTREAM, "a-2", json!({"uri": "amqp://b", "exchange": "y"})),
        (FEDERATION_UPSTREAM, "c", json!({"uri": "amqp://c"})),
        (
            FEDERATION_UPSTREAM_SET,
            "two",
            json!([{"upstream": "c", "exchange": "z"}, {"upstream": "gone"}, {"upstream": "a-2"}]),
        ),
        (
            FEDERATION_UPSTREAM_SET,
            "twice",
            json!([{"upstream": "c"}, {"upstream": "c"}, {"upstream": "c", "exchange": "z"}]),
        ),
        ("other", "d", json!({"uri": "amqp://d"})),
    ]);
    check(&upstreams, Choice::Upstream("a-1".into()), &[("a-1", "x")]);
    check(&upstreams, Choice::Upstream("gone".into()), &[]);
    check(&upstreams, Choice::Set("two".into()), &[("c", "z"), ("a-2", "y")]);
    check(&upstreams, Choice::Set("twice".into()), &[("c", "x"), ("c", "z")]);
    check(&upstreams, Choice::Set("gone".into()), &[]);
    check(&upstreams, Choice::Set("all".into()), &[("a-1", "x"), ("a-2", "y"), ("c", "x")]);
    check(&upstreams, Choice::Pattern(Policy::parse_pattern("^a-").unwrap()), &[("a-1", "x"), ("a-2", "y")]);
    check(&upstreams, Choice::Pattern(Policy::parse_pattern("").unwrap()), &[("a-1", "x"), ("a-2", "y"), ("c", "x")]);
}

#[test]
fn a_member_of_a_set_counts_more_than_its_upstream_and_that_more_than_nothing() {
    let upstreams = upstreams(&[
        (
            FEDERATION_UPSTREAM,
            "a",
            json!({"uri": ["amqp://a", "amqp://b/there"], "max-hops": 2, "prefetch-count": 5, "queue": "q1"}),
        ),
        (FEDERATION_UPSTREAM_SET, "s", json!([{"upstream": "a", "max-hops": 3, "resource-cleanup-mode": "never"}])),
    ]);
    let subject = subject(Fed::Queue(queue("q", &TableBuf::new())), Choice::Set("s".into()));
    let links: Vec<_> = upstreams.links(&subject).collect();
    let link = &links[0];
    assert_eq!((link.max_hops, link.prefetch_count, link.cleans_up), (3, 5, false));
    assert_eq!((&*link.id.upstream_name, &*link.consumer_tag), ("q1", "federation-link-a"));
    assert_eq!((link.reconnect_delay, link.ack_mode), (Duration::from_secs(5), AckMode::OnConfirm));
    assert_eq!(link.uris.iter().map(|uri| &*uri.vhost).collect::<Vec<_>>(), ["here", "there"]);
    assert_eq!(link.connection_name(), "Federation link (upstream: a, policy: p)");
}

#[test]
fn what_belongs_to_links_is_not_fed() {
    assert!(Fed::Exchange(exchange("x")).may_be_fed());
    assert!(!Fed::Exchange(exchange("")).may_be_fed());
    assert!(!Fed::Exchange(definition::Exchange { is_internal: true, ..exchange("x") }).may_be_fed());
    assert!(Fed::Queue(queue("q", &TableBuf::new())).may_be_fed());
    let arguments = TableBuf::new().with("x-internal-purpose", Value::LongStr(b"federation"));
    assert!(!Fed::Queue(queue("q", &arguments)).may_be_fed());
}

/// The link of exchange `x` from an upstream of this name.
fn link_from(name: &str, settings: Json) -> Link {
    let mut value = json!({"uri": "amqp://a"});
    value.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let upstreams = upstreams(&[(FEDERATION_UPSTREAM, name, value)]);
    let subject = subject(Fed::Exchange(exchange("x")), Choice::Set("all".into()));
    upstreams.links(&subject).next().unwrap()
}

#[test]
fn links_make_the_same_unless_what_they_declare_is_another_thing() {
    let plain = link_from("a", json!({}));
    for same in [
        json!({"prefetch-count": 1, "trust-user-id": true, "max-hops": 2}),
        json!({"uri": "amqp://user:password@a"}),
        json!({"uri": ["amqp://b", "amqp://a"]}),
    ] {
        assert!(plain.makes_the_same(&link_from("b", same)));
    }
    for other in
        [json!({"expires": 1}), json!({"message-ttl": 1}), json!({"queue-type": "quorum"}), json!({"uri": "amqp://b"})]
    {
        assert!(!plain.makes_the_same(&link_from("a", other)));
    }
    assert!(!plain.makes_the_same(&Link { cluster_name: "other".into(), ..plain.clone() }));
}

#[test]
fn links_share_what_has_the_same_name_at_the_same_broker() {
    let plain = link_from("a", json!({}));
    assert!(plain.shares_with(&link_from("b", json!({"expires": 1}))));
    for other in [
        json!({"exchange": "y"}),
        json!({"uri": "amqp://a:5673"}),
        json!({"uri": "amqp://a/there"}),
        json!({"uri": "amqp://"}),
    ] {
        assert!(!plain.shares_with(&link_from("b", other)));
    }
    let of_queue = Link { fed: Fed::Queue(queue("x", &TableBuf::new())), ..plain.clone() };
    assert!(!plain.shares_with(&of_queue) && !of_queue.shares_with(&of_queue));
}
