//! What a message gets on its way.

use amqp_client::Content;
use model::json::from_table;
use model::name::VhostName;
use model::shovel::{Destination, Shovel};
use serde_json::{Value as Json, json};

use super::*;

const NOW_S: u64 = 1_795_000_000;

fn forwarding(more: &Json) -> Forwarding {
    let mut value = json!({"src-uri": "amqp://u:p@a/v", "src-queue": "from", "dest-uri": "amqp://"});
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let shovel = Shovel::parse(&value).unwrap();
    let Destination::Broker(broker) = &shovel.destination else { panic!("a broker") };
    let id = ShovelId { vhost: Some(VhostName::parse(b"shop").unwrap()), name: "s".into() };
    let ends = Ends { source_uri: "amqp://a/v".into(), destination_uri: "amqp://".into() };
    Forwarding::new(&shovel.source, broker, &id, "burrow", &ends)
}

fn encoded(properties: &Properties<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    properties.encode(&mut bytes);
    bytes
}

/// The properties that a message gets, given those that it has.
fn forwarded(forwarding: &mut Forwarding, properties: &Properties<'_>, is_redelivered: bool) -> Vec<u8> {
    let bytes = encoded(properties);
    let content = Content::new(&bytes, b"body");
    let deliver = basic::Deliver { redelivered: is_redelivered, ..Default::default() };
    forwarding.forward(&deliver, &content, || NOW_S).unwrap().1.to_vec()
}

fn headers(bytes: &[u8]) -> Json {
    Properties::decode(bytes).unwrap().headers.map_or(Json::Null, |headers| Json::Object(from_table(headers)))
}

#[test]
fn a_message_is_left_as_it_is_unless_it_is_to_be_changed() {
    let properties = Properties { content_type: Some(b"t"), delivery_mode: Some(2), ..Default::default() };
    assert_eq!(forwarded(&mut forwarding(&json!({})), &properties, false), encoded(&properties));
}

#[test]
fn one_that_may_come_twice_says_so_beside_its_own_headers() {
    let own = TableBuf::new().with("mine", Value::I32(1));
    let properties = Properties { headers: Some(own.as_table()), ..Default::default() };
    let bytes = forwarded(&mut forwarding(&json!({})), &properties, true);
    assert_eq!(headers(&bytes), json!({"mine": 1, "x-shovelled-redelivered": true}));
}

#[test]
fn the_way_that_a_message_came_is_told_the_latest_first() {
    let mut first =
        forwarding(&json!({"dest-add-forward-headers": true, "dest-add-timestamp-header": true, "dest-queue": "to"}));
    let bytes = forwarded(&mut first, &Properties::default(), false);
    let step = json!({
        "shovelled-by": "burrow", "shovel-type": "dynamic", "shovel-name": "s", "shovel-vhost": "shop", "src-uri": "amqp://a/v",
        "dest-uri": "amqp://", "src-queue": "from", "dest-queue": "to",
    });
    assert_eq!(headers(&bytes), json!({"x-shovelled": [step], "x-shovelled-timestamp": NOW_S}));
    let mut second = forwarding(&json!({"add-forward-headers": true, "dest-exchange": "x", "dest-exchange-key": "k"}));
    let bytes = forwarded(&mut second, &Properties::decode(&bytes).unwrap(), false);
    let ways = headers(&bytes)["x-shovelled"].clone();
    assert_eq!((&ways[0]["dest-exchange"], &ways[0]["dest-exchange-key"]), (&json!("x"), &json!("k")));
    assert_eq!(ways[1], step);
}

#[test]
fn properties_that_are_set_replace_a_messages_own() {
    let set = json!({"dest-publish-properties": {"delivery_mode": 2, "app_id": "a", "timestamp": 5}});
    let properties = Properties { app_id: Some(b"b"), kind: Some(b"k"), ..Default::default() };
    let bytes = forwarded(&mut forwarding(&set), &properties, false);
    let expected = Properties {
        app_id: Some(b"a"),
        kind: Some(b"k"),
        delivery_mode: Some(2),
        timestamp: Some(5),
        ..Default::default()
    };
    assert_eq!(bytes, encoded(&expected));
}

#[test]
fn what_the_destination_does_not_say_is_as_the_message_was_published() {
    let deliver = basic::Deliver { exchange: b"orders", routing_key: b"new", ..Default::default() };
    let content = Content::new(&[0, 0], b"");
    let route = |more: Json| forwarding(&more).forward(&deliver, &content, || NOW_S).map(|(route, _)| route.clone());
    assert_eq!(route(json!({})), Route::new(b"orders", b"new", false));
    assert_eq!(route(json!({"dest-exchange": "x"})), Route::new(b"x", b"new", false));
    assert_eq!(route(json!({"dest-exchange-key": "k"})), Route::new(b"orders", b"k", false));
    // A deleted queue is to be noticed.
    assert_eq!(route(json!({"dest-queue": "q"})), Route::new(b"", b"q", true));
}
