//! Messages browsed, deleted, moved and sent back over HTTP.

use serde_json::{Value, json};

use super::house::{House, in_house};

const MESSAGES: &str = "/api/queues/%2F/q/messages";

async fn declare(house: &House, queue: &str, arguments: Value) {
    let queue = format!("/api/queues/%2F/{queue}");
    let body = json!({"durable": true, "arguments": arguments}).to_string();
    assert_eq!(house.ask("PUT", &queue, "guest", &body).await.status, 201);
}

async fn publish(house: &House, queue: &str, headers: Value, payload: &str) {
    let message = json!({
        "routing_key": queue,
        "properties": {"delivery_mode": 2, "headers": headers},
        "payload": payload,
        "payload_encoding": "string",
    });
    let reply = house.ask("POST", "/api/exchanges/%2F/amq.default/publish", "guest", &message.to_string()).await;
    assert_eq!((reply.status, reply.json()), (200, json!({"routed": true})));
}

/// A queue with four messages and an empty one.
async fn prepare(house: &House) {
    declare(house, "q", json!({})).await;
    declare(house, "r", json!({})).await;
    for number in 0..4 {
        publish(house, "q", json!({"odd": number % 2 == 1}), &format!("order {number}")).await;
    }
}

async fn payloads(house: &House, path: &str) -> Vec<String> {
    let answer = house.get(path).await.json();
    let messages = answer["messages"].as_array().unwrap_or_else(|| panic!("{answer}"));
    messages.iter().map(|message| message["payload"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn messages_are_shown_and_stay_as_they_are() {
    in_house(async |house| {
        prepare(house).await;
        assert_eq!(payloads(house, MESSAGES).await.len(), 4);
        assert_eq!(payloads(house, &format!("{MESSAGES}?header=odd&header_value=true")).await, ["order 1", "order 3"]);
        assert_eq!(payloads(house, &format!("{MESSAGES}?body=r%202")).await, ["order 2"]);
        assert_eq!(payloads(house, &format!("{MESSAGES}?tail=1&truncate=3")).await, ["ord"]);
        assert!(payloads(house, &format!("{MESSAGES}?older_than=3600000")).await.is_empty());
        assert_eq!(payloads(house, &format!("{MESSAGES}?younger_than=3600000&redelivered=false")).await.len(), 4);
        assert!(payloads(house, &format!("{MESSAGES}?dead=true")).await.is_empty());
        let first = house.get(&format!("{MESSAGES}?count=3")).await.json();
        let next = first["next"].as_str().expect("there is one more");
        assert_eq!(payloads(house, &format!("{MESSAGES}?from={next}")).await, ["order 3"]);
        let message = &first["messages"][0];
        assert_eq!((&message["redelivered"], &message["durable"]), (&json!(false), &json!(true)));
        assert_eq!(message["properties"]["headers"]["odd"], json!(false));
        let unacked = house.get(&format!("{MESSAGES}?state=unacked")).await.json();
        assert_eq!(unacked, json!({"messages": [], "next": null}));
    });
}

#[test]
fn messages_are_deleted_by_id_and_by_what_they_have() {
    in_house(async |house| {
        prepare(house).await;
        let all = house.get(MESSAGES).await.json();
        let id = all["messages"][2]["id"].as_str().unwrap();
        let reply = house.ask("DELETE", &format!("{MESSAGES}?ids={id},0-99"), "guest", "").await;
        assert_eq!((reply.status, reply.json()), (200, json!({"deleted": 1, "partial": false, "next": null})));
        let reply = house.ask("DELETE", &format!("{MESSAGES}?header=odd&header_value=true&limit=1"), "guest", "").await;
        assert_eq!(reply.json()["deleted"], json!(1));
        assert_eq!(payloads(house, MESSAGES).await, ["order 0", "order 3"]);
        let reply = house.ask("DELETE", &format!("{MESSAGES}?all=true"), "guest", "").await;
        assert_eq!(reply.json(), json!({"deleted": 2, "partial": false, "next": null}));
    });
}

#[test]
fn messages_move_to_another_queue() {
    in_house(async |house| {
        prepare(house).await;
        let path = format!("{MESSAGES}/move");
        let body = json!({"to_queue": "r", "header": "odd", "header_value": "true"}).to_string();
        let reply = house.ask("POST", &path, "guest", &body).await;
        let expected = json!({"moved": 2, "unroutable": 0, "refused": 0, "partial": false, "next": null});
        assert_eq!((reply.status, reply.json()), (200, expected));
        assert_eq!(payloads(house, "/api/queues/%2F/r/messages").await, ["order 1", "order 3"]);
        let body = json!({"to_exchange": "amq.direct", "to_routing_key": "nadia", "all": true}).to_string();
        assert_eq!(house.ask("POST", &path, "guest", &body).await.json()["unroutable"], json!(2));
    });
}

#[test]
fn dead_letters_are_sent_back() {
    in_house(async |house| {
        declare(house, "q", json!({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})).await;
        declare(house, "dead", json!({})).await;
        publish(house, "q", json!({}), "bad").await;
        let get = r#"{"ackmode":"reject_requeue_false","count":1,"encoding":"auto"}"#;
        assert_eq!(house.ask("POST", "/api/queues/%2F/q/get", "guest", get).await.status, 200);
        assert_eq!(payloads(house, "/api/queues/%2F/dead/messages?death_reason=rejected").await, ["bad"]);
        let reply = house.ask("POST", "/api/queues/%2F/dead/messages/redrive", "guest", r#"{"all":true}"#).await;
        assert_eq!((reply.status, &reply.json()["redriven"]), (200, &json!(1)));
        assert_eq!(payloads(house, MESSAGES).await, ["bad"]);
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    in_house(async |house| {
        prepare(house).await;
        for query in [
            "header_value=x",
            "from=7",
            "from=0-1&tail=3",
            "tail=x",
            "state=all",
            "encoding=utf8",
            "older_than=-1",
            "redelivered=maybe",
            "death_reason=old",
        ] {
            assert_eq!(house.get(&format!("{MESSAGES}?{query}")).await.status, 400, "{query}");
        }
        for body in [
            "{}",
            r#"{"to_queue":"r","to_exchange":"x"}"#,
            r#"{"to_queue":"r","to_routing_key":"x"}"#,
            r#"{"to_queue":"r","ids":"0-1"}"#,
            r#"{"to_queue":"r","ids":["0-1"],"body":"x"}"#,
            r#"{"to_queue":"q","all":true}"#,
            r#"{"to_queue":"r","ids":["0-1"],"all":true}"#,
        ] {
            let reply = house.ask("POST", &format!("{MESSAGES}/move"), "guest", body).await;
            assert_eq!(reply.status, 400, "{body}");
        }
        let reply = house.ask("POST", &format!("{MESSAGES}/move"), "guest", r#"{"to_queue":"none","all":true}"#).await;
        assert_eq!(reply.status, 404);
        let reply = house.ask("POST", &format!("{MESSAGES}/redrive"), "guest", r#"{"to":"somewhere"}"#).await;
        assert_eq!(reply.status, 400);
        assert_eq!(house.get("/api/queues/%2F/none/messages").await.status, 404);
    });
}

#[test]
fn what_is_misspelt_means_no_messages_at_all() {
    in_house(async |house| {
        prepare(house).await;
        let (move_on, redrive) = (format!("POST {MESSAGES}/move"), format!("POST {MESSAGES}/redrive"));
        let (delete, browse) = (format!("DELETE {MESSAGES}"), format!("GET {MESSAGES}"));
        for (request, body, reason) in [
            (
                format!("{delete}?older-than=172800000"),
                "",
                "unknown parameter 'older-than': did you mean 'older_than'?",
            ),
            (format!("{delete}?header=odd&header=even"), "", "the parameter 'header' is given more than once"),
            (
                delete.clone(),
                r#"{"older_than":172800000}"#,
                "unknown member of the body 'older_than': 'older_than' belongs in the query",
            ),
            (delete.clone(), "older_than=172800000", "the body must be a JSON object"),
            (
                format!("{browse}?dead_reason=expired"),
                "",
                "unknown parameter 'dead_reason': did you mean 'death_reason'?",
            ),
            (
                move_on.clone(),
                r#"{"to_queue":"r","older-than":172800000}"#,
                "unknown member of the body 'older-than': did you mean 'older_than'?",
            ),
            (
                format!("{move_on}?older_than=172800000"),
                r#"{"to_queue":"r"}"#,
                "unknown parameter 'older_than': 'older_than' belongs in the body",
            ),
            (
                redrive.clone(),
                r#"{"queue":"r","all":true}"#,
                "unknown member of the body 'queue': one of to, ids, from, limit, all, header, header_value, routing_key, \
                 exchange, body, older_than, younger_than, redelivered, dead, death_reason",
            ),
        ] {
            house.check_refused(&request, body, 400, "bad_request", reason).await;
        }
        assert_eq!(payloads(house, MESSAGES).await.len(), 4);
    });
}

#[test]
fn all_messages_are_meant_only_if_that_is_said() {
    in_house(async |house| {
        prepare(house).await;
        let reason = "a filter is required; to select all messages, set 'all' to true";
        for (request, body) in [
            (format!("DELETE {MESSAGES}"), ""),
            (format!("DELETE {MESSAGES}?all=false"), ""),
            (format!("POST {MESSAGES}/move"), r#"{"to_queue":"r"}"#),
            (format!("POST {MESSAGES}/redrive"), "{}"),
        ] {
            house.check_refused(&request, body, 400, "bad_request", reason).await;
        }
        let reason = "'body' must not be empty";
        house.check_refused(&format!("DELETE {MESSAGES}?body="), "", 400, "bad_request", reason).await;
        assert_eq!(payloads(house, MESSAGES).await.len(), 4);
        let body = r#"{"to_queue":"r","all":true,"limit":3}"#;
        let reply = house.ask("POST", &format!("{MESSAGES}/move"), "guest", body).await;
        assert_eq!(reply.json()["moved"], json!(3));
    });
}

#[test]
fn a_vhost_to_move_to_that_is_not_there_is_not_found() {
    in_house(async |house| {
        prepare(house).await;
        let request = format!("POST {MESSAGES}/move");
        let body = r#"{"to_queue":"r","to_vhost":"nowhere","all":true}"#;
        house.check_refused(&request, body, 404, "not_found", "no vhost 'nowhere'").await;
        let body = r#"{"to_queue":"r","to_vhost":"empty","all":true}"#;
        house.check_refused(&request, body, 401, "not_authorised", "Access refused.").await;
        // A user that does not see all vhosts does not learn which exist.
        declare_in_shop(house).await;
        for vhost in ["nowhere", "empty"] {
            let body = json!({"to_queue": "r", "to_vhost": vhost, "all": true}).to_string();
            let reply = house.ask("POST", "/api/queues/shop/q/messages/move", "manny", &body).await;
            assert_eq!(reply.status, 401, "{vhost}");
        }
    });
}

async fn declare_in_shop(house: &House) {
    assert_eq!(house.ask("PUT", "/api/queues/shop/q", "guest", r#"{"durable":true}"#).await.status, 201);
}

#[test]
fn what_is_of_the_wrong_type_is_told_in_a_sentence() {
    in_house(async |house| {
        prepare(house).await;
        let delete = format!("DELETE {MESSAGES}?older_than=2d");
        let reason = "'older_than' must be a whole number, zero or above, not '2d'";
        house.check_refused(&delete, "", 400, "bad_request", reason).await;
        let request = format!("POST {MESSAGES}/move");
        for (member, reason) in [
            (r#""older_than":"2d""#, "'older_than' must be a whole number, zero or above, not \"2d\""),
            (r#""limit":-1"#, "'limit' must be a whole number, zero or above, not -1"),
            (r#""dead":"maybe""#, "'dead' must be true or false, not \"maybe\""),
        ] {
            let body = format!(r#"{{"to_queue":"r",{member}}}"#);
            house.check_refused(&request, &body, 400, "bad_request", reason).await;
        }
        let request = format!("GET {MESSAGES}?count=0");
        house.check_refused(&request, "", 400, "bad_request", "'count' must be 1 or more").await;
    });
}
