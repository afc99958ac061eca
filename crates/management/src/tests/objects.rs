//! Users, vhosts, permissions, policies and what is in a vhost: made, changed, removed, in RabbitMQ's words.

use serde_json::json;

use super::house::in_house;

#[test]
fn users_are_made_changed_and_deleted() {
    in_house(async |house| {
        house.check("PUT /api/users/u1", r#"{"password":"p","tags":"monitoring,other"}"#, 201, "").await;
        let user = house.get("/api/users/u1").await.json();
        assert_eq!(user["tags"], json!(["monitoring", "other"]));
        assert_eq!(user["hashing_algorithm"], "rabbit_password_hashing_sha256");
        assert_eq!(user["limits"], json!({}));
        assert_eq!(user["password_hash"].as_str().unwrap().len(), 48);
        // A user that is put without a password loses its old one, as in RabbitMQ.
        house.check("PUT /api/users/u1", r#"{"tags":["management"]}"#, 204, "").await;
        assert_eq!(house.get("/api/users/u1").await.json()["password_hash"], "");
        house.check("DELETE /api/users/u1", "", 204, "").await;
        house.check_refused("DELETE /api/users/u1", "", 404, "Object Not Found", "Not Found").await;
    });
}

#[test]
fn users_that_make_no_sense_are_refused() {
    in_house(async |house| {
        let check = async |body, reason| {
            house.check_refused("PUT /api/users/u", body, 400, "bad_request", reason).await;
        };
        check("{}", "tags_not_present").await;
        check(r#"{"password":"p"}"#, "tags_not_present").await;
        check(r#"{"password":"a","password_hash":"","tags":""}"#, "both_password_and_password_hash_are_provided").await;
        check(r#"{"password":5,"tags":""}"#, "'password' must be a string, not 5").await;
        check(r#"{"tags":5}"#, "'tags' must be a string or a list of strings, not 5").await;
        let expected = r#"{"error":"bad_request","reason":["not_base64","%%%"]}"#;
        house.check("PUT /api/users/u", r#"{"password_hash":"%%%","tags":""}"#, 400, expected).await;
        house.check_refused("POST /api/users/bulk-delete", "{}", 400, "bad_request", "[{key_missing,users}]").await;
        house.check("POST /api/users/bulk-delete", r#"{"users":["nosuch","manny"]}"#, 204, "").await;
        assert_eq!(house.get("/api/users/manny").await.status, 404);
    });
}

#[test]
fn a_second_password_stays_until_it_is_taken_away_by_name() {
    in_house(async |house| {
        house.check("PUT /api/users/moving", r#"{"password":"old","tags":"management"}"#, 201, "").await;
        let logs_in = async |password: &str| {
            let form = format!("username=moving&password={password}");
            house.ask_with("POST", "/api/login", &[], form.as_bytes()).await.status == 200
        };
        let change = r#"{"password":"new","keep_old_password":true,"tags":"management"}"#;
        house.check("PUT /api/users/moving", change, 204, "").await;
        assert!(logs_in("old").await && logs_in("new").await);
        house.check("PUT /api/users/moving", r#"{"password":"newer","tags":"monitoring"}"#, 204, "").await;
        assert!(logs_in("old").await && logs_in("newer").await && !logs_in("new").await);
        let change = r#"{"password":"newer","second_password_hash":"","tags":"monitoring"}"#;
        house.check("PUT /api/users/moving", change, 204, "").await;
        assert!(!logs_in("old").await && logs_in("newer").await);
    });
}

#[test]
fn protected_users_stay_as_they_are() {
    in_house(async |house| {
        house.check("PUT /api/users/saved", r#"{"password":"p","tags":"protected"}"#, 201, "").await;
        let reason = "Protected users cannot be modified via the HTTP API";
        house.check_refused("PUT /api/users/saved", r#"{"tags":""}"#, 400, "bad_request", reason).await;
        house.check_refused("DELETE /api/users/saved", "", 400, "bad_request", reason).await;
        house.check("POST /api/users/bulk-delete", r#"{"users":["saved"]}"#, 204, "").await;
        let definitions = r#"{"users":[{"name":"saved","password_hash":"","tags":"administrator"}]}"#;
        let reply = house.ask("POST", "/api/definitions", "guest", definitions).await;
        assert!((200..300).contains(&reply.status), "{}", reply.status);
        let user = house.get("/api/users/saved").await.json();
        assert_eq!(user["tags"], serde_json::json!(["protected"]));
    });
}

#[test]
fn vhosts_are_made_protected_and_deleted() {
    in_house(async |house| {
        let body = r#"{"description":"d","tags":"a, b","default_queue_type":"classic"}"#;
        house.check("PUT /api/vhosts/v1", body, 201, "").await;
        let vhost = house.get("/api/vhosts/v1").await.json();
        assert_eq!((&vhost["description"], &vhost["tags"]), (&json!("d"), &json!(["a", "b"])));
        assert_eq!(vhost["cluster_state"], json!({"rabbit@localhost": "running"}));
        house.check("POST /api/vhosts/v1/deletion/protection", "", 204, "").await;
        let reason = "Refusing to delete virtual host 'v1' because it is protected from deletion";
        house.check_refused("DELETE /api/vhosts/v1", "", 412, "precondition_failed", reason).await;
        house.check("DELETE /api/vhosts/v1/deletion/protection", "", 204, "").await;
        house.check("DELETE /api/vhosts/v1", "", 204, "").await;
        house.check_refused("DELETE /api/vhosts/v1", "", 404, "Object Not Found", "Not Found").await;
        let reason = "nosuch is not a valid queue type";
        let body = r#"{"default_queue_type":"nosuch"}"#;
        house.check_refused("PUT /api/vhosts/v2", body, 400, "bad_request", reason).await;
        let reason = "Cannot enable deletion protection of virtual host 'nosuch' because it does not exist";
        house.check_refused("POST /api/vhosts/nosuch/deletion/protection", "", 404, "not_found", reason).await;
    });
}

#[test]
fn permissions_are_given_and_taken() {
    in_house(async |house| {
        let all = r#"{"configure":".*","write":".*","read":".*"}"#;
        house.check("PUT /api/permissions/empty/manny", all, 201, "").await;
        let expected = r#"{"user":"manny","vhost":"empty","configure":".*","write":".*","read":".*"}"#;
        house.check("GET /api/permissions/empty/manny", "", 200, expected).await;
        house.check("PUT /api/permissions/empty/manny", all, 204, "").await;
        let unknown = "vhost_or_user_not_found";
        house.check_refused("PUT /api/permissions/empty/nosuch", all, 400, "bad_request", unknown).await;
        house.check_refused("PUT /api/permissions/nosuch/manny", all, 400, "bad_request", unknown).await;
        let missing = "[{key_missing,configure},{key_missing,write},{key_missing,read}]";
        house.check_refused("PUT /api/permissions/empty/manny", "{}", 400, "bad_request", missing).await;
        house.check("DELETE /api/permissions/empty/manny", "", 204, "").await;
        house.check_refused("DELETE /api/permissions/empty/manny", "", 404, "Object Not Found", "Not Found").await;
    });
}

#[test]
fn topic_permissions_are_given_and_taken() {
    in_house(async |house| {
        let body = r#"{"exchange":"amq.topic","write":"^a","read":"^b"}"#;
        house.check("PUT /api/topic-permissions/shop/manny", body, 201, "").await;
        let expected = r#"[{"user":"manny","vhost":"shop","exchange":"amq.topic","write":"^a","read":"^b"}]"#;
        house.check("GET /api/topic-permissions/shop/manny", "", 200, expected).await;
        house.check("GET /api/users/manny/topic-permissions", "", 200, expected).await;
        let body = r#"{"exchange":"nosuch","write":"","read":""}"#;
        let expected = r#"{"error":"bad_request","reason":["no_such_exchange","nosuch"]}"#;
        house.check("PUT /api/topic-permissions/shop/manny", body, 400, expected).await;
        house.check("DELETE /api/topic-permissions/shop/manny", "", 204, "").await;
        for path in ["/api/topic-permissions/shop/manny", "/api/topic-permissions/shop/manny/amq.topic"] {
            house.check_refused(&format!("DELETE {path}"), "", 404, "Object Not Found", "Not Found").await;
        }
        assert_eq!(house.get("/api/topic-permissions/shop/manny").await.status, 404);
    });
}

/// RabbitMQ takes any hash for its default's, SHA-256, by which no login succeeds then.
#[test]
fn the_algorithm_of_a_hash_is_told_by_its_length_where_it_is_not_said() {
    in_house(async |house| {
        // Of `pw` with the salt 0x01020304.
        let sha512 = "AQIDBFEKgg91QUjXOoEuIijrYjDJqmh1G3gQJEpEZS2FiDEOS23JGoN2eht5cR6qAC4KAE7kqph8wGA/9reOn6y+bcw=";
        let body = json!({"password_hash": sha512, "tags": "management"}).to_string();
        house.check("PUT /api/users/ann", &body, 201, "").await;
        let ann = house.get("/api/users/ann").await.json();
        assert_eq!(ann["hashing_algorithm"], "rabbit_password_hashing_sha512");
        let basic = [("authorization", "Basic YW5uOnB3")];
        assert_eq!(house.ask_with("GET", "/api/whoami", &basic, b"").await.status, 200);
        let users = json!({"users": [{"name": "bob", "password_hash": sha512, "tags": ""}]}).to_string();
        assert_eq!(house.ask("POST", "/api/definitions", "guest", &users).await.status, 204);
        assert_eq!(house.get("/api/users/bob").await.json()["password_hash"], sha512);
        let short = json!({"password_hash": "YQ==", "tags": ""}).to_string();
        assert_eq!(house.ask("PUT", "/api/users/eve", "guest", &short).await.status, 400);
    });
}

/// RabbitMQ shows `undefined`; what can be imported again keeps it as it is.
#[test]
fn void_arguments_are_shown_as_undefined() {
    in_house(async |house| {
        let given = json!({"x-void": null, "x-deep": [{"a": null}], "x-n": 1});
        let definitions = json!({
            "queues": [{"vhost": "shop", "name": "v", "durable": true, "auto_delete": false, "arguments": given}],
            "exchanges": [{
                "vhost": "shop", "name": "v", "type": "direct", "durable": true, "auto_delete": false, "internal": false,
                "arguments": given,
            }],
            "bindings": [{
                "vhost": "shop", "source": "v", "destination": "v", "destination_type": "queue", "routing_key": "k",
                "arguments": given,
            }],
        });
        assert_eq!(house.ask("POST", "/api/definitions", "guest", &definitions.to_string()).await.status, 204);
        let shown = json!({"x-void": "undefined", "x-deep": [{"a": "undefined"}], "x-n": 1});
        let mut of_queue = shown.clone();
        of_queue["x-queue-type"] = json!("classic");
        assert_eq!(house.get("/api/queues/shop/v").await.json()["arguments"], of_queue);
        assert_eq!(house.get("/api/exchanges/shop/v").await.json()["arguments"], shown);
        assert_eq!(house.get("/api/bindings/shop/e/v/q/v").await.json()[0]["arguments"], shown);
        let exported = house.get("/api/definitions/shop").await.json();
        assert!(exported["queues"].as_array().unwrap().iter().any(|queue| queue["arguments"]["x-void"].is_null()
            && queue["arguments"].as_object().unwrap().contains_key("x-void")));
    });
}

#[test]
fn limits_are_set_and_removed() {
    in_house(async |house| {
        house.check("PUT /api/vhost-limits/shop/max-queues", r#"{"value":5}"#, 204, "").await;
        let expected = r#"[{"value":{"max-queues":5},"vhost":"shop"}]"#;
        house.check("GET /api/vhost-limits/shop", "", 200, expected).await;
        house.check("GET /api/vhost-limits", "", 200, expected).await;
        let text = "Validation failed\n\nmax-queues should be a number, actually was <<\"x\">>\n";
        let path = "PUT /api/vhost-limits/shop/max-queues";
        house.check_refused(path, r#"{"value":"x"}"#, 400, "bad_request", text).await;
        house.check_refused(path, "{}", 400, "bad_request", "[{key_missing,value}]").await;
        let text = "Validation failed\n\nUnrecognised terms [{<<\"nosuch\">>,1}] in limits\n";
        house.check_refused("PUT /api/vhost-limits/shop/nosuch", r#"{"value":1}"#, 400, "bad_request", text).await;
        house.check("DELETE /api/vhost-limits/shop/max-queues", "", 204, "").await;
        house.check("GET /api/vhost-limits/shop", "", 200, "[]").await;
        house.check("PUT /api/user-limits/manny/max-channels", r#"{"value":7}"#, 204, "").await;
        let expected = r#"[{"user":"manny","value":{"max-channels":7}}]"#;
        house.check("GET /api/user-limits/manny", "", 200, expected).await;
        let expected = r#"{"error":"bad_request","reason":["no_such_user","nosuch"]}"#;
        house.check("PUT /api/user-limits/nosuch/max-channels", r#"{"value":7}"#, 400, expected).await;
        let text = "Unrecognised terms [{<<\"nosuch\">>,1}] in user-limits";
        house.check_refused("PUT /api/user-limits/manny/nosuch", r#"{"value":1}"#, 400, "bad_request", text).await;
    });
}

#[test]
fn policies_hold_for_what_they_match() {
    in_house(async |house| {
        let body = r#"{"pattern":"^ev","definition":{"alternate-exchange":"amq.fanout"},"apply-to":"exchanges"}"#;
        house.check("PUT /api/policies/shop/ae", body, 201, "").await;
        let expected = r#"{"vhost":"shop","name":"ae","pattern":"^ev","apply-to":"exchanges",
            "definition":{"alternate-exchange":"amq.fanout"},"priority":0}"#;
        house.check("GET /api/policies/shop/ae", "", 200, expected).await;
        house.check("PUT /api/exchanges/shop/events", r#"{"type":"topic"}"#, 201, "").await;
        assert_eq!(house.get("/api/exchanges/shop/events").await.json()["policy"], "ae");
        let check = async |body, reason: &str| {
            let reason = format!("Validation failed\n\n{reason}\n");
            house.check_refused("PUT /api/policies/shop/bad", body, 400, "bad_request", &reason).await;
        };
        let unknown = "[{<<\"nosuch\">>,1}] are not recognised policy settings";
        check(r#"{"pattern":"x","definition":{"nosuch":1}}"#, unknown).await;
        check(r#"{"pattern":"x","definition":{}}"#, "no policy provided").await;
        check(r#"{"pattern":5,"definition":{"a":1}}"#, "pattern should be a binary but was 5").await;
        let priority = r#"{"pattern":"x","definition":{"alternate-exchange":"x"},"priority":"5"}"#;
        check(priority, "priority should be a number, actually was <<\"5\">>").await;
        let missing = "[{key_missing,pattern},{key_missing,definition}]";
        house.check_refused("PUT /api/policies/shop/bad", "", 400, "bad_request", missing).await;
        house.check("DELETE /api/policies/shop/ae", "", 204, "").await;
        house.check_refused("DELETE /api/policies/shop/ae", "", 404, "Object Not Found", "Not Found").await;
        house.check_refused("PUT /api/policies/nosuch/p", body, 404, "not_found", "vhost_not_found").await;
    });
}

#[test]
fn parameters_are_policies_limits_and_global_ones() {
    in_house(async |house| {
        house.check("PUT /api/parameters/vhost-limits/shop/limits", r#"{"value":{"max-queues":9}}"#, 201, "").await;
        let expected = r#"[{"value":{"max-queues":9},"vhost":"shop","component":"vhost-limits","name":"limits"}]"#;
        house.check("GET /api/parameters", "", 200, expected).await;
        let text = "Validation failed\n\ncomponent nosuch not found\n";
        house.check_refused("PUT /api/parameters/nosuch/shop/s", r#"{"value":{}}"#, 400, "bad_request", text).await;
        let text = "policies may not be set using this method";
        house.check_refused("PUT /api/parameters/policy/shop/s", r#"{"value":{}}"#, 400, "bad_request", text).await;
        house.check("DELETE /api/parameters/vhost-limits/shop/limits", "", 204, "").await;
        house.check("PUT /api/global-parameters/house", r#"{"value":[1,null]}"#, 201, "").await;
        house.check("GET /api/global-parameters/house", "", 200, r#"{"name":"house","value":[1,null]}"#).await;
        house.check("DELETE /api/global-parameters/house", "", 204, "").await;
        house.check("PUT /api/cluster-name", r#"{"name":"c1"}"#, 204, "").await;
        house.check("GET /api/cluster-name", "", 200, r#"{"name":"c1"}"#).await;
    });
}

#[test]
fn exchanges_are_declared_and_deleted() {
    in_house(async |house| {
        house.check("PUT /api/exchanges/shop/e1", r#"{"type":"direct","durable":true}"#, 201, "").await;
        house.check("PUT /api/exchanges/shop/e1", r#"{"type":"direct","durable":"true"}"#, 204, "").await;
        let text =
            "inequivalent arg 'type' for exchange 'e1' in vhost 'shop': received 'fanout' but current is 'direct'";
        house.check_refused("PUT /api/exchanges/shop/e1", r#"{"type":"fanout"}"#, 400, "bad_request", text).await;
        let text = "unknown exchange type 'nosuch'";
        house.check_refused("PUT /api/exchanges/shop/e2", r#"{"type":"nosuch"}"#, 400, "bad_request", text).await;
        let refused = "Access refused.";
        house.check_refused("PUT /api/exchanges/shop/amq.mine", "{}", 401, "not_authorised", refused).await;
        house.check_refused("DELETE /api/exchanges/shop/amq.direct", "", 401, "not_authorised", refused).await;
        house.check_refused("PUT /api/exchanges/nosuch/e", "{}", 404, "not_found", "vhost_not_found").await;
        for path in ["/api/exchanges/shop/amq.default", "/api/exchanges/shop//"] {
            let default = house.get(path).await.json();
            assert_eq!((&default["name"], &default["type"]), (&json!(""), &json!("direct")), "{path}");
        }
        house.check("DELETE /api/exchanges/shop/e1", "", 204, "").await;
        house.check_refused("DELETE /api/exchanges/shop/e1", "", 404, "Object Not Found", "Not Found").await;
    });
}

#[test]
fn queues_are_declared_purged_and_deleted() {
    in_house(async |house| {
        house
            .check("PUT /api/queues/shop/q", r#"{"durable":true,"arguments":{"x-unknown":[1,{"a":true}]}}"#, 201, "")
            .await;
        house.check("PUT /api/queues/shop/q", r#"{"durable":true}"#, 204, "").await;
        let text = "inequivalent arg 'durable' for queue 'q' in vhost 'shop': received 'false' but current is 'true'";
        house.check_refused("PUT /api/queues/shop/q", "", 400, "bad_request", text).await;
        let expected = r#"{"error":"bad_request","reason":["not_boolean",1]}"#;
        house.check("PUT /api/queues/shop/q2", r#"{"durable":1}"#, 400, expected).await;
        let null = r#"{"arguments":{"a":[{"b":null}]}}"#;
        house.check_refused("PUT /api/queues/shop/q2", null, 400, "bad_request", "null_not_allowed").await;
        let text = "Node rabbit@nowhere is not a cluster member";
        house.check_refused("PUT /api/queues/shop/q2", r#"{"node":"rabbit@nowhere"}"#, 400, "bad_request", text).await;
        let long = "x".repeat(256);
        let text = "queue should be less than 255 bytes, actually was 256\n";
        house.check_refused(&format!("PUT /api/queues/shop/{long}"), "", 400, "bad_request", text).await;
        let message = r#"{"routing_key":"q","properties":{},"payload":"x","payload_encoding":"string"}"#;
        house.check("POST /api/exchanges/shop/amq.default/publish", message, 200, r#"{"routed":true}"#).await;
        let text = "queue 'q' in vhost 'shop' not empty";
        house.check_refused("DELETE /api/queues/shop/q?if-empty=true", "", 400, "bad_request", text).await;
        assert_eq!(house.get("/api/queues/shop/q").await.json()["messages"], 1);
        house.check("DELETE /api/queues/shop/q/contents", "", 204, "").await;
        assert_eq!(house.get("/api/queues/shop/q").await.json()["messages_ready"], 0);
        house.check("DELETE /api/queues/shop/q", "", 204, "").await;
        house.check_refused("DELETE /api/queues/shop/q", "", 404, "Object Not Found", "Not Found").await;
        house.check_refused("POST /api/queues/shop/q/actions", "{}", 404, "not_found", "queue_not_found").await;
    });
}

#[test]
fn bindings_are_named_by_their_properties_key() {
    in_house(async |house| {
        house.check("PUT /api/queues/shop/q", "", 201, "").await;
        let path = "/api/bindings/shop/e/amq.direct/q/q";
        let bind = async |body: &str| house.ask("POST", path, "guest", body).await;
        let reply = bind(r#"{"routing_key":"a b/c~d%e"}"#).await;
        assert_eq!((reply.status, reply.header("location")), (201, Some("q/a%2Bb%252Fc%257Ed%2525e")));
        assert_eq!(bind("").await.header("location"), Some("q/~"));
        assert_eq!(bind(&format!(r#"{{"routing_key":"{}"}}"#, "k".repeat(256))).await.status, 400);
        let reply = bind(r#"{"routing_key":"k","arguments":{"x":1}}"#).await;
        let key = reply.header("location").unwrap().strip_prefix("q/").unwrap();
        assert_eq!((key.len(), &key[..2]), (8, "k~"));
        for key in ["a%2Bb%252Fc%257Ed%2525e", "~", key] {
            let found = house.get(&format!("{path}/{key}")).await;
            assert_eq!(found.status, 200, "{key}");
            house.check(&format!("DELETE {path}/{key}"), "", 204, "").await;
            house.check_refused(&format!("DELETE {path}/{key}"), "", 404, "Object Not Found", "Not Found").await;
        }
        let listed = house.get("/api/queues/shop/q/bindings").await.json();
        let implicit = json!([{"source": "", "vhost": "shop", "destination": "q", "destination_type": "queue",
            "routing_key": "q", "arguments": {}, "properties_key": "q"}]);
        assert_eq!(listed, implicit);
        let text = "no queue 'nosuch' in vhost 'shop'";
        house.check_refused("POST /api/bindings/shop/e/amq.direct/q/nosuch", "", 404, "not_found", text).await;
        let text = "no exchange 'nosuch' in vhost 'shop'";
        house.check_refused("POST /api/bindings/shop/e/nosuch/q/q", "", 404, "not_found", text).await;
        let refused = "Access refused.";
        house.check_refused("POST /api/bindings/shop/e/amq.default/q/q", "", 401, "not_authorised", refused).await;
        let text = "'x' is neither 'q' nor 'e'";
        house.check_refused("GET /api/bindings/shop/e/amq.direct/x/q", "", 400, "bad_request", text).await;
    });
}

#[test]
fn a_message_comes_back_with_all_its_properties() {
    in_house(async |house| {
        house.check("PUT /api/queues/shop/q", "", 201, "").await;
        let properties = json!({
            "content_type": "text/plain", "delivery_mode": 2, "priority": 1, "timestamp": 1_700_000_000,
            "headers": {"a": 1, "l": [1, "x"], "t": {"k": true}, "f": 1.5}, "type": "t",
            "message_id": "m", "correlation_id": "c", "reply_to": "r", "app_id": "app", "user_id": "guest",
        });
        let message = json!({
            "routing_key": "q", "properties": properties, "payload": "aGVsbG8=", "payload_encoding": "base64",
        });
        let publish = "POST /api/exchanges/shop/amq.default/publish";
        house.check(publish, &message.to_string(), 200, r#"{"routed":true}"#).await;
        let get = async |body: &str| house.ask("POST", "/api/queues/shop/q/get", "guest", body).await;
        let got = get(r#"{"count":5,"ackmode":"ack_requeue_true","encoding":"auto"}"#).await.json();
        let expected = json!([{
            "payload_bytes": 5, "redelivered": false, "exchange": "", "routing_key": "q", "message_count": 0,
            "properties": properties, "payload": "hello", "payload_encoding": "string",
        }]);
        assert_eq!(got, expected);
        let got = get(r#"{"count":"1","ackmode":"ack_requeue_false","encoding":"base64","truncate":3}"#).await.json();
        assert_eq!((&got[0]["payload"], &got[0]["redelivered"]), (&json!("aGVs"), &json!(true)));
        let got = get(r#"{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}"#).await.json();
        assert_eq!(got, json!([]));
    });
}

#[test]
fn messages_that_make_no_sense_are_refused() {
    in_house(async |house| {
        house.check("PUT /api/queues/shop/q", "", 201, "").await;
        let publish = "POST /api/exchanges/shop/amq.default/publish";
        let check = async |change: serde_json::Value, reason: serde_json::Value| {
            let mut message =
                json!({"routing_key": "q", "properties": {}, "payload": "x", "payload_encoding": "string"});
            message.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let expected = json!({"error": "bad_request", "reason": reason});
            house.check(publish, &message.to_string(), 400, &expected.to_string()).await;
        };
        check(json!({"payload": 5}), json!("payload_not_string")).await;
        check(json!({"payload": "%%%", "payload_encoding": "base64"}), json!(["not_base64", "%%%"])).await;
        check(json!({"payload_encoding": "x"}), json!(["unsupported_encoding", "x"])).await;
        check(json!({"properties": {"content_type": 5}}), json!(["not_string", "content_type"])).await;
        check(json!({"properties": {"delivery_mode": "2"}}), json!(["not_int", "delivery_mode"])).await;
        check(json!({"properties": {"headers": {"n": null}}}), json!("null_not_allowed")).await;
        let text = "406 PRECONDITION_FAILED - user_id property set to 'alice' but authenticated user was 'guest'";
        check(json!({"properties": {"user_id": "alice"}}), json!(text)).await;
        let missing = "[{key_missing,routing_key},\n {key_missing,properties},\n {key_missing,payload},\n \
                       {key_missing,payload_encoding}]";
        house.check_refused(publish, "", 400, "bad_request", missing).await;
        let get = "POST /api/queues/shop/q/get";
        let missing = "[{key_missing,ackmode},{key_missing,count},{key_missing,encoding}]";
        house.check_refused(get, "", 400, "bad_request", missing).await;
        let body = r#"{"count":1,"ackmode":"x","encoding":"auto"}"#;
        let text = "Invalid ackmode value: x. Valid values are: ack_requeue_true, ack_requeue_false, \
                    reject_requeue_true, reject_requeue_false";
        house.check_refused(get, body, 400, "bad_request", text).await;
        let body = r#"{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}"#;
        house.check_refused("POST /api/queues/shop/nosuch/get", body, 404, "not_found", "queue_not_found").await;
        let message = r#"{"routing_key":"q","properties":{},"payload":"x","payload_encoding":"string"}"#;
        let nowhere = "POST /api/exchanges/shop/nosuch/publish";
        house.check_refused(nowhere, message, 404, "not_found", "exchange_not_found").await;
    });
}

#[test]
fn health_checks_tell_what_listens() {
    in_house(async |house| {
        house.check("GET /api/health/checks/port-listener/5672", "", 200, r#"{"status":"ok","port":5672}"#).await;
        let failed = r#"{"status":"failed","reason":"No active listener","ports":[5672,15672],"missing":1}"#;
        house.check("GET /api/health/checks/port-listener/1", "", 503, failed).await;
        house.check_refused("GET /api/health/checks/port-listener/x", "", 400, "bad_request", "Invalid port").await;
        let ok = r#"{"status":"ok","protocols":["amqp","http"]}"#;
        house.check("GET /api/health/checks/protocol-listener/amqp091,http", "", 200, ok).await;
        let failed =
            r#"{"status":"failed","reason":"No active listener","protocols":["amqp","http"],"missing":["mqtt"]}"#;
        house.check("GET /api/health/checks/protocol-listener/mqtt", "", 503, failed).await;
        let text = "Time unit not recognised. Supported units: days, weeks, months, years.";
        let path = "GET /api/health/checks/certificate-expiration/1/eons";
        house.check_refused(path, "", 400, "bad_request", text).await;
        for check in ["alarms", "local-alarms", "virtual-hosts", "is-in-service", "ready-to-serve-clients"] {
            house.check(&format!("GET /api/health/checks/{check}"), "", 200, r#"{"status":"ok"}"#).await;
        }
        house.check("GET /api/aliveness-test/shop", "", 200, r#"{"status":"ok"}"#).await;
    });
}

#[test]
fn the_overview_counts_what_somebody_sees() {
    in_house(async |house| {
        house.check("PUT /api/queues/%2F/q", "", 201, "").await;
        let overview = house.get("/api/overview").await.json();
        assert_eq!(overview["object_totals"]["queues"], 1);
        assert_eq!(overview["rabbitmq_version"], "4.3.0");
        let types = overview["exchange_types"].as_array().unwrap();
        let names: Vec<_> = types.iter().map(|kind| kind["name"].as_str().unwrap()).collect();
        let expected = ["direct", "fanout", "headers", "topic", "x-consistent-hash", "x-delayed-message"];
        let more = [
            "x-federation-upstream",
            "x-local-random",
            "x-message-deduplication",
            "x-modulus-hash",
            "x-random",
            "x-recent-history",
        ];
        assert_eq!(names, [&expected[..], &more].concat());
        assert_eq!(types[4]["description"], "Consistent Hashing Exchange");
        assert_eq!(overview["listeners"].as_array().unwrap().len(), 2);
        let overview = house.ask("GET", "/api/overview", "manny", "").await.json();
        assert_eq!(overview["object_totals"]["queues"], 0);
        assert!(overview.get("listeners").is_none() && overview.get("node").is_none());
        let expected = r#"{"object_totals":{"queues":1}}"#;
        house.check("GET /api/overview?columns=object_totals.queues", "", 200, expected).await;
    });
}

#[test]
fn whoever_makes_a_vhost_may_do_everything_there() {
    in_house(async |house| {
        let permissions = async || house.get("/api/vhosts/new/permissions").await.json();
        assert_eq!(house.ask("PUT", "/api/vhosts/new", "alice", "").await.status, 201);
        let expected = json!([{"user": "alice", "vhost": "new", "configure": ".*", "write": ".*", "read": ".*"}]);
        assert_eq!(permissions().await, expected);
        assert_eq!(house.ask("PUT", "/api/vhosts/new", "guest", "").await.status, 204);
        assert_eq!(permissions().await, expected, "it was there before");
        assert_eq!(house.ask("DELETE", "/api/vhosts/new", "alice", "").await.status, 204);
        house.check("POST /api/definitions", r#"{"vhosts":[{"name":"new"}]}"#, 204, "").await;
        assert_eq!(permissions().await, json!([]), "an import says itself who may do what");
    });
}

#[test]
fn the_node_is_the_only_one() {
    in_house(async |house| {
        let nodes = house.get("/api/nodes").await.json();
        assert_eq!((&nodes[0]["name"], &nodes[0]["running"]), (&json!("rabbit@localhost"), &json!(true)));
        assert!(nodes[0]["mem_used"].as_u64().unwrap() > 0);
        // Monitoring divides one by the other.
        let (used, total) = (&nodes[0]["proc_used"], &nodes[0]["proc_total"]);
        assert!(used.as_u64().unwrap() > 0 && used.as_u64() < total.as_u64(), "{used} of {total}");
        assert_eq!(nodes[0]["applications"][0]["name"], "rabbit");
        assert_eq!(house.get("/api/extensions").await.json(), json!([{"javascript": "dispatcher.js"}]));
        let flags = house.get("/api/feature-flags").await.json();
        for name in ["rabbitmq_4.0.0", "khepri_db"] {
            assert!(flags.as_array().unwrap().iter().any(|flag| flag["name"] == name && flag["state"] == "enabled"));
        }
        let levels = |name: &str| {
            let flag = flags.as_array().unwrap().iter().find(|flag| flag["name"] == name).unwrap();
            (flag["stability"].clone(), flag["require_level"].clone())
        };
        // Clients look for a flag of the newest version that is not required yet.
        assert_eq!(levels("rabbitmq_4.3.0"), (json!("stable"), json!("none")));
        assert_eq!(levels("rabbitmq_4.2.0"), (json!("required"), json!("soft")));
        assert_eq!(house.get("/api/nodes/rabbit@localhost").await.status, 200);
        assert_eq!(house.get("/api/nodes/rabbit@nowhere").await.status, 404);
    });
}
