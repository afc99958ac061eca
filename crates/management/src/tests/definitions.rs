//! Definitions: what is exported comes back by importing, and nothing else changes.

use definitions::{Scope, parse};
use model::name::UserName;
use model::pattern::Pattern;
use model::user::{CredentialValidator, Permission, Tags};
use model::vhost::{VhostDefaults, VhostUserDefault};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::house::{House, in_house, in_house_of, in_house_with};
use crate::options::Options;

/// A little of everything.
pub(super) async fn furnish(house: &House) {
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

pub(super) fn sorted(mut document: Value) -> Value {
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
fn shards_of_another_node_are_taken_for_the_exchanges_own() {
    in_house(async |house| {
        let queues: Vec<_> = (0..3).map(|number| format!("sharding: x - rabbit@elsewhere - {number}")).collect();
        let document = json!({
            "policies": [{"name": "p", "pattern": "^x$", "apply-to": "exchanges", "definition": {"shards-per-node": 3}}],
            "exchanges": [{"name": "x", "type": "x-modulus-hash", "durable": true}],
            "queues": queues.iter().map(|name| json!({"name": name, "durable": true})).collect::<Vec<_>>(),
            "bindings": queues.iter().map(|name| json!({"source": "x", "destination": name, "destination_type": "queue",
                "routing_key": ""})).collect::<Vec<_>>(),
        });
        house.check("POST /api/definitions/shop", &document.to_string(), 204, "").await;
        let listed = house.get("/api/queues/shop?columns=name").await.json();
        assert_eq!(listed, json!(queues.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()));
        let bindings = house.get("/api/exchanges/shop/x/bindings/source").await.json();
        assert_eq!(bindings.as_array().unwrap().len(), 3);
    });
}

#[test]
fn documents_that_make_no_sense_are_refused_in_plain_words() {
    in_house(async |house| {
        let check = async |body: &str, reason: &str| {
            house.check_refused("POST /api/definitions", body, 400, "bad_request", reason).await;
        };
        check("{", "failed_to_parse_json: EOF while parsing an object at line 1 column 1").await;
        check("{\"queues\": [],\n \"x\" 1}", "failed_to_parse_json: expected `:` at line 2 column 6").await;
        check("[]", "failed_to_parse_json: the document must be an object").await;
        check(r#"{"queues":{}}"#, "'queues' must be a list, not {}").await;
        check(r#"{"vhosts":["x"]}"#, "vhosts, entry 1: it must be an object").await;
        check(r#"{"queues":[{"name":"x"}]}"#, "queues, entry 1 ('x'): the key 'vhost' is missing").await;
        let text = "queues, entry 1 ('x' in vhost 'nosuch'): Please create virtual host \"nosuch\" prior to importing definitions.";
        check(r#"{"queues":[{"name":"x","vhost":"nosuch"}]}"#, text).await;
        let permission = r#"{"permissions":[{"user":"nosuch","vhost":"shop","configure":"","write":"","read":""}]}"#;
        check(permission, "permissions, entry 1 ('nosuch' in vhost 'shop'): no user 'nosuch'").await;
        let policy = r#"{"policies":[{"vhost":"shop","name":"bad","pattern":"x","definition":{"nosuch":1}}]}"#;
        let text = "policies, entry 1 ('bad' in vhost 'shop'): \
                    Validation failed\n\n[{<<\"nosuch\">>,1}] are not recognised policy settings\n \
                    (vhost: \"shop\" key: \"bad\")";
        check(policy, text).await;
    });
}

/// What RabbitMQ 3.11 and 3.12 write where they have no value, and what its importer passes over.
#[test]
fn values_that_say_nothing_are_none() {
    in_house(async |house| {
        for (number, value) in
            [json!("undefined"), json!(null), json!(""), json!("nosuch"), json!(5)].iter().enumerate()
        {
            let vhosts = json!([
                {"name": format!("a{number}"), "default_queue_type": value},
                {"name": format!("b{number}"), "metadata": {"default_queue_type": value, "description": "d", "tags": []}},
            ]);
            house.check("POST /api/definitions", &json!({"vhosts": vhosts}).to_string(), 204, "").await;
            let vhost =
                house.get(&format!("/api/vhosts/b{number}?columns=description,default_queue_type")).await.json();
            assert_eq!(vhost, json!({"description": "d", "default_queue_type": "classic"}));
        }
        for vhost in [
            json!({"name": "n", "metadata": null}),
            json!({"name": "n", "tags": null, "description": null, "limits": null, "protected_from_deletion": null}),
            json!({"name": "n", "metadata": {"tags": null, "description": null}}),
        ] {
            house.check("POST /api/definitions", &json!({"vhosts": [vhost]}).to_string(), 204, "").await;
        }
        let user = json!({"users": [{"name": "u", "tags": [], "password_hash": "", "hashing_algorithm": null}]});
        house.check("POST /api/definitions", &user.to_string(), 204, "").await;
        let body = json!({"queues": [{"name": "q", "vhost": "shop", "type": null}], "bindings": [
            {"source": "", "vhost": "shop", "destination": "q", "destination_type": "queue", "routing_key": "q"},
            {"source": "", "vhost": "shop", "destination": "q", "destination_type": "queue", "routing_key": "other"},
        ]});
        house.check("POST /api/definitions", &body.to_string(), 204, "").await;
        house
            .check("PUT /api/vhosts/p", r#"{"default_queue_type":"undefined","tags":null,"description":null}"#, 201, "")
            .await;
        house.check("PUT /api/vhosts/p", r#"{"default_queue_type":null}"#, 204, "").await;
        let text = "default_queue_type must not be an empty string";
        house.check_refused("PUT /api/vhosts/p", r#"{"default_queue_type":""}"#, 400, "bad_request", text).await;
    });
}

/// A document with a little of all that is not there.
fn unsupported() -> Value {
    json!({
        "vhosts": [{"name": "v", "default_queue_type": "stream"}],
        "parameters": [{"component": "nosuch", "vhost": "shop", "name": "f", "value": {}},
            {"component": "shovel", "vhost": "shop", "name": "s", "value": {"src-protocol": "amqp10", "src-uri": "amqp://",
                "src-address": "a", "dest-uri": "amqp://", "dest-queue": "b"}}],
        "policies": [{"vhost": "shop", "name": "s", "pattern": "^s", "definition": {"max-age": "7D"}},
            {"vhost": "shop", "name": "kept", "pattern": "^k", "definition": {"max-length": 7}}],
        "exchanges": [{"vhost": "shop", "name": "x", "type": "x-foreign"}, {"vhost": "shop", "name": "e", "type": "fanout"}],
        "queues": [{"vhost": "shop", "name": "s", "arguments": {"x-queue-type": "stream"}}, {"vhost": "shop", "name": "q"}],
        "bindings": [
            {"vhost": "shop", "source": "e", "destination": "s", "destination_type": "queue", "routing_key": ""},
            {"vhost": "shop", "source": "x", "destination": "q", "destination_type": "queue", "routing_key": ""},
            {"vhost": "shop", "source": "e", "destination": "q", "destination_type": "queue", "routing_key": ""},
        ],
    })
}

/// What brokers write for "none" is nothing to warn of; a type that there is not may be a mistake.
#[test]
fn a_default_queue_type_that_is_none_is_passed_over_in_silence() {
    for (value, warning_count) in [(json!("undefined"), 0), (json!(""), 0), (json!(null), 0), (json!("nosuch"), 1)] {
        let document = json!({"vhosts": [{"name": "v", "default_queue_type": value}]}).to_string();
        let read = parse(document.as_bytes(), Scope::Broker).unwrap();
        assert_eq!(read.warnings.len(), warning_count, "{document}: {:?}", read.warnings);
    }
}

#[test]
fn all_that_is_unsupported_is_named_at_once() {
    in_house(async |house| {
        let reply = house.ask("POST", "/api/definitions", "guest", &unsupported().to_string()).await;
        assert_eq!(reply.status, 400);
        let reason = reply.json()["reason"].as_str().unwrap().to_owned();
        assert!(reason.starts_with("6 entries cannot be imported:\n"), "{reason}");
        for part in [
            "vhosts, entry 1 ('v'): the queue type 'stream' is not implemented",
            "component nosuch not found",
            "src-protocol amqp10: AMQP 1.0 is not supported",
            "the policy key 'max-age' is not implemented",
            "unknown exchange type 'x-foreign'",
            "queues, entry 1 ('s' in vhost 'shop'): the queue type 'stream' is not implemented",
        ] {
            assert!(reason.contains(part), "{part} in {reason}");
        }
        assert_eq!(house.get("/api/vhosts/v").await.status, 404);
        assert_eq!(house.get("/api/queues/shop/q").await.status, 404);
    });
}

#[test]
fn what_is_unsupported_can_be_left_out() {
    in_house(async |house| {
        let reply =
            house.ask("POST", "/api/definitions?skip_unsupported=true", "guest", &unsupported().to_string()).await;
        let (status, body) = (reply.status, reply.json());
        assert_eq!(status, 200, "{body}");
        let left_out = body["left_out"].as_array().unwrap();
        assert_eq!(left_out.len(), 8, "{left_out:?}");
        assert_eq!(left_out[6], "bindings, entry 1 ('e' to 's' in vhost 'shop'): 's' was left out");
        assert_eq!(house.get("/api/vhosts/v").await.status, 200);
        assert_eq!(house.get("/api/queues/shop/s").await.status, 404);
        assert_eq!(house.get("/api/exchanges/shop/x").await.status, 404);
        assert_eq!(house.get("/api/policies/shop/s").await.status, 404);
        assert_eq!(house.get("/api/policies/shop/kept").await.status, 200);
        let bindings = house.get("/api/exchanges/shop/e/bindings/source?columns=destination").await.json();
        assert_eq!(bindings, json!([{"destination": "q"}]));
        house.check("POST /api/definitions?skip_unsupported=true", "{}", 200, r#"{"left_out":[]}"#).await;
        let wrong = r#"{"queues":[{"name":5,"vhost":"shop"}]}"#;
        let text = "queues, entry 1 (in vhost 'shop'): 'name' must be a string, not 5";
        house.check_refused("POST /api/definitions?skip_unsupported=true", wrong, 400, "bad_request", text).await;
        let text = "'prune' and 'skip_unsupported' exclude each other: a document that is not imported completely does not show what \
             to delete";
        let path = "POST /api/definitions?skip_unsupported=true&prune=true";
        house.check_refused(path, "{}", 400, "bad_request", text).await;
    });
}

/// RabbitMQ's own exchange for its log is exported, skipped where it is imported, and queues are bound to it.
#[test]
fn what_is_bound_to_an_exchange_that_is_skipped_can_be_left_out() {
    let document = json!({
        "exchanges": [{"vhost": "shop", "name": "amq.rabbitmq.log", "type": "topic", "internal": true}],
        "queues": [{"vhost": "shop", "name": "logs"}],
        "bindings": [
            {"vhost": "shop", "source": "amq.rabbitmq.log", "destination": "logs", "destination_type": "queue", "routing_key": "#"},
            {"vhost": "shop", "source": "amq.topic", "destination": "logs", "destination_type": "queue", "routing_key": "#"},
        ],
    })
    .to_string();
    in_house(async |house| {
        house.check("POST /api/definitions", &document, 204, "").await;
        let bindings = house.get("/api/queues/shop/logs/bindings?columns=source").await.json();
        assert_eq!(bindings, json!([{"source": ""}, {"source": "amq.topic"}]));
        let text = r#"{"left_out":["bindings, entry 1 ('amq.rabbitmq.log' to 'logs' in vhost 'shop'): 'amq.rabbitmq.log' was left out"]}"#;
        house.check("POST /api/definitions?skip_unsupported=true", &document, 200, text).await;
    });
}

/// RabbitMQ 4 exports bindings of exclusive queues and of internal exchanges, but not these; other documents have a name that is misspelt.
#[test]
fn a_binding_without_one_of_its_ends_is_left_out() {
    let binding = |source: &str, kind: &str, destination: &str| {
        json!({"vhost": "shop", "source": source, "destination": destination,
            "destination_type": kind, "routing_key": "k"})
    };
    let document = json!({
        "queues": [{"vhost": "shop", "name": "q"}],
        "bindings": [binding("amq.topic", "queue", "exclusive"), binding("amq.topic", "exchange", "inner"),
                     binding("inner", "queue", "q"), binding("amq.topic", "queue", "q")],
    })
    .to_string();
    in_house(async |house| {
        let bound = "/api/exchanges/shop/amq.topic/bindings/source?columns=destination";
        house.check("POST /api/definitions", &document, 204, "").await;
        assert_eq!(house.get(bound).await.json(), json!([{"destination": "q"}]));
        let reply = house.ask("POST", "/api/definitions?skip_unsupported=true", "guest", &document).await;
        let left_out = reply.json()["left_out"].clone();
        assert_eq!((reply.status, left_out.as_array().unwrap().len()), (200, 3));
        let text = "bindings, entry 2 ('amq.topic' to 'inner' in vhost 'shop'): \
                    exchange 'inner' is neither in the document nor on the broker";
        assert_eq!(left_out[1], text);
        assert_eq!(house.get(bound).await.json(), json!([{"destination": "q"}]));
    });
}

#[test]
fn the_name_of_the_cluster_is_exported() {
    in_house(async |house| {
        house.check("PUT /api/cluster-name", r#"{"name":"hutch"}"#, 204, "").await;
        let exported = house.get("/api/definitions").await.json()["global_parameters"].clone();
        assert_eq!(exported, json!([{"name": "cluster_name", "value": "hutch"}]));
    });
}

#[test]
fn a_document_is_checked_before_anything_is_done() {
    in_house(async |house| {
        let body = r#"{"vhosts":[{"name":"new"}],"queues":[{"name":5,"vhost":"new"}]}"#;
        let text = "queues, entry 1 (in vhost 'new'): 'name' must be a string, not 5";
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
        let reason = upload("d.json", "{").await.json()["reason"].clone();
        assert!(reason.as_str().unwrap().starts_with("failed_to_parse_json: "), "{reason}");
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
        let dry = json!({"dry_run": true, "deleted": deleted, "spared": {}});
        let path = "POST /api/definitions/shop?prune=";
        house.check(&format!("{path}dry-run"), &document.to_string(), 200, &dry.to_string()).await;
        assert_eq!(house.get("/api/queues/shop/extra").await.status, 200);
        let done = json!({"dry_run": false, "deleted": deleted, "spared": {}});
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
        assert_eq!(pruned["deleted"], json!({"users": ["manny", "mona", "nadia", "polly"]}));
        assert_eq!(pruned["spared"], json!({"users": ["guest: it is the user of the request"]}));
        assert_eq!(house.get("/api/users?columns=name").await.json(), json!([{"name": "alice"}, {"name": "guest"}]));
        assert_eq!(house.get("/api/queues/shop/q").await.status, 200);
    });
}

#[test]
fn nothing_is_imported_of_a_document_of_which_something_cannot_be() {
    in_house(async |house| {
        house.check("PUT /api/vhost-limits/shop/max-queues", r#"{"value":1}"#, 204, "").await;
        let check = async |kind: &str, entry: Value, reason: &str| {
            let mut document = json!({"vhosts": [{"name": "new"}], "users": [{"name": "new", "tags": ""}]});
            document["queues"] = json!([{"name": "q", "vhost": "new"}]);
            document[kind] = match document[kind].take() {
                Value::Array(mut entries) => {
                    entries.push(entry);
                    entries.into()
                }
                _ => json!([entry]),
            };
            for path in ["POST /api/definitions", "POST /api/definitions?prune=dry-run"] {
                house.check_refused(path, &document.to_string(), 400, "bad_request", reason).await;
            }
            assert_eq!(house.get("/api/vhosts/new").await.status, 404, "{document}");
            assert_eq!(house.get("/api/users/new").await.status, 404, "{document}");
        };
        let queue = |arguments: Value| json!({"name": "x", "vhost": "new", "arguments": arguments});
        let text = "queues, entry 2 ('x' in vhost 'new'): invalid arg 'x-message-ttl' for queue 'x' in vhost 'new': \
                    {value_negative,-1}";
        check("queues", queue(json!({"x-message-ttl": -1})), text).await;
        let text = "queues, entry 2 ('x' in vhost 'new'): the queue type 'stream' is not implemented";
        check("queues", queue(json!({"x-queue-type": "stream"})), text).await;
        let text = "queues, entry 2 ('x' in vhost 'new'): invalid property 'auto-delete' for queue 'x' in vhost 'new'";
        let passing =
            json!({"name": "x", "vhost": "new", "auto_delete": true, "arguments": {"x-queue-type": "quorum"}});
        check("queues", passing, text).await;
        let text = "queues, entry 2 ('' in vhost 'new'): a queue must have a name";
        check("queues", json!({"name": "", "vhost": "new"}), text).await;
        let limits = json!({"component": "vhost-limits", "name": "limits", "vhost": "new", "value": {"max-queues": 0}});
        let text =
            "queues, entry 1 ('q' in vhost 'new'): cannot declare queue 'q': queue limit in vhost 'new' (0) is reached";
        check("parameters", limits, text).await;
        let exchange = |name: &str, kind: &str| json!({"name": name, "vhost": "new", "type": kind});
        let text = "exchanges, entry 1 ('e' in vhost 'new'): the exchange type 'x-lvc' is not implemented";
        check("exchanges", exchange("e", "x-lvc"), text).await;
        let mut bogus = exchange("e", "x-consistent-hash");
        bogus["arguments"] = json!({"hash-property": "bogus"});
        let text = "exchanges, entry 1 ('e' in vhost 'new'): Unsupported property: bogus";
        check("exchanges", bogus, text).await;
        let given = |user: &str, vhost: &str| {
            json!({
                "user": user, "vhost": vhost, "configure": "", "write": "", "read": "", "exchange": "e",
            })
        };
        for kind in ["permissions", "topic_permissions"] {
            let text = format!("{kind}, entry 1 ('nosuch' in vhost 'new'): no user 'nosuch'");
            check(kind, given("nosuch", "new"), &text).await;
            let text = format!(
                "{kind}, entry 1 ('new' in vhost 'nosuch'): \
                 Please create virtual host \"nosuch\" prior to importing definitions."
            );
            check(kind, given("new", "nosuch"), &text).await;
        }
        let limits = json!({"component": "vhost-limits", "name": "limits", "vhost": "nosuch", "value": {}});
        let text = "parameters, entry 1 ('limits' in vhost 'nosuch'): \
                    Please create virtual host \"nosuch\" prior to importing definitions.";
        check("parameters", limits, text).await;
        let policy = |key: &str| json!({"vhost": "new", "name": "bad", "pattern": "x", "definition": {key: "u"}});
        let text = "policies, entry 1 ('bad' in vhost 'new'): Validation failed\n\n\
                    the policy key 'max-age' is not implemented\n (vhost: \"new\" key: \"bad\")";
        check("policies", policy("max-age"), text).await;
        let text = "vhosts, entry 2 ('typed'): the queue type 'stream' is not implemented";
        check("vhosts", json!({"name": "typed", "default_queue_type": "stream"}), text).await;
        let text = "global_parameters, entry 1 (''): invalid parameter name: it has 0 bytes, and 1 to 255 are allowed";
        check("global_parameters", json!({"name": "", "value": 1}), text).await;
        let binding = |source: &str, destination: &str, key: &str, arguments: Value| {
            json!({"vhost": "new", "source": source, "destination": destination, "destination_type": "queue",
                "routing_key": key, "arguments": arguments})
        };
        let text = "bindings, entry 1 ('amq.topic' to 'q' in vhost 'new'): \
                    Topic binding key '#.#.#' uses 3 '#' wildcards, at most 2 are allowed";
        check("bindings", binding("amq.topic", "q", "#.#.#", json!({})), text).await;
        let text = "bindings, entry 1 ('amq.headers' to 'q' in vhost 'new'): \
                    Invalid x-match field value <<\"x\">>; expected all, any, all-with-x, or any-with-x";
        check("bindings", binding("amq.headers", "q", "", json!({"x-match": "x"})), text).await;
        let text = "bindings, entry 1 ('amq.direct' to 'q' in vhost 'new'): \
                    the routing key has 256 bytes, at most 255 are allowed";
        check("bindings", binding("amq.direct", "q", &"k".repeat(256), json!({})), text).await;
    });
}

#[test]
fn exchanges_of_rabbitmq_itself_are_left_out() {
    in_house(async |house| {
        let exchange = json!({"name": "amq.rabbitmq.log", "vhost": "shop", "type": "topic", "durable": true,
            "auto_delete": false, "arguments": {}});
        let mut document = json!({"exchanges": [exchange]});
        house.check("POST /api/definitions", &document.to_string(), 204, "").await;
        assert_eq!(house.get("/api/exchanges/shop/amq.rabbitmq.log").await.status, 404);
        document["bindings"] = json!([{"source": "amq.rabbitmq.log", "vhost": "shop", "destination": "amq.fanout",
            "destination_type": "exchange", "routing_key": "k"}]);
        house.check("POST /api/definitions", &document.to_string(), 204, "").await;
        let bound = house.get("/api/exchanges/shop/amq.fanout/bindings/destination").await.json();
        assert_eq!(bound, json!([]), "{bound}");
    });
}

/// A hash without a salt, and a password where a hash should be: RabbitMQ takes both.
#[test]
fn a_hash_that_no_password_has_leaves_the_user_without_one() {
    in_house(async |house| {
        for hash in ["QP2CJAjrkJgBUTtTjAiV7OjHSmJkQl5l5qhtM1Fh9oc=", "password"] {
            let user = json!({"name": "u", "tags": "administrator", "password_hash": hash,
                "hashing_algorithm": "rabbit_password_hashing_sha256"});
            house.check("POST /api/definitions", &json!({"users": [user]}).to_string(), 204, "").await;
            assert_eq!(house.get("/api/users/u").await.json()["password_hash"], "", "{hash}");
        }
        let wrong = json!({"users": [{"name": "u", "tags": "", "password_hash": "guest"}]}).to_string();
        let text = "users, entry 1 ('u'): 'password_hash' is not valid base64";
        house.check_refused("POST /api/definitions", &wrong, 400, "bad_request", text).await;
    });
}

#[test]
fn passwords_are_checked_before_anything_is_imported() {
    let credential_validator = CredentialValidator::MinLength(4);
    let of_broker = broker::Options { credential_validator, ..broker::Options::default() };
    in_house_of(of_broker, Options::default(), async |house| {
        let users = json!({"users": [{"name": "fine", "tags": "", "password": "long enough"},
            {"name": "short", "tags": "", "password": "x"}]});
        let text = "users, entry 2 ('short'): minimum required password length is set to 4";
        house.check_refused("POST /api/definitions", &users.to_string(), 400, "bad_request", text).await;
        assert_eq!(house.get("/api/users/fine").await.status, 404);
    });
}

#[test]
fn what_fails_late_says_what_has_been_done() {
    let vhosts = Pattern::parse("^late$").unwrap();
    let permission = Permission::parse("", "", "").unwrap();
    let (name, tags) = (UserName::parse(b"tester").unwrap(), Tags::default());
    let user = VhostUserDefault { name, vhosts, password: Some("x".to_owned()), tags, permission };
    let of_broker = broker::Options {
        credential_validator: CredentialValidator::MinLength(4),
        vhost_defaults: VhostDefaults { users: vec![user], ..VhostDefaults::default() },
        ..broker::Options::default()
    };
    in_house_of(of_broker, Options::default(), async |house| {
        let body = r#"{"vhosts":[{"name":"early"},{"name":"late"}]}"#;
        let text = "vhosts, entry 2 ('late'): minimum required password length is set to 4. The entries before it have been imported.";
        house.check_refused("POST /api/definitions", body, 400, "bad_request", text).await;
        assert_eq!(house.get("/api/vhosts/early").await.status, 200);
    });
}

#[test]
fn limits_of_users_stay_where_the_document_does_not_mention_them() {
    in_house(async |house| {
        furnish(house).await;
        let import = async |limits: &str, expected: Value| {
            let body = format!(r#"{{"users":[{{"name":"manny","tags":"management","password":"manny"{limits}}}]}}"#);
            house.check("POST /api/definitions", &body, 204, "").await;
            assert_eq!(house.get("/api/users/manny").await.json()["limits"], expected);
        };
        import("", json!({"max-channels": 7})).await;
        import(r#","limits":{"max-connections":3}"#, json!({"max-connections": 3})).await;
        import(r#","limits":{}"#, json!({})).await;
    });
}

/// What a client says to open a connection and to declare an exclusive queue.
fn client_of(vhost: &str) -> Vec<u8> {
    let mut said = b"AMQP\x00\x00\x09\x01".to_vec();
    let mut say = |channel: u16, method: &[u8]| {
        said.push(1);
        said.extend(channel.to_be_bytes());
        said.extend((method.len() as u32).to_be_bytes());
        said.extend(method);
        said.push(0xce);
    };
    say(0, b"\x00\x0a\x00\x0b\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x0c\x00guest\x00guest\x05en_US");
    say(0, b"\x00\x0a\x00\x1f\x07\xff\x00\x02\x00\x00\x00\x00");
    say(0, &[b"\x00\x0a\x00\x28", &[vhost.len() as u8][..], vhost.as_bytes(), b"\x00\x00"].concat());
    say(1, b"\x00\x14\x00\x0a\x00");
    say(1, b"\x00\x32\x00\x0a\x00\x00\x04mine\x04\x00\x00\x00\x00");
    said
}

#[test]
fn pruning_spares_vhosts_that_are_in_use_and_says_so() {
    in_house(async |house| {
        house.check("PUT /api/permissions/empty/guest", r#"{"configure":"","write":"","read":""}"#, 201, "").await;
        house.check("PUT /api/vhosts/fort", r#"{"protected_from_deletion":true}"#, 201, "").await;
        let body = r#"{"configure":".*","write":".*","read":".*"}"#;
        house.check("PUT /api/permissions/shop/guest", body, 204, "").await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = listener.accept().await.unwrap().0;
        let serving = tokio::spawn(house.service.broker.clone().serve(net::Stream::Tcp(accepted)));
        client.write_all(&client_of("shop")).await.unwrap();
        let broker = &house.service.broker;
        while broker.queue_view("shop", "mine").is_none() {
            assert_ne!(client.read(&mut [0; 4096]).await.unwrap(), 0, "the connection was closed");
        }
        let document = r#"{"vhosts":[{"name":"/"}],"permissions":[
            {"user":"guest","vhost":"/","configure":".*","write":".*","read":".*"}]}"#;
        let spared = json!({"vhosts": ["fort: it is protected", "shop: it has open connections (1)"]});
        for (query, is_dry_run) in [("dry-run", true), ("true", false)] {
            let pruned = json!({"dry_run": is_dry_run, "deleted": {"vhosts": ["empty"]}, "spared": spared});
            let request = format!("POST /api/definitions?prune={query}");
            house.check(&request, document, 200, &pruned.to_string()).await;
        }
        assert!(broker.queue_view("shop", "mine").is_some() && broker.has_vhost("fort"));
        assert!(broker.permissions().iter().any(|given| given.user.as_str() == "alice"));
        // No other connection can bind to a connection's own queue, so a document that does is refused as a whole.
        let binding = json!({"bindings": [{"source": "amq.direct", "vhost": "shop", "destination": "mine",
            "destination_type": "queue", "routing_key": "k"}]});
        let text = "bindings, entry 1 ('amq.direct' to 'mine' in vhost 'shop'): \
                    the queue 'mine' belongs to a connection";
        house.check_refused("POST /api/definitions", &binding.to_string(), 400, "bad_request", text).await;
        drop(client);
        serving.await.unwrap();
        let pruned = house.ask("POST", "/api/definitions?prune=true", "guest", document).await.json();
        assert_eq!(pruned["deleted"], json!({"vhosts": ["shop"]}));
    });
}

#[test]
fn pruning_takes_parameters_and_limits_that_the_document_does_not_have() {
    in_house(async |house| {
        furnish(house).await;
        house.check("PUT /api/global-parameters/other", r#"{"value":1}"#, 201, "").await;
        house.check("PUT /api/global-parameters/cluster_name", r#"{"value":"burrow"}"#, 201, "").await;
        house.check("PUT /api/vhost-limits/empty/max-queues", r#"{"value":9}"#, 204, "").await;
        let document = json!({
            "global_parameters": [{"name": "other", "value": 2}],
            "parameters": [{"component": "vhost-limits", "name": "limits", "vhost": "empty", "value": {"max-queues": 8}}],
        });
        let deleted = json!({"global_parameters": ["house"], "vhost_limits": ["shop"]});
        for (query, is_dry_run) in [("dry-run", true), ("true", false)] {
            let pruned = json!({"dry_run": is_dry_run, "deleted": deleted, "spared": {}});
            let request = format!("POST /api/definitions?prune={query}");
            house.check(&request, &document.to_string(), 200, &pruned.to_string()).await;
        }
        let left = house.get("/api/global-parameters").await.json();
        let left: Vec<&Value> = left.as_array().unwrap().iter().map(|parameter| &parameter["name"]).collect();
        assert_eq!(left, ["cluster_name", "internal_cluster_id", "other"]);
        let limits = json!([{"vhost": "empty", "value": {"max-queues": 8}}]);
        assert_eq!(house.get("/api/vhost-limits").await.json(), limits);
    });
}
