//! Every key, what it means by default, and what is refused.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;

fn shovel(mut value: Value, more: &Value) -> Value {
    let (Some(fields), Some(more)) = (value.as_object_mut(), more.as_object()) else { panic!("objects") };
    fields.extend(more.clone());
    value
}

/// A shovel that is right, with these keys beside.
fn plain(more: &Value) -> Value {
    shovel(json!({"src-uri": "amqp://a", "src-queue": "from", "dest-uri": "amqp://b"}), more)
}

fn parsed(value: &Value) -> Shovel {
    Shovel::parse(value).unwrap()
}

#[track_caller]
fn check_refused(value: &Value, text: &str) {
    assert_eq!(Shovel::parse(value).unwrap_err().to_string(), text);
}

#[test]
fn what_is_left_out_has_rabbitmqs_default() {
    let Shovel { source, destination, ack_mode, reconnect_delay } = parsed(&plain(&json!({})));
    assert_eq!((ack_mode, reconnect_delay), (AckMode::OnConfirm, Some(Duration::from_secs(1))));
    assert_eq!((source.prefetch, source.delete_after, source.is_predeclared), (1000, DeleteAfter::Never, false));
    assert_eq!(source.from, SourceQueue::Queue { name: "from".into(), arguments: TableBuf::new() });
    let Destination::Broker(broker) = destination else { panic!("a broker") };
    assert_eq!(broker.to, Target::Exchange { name: None, key: None });
    assert_eq!(broker.properties, None);
}

#[test]
fn every_key_means_something() {
    let value = json!({
        "src-uri": ["amqp://a", "amqps://u:p@c:1/v"], "src-protocol": "amqp091", "src-exchange": "x", "src-exchange-key": "k",
        "src-consumer-args": {"x-priority": 3}, "src-prefetch-count": 7, "src-delete-after": 5, "src-delete-after-duration": 60,
        "src-predeclared": true, "dest-protocol": "local", "dest-uri": "amqp:///there", "dest-queue": "to",
        "dest-queue-args": {"x-queue-type": "quorum"}, "dest-add-forward-headers": true, "dest-add-timestamp-header": true,
        "dest-publish-properties": {"delivery_mode": 2, "type": "t"}, "dest-predeclared": true, "ack-mode": "on-publish",
        "reconnect-delay": 0, "internal": false, "internal_owner": {"name": "n"},
    });
    let Shovel { source, destination, ack_mode, reconnect_delay } = parsed(&value);
    assert_eq!((ack_mode, reconnect_delay), (AckMode::OnPublish, None));
    assert_eq!((source.uris.len(), source.prefetch, source.delete_after), (2, 7, DeleteAfter::Count(5)));
    assert_eq!(source.delete_after_duration, Some(Duration::from_secs(60)));
    assert_eq!(source.from, SourceQueue::Exchange { name: "x".into(), key: "k".into() });
    assert_eq!(source.consumer_arguments.as_table().get("x-priority").and_then(|value| value.as_i64()), Some(3));
    let Destination::Broker(broker) = destination else { panic!("a broker") };
    assert_eq!((broker.protocol, broker.uris[0].vhost.as_str()), (Protocol::Local, "there"));
    assert!(broker.is_predeclared && broker.adds_forward_headers && broker.adds_timestamp_header);
    assert!(matches!(broker.to, Target::Queue { name, .. } if &*name == "to"));
    let properties = broker.properties.as_ref().unwrap();
    assert_eq!((properties.delivery_mode, properties.kind.as_deref()), (Some(2), Some("t")));
}

#[test]
fn keys_of_old_versions_mean_the_same() {
    let value = plain(&json!({"prefetch-count": 3, "delete-after": "queue-length", "add-forward-headers": true,
        "add-timestamp-header": true, "publish-properties": {"app_id": "a"}}));
    let Shovel { source, destination, .. } = parsed(&value);
    assert_eq!((source.prefetch, source.delete_after), (3, DeleteAfter::QueueLength));
    let Destination::Broker(broker) = destination else { panic!("a broker") };
    assert!(broker.adds_forward_headers && broker.adds_timestamp_header);
    assert_eq!(broker.properties.as_ref().unwrap().app_id.as_deref(), Some("a"));
}

#[test]
fn a_web_server_may_be_the_destination() {
    let value = json!({"src-uri": "amqp://", "src-queue": "q", "dest-protocol": "http", "dest-uri": "https://u:p@h/hook",
        "dest-timeout": 2.5, "dest-refused": "dead-letter"});
    let Destination::Http(server) = parsed(&value).destination else { panic!("a web server") };
    assert_eq!((server.timeout, server.dead_letters_refused), (Duration::from_millis(2500), true));
    let text = "dest-uri should be a URL of HTTP, actually was <<\"amqp://u:***@h\">>";
    check_refused(&shovel(value, &json!({"dest-uri": "amqp://u:p@h"})), text);
}

#[test]
fn what_is_wrong_is_said_in_rabbitmqs_words() {
    check_refused(
        &json!({}),
        "Must specify 'src-exchange' or 'src-queue'\nKey \"dest-uri\" not found in shovel\nKey \"src-uri\" not found in shovel",
    );
    check_refused(&plain(&json!({"src-exchange": "x"})), "Cannot specify 'src-exchange' and 'src-queue'");
    check_refused(
        &plain(&json!({"dest-exchange": "x", "dest-queue": "q"})),
        "Cannot specify 'dest-exchange' and 'dest-queue'",
    );
    check_refused(
        &plain(&json!({"src-delete-after": 1, "ack-mode": "no-ack"})),
        "Cannot specify 'no-ack' and numerical 'delete-after'",
    );
    check_refused(&plain(&json!({"src-prefetch": 1})), "Unrecognised terms [{<<\"src-prefetch\">>,1}] in shovel");
    check_refused(
        &plain(&json!({"src-protocol": "amqp10"})),
        "src-protocol amqp10: AMQP 1.0 is not supported, amqp091 and local are",
    );
    check_refused(
        &plain(&json!({"src-delete-after": "soon"})),
        "src-delete-after should be a number greater than or equal to 0, \"never\" or \"queue-length\", actually was <<\"soon\">>",
    );
    check_refused(&plain(&json!({"src-uri": []})), "src-uri should have at least one URI");
    check_refused(
        &plain(&json!({"reconnect-delay": -1})),
        "reconnect-delay should be a number of seconds, actually was -1",
    );
    check_refused(
        &plain(&json!({"dest-publish-properties": {"priority": 300}})),
        "priority should be at most 255, actually was 300",
    );
}

#[test]
fn vhosts_of_this_broker_are_those_of_uris_without_a_host() {
    let value = plain(
        &json!({"src-uri": ["amqp:///mine", "amqp://far/other"], "dest-protocol": "local", "dest-uri": "amqp://x/yours"}),
    );
    assert_eq!(parsed(&value).vhosts_here().collect::<Vec<_>>(), ["mine", "yours"]);
}
