//! Whole inputs, and inputs that make no sense.

use ::definitions::{LISTS, exported};
use proptest::prelude::*;

use super::*;

fn input(name: &str, text: &str) -> Input {
    Input { name: name.to_owned(), bytes: text.as_bytes().to_vec(), kind: None }
}

#[track_caller]
fn report(inputs: &[(&str, &str)]) -> Report {
    let inputs: Vec<Input> = inputs.iter().map(|(name, text)| input(name, text)).collect();
    examine(&inputs).unwrap()
}

/// What is refused: sentences, each with the places.
fn refused(report: &Report) -> Vec<String> {
    let places = |group: &Group| group.places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    report.of_severity(Severity::Refused).map(|group| format!("{} ({})", group.text, places(group))).collect()
}

#[test]
fn what_works_is_counted_and_nothing_is_said_of_it() {
    let report = report(&[
        ("rabbitmq.conf", "heartbeat = 60\nlisteners.tcp.default = 5672\n"),
        ("enabled_plugins", "[rabbitmq_management]."),
    ]);
    assert_eq!((report.works, report.different, report.refused), (3, 0, 0));
    assert_eq!(report.families, ["plugins", "settings"]);
    assert!(report.groups.is_empty());
}

#[test]
fn keys_of_a_protocol_are_refused_unless_its_plugin_is_known_not_to_run() {
    let conf = ("rabbitmq.conf", "mqtt.listeners.tcp.default = 1883\n");
    if support::MQTT.is_there() {
        return;
    }
    assert_eq!(refused(&report(&[conf])), ["MQTT is not supported (rabbitmq.conf:1: mqtt.listeners.tcp.default)"]);
    let without = report(&[conf, ("enabled_plugins", "[rabbitmq_management].")]);
    assert_eq!((without.refused, without.different), (0, 1));
    assert_eq!(report(&[conf, ("enabled_plugins", "[rabbitmq_mqtt].")]).refused, 2);
}

#[test]
fn a_variable_of_the_environment_file_is_put_into_the_configuration() {
    let conf = ("rabbitmq.conf", "heartbeat = $(BEAT)\n");
    assert_eq!(report(&[conf]).different, 1);
    let both = report(&[conf, (".env", "BEAT=30\nRABBITMQ_NODENAME=rabbit@a\n")]);
    assert!(both.of_severity(Severity::Refused).next().is_none());
    assert_eq!(report(&[conf, (".env", "BEAT=often\n")]).refused, 1);
}

#[test]
fn what_the_configuration_forbids_definitions_may_not_have() {
    let definitions = r#"{"vhosts":[{"name":"/"}],"queues":[{"name":"t","vhost":"/","durable":false,"auto_delete":false,"arguments":{}}]}"#;
    let definitions = ("d.json", definitions);
    assert_eq!(report(&[definitions]).refused, 0);
    let conf = ("rabbitmq.conf", "deprecated_features.permit.transient_nonexcl_queues = false\n");
    assert_eq!(report(&[conf, definitions]).refused, 1);
}

#[test]
fn a_start_refuses_definitions_of_one_virtual_host() {
    let by_entries = r#"{"queues":[{"name":"q","durable":true,"auto_delete":false,"arguments":{}}]}"#;
    let by_format = r#"{"rabbitmq_definition_format":"single_virtual_host","queues":[]}"#;
    let of_broker = r#"{"queues":[{"name":"q","vhost":"/","durable":true,"auto_delete":false,"arguments":{}}]}"#;
    let loading = |path: &str| format!("load_definitions = {path}\n");
    let check = |text: &str, conf: &str, count: usize| {
        let inputs = [("rabbitmq.conf", conf), ("./defs/d.json", text)];
        let report = report(&inputs[usize::from(conf.is_empty())..]);
        assert_eq!(report.refused, count, "{conf}: {report:?}");
        assert_eq!(report.notes.iter().any(|note| note.contains("load_definitions refuses it")), text != of_broker);
    };
    for text in [by_entries, by_format] {
        check(text, "", 0);
        check(text, "heartbeat = 60\n", 0);
        check(text, &loading("/etc/rabbitmq/other.json"), 0);
        check(text, &loading("/etc/rabbitmq/d.json"), 1);
        check(text, &loading("/etc/rabbitmq/defs/"), 1);
    }
    check(of_broker, &loading("d.json"), 0);
    let refused = refused(&report(&[("rabbitmq.conf", &loading("d.json")), ("d.json", by_format)]));
    let text = "the file is an export of one virtual host: load_definitions refuses it, and the broker does not start";
    assert_eq!(refused, [format!("{text} (d.json)")]);
}

#[test]
fn the_same_said_of_many_is_said_once() {
    let queue = |number: usize| {
        format!(r#"{{"name":"q{number}","vhost":"/","durable":true,"arguments":{{"x-queue-mode":"lazy"}}}}"#)
    };
    let queues: Vec<String> = (0..2000).map(queue).collect();
    let report = report(&[("d.json", &format!(r#"{{"queues":[{}]}}"#, queues.join(",")))]);
    assert_eq!((report.groups.len(), report.different), (1, 2000));
    assert_eq!(report.groups[0].places.len(), 2000);
}

#[test]
fn erlang_terms_are_judged_as_the_keys_that_say_the_same() {
    let text =
        "[{rabbit, [{heartbeat, 30}, {of_my_own, 1}, {queue_index_max_journal_entries, 5},\n {channel_max, many}]}].";
    let report = report(&[("rabbitmq.config", text)]);
    assert_eq!((report.works, report.different, report.refused), (1, 2, 1));
    assert!(refused(&report)[0].contains("'channel_max' must be"), "{:?}", refused(&report));
    let terms = "{rabbitmq_auth_backend_ldap, [{servers, [\"x\"]}]}";
    let report = super::examine(&[input("advanced.config", &format!("[{terms}]."))]).unwrap();
    assert_eq!(report.refused, 1);
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_it() {
    let error = |name, text| examine(&[input(name, text)]).unwrap_err().to_string();
    assert!(error("d.json", "{\"queues\":[").starts_with("d.json: invalid JSON: "));
    assert!(
        error("values.yaml", "a:\n  b: c\n").starts_with("values.yaml: unknown kind of file; set its kind with --kind")
    );
    assert_eq!(
        error("advanced.config", "[{rabbit, [").as_str(),
        "advanced.config: line 1 is not a valid Erlang term: unexpected end of the file"
    );
    let bytes = Input { name: "x".to_owned(), bytes: vec![0xff, 0xfe], kind: None };
    assert_eq!(examine(&[bytes]).unwrap_err().to_string(), "x: not a text file");
}

/// JSON that looks like definitions, with anything in it.
fn arbitrary_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        "[a-z/.*#(-]{0,6}".prop_map(serde_json::Value::from),
        prop_oneof![
            Just("stream"),
            Just("quorum"),
            Just("queue"),
            Just("exchange"),
            Just("x-delayed-message"),
            Just("direct"),
            Just("headers"),
            Just("/"),
            Just("shovel"),
            Just("operator_policy"),
            Just("vhost-limits"),
            Just("undefined")
        ]
        .prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 40, 6, |inner| {
        let key = prop_oneof![
            Just("name"),
            Just("vhost"),
            Just("type"),
            Just("arguments"),
            Just("source"),
            Just("destination"),
            Just("component"),
            Just("destination_type"),
            Just("routing_key"),
            Just("value"),
            Just("definition"),
            Just("pattern"),
            Just("tags"),
            Just("user"),
            Just("password_hash"),
            Just("hashing_algorithm"),
            Just("metadata"),
            Just("limits"),
            Just("default_queue_type"),
            Just("x-queue-type"),
            Just("x-delayed-type"),
            Just("ha-mode"),
            Just("max-queues"),
            Just("configure"),
            Just("write"),
            Just("read"),
            Just("durable"),
            Just("apply-to"),
            Just("priority"),
            Just("exchange")
        ]
        .prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map(key, inner, 0..8)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// An exchange of a broker's list.
fn internal_exchange() -> impl Strategy<Value = serde_json::Value> {
    let name = prop_oneof![Just("queue"), Just("exchange"), Just(""), Just("amq.y"), Just("federation: x -> y")];
    (name, any::<bool>(), any::<bool>()).prop_map(|(name, internal, is_there)| {
        let vhost = if is_there { "/" } else { "v" };
        serde_json::json!({"vhost": vhost, "name": name, "type": "fanout", "durable": true, "auto_delete": false,
                           "internal": internal, "arguments": {}})
    })
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0..=Kind::ALL.len()) {
        let kind = Kind::ALL.get(at).copied();
        let _ = examine(&[Input { name: "f".to_owned(), bytes, kind }]);
    }

    #[test]
    fn no_text_makes_it_panic(
        text in prop_oneof![
            "\\PC*",
            "([a-z_]{1,12}(\\.[a-z_1]{1,8}){0,3} = [a-z0-9:$()']{0,9}\n){0,5}",
            "\\[(\\{[a-z]{1,6}, ?(\\[[a-z1,{}]{0,9}\\]|[a-z1]{1,4})\\},?){0,4}\\]\\.",
        ],
        at in 0..=Kind::ALL.len()
    ) {
        let kind = Kind::ALL.get(at).copied();
        let _ = examine(&[Input { name: "f".to_owned(), bytes: text.into_bytes(), kind }]);
    }

    #[test]
    fn no_terms_of_rabbitmq_make_it_panic(
        key in prop_oneof![
            "tcp_listeners|ssl_options|vm_memory_high_watermark|cluster_nodes|auth_backends|log",
            "cluster_formation|loopback_users|default_permissions|tcp_listen_options|disk_free_limit|heartbeat",
        ],
        value in prop_oneof![
            "[a-z1]{1,4}|\"[a-z'#\\n]{0,4}\"|\\[\\]|\\[([a-z1]{1,4},){0,3}[a-z]\\]",
            "\\{[a-z]{1,9},[a-z1\"]{1}\\}|\\[\\{[a-z_]{1,9},(\\[\\{[a-z]{1,4},1\\}\\]|1)\\}\\]",
        ]
    ) {
        let text = format!(
            "[{{rabbit, [{{{key}, {value}}}]}}, {{rabbitmq_management, [{{listener, {value}}}]}},\n \
             {{rabbitmq_mqtt, [{{{key}, {value}}}]}}]."
        );
        let _ = examine(&[Input { name: "f.config".to_owned(), bytes: text.into_bytes(), kind: Some(Kind::Classic) }]);
    }

    #[test]
    fn no_definitions_make_it_panic(
        lists in proptest::collection::vec((0..LISTS.len(), proptest::collection::vec(arbitrary_json(), 0..4)), 0..6)
    ) {
        let members: serde_json::Map<_, _> =
            lists.into_iter().map(|(at, entries)| (LISTS[at].to_owned(), entries.into())).collect();
        let bytes = serde_json::Value::Object(members).to_string().into_bytes();
        let report = examine(&[Input { name: "f".to_owned(), bytes: bytes.clone(), kind: Some(Kind::Definitions) }]).unwrap();
        let counted: usize = report.working.iter().map(|(_, count)| count).sum();
        prop_assert_eq!(counted, report.works);
        let _ = examine(&[Input { name: "f".to_owned(), bytes, kind: Some(Kind::Broker) }]);
    }

    /// A broker's definitions are completed entry by entry here, and as a whole where they are brought to another broker.
    #[test]
    fn of_a_brokers_definitions_the_same_is_said_as_of_what_is_exported_of_them(
        lists in proptest::collection::vec((0..LISTS.len(), proptest::collection::vec(arbitrary_json(), 0..6)), 0..8),
        exchanges in proptest::collection::vec(internal_exchange(), 0..3),
    ) {
        let mut definitions: serde_json::Map<_, _> =
            lists.into_iter().map(|(at, entries)| (LISTS[at].to_owned(), entries.into())).collect();
        definitions.insert("vhosts".to_owned(), serde_json::json!([{"name": "/"}]));
        let whole = exported(definitions.clone().into(), &exchanges).to_string();
        let mut answers = AnswerTexts::new("f".to_owned());
        answers.put("definitions", serde_json::Value::Object(definitions).to_string());
        answers.put("exchanges", serde_json::Value::from(exchanges).to_string());
        let found = examine_with(&[], Some(&answers)).unwrap();
        let whole = Input { name: "f".to_owned(), bytes: whole.into_bytes(), kind: Some(Kind::Definitions) };
        prop_assert_eq!(Report { sources: Vec::new(), ..found }, Report { sources: Vec::new(), ..examine(&[whole]).unwrap() });
    }
}
