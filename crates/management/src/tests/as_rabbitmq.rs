//! Small things that programs notice, as RabbitMQ 4.3 does them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::house::{House, Reply, in_house};

async fn ask_if_changed(house: &House, path: &str, etag: &str) -> Reply {
    let authorization = format!("Basic {}", STANDARD.encode("guest:guest"));
    house.ask_with("GET", path, &[("authorization", &authorization), ("if-none-match", etag)], b"").await
}

#[test]
fn definitions_that_have_not_changed_are_not_sent_again() {
    in_house(async |house| {
        for path in ["/api/definitions", "/api/definitions/shop"] {
            let first = house.get(path).await;
            let etag = first.header("etag").expect("it has one").to_owned();
            assert!(etag.starts_with('"') && etag.ends_with('"'), "{etag}");
            let again = ask_if_changed(house, path, &etag).await;
            assert_eq!((again.status, &*again.body, again.header("etag")), (304, &b""[..], Some(&*etag)));
            assert_eq!(ask_if_changed(house, path, "\"other\"").await.status, 200);
            // What does not last is among them, too.
            for is_durable in [true, false] {
                let body = json!({"durable": is_durable}).to_string();
                house.check("PUT /api/queues/shop/new", &body, 201, "").await;
                let changed = ask_if_changed(house, path, &etag).await;
                assert_eq!(changed.status, 200, "{path}");
                assert_ne!(changed.header("etag"), Some(&*etag));
                house.check("DELETE /api/queues/shop/new", "", 204, "").await;
            }
        }
    });
}

#[test]
fn a_byte_order_mark_before_definitions_is_passed_over() {
    in_house(async |house| {
        let document =
            r#"{"queues":[{"name":"bom","vhost":"shop","durable":true,"auto_delete":false,"arguments":{}}]}"#;
        house.check("POST /api/definitions", &format!("\u{feff}{document}"), 204, "").await;
        assert_eq!(house.get("/api/queues/shop/bom?columns=name").await.json(), json!({"name": "bom"}));
        let twice = format!("\u{feff}\u{feff}{document}");
        let reason = "failed_to_parse_json: expected value at line 1 column 1";
        house.check_refused("POST /api/definitions", &twice, 400, "bad_request", reason).await;
    });
}

#[test]
fn a_limit_of_minus_one_is_shown_and_limits_nothing() {
    in_house(async |house| {
        house.check("PUT /api/vhost-limits/shop/max-queues", r#"{"value":-1}"#, 204, "").await;
        let shown = json!([{"value": {"max-queues": -1}, "vhost": "shop"}]);
        assert_eq!(house.get("/api/vhost-limits/shop").await.json(), shown);
        assert_eq!(house.get("/api/vhost-limits").await.json(), shown);
        house.check("PUT /api/queues/shop/unlimited", r#"{"durable":true}"#, 201, "").await;
        house.check("DELETE /api/vhost-limits/shop/max-queues", "", 204, "").await;
        assert_eq!(house.get("/api/vhost-limits/shop").await.json(), json!([]));
    });
}

#[test]
fn who_publishes_what_a_queue_refuses_is_told() {
    in_house(async |house| {
        let arguments = json!({"x-max-length": 1, "x-overflow": "reject-publish"});
        let body = json!({"durable": true, "arguments": arguments}).to_string();
        house.check("PUT /api/queues/shop/full", &body, 201, "").await;
        let publish = "POST /api/exchanges/shop/amq.default/publish";
        let message = r#"{"properties":{},"routing_key":"full","payload":"m","payload_encoding":"string"}"#;
        house.check(publish, message, 200, r#"{"routed":true}"#).await;
        let why = "rejected Unable to publish message. Check queue limits.";
        house.check_refused(publish, message, 400, "bad_request", why).await;
    });
}
