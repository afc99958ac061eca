//! Delayed messages over HTTP.

use serde_json::json;

use super::house::{House, in_house};

const MESSAGES: &str = "/api/delayed/%2F/later/messages";

/// A delayed exchange at which three messages wait for an hour.
async fn prepare(house: &House) {
    let exchange = r#"{"type":"x-delayed-message","arguments":{"x-delayed-type":"direct"}}"#;
    assert_eq!(house.ask("PUT", "/api/exchanges/%2F/later", "guest", exchange).await.status, 201);
    for key in ["a", "b", "b"] {
        let message = json!({
            "routing_key": key,
            "properties": {"delivery_mode": 2, "headers": {"x-delay": 3_600_000, "of": key}},
            "payload": "body",
            "payload_encoding": "string",
        });
        let reply = house.ask("POST", "/api/exchanges/%2F/later/publish", "guest", &message.to_string()).await;
        assert_eq!((reply.status, reply.json()), (200, json!({"routed": false})));
    }
}

async fn ids(house: &House, query: &str) -> Vec<String> {
    let answer = house.get(&format!("{MESSAGES}?{query}")).await.json();
    let messages = answer["messages"].as_array().unwrap_or_else(|| panic!("{answer}"));
    messages.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_waits_is_counted_listed_and_shown() {
    in_house(async |house| {
        prepare(house).await;
        assert_eq!(house.get("/api/exchanges/%2F/later").await.json()["messages_delayed"], json!(3));
        assert!(house.get("/api/exchanges/%2F/amq.direct").await.json().get("messages_delayed").is_none());
        let exchanges = house.get("/api/delayed/%2F").await.json();
        assert_eq!((&exchanges[0]["exchange"], &exchanges[0]["messages_delayed"]), (&json!("later"), &json!(3)));
        assert_eq!(ids(house, "").await.len(), 3);
        assert_eq!(ids(house, "routing_key=b").await.len(), 2);
        assert_eq!(ids(house, "header=of&header_value=a").await.len(), 1);
        let first = house.get(&format!("{MESSAGES}?count=1")).await.json();
        let next = first["next"].as_str().expect("there are more");
        assert_eq!(ids(house, &format!("after={next}")).await.len(), 2);
        let id = first["messages"][0]["id"].as_str().unwrap();
        let message = house.get(&format!("{MESSAGES}/{id}")).await.json();
        assert_eq!((&message["payload"], &message["properties"]["headers"]["of"]), (&json!("body"), &json!("a")));
    });
}

#[test]
fn what_waits_is_cancelled_put_off_and_released() {
    in_house(async |house| {
        prepare(house).await;
        let all = ids(house, "").await;
        let of = |at: usize| format!("{MESSAGES}/{}", all[at]);
        assert_eq!(house.ask("DELETE", &of(0), "guest", "").await.status, 204);
        assert_eq!(house.ask("DELETE", &of(0), "guest", "").await.status, 404);
        let reply = house.ask("PUT", &of(1), "guest", r#"{"due":4000000000000}"#).await;
        let id = reply.json()["id"].as_str().unwrap().to_owned();
        let message = house.get(&format!("{MESSAGES}/{id}")).await.json();
        assert_eq!(message["due"], json!(4_000_000_000_000_u64));
        assert_eq!(house.ask("POST", &format!("{}/release", of(2)), "guest", "").await.status, 200);
        let reply = house.ask("DELETE", &format!("{MESSAGES}?all=true"), "guest", "").await;
        assert_eq!((reply.status, &reply.json()["partial"]), (200, &json!(false)));
        assert_eq!(house.get("/api/exchanges/%2F/later").await.json()["messages_delayed"], json!(0));
    });
}

#[test]
fn messages_are_for_administrators_and_requests_have_to_make_sense() {
    in_house(async |house| {
        prepare(house).await;
        assert_eq!(house.ask("GET", MESSAGES, "mona", "").await.status, 401);
        assert_eq!(house.get("/api/delayed/%2F/amq.direct/messages").await.status, 404);
        assert_eq!(house.get(&format!("{MESSAGES}/nonsense")).await.status, 400);
        assert_eq!(house.get(&format!("{MESSAGES}?due_from=soon")).await.status, 400);
        assert_eq!(house.get(&format!("{MESSAGES}?header_value=a")).await.status, 400);
        let id = &ids(house, "").await[0];
        for body in ["{}", r#"{"due":1,"delay":1}"#, r#"{"delay":-1}"#] {
            assert_eq!(house.ask("PUT", &format!("{MESSAGES}/{id}"), "guest", body).await.status, 400, "{body}");
        }
    });
}

#[test]
fn what_is_misspelt_or_not_said_means_no_messages_at_all() {
    in_house(async |house| {
        prepare(house).await;
        let id = &ids(house, "").await[0];
        let one = format!("{MESSAGES}/{id}");
        for (request, body, reason) in [
            (
                format!("DELETE {MESSAGES}?typo=5"),
                "",
                "unknown parameter 'typo': one of due_from, due_to, routing_key, header, header_value, all",
            ),
            (format!("DELETE {MESSAGES}"), "", "a filter is required; to select all messages, set 'all' to true"),
            (
                format!("GET {MESSAGES}?routing-key=a"),
                "",
                "unknown parameter 'routing-key': did you mean 'routing_key'?",
            ),
            (format!("GET {MESSAGES}?count=0"), "", "'count' must be 1 or more"),
            (format!("GET {one}?body=false"), "", "unknown parameter 'body': there is none"),
            (format!("DELETE {one}?due_to=5"), "", "unknown parameter 'due_to': there is none"),
            (
                format!("PUT {one}"),
                r#"{"due":4000000000000,"dealy":5}"#,
                "unknown member of the body 'dealy': did you mean 'delay'?",
            ),
            (format!("PUT {one}?delay=5"), "", "unknown parameter 'delay': 'delay' belongs in the body"),
            (format!("PUT {one}"), r#"{"delay":"10m"}"#, "'delay' must be a whole number, zero or above, not \"10m\""),
            (format!("POST {one}/release"), r#"{"delay":5}"#, "unknown member of the body 'delay': there is none"),
        ] {
            house.check_refused(&request, body, 400, "bad_request", reason).await;
        }
        assert_eq!(ids(house, "").await.len(), 3);
    });
}
