//! What is out of order, and queues that are paused.

use std::path::Path;

use broker::Actor;
use serde_json::{Value, json};

use super::house::{House, in_house};

async fn troubles(house: &House, user: &str) -> Vec<Value> {
    let answer = house.ask("GET", "/api/warren/troubles", user, "").await;
    assert_eq!(answer.status, 200);
    answer.json().as_array().unwrap().clone()
}

#[test]
fn an_alarm_is_told_to_every_user_and_its_figures_to_those_who_monitor() {
    in_house(async |house| {
        assert_eq!(troubles(house, "mona").await, Vec::<Value>::new());
        house.service.broker.set_memory_limit(&Actor::broker(), 1, Path::new("/"));
        let told = troubles(house, "mona").await;
        let node = house.service.node();
        assert_eq!(told.len(), 1);
        assert_eq!(
            (&told[0]["kind"], &told[0]["severity"], &told[0]["node"]),
            (&json!("memory-alarm"), &json!("problem"), &json!(node))
        );
        let text = told[0]["text"].as_str().unwrap();
        assert!(
            text.starts_with(&format!("{node} is short of memory: ")) && text.ends_with("blocked above 0 MiB."),
            "{text}"
        );
        let told = troubles(house, "manny").await;
        assert_eq!((told.len(), &told[0]["kind"], &told[0]["node"]), (1, &json!("memory-alarm"), &Value::Null));
        assert!(!told[0].to_string().contains("MiB"), "{}", told[0]);
        house.service.broker.set_memory_limit(&Actor::broker(), u64::MAX, Path::new("/"));
        assert_eq!(troubles(house, "manny").await, Vec::<Value>::new());
    });
}

#[test]
fn a_queue_is_paused_and_resumed_by_those_who_may_set_policies() {
    in_house(async |house| {
        assert_eq!(house.ask("PUT", "/api/queues/shop/q", "alice", "{}").await.status, 201);
        let paused = async || house.ask("GET", "/api/queues/shop/q", "alice", "").await.json()["paused"].clone();
        assert_eq!(paused().await, Value::Null);
        assert_eq!(house.ask("PUT", "/api/queues/shop/q/pause", "manny", "").await.status, 401);
        for (path, expected) in [("pause", json!(true)), ("pause", json!(true)), ("resume", Value::Null)] {
            let path = format!("/api/queues/shop/q/{path}");
            assert_eq!(house.ask("PUT", &path, "polly", "").await.status, 204);
            assert_eq!(paused().await, expected);
        }
        assert_eq!(house.ask("PUT", "/api/queues/shop/none/pause", "polly", "").await.status, 404);
    });
}
