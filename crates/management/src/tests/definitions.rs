//! Definitions: what is exported comes back by importing, and nothing else changes.

use serde_json::{Value, json};

use super::house::{House, in_house, in_house_with};
use crate::options::Options;

/// A little of everything.
async fn furnish(house: &House) {
    house.check("PUT /api/queues/shop/q", r#"{"durable":true,"arguments":{"x-unknown":1}}"#, 201, "").await;
    house.check("PUT /api/exchanges/shop/e", r#"{"type":"topic","durable":true}"#, 201, "").await;
    house.check("PUT /api/exchanges/shop/hidden", r#"{"internal":true}"#, 201, "").await;
    house.check("POST /api/bindings/shop/e/e/q/q", r#"{"routing_key":"a.#","arguments":{"x":1}}"#, 201, "").await;
    let policy = r#"{"pattern":"^e","definition":{"alternate-exchange":"amq.fanout"},"apply-to":"exchanges"}"#;
    house.check("PUT /api/policies/shop/p", policy, 201, "").await;
    house.check("PUT /api/vhost-limits/shop/max-queues", r#"{"value":9}"#, 204, "").await;
    house.check("PUT /api/user-limits/manny/max-channels", r#"{"value":7}"#, 204, "").await;
    house.check("PUT /api/global-parameters/house", r#"{"value":{"a":1}}"#, 201, "").await;
    let topic = r#"{"exchange":"e","write":"^a","read":"^b"}"#;
    house.check("PUT /api/topic-permissions/shop/manny", topic, 201, "").await;
}

fn sorted(mut document: Value) -> Value {
    for (_, entries) in document.as_object_mut().unwrap() {
        if let Some(entries) = entries.as_array_mut() {
            entries.sort_by_key(Value::to_string);
        }
    }
    document
}

#[test]
fn what_is_exported_comes_back_elsewhere() {
    let mut exported = Value::Null;
    in_house(async |house| {
        furnish(house).await;
        exported = house.get("/api/definitions").await.json();
    });
    assert_eq!(exported["rabbitmq_definition_format"], "cluster");
    let queue = json!([{"name": "q", "vhost": "shop", "type": "classic", "durable": true, "auto_delete": false,
        "arguments": {"x-queue-type": "classic", "x-unknown": 1}}]);
    assert_eq!(exported["queues"], queue);
    assert_eq!(exported["exchanges"].as_array().unwrap().len(), 1);
    assert_eq!(exported["bindings"].as_array().unwrap().len(), 1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let house = House::bare(Options::default());
        for _ in 0..2 {
            house.check("POST /api/definitions", &exported.to_string(), 204, "").await;
            assert_eq!(sorted(house.get("/api/definitions").await.json()), sorted(exported.clone()));
        }
        assert_eq!(house.ask("GET", "/api/whoami", "manny", "").await.status, 200);
        house.close().await;
    });
}

#[test]
fn one_vhost_is_exported_without_its_name_and_imported_into_another() {
    in_house(async |house| {
        furnish(house).await;
        let exported = house.get("/api/definitions/shop").await.json();
        assert_eq!(exported["rabbitmq_definition_format"], "single_virtual_host");
        assert_eq!(exported["queues"][0].get("vhost"), None);
        assert!(exported.get("users").is_none());
        house.check("PUT /api/permissions/empty/guest", r#"{"configure":"","write":"","read":""}"#, 201, "").await;
        house.check("POST /api/definitions/empty", &exported.to_string(), 204, "").await;
        assert_eq!(house.get("/api/queues/empty/q").await.json()["durable"], true);
        assert_eq!(house.get("/api/policies/empty/p").await.status, 200);
        assert_eq!(house.get("/api/vhost-limits/empty").await.json()[0]["value"], json!({"max-queues": 9}));
        let text = "these are the definitions of one virtual host: import them into a virtual host";
        house.check_refused("POST /api/definitions", &exported.to_string(), 400, "bad_request", text).await;
        house.check_refused("GET /api/definitions/nosuch", "", 400, "bad_request", "vhost_not_found").await;
        house.check_refused("POST /api/definitions/nosuch", "{}", 404, "not_found", "vhost_not_found").await;
    });
}

#[test]
fn documents_that_make_no_sense_are_refused_in_the_words_of_rabbitmq() {
    in_house(async |house| {
        let check = async |body: &str, reason: &str| {
            house.check_refused("POST /api/definitions", body, 400, "bad_request", reason).await;
        };
        check("{", "failed_to_parse_json").await;
        check("[]", "failed_to_parse_json").await;
        check(r#"{"queues":{}}"#, "'queues' must be a list, not {}").await;
        check(r#"{"vhosts":["x"]}"#, "vhosts, entry 1: it must be an object").await;
        check(r#"{"queues":[{"name":"x"}]}"#, "queues, entry 1: [{key_missing,vhost}]").await;
        let text = "Please create virtual host \"nosuch\" prior to importing definitions.";
        check(r#"{"queues":[{"name":"x","vhost":"nosuch"}]}"#, text).await;
        let permission = r#"{"permissions":[{"user":"nosuch","vhost":"shop","configure":"","write":"","read":""}]}"#;
        check(permission, "{no_such_user,<<\"nosuch\">>}").await;
        let binding = r#"{"bindings":[{"source":"amq.direct","vhost":"shop","destination":"nosuch",
            "destination_type":"queue","routing_key":"k","arguments":{}}]}"#;
        check(binding, "{resources_missing,[{not_found,{resource,<<\"shop\">>,queue,<<\"nosuch\">>}}]}").await;
        let policy = r#"{"policies":[{"vhost":"shop","name":"bad","pattern":"x","definition":{"nosuch":1}}]}"#;
        let text = "Validation failed\n\n[{<<\"nosuch\">>,1}] are not recognised policy settings\n \
                    (vhost: \"shop\" key: \"bad\")";
        check(policy, text).await;
    });
}

#[test]
fn a_document_is_checked_before_anything_is_done() {
    in_house(async |house| {
        let body = r#"{"vhosts":[{"name":"new"}],"queues":[{"name":5,"vhost":"new"}]}"#;
        let text = "queues, entry 1: 'name' must be a string, not 5";
        house.check_refused("POST /api/definitions", body, 400, "bad_request", text).await;
        assert_eq!(house.get("/api/vhosts/new").await.status, 404);
    });
}

#[test]
fn what_is_there_stays_as_it_is() {
    in_house(async |house| {
        furnish(house).await;
        let body = r#"{"queues":[{"name":"q","vhost":"shop","durable":false}],"nosuch":[],
            "exchanges":[{"name":"e","vhost":"shop","type":"fanout"}]}"#;
        house.check("POST /api/definitions", body, 204, "").await;
        assert_eq!(house.get("/api/queues/shop/q").await.json()["durable"], true);
        assert_eq!(house.get("/api/exchanges/shop/e").await.json()["type"], "topic");
    });
}

#[test]
fn forms_upload_files() {
    let form = |name: &str, text: &str| {
        format!(
            "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: application/json\r\n\r\n{text}\r\n--XX--\r\n"
        )
    };
    let headers = [("authorization", "Basic Z3Vlc3Q6Z3Vlc3Q="), ("content-type", "multipart/form-data; boundary=XX")];
    in_house_with(Options { requires_json_extension: true, ..Options::default() }, async |house| {
        let upload = async |name: &str, text: &str| {
            house.ask_with("POST", "/api/definitions", &headers, form(name, text).as_bytes()).await
        };
        assert_eq!(upload("d.json", r#"{"vhosts":[{"name":"uploaded"}]}"#).await.status, 204);
        assert_eq!(house.get("/api/vhosts/uploaded").await.status, 200);
        assert_eq!(upload("d.json", "{").await.json()["reason"], "failed_to_parse_json");
        assert_eq!(upload("d.txt", "{}").await.json()["reason"], "unsupported_file_extension");
    });
}

#[test]
fn a_download_has_a_harmless_name() {
    in_house(async |house| {
        let reply = house.get("/api/definitions?download=broker.json").await;
        assert_eq!(reply.header("content-disposition"), Some("attachment; filename=broker.json"));
        let reply = house.get("/api/definitions?download=a%22b%0D%0A%2Fc").await;
        assert_eq!(reply.header("content-disposition"), Some("attachment; filename=abc"));
    });
}

#[test]
fn pruning_deletes_what_the_document_does_not_have() {
    in_house(async |house| {
        furnish(house).await;
        let document = house.get("/api/definitions/shop").await.json();
        house.check("PUT /api/queues/shop/extra", "", 201, "").await;
        house.check("POST /api/bindings/shop/e/e/q/q", r#"{"routing_key":"extra"}"#, 201, "").await;
        let deleted = json!({"bindings": ["shop: e to q by extra"], "queues": ["shop: extra"]});
        let dry = json!({"dry_run": true, "deleted": deleted});
        let path = "POST /api/definitions/shop?prune=";
        house.check(&format!("{path}dry-run"), &document.to_string(), 200, &dry.to_string()).await;
        assert_eq!(house.get("/api/queues/shop/extra").await.status, 200);
        let done = json!({"dry_run": false, "deleted": deleted});
        house.check(&format!("{path}true"), &document.to_string(), 200, &done.to_string()).await;
        assert_eq!(house.get("/api/queues/shop/extra").await.status, 404);
        assert_eq!(house.get("/api/queues/shop/q").await.status, 200);
        let text = "'prune' must be 'true', 'false' or 'dry-run', not 'x'";
        house.check_refused(&format!("{path}x"), "{}", 400, "bad_request", text).await;
    });
}

#[test]
fn pruning_leaves_alone_what_is_not_mentioned_and_who_asks() {
    in_house(async |house| {
        furnish(house).await;
        let document = r#"{"users":[{"name":"alice","tags":"administrator","password":"alice"}]}"#;
        let pruned = house.ask("POST", "/api/definitions?prune=true", "guest", document).await.json();
        assert_eq!(pruned["deleted"], json!({"users": ["manny", "mona", "nobody", "polly"]}));
        assert_eq!(house.get("/api/users?columns=name").await.json(), json!([{"name": "alice"}, {"name": "guest"}]));
        assert_eq!(house.get("/api/queues/shop/q").await.status, 200);
    });
}
