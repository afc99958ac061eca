//! What operators ask before they act, and after: who did what, who may do what, what a policy or a document would change.

use serde_json::{Value, json};

use super::house::{House, in_house};

async fn ask(house: &House, request: &str, body: &str) -> Value {
    let (method, path) = request.split_once(' ').unwrap();
    let reply = house.ask(method, path, "guest", body).await;
    assert_eq!(reply.status, 200, "{request}: {}", String::from_utf8_lossy(&reply.body));
    reply.json()
}

#[test]
fn the_last_events_are_told_to_administrators() {
    in_house(async |house| {
        assert_eq!(house.ask("PUT", "/api/queues/shop/orders", "alice", "{}").await.status, 201);
        assert_eq!(house.ask("GET", "/api/audit", "mona", "").await.status, 401);
        let first = ask(house, "GET /api/audit?event=%5Equeue%5C.created%24&vhost=shop&name=ord&user=alice", "").await;
        let [event] = first.as_array().unwrap().as_slice() else { panic!("{first}") };
        assert_eq!(
            (&event["event"], &event["user"], &event["via"]),
            (&json!("queue.created"), &json!("alice"), &json!("http"))
        );
        assert_eq!((&event["about"]["name"], &event["from"]), (&json!("orders"), &json!("127.0.0.1:40000")));
        let all = ask(house, "GET /api/audit?count=1000", "").await;
        let ids: Vec<u64> = all.as_array().unwrap().iter().map(|event| event["id"].as_u64().unwrap()).collect();
        assert!(ids.is_sorted_by(|a, b| a > b) && ids.len() > 10, "{ids:?}");
        let two = ask(house, &format!("GET /api/audit?count=2&before={}", ids[0]), "").await;
        assert_eq!(
            two.as_array().unwrap().iter().map(|event| event["id"].as_u64().unwrap()).collect::<Vec<_>>(),
            ids[1..3]
        );
        assert_eq!(ask(house, "GET /api/audit?event=nosuch", "").await, json!([]));
        for query in ["count=0", "count=1001", "before=x", "event=(", "evnt=x"] {
            assert_eq!(house.get(&format!("/api/audit?{query}")).await.status, 400, "{query}");
        }
    });
}

#[test]
fn a_permission_is_explained() {
    in_house(async |house| {
        house
            .check("PUT /api/permissions/shop/manny", r#"{"configure":"^m","write":"^amq","read":".*"}"#, 204, "")
            .await;
        let topic = r#"{"exchange":"amq.topic","write":"^{username}\\.","read":".*"}"#;
        house.check("PUT /api/topic-permissions/shop/manny", topic, 201, "").await;
        assert_eq!(house.ask("PUT", "/api/queues/shop/m-1", "alice", "{}").await.status, 201);
        let bind = r##"{"routing_key":"#"}"##;
        assert_eq!(house.ask("POST", "/api/bindings/shop/e/amq.topic/q/m-1", "alice", bind).await.status, 201);
        let check = async |query: &str| {
            ask(house, &format!("GET /api/permissions/check?vhost=shop&user=manny&{query}"), "").await
        };
        let allowed = check("operation=publish&exchange=amq.topic&routing_key=manny.x").await;
        assert_eq!(
            (&allowed["allowed"], &allowed["routes_to"], &allowed["routes_to_count"]),
            (&json!(true), &json!(["m-1"]), &json!(1))
        );
        let refused = check("operation=publish&exchange=amq.topic&routing_key=other.x").await;
        let last = refused["checks"].as_array().unwrap().last().unwrap();
        assert_eq!((&refused["allowed"], &refused["routes_to"]), (&json!(false), &Value::Null));
        let expected = json!({"resource": "topic", "name": "other.x", "permission": "write", "pattern": "^{username}\\.",
            "allowed": false, "reason": "the pattern does not match the name"});
        assert_eq!(last, &expected);
        let bound = check("operation=bind&exchange=amq.topic&queue=m-1&routing_key=x").await;
        let needed: Vec<_> =
            bound["checks"].as_array().unwrap().iter().map(|check| check["permission"].as_str().unwrap()).collect();
        assert_eq!((needed, &bound["allowed"]), (vec!["enter", "write", "read", "read"], &json!(false)));
        assert_eq!(check("operation=configure&queue=m-2").await["checks"][1]["exists"], json!(false));
        // A user learns about itself, and about no other user.
        let own = house.ask("GET", "/api/permissions/check?vhost=shop&operation=consume&queue=m-1", "manny", "").await;
        assert_eq!(own.json()["allowed"], json!(true));
        let others = "/api/permissions/check?vhost=shop&operation=consume&queue=m-1&user=alice";
        assert_eq!(house.ask("GET", others, "manny", "").await.status, 401);
        assert_eq!(
            house.ask("GET", "/api/permissions/check?vhost=empty&operation=get&queue=x", "manny", "").await.status,
            404
        );
        let without = ask(house, "GET /api/permissions/check?vhost=empty&user=manny&operation=get&queue=x", "").await;
        assert_eq!(without["checks"][0]["reason"], json!("user 'manny' has no permissions in vhost 'empty'"));
        for query in ["vhost=shop&user=nosuch", "vhost=nosuch"] {
            let path = format!("/api/permissions/check?operation=get&queue=x&{query}");
            assert_eq!(house.get(&path).await.status, 404, "{query}");
        }
        for query in ["operation=get", "operation=fly", "operation=bind&exchange=x", "operation=configure", ""] {
            assert_eq!(house.get(&format!("/api/permissions/check?vhost=shop&{query}")).await.status, 400, "{query}");
        }
    });
}

#[test]
fn a_policy_is_previewed_and_changes_nothing() {
    in_house(async |house| {
        for name in ["a-1", "a-2", "b-1"] {
            assert_eq!(house.ask("PUT", &format!("/api/queues/shop/{name}"), "alice", "{}").await.status, 201);
        }
        let low = r#"{"pattern":"^a","definition":{"max-length":5},"priority":1,"apply-to":"queues"}"#;
        house.check("PUT /api/policies/shop/low", low, 201, "").await;
        let body = r#"{"pattern":"^(a-1|b)","definition":{"max-length":7},"priority":2,"apply-to":"queues"}"#;
        let preview = ask(house, "POST /api/policies/shop/high/preview", body).await;
        let expected = json!({"matched": {"queues": 2, "exchanges": 0}, "changed_count": 2, "changed": [
            {"kind": "queue", "name": "a-1", "policy_before": "low", "policy_after": "high",
             "changes": [{"key": "max-length", "from": 5, "to": 7}]},
            {"kind": "queue", "name": "b-1", "policy_before": null, "policy_after": "high",
             "changes": [{"key": "max-length", "from": null, "to": 7}]},
        ]});
        assert_eq!(preview, expected);
        let gone = ask(house, "POST /api/policies/shop/low/preview", r#"{"delete":true}"#).await;
        assert_eq!((&gone["matched"]["queues"], &gone["changed_count"]), (&json!(2), &json!(2)));
        let rest = ask(house, "POST /api/policies/shop/low/preview?after=queue:a-1", r#"{"delete":true}"#).await;
        assert_eq!(
            (&rest["changed_count"], &rest["changed"][0]["name"], &rest["changed"][1]),
            (&json!(2), &json!("a-2"), &Value::Null)
        );
        // One that would change nothing.
        let none = ask(
            house,
            "POST /api/policies/shop/weak/preview",
            &body.replace("\"priority\":2", "\"priority\":0").replace("|b", ""),
        )
        .await;
        assert_eq!((&none["matched"]["queues"], &none["changed_count"]), (&json!(1), &json!(0)));
        assert_eq!(ask(house, "GET /api/policies/shop", "").await.as_array().unwrap().len(), 1, "nothing was changed");
        let operators = ask(
            house,
            "POST /api/operator-policies/shop/cap/preview",
            r#"{"pattern":"","definition":{"max-length":3},"apply-to":"queues"}"#,
        )
        .await;
        assert_eq!((&operators["changed_count"], &operators["changed"][0]["policy_after"]), (&json!(3), &json!("cap")));
        for (path, body, status) in [
            ("nosuch", r#"{"delete":true}"#, 404),
            ("low", r#"{"delete":true,"pattern":"x"}"#, 400),
            ("low", r#"{"pattern":"("}"#, 400),
            ("low", r#"{"pattern":"","definition":{"nosuch":1}}"#, 400),
            ("low", "{}", 400),
        ] {
            let reply = house.ask("POST", &format!("/api/policies/shop/{path}/preview"), "guest", body).await;
            assert_eq!(reply.status, status, "{path} {body}");
        }
    });
}

#[test]
fn a_long_preview_has_pages() {
    in_house(async |house| {
        for number in 0..150 {
            assert_eq!(house.ask("PUT", &format!("/api/queues/shop/q-{number:03}"), "alice", "{}").await.status, 201);
        }
        let body = r#"{"pattern":"","definition":{"alternate-exchange":"x","max-length":7}}"#;
        let first = ask(house, "POST /api/policies/shop/all/preview", body).await;
        let count = |page: &Value| page["changed"].as_array().unwrap().len();
        assert_eq!((count(&first), &first["changed"][0]["kind"]), (100, &json!("exchange")));
        let path = format!("POST /api/policies/shop/all/preview?after={}", first["next"].as_str().unwrap());
        let second = ask(house, &path, body).await;
        assert_eq!(first["changed_count"], second["changed_count"]);
        assert_eq!(Some((count(&first) + count(&second)) as u64), first["changed_count"].as_u64());
        assert_eq!((&second["next"], &second["changed"][count(&second) - 1]["name"]), (&Value::Null, &json!("q-149")));
    });
}

#[test]
fn policies_of_a_queue_are_explained() {
    in_house(async |house| {
        assert_eq!(house.ask("PUT", "/api/queues/shop/q", "alice", "{}").await.status, 201);
        for (path, body, priority) in [
            ("policies/shop/low", r#"{"max-length":5}"#, 0),
            ("policies/shop/high", r#"{"max-length":7,"max-length-bytes":1000}"#, 3),
            ("policies/shop/higher", r#"{"max-length":8}"#, 3),
            ("operator-policies/shop/cap", r#"{"max-length":6}"#, 0),
        ] {
            let body = format!(r#"{{"pattern":"","definition":{body},"priority":{priority},"apply-to":"queues"}}"#);
            house.check(&format!("PUT /api/{path}"), &body, 201, "").await;
        }
        let told = ask(house, "GET /api/queues/shop/q/policies", "").await;
        let rows: Vec<_> = told["policies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|policy| {
                (
                    policy["kind"].as_str().unwrap(),
                    policy["name"].as_str().unwrap(),
                    policy["applies"].as_bool().unwrap(),
                    policy["reason"].as_str(),
                )
            })
            .collect();
        let expected = [
            ("policy", "high", true, None),
            ("policy", "higher", false, Some("'high' has the same priority, and its name comes first")),
            ("policy", "low", false, Some("'high' has a higher priority (3)")),
            ("operator_policy", "cap", true, None),
        ];
        assert_eq!(rows, expected);
        assert_eq!(told["effective_definition"], json!({"max-length": 6, "max-length-bytes": 1000}));
        assert_eq!(told["sources"]["max-length"], json!({"kind": "operator_policy", "name": "cap"}));
        assert_eq!(told["sources"]["max-length-bytes"], json!({"kind": "policy", "name": "high"}));
        let exchange = ask(house, "GET /api/exchanges/shop/amq.topic/policies", "").await;
        assert_eq!(exchange, json!({"policies": [], "effective_definition": {}, "sources": {}}));
        assert_eq!(house.get("/api/queues/shop/nosuch/policies").await.status, 404);
    });
}

#[test]
fn a_document_is_compared_with_the_broker() {
    in_house(async |house| {
        for name in ["kept", "changed", "only-here"] {
            assert_eq!(
                house.ask("PUT", &format!("/api/queues/shop/{name}"), "alice", r#"{"durable":true}"#).await.status,
                201
            );
        }
        let exported = ask(house, "GET /api/definitions", "").await;
        let same = ask(house, "POST /api/definitions/diff", &exported.to_string()).await;
        assert_eq!(
            (&same["added"], &same["changed"], &same["missing"]),
            (&json!({}), &json!({}), &json!({})),
            "an export differs in nothing"
        );
        assert_eq!((&same["same"]["queues"], &same["same"]["users"]), (&json!(3), &json!(6)));
        let document = json!({
            "queues": [
                {"vhost": "shop", "name": "kept", "durable": true, "auto_delete": false, "arguments": {}},
                {"vhost": "shop", "name": "changed", "durable": true, "auto_delete": false, "arguments": {"x-max-length": 5}},
                {"vhost": "shop", "name": "new", "durable": true, "auto_delete": false, "arguments": {}},
            ],
            "users": [
                {"name": "mona", "password": "mona", "tags": ["management"]},
                {"name": "manny", "password": "other", "tags": ["management"]},
            ],
        });
        let told = ask(house, "POST /api/definitions/diff", &document.to_string()).await;
        assert_eq!(told["added"], json!({"queues": ["shop: new"]}));
        assert_eq!(
            told["changed"]["queues"],
            json!([{"name": "shop: changed", "from": {"arguments": {}}, "to": {"arguments": {"x-max-length": 5}}}])
        );
        let users = json!([
            {"name": "mona", "from": {"tags": ["monitoring"]}, "to": {"tags": ["management"]}},
            {"name": "manny", "from": {}, "to": {"password_hash": "differs"}},
        ]);
        assert_eq!(told["changed"]["users"], users);
        assert_eq!(told["missing"]["queues"], json!(["shop: only-here"]));
        let missing = told["missing"]["users"].as_array().unwrap();
        assert!(missing.contains(&json!("guest")) && missing.contains(&json!("alice")), "{missing:?}");
        assert_eq!(told["counts"]["missing"]["users"], json!(missing.len()));
        let of_vhost = r#"{"queues":[{"name":"kept","durable":true,"auto_delete":false,"arguments":{}}]}"#;
        let told = ask(house, "POST /api/definitions/shop/diff", of_vhost).await;
        assert_eq!(
            (&told["same"], &told["missing"]),
            (&json!({"queues": 1}), &json!({"queues": ["shop: changed", "shop: only-here"]}))
        );
        assert_eq!(house.ask("POST", "/api/definitions/diff", "guest", "[]").await.status, 400);
        assert_eq!(house.ask("POST", "/api/definitions/diff", "mona", "{}").await.status, 401);
        assert_eq!(
            ask(house, "GET /api/queues/shop?columns=name", "").await.as_array().unwrap().len(),
            3,
            "nothing was changed"
        );
    });
}
