//! Exchanges, queues and bindings.

use super::*;

#[test]
fn without_options_each_consumer_has_a_queue_that_the_broker_names() {
    let plan = plan("");
    let [exchange] = &plan.exchanges[..] else { panic!() };
    assert_eq!((exchange.name.as_str(), exchange.kind.as_str()), ("direct", "direct"));
    assert!(exchange.durable && !exchange.auto_delete && !exchange.keep_existing);
    let [queues] = &plan.queues[..] else { panic!() };
    assert_eq!(queues.names, [""]);
    assert_eq!(super::tests::plan("-y 3 -Y 2").queues[0].names.len(), 6);
    assert!(!queues.durable && !queues.exclusive && queues.auto_delete && !queues.is_temporary);
    assert_eq!(plan.consumers[0].queues, ConsumedQueues::All(vec![String::new()]));
    let Routing::PerPublisher(keys) = &plan.publishers[0].routing else { panic!() };
    assert_eq!(keys[0].len(), 36, "a random key");
    assert_eq!(
        queues.bindings,
        [Binding { exchange: "direct".into(), keys: BindingKeys::All(keys.clone()), arguments: vec![] }]
    );
}

#[test]
fn the_exchange_is_named_like_its_type() {
    let plan = plan("-t fanout");
    assert_eq!((plan.exchanges[0].name.as_str(), plan.exchanges[0].kind.as_str()), ("fanout", "fanout"));
    assert_eq!(plan.publishers[0].exchange, "fanout");
}

#[test]
fn the_brokers_own_exchanges_are_not_declared() {
    assert!(plan("-e amq.topic -t topic").exchanges.is_empty());
    assert_eq!(producer("-e amq.topic").exchange, "amq.topic");
}

#[test]
fn the_default_exchange_is_neither_declared_nor_bound_to() {
    for command in ["-e amq.default -u q -k q", "-e '' -u q -k q", "-u q -k q -e", "-e -u q -k q"] {
        let plan = plan(command);
        assert!(plan.exchanges.is_empty() && plan.queues[0].bindings.is_empty(), "{command}");
        assert_eq!(plan.publishers[0].exchange, "", "{command}");
        assert_eq!(plan.publishers[0].routing, Routing::PerPublisher(vec!["q".into()]), "{command}");
    }
}

#[test]
fn each_consumer_takes_all_queues_that_are_named() {
    let plan = plan("-y 2 -u q1,q2 -k rk");
    assert_eq!(plan.queues[0].names, ["q1", "q2"]);
    assert_eq!(plan.queues[0].bindings[0].keys, BindingKeys::All(vec!["rk".into()]));
    assert_eq!(plan.consumers[0].queues, ConsumedQueues::All(vec!["q1".into(), "q2".into()]));
}

#[test]
fn producers_and_consumers_take_the_queues_of_a_pattern_in_turn() {
    let plan = plan("-x 3 -y 2 -qp q-%d -qpf 1 -qpt 4");
    let names: Vec<String> = (1..=4).map(|number| format!("q-{number}")).collect();
    assert_eq!(plan.queues[0].names, names);
    assert_eq!(plan.queues[0].bindings[0].keys, BindingKeys::QueueName);
    assert_eq!(plan.publishers[0].routing, Routing::PerPublisher(names.clone()));
    assert_eq!(plan.consumers[0].queues, ConsumedQueues::Spread(names));
}

#[test]
fn a_routing_key_binds_all_queues_of_a_pattern() {
    let plan = plan("-qp q-%d -qpf 1 -qpt 4 -k rk");
    assert_eq!(plan.queues[0].bindings[0].keys, BindingKeys::All(vec!["rk".into()]));
    assert_eq!(plan.publishers[0].routing, Routing::PerPublisher(vec!["rk".into()]));
}

#[test]
fn queues_may_come_from_a_file() {
    let plan = plan("-qf queues.txt");
    assert_eq!(plan.queues[0].names, ["one", "two", "three"]);
    assert_eq!(plan.queues[0].bindings[0].keys, BindingKeys::QueueName);
    let error = options("-qf missing.txt").plan("test", 1, &|_| Err(io::Error::other("gone"))).unwrap_err();
    assert_eq!(error.to_string(), "--queue-file missing.txt: gone");
}

#[test]
fn without_consumers_only_named_queues_are_declared() {
    assert!(plan("-y 0").queues.is_empty());
    let plan = plan("-y 0 -u q");
    assert_eq!(plan.queues[0].names, ["q"]);
    assert!(plan.consumers.is_empty());
}

#[test]
fn without_producers_queues_are_declared_all_the_same() {
    let plan = plan("-x 0 -u q");
    assert_eq!(plan.queues[0].names, ["q"]);
    assert!(plan.publishers.is_empty());
}

#[test]
fn predeclared_declares_what_is_missing() {
    let named = plan("-p -u q");
    assert!(named.exchanges[0].keep_existing && named.queues[0].keep_existing);
    assert_eq!(named.queues[0].bindings.len(), 1, "and binds it in any case");
    let unnamed = plan("-p -e amq.direct -k kk");
    assert!(unnamed.queues.is_empty() && unnamed.consumers.is_empty());
}

#[test]
fn queues_may_be_left_unbound() {
    assert!(plan("-sb -u q").queues[0].bindings.is_empty());
}

#[test]
fn persistent_messages_make_durable_queues() {
    let plan = plan("-f persistent -ad false");
    assert!(plan.queues[0].durable && !plan.queues[0].auto_delete && plan.publishers[0].properties.persistent);
}

#[test]
fn quorum_queues_are_durable_and_stay() {
    let plan = plan("-qq -u q -ad true");
    let queues = &plan.queues[0];
    assert!(queues.durable && !queues.auto_delete && plan.publishers[0].properties.persistent);
    assert_eq!(queues.arguments, [("x-queue-type".to_owned(), Value::Text("quorum".to_owned()))]);
}

#[test]
fn streams_have_limits_and_a_prefetch() {
    let plan = plan("-sq -u s");
    assert_eq!(
        plan.queues[0].arguments,
        [
            ("x-queue-type".to_owned(), Value::Text("stream".to_owned())),
            ("x-max-length-bytes".to_owned(), Value::Int(20_000_000_000)),
            ("x-stream-max-segment-size-bytes".to_owned(), Value::Int(500_000_000)),
        ]
    );
    assert_eq!(plan.consumers[0].prefetch, 200);
    let unlimited = super::tests::plan("-sq -u s -mlb 0 -ma PT10M30S -ll balanced -q 10 -sco 2022-06-03T07:45:54Z");
    assert_eq!(
        unlimited.queues[0].arguments,
        [
            ("x-queue-type".to_owned(), Value::Text("stream".to_owned())),
            ("x-stream-max-segment-size-bytes".to_owned(), Value::Int(500_000_000)),
            ("x-max-age".to_owned(), Value::Text("630s".to_owned())),
            ("x-queue-leader-locator".to_owned(), Value::Text("balanced".to_owned())),
        ]
    );
    assert_eq!(unlimited.consumers[0].prefetch, 10);
    assert_eq!(unlimited.consumers[0].arguments, [("x-stream-offset".to_owned(), Value::Timestamp(1_654_242_354))]);
}

#[test]
fn exclusive_queues_are_those_of_consumers() {
    let plan = plan("-E -y 2 -qp q-%d -qpf 1 -qpt 4");
    assert!(plan.queues[0].exclusive);
    assert_eq!(plan.queues[0].names, ["q-1", "q-2"]);
    assert!(super::tests::plan("-E -y 0 -u q").queues.is_empty());
}

#[test]
fn consumers_of_an_exclusive_queue_share_a_connection() {
    let plan = plan("-E -y 2 -Y 2 -u q");
    assert_eq!((plan.consumers[0].connections, plan.consumers[0].channels), (1, 4));
    let plan = super::tests::plan("-E -y 5 -qp q-%d -qpf 1 -qpt 3");
    let groups: Vec<_> =
        plan.consumers.iter().map(|group| (&group.queues, group.connections, group.channels)).collect();
    let all = |name: &str| ConsumedQueues::All(vec![name.to_owned()]);
    assert_eq!(groups, [(&all("q-1"), 1, 2), (&all("q-2"), 1, 2), (&all("q-3"), 1, 1)]);
    let unnamed = super::tests::plan("-E -y 2");
    assert_eq!((unnamed.consumers[0].connections, unnamed.consumers[0].channels), (2, 1));
}

#[test]
fn queue_arguments_add_up() {
    let plan = plan("-qa x-max-length=10,x-queue-version=2 -qa x-max-length=20");
    assert_eq!(
        plan.queues[0].arguments,
        [("x-max-length".to_owned(), Value::Int(20)), ("x-queue-version".to_owned(), Value::Int(2)),]
    );
}
