//! Parameters of vhosts that configure shovels and federation.

use broker::Actor;
use model::name::VhostName;
use model::parameter::VhostParameter;
use serde_json::{Value, json};

use super::house::{House, in_house};

const UPSTREAM: &str = r#"{"value":{"uri":"amqp://me:secret@h","max-hops":2}}"#;
const SHOVEL: &str =
    r#"{"value":{"src-uri":"amqp:///shop","src-queue":"a","dest-uri":"amqp://me:secret@h","dest-queue":"b"}}"#;

fn validation_failed(text: &str) -> String {
    format!("Validation failed\n\n{text}\n")
}

/// Parameters that no operator has made.
fn hide(house: &House) {
    let vhost = VhostName::parse(b"shop").unwrap();
    let hidden = VhostParameter { vhost, component: "warren.own".into(), name: "h".into(), value: json!(1) };
    house.service.broker.put_vhost_parameter(&Actor::broker(), hidden).unwrap();
}

#[test]
fn parameters_of_vhosts_are_set_shown_and_deleted() {
    in_house(async |house| {
        hide(house);
        let path = "/api/parameters/federation-upstream/shop/u";
        assert_eq!(house.ask("PUT", path, "polly", UPSTREAM).await.status, 201);
        assert_eq!(house.ask("PUT", path, "polly", UPSTREAM).await.status, 204);
        let expected = r#"{"value":{"uri":"amqp://me:secret@h","max-hops":2},"vhost":"shop","component":"federation-upstream",
            "name":"u"}"#;
        house.check(&format!("GET {path}"), "", 200, expected).await;
        house.check("GET /api/parameters", "", 200, &format!("[{expected}]")).await;
        house.check("GET /api/parameters/federation-upstream/shop", "", 200, &format!("[{expected}]")).await;
        house.check("GET /api/parameters/federation-upstream/empty", "", 200, "[]").await;
        house.check("GET /api/parameters/shovel", "", 200, "[]").await;
        assert_eq!(house.ask("PUT", "/api/parameters/shovel/shop/s", "polly", SHOVEL).await.status, 201);
        let set = r#"{"value":[{"upstream":"u","max-hops":3}]}"#;
        house.check("PUT /api/parameters/federation-upstream-set/shop/t", set, 201, "").await;
        let listed = house.get("/api/parameters?columns=component,name").await.json();
        let row = |component, name| json!({"component": component, "name": name});
        let rows = [row("federation-upstream", "u"), row("federation-upstream-set", "t"), row("shovel", "s")];
        assert_eq!(listed, json!(rows));
        assert_eq!(house.ask("DELETE", path, "polly", "").await.status, 204);
        house.check_refused(&format!("DELETE {path}"), "", 404, "Object Not Found", "Not Found").await;
    });
}

#[test]
fn values_that_cannot_be_are_refused_in_rabbitmqs_words_without_passwords() {
    in_house(async |house| {
        let check = async |path: &str, value: Value, text: &str| {
            let body = json!({ "value": value }).to_string();
            let request = format!("PUT /api/parameters/{path}");
            house.check_refused(&request, &body, 400, "bad_request", &validation_failed(text)).await;
        };
        check("federation-upstream/shop/u", json!({}), "Key \"uri\" not found in u").await;
        check("federation-upstream-set/shop/t", json!([{}]), "Key \"upstream\" not found in t").await;
        let text = "Must specify 'src-exchange' or 'src-queue'\n\
            Key \"dest-uri\" not found in s\nKey \"src-uri\" not found in s";
        check("shovel/shop/s", json!({}), text).await;
        let text = "\"amqp://me:***@h:x\" not a valid URI: the port is no number up to 65535";
        check("federation-upstream/shop/u", json!({"uri": "amqp://me:secret@h:x"}), text).await;
        check("warren.own/shop/h", json!(1), "component warren.own not found").await;
        house.check_refused("PUT /api/parameters/shovel/nosuch/s", SHOVEL, 404, "not_found", "vhost_not_found").await;
        let text = "[{key_missing,value}]";
        house.check_refused("PUT /api/parameters/shovel/shop/s", "{}", 400, "bad_request", text).await;
    });
}

#[test]
fn hidden_parameters_are_neither_shown_nor_changed() {
    in_house(async |house| {
        hide(house);
        house.check("GET /api/parameters", "", 200, "[]").await;
        house.check("GET /api/parameters/warren.own", "", 200, "[]").await;
        for method in ["GET", "DELETE"] {
            assert_eq!(
                house.ask(method, "/api/parameters/warren.own/shop/h", "guest", "").await.status,
                404,
                "{method}"
            );
        }
        assert_eq!(house.get("/api/definitions").await.json()["parameters"], json!([]));
        assert_eq!(house.get("/api/definitions/shop").await.json()["parameters"], json!([]));
        house.check("POST /api/definitions?prune=true", r#"{"parameters":[]}"#, 200, &no_pruning()).await;
        assert_eq!(house.service.broker.vhost_parameters(Some("warren.own"), None).len(), 1);
    });
}

fn no_pruning() -> String {
    json!({"dry_run": false, "deleted": {}, "spared": {}}).to_string()
}

/// A URI without a host connects within the broker, without a password.
#[test]
fn uris_without_a_host_are_for_who_may_enter_their_vhost() {
    in_house(async |house| {
        type Body = fn(&str) -> Value;
        let bodies: [(&str, Body); 2] = [
            (
                "/api/parameters/shovel/shop/s",
                |uri| json!({"value": {"src-uri": uri, "src-queue": "a", "dest-uri": "amqp:///shop", "dest-queue": "b"}}),
            ),
            ("/api/parameters/federation-upstream/shop/u", |uri| json!({"value": {"uri": uri}})),
        ];
        for (path, body) in bodies {
            for (uri, vhost) in [("amqp:///empty", "empty"), ("amqp://", "/"), ("amqp:///nosuch", "nosuch")] {
                let reply = house.ask("PUT", path, "polly", &body(uri).to_string()).await;
                let text = format!("user \"polly\" may not connect to vhost \"{vhost}\"");
                assert_eq!(reply.status, 400, "{path} {uri}");
                assert_eq!(reply.json()["reason"], validation_failed(&text), "{path} {uri}");
            }
            for uri in ["amqp:///shop", "amqp://h/empty"] {
                assert!(house.ask("PUT", path, "polly", &body(uri).to_string()).await.status < 300, "{path} {uri}");
            }
        }
    });
}

#[test]
fn policymakers_see_and_set_parameters_of_their_vhosts_only() {
    in_house(async |house| {
        house.check("PUT /api/parameters/federation-upstream/%2F/u", UPSTREAM, 201, "").await;
        assert_eq!(house.ask("GET", "/api/parameters", "polly", "").await.json(), json!([]));
        assert_eq!(house.ask("GET", "/api/parameters/federation-upstream/%2F/u", "polly", "").await.status, 404);
        assert_eq!(house.ask("PUT", "/api/parameters/federation-upstream/%2F/v", "polly", UPSTREAM).await.status, 404);
        for user in ["mona", "manny"] {
            assert_eq!(house.ask("GET", "/api/parameters", user, "").await.status, 401, "{user}");
            assert_eq!(house.ask("PUT", "/api/parameters/shovel/shop/s", user, SHOVEL).await.status, 401, "{user}");
        }
    });
}

#[test]
fn parameters_go_from_one_broker_to_another_with_their_passwords() {
    in_house(async |house| {
        house.check("PUT /api/parameters/federation-upstream/shop/u", UPSTREAM, 201, "").await;
        let value = json!({"uri": "amqp://me:secret@h", "max-hops": 2});
        let entry = json!({"component": "federation-upstream", "name": "u", "value": value});
        assert_eq!(house.get("/api/definitions/shop").await.json()["parameters"], json!([entry]));
        let mut of_broker = entry.clone();
        of_broker["vhost"] = "shop".into();
        assert_eq!(house.get("/api/definitions").await.json()["parameters"], json!([of_broker]));
        house.check("DELETE /api/parameters/federation-upstream/shop/u", "", 204, "").await;
        house.check("POST /api/definitions", &json!({"parameters": [of_broker]}).to_string(), 204, "").await;
        house.check("POST /api/definitions/empty", &json!({"parameters": [entry]}).to_string(), 204, "").await;
        for vhost in ["shop", "empty"] {
            let path = format!("/api/parameters/federation-upstream/{vhost}/u?columns=value");
            assert_eq!(house.get(&path).await.json(), json!({ "value": value }));
        }
    });
}

#[test]
fn a_document_with_a_parameter_that_cannot_be_is_refused_as_a_whole() {
    in_house(async |house| {
        let document = json!({
            "vhosts": [{"name": "new"}],
            "parameters": [
                {"vhost": "new", "component": "federation-upstream", "name": "u", "value": {"uri": "http://me:secret@h"}},
                {"vhost": "nosuch", "component": "federation-upstream", "name": "v", "value": {"uri": "amqp://"}},
            ],
        });
        let reply = house.ask("POST", "/api/definitions", "guest", &document.to_string()).await;
        let reason = reply.json()["reason"].as_str().unwrap().to_owned();
        assert_eq!(reply.status, 400, "{reason}");
        for part in [
            "parameters, entry 1 ('u' in vhost 'new'): Validation failed\n\n\"http://me:***@h\" not a valid URI: ",
            "\n (vhost: \"new\" / component: \"federation-upstream\" / key: \"u\")",
            "parameters, entry 2 ('v' in vhost 'nosuch'): Please create virtual host \"nosuch\" prior to importing definitions.",
        ] {
            assert!(reason.contains(part), "{part} in {reason}");
        }
        assert_eq!(house.get("/api/vhosts/new").await.status, 404);
    });
}

#[test]
fn pruning_and_comparing_know_parameters_of_vhosts() {
    in_house(async |house| {
        for name in ["same", "other", "secret", "gone"] {
            house.check(&format!("PUT /api/parameters/federation-upstream/shop/{name}"), UPSTREAM, 201, "").await;
        }
        let entry = |name: &str, value: Value| json!({"vhost": "shop", "component": "federation-upstream", "name": name, "value": value});
        let document = json!({"parameters": [
            entry("same", json!({"uri": "amqp://me:secret@h", "max-hops": 2})),
            entry("other", json!({"uri": "amqp://me:secret@h"})),
            entry("secret", json!({"uri": "amqp://me:changed@h", "max-hops": 2})),
            entry("new", json!({"uri": "amqp://me:secret@h"})),
        ]});
        let compared = house.ask("POST", "/api/definitions/diff", "guest", &document.to_string()).await.json();
        let text = compared.to_string();
        assert!(!text.contains("changed@") && !text.contains("me:secret"), "{text}");
        let shown = json!({"uri": "amqp://me:***@h", "max-hops": 2});
        let changed = json!([
            {"name": "shop: federation-upstream other", "from": {"value": shown}, "to": {"value": {"uri": "amqp://me:***@h"}}},
            {"name": "shop: federation-upstream secret", "from": {"value": shown}, "to": {"value": "differs"}},
        ]);
        assert_eq!(compared["changed"]["parameters"], changed);
        assert_eq!(compared["added"]["parameters"], json!(["shop: federation-upstream new"]));
        assert_eq!(compared["missing"]["parameters"], json!(["shop: federation-upstream gone"]));
        assert_eq!(compared["same"]["parameters"], 1);
        let pruned =
            json!({"dry_run": false, "deleted": {"parameters": ["shop: federation-upstream gone"]}, "spared": {}});
        let request = "POST /api/definitions?prune=true";
        house.check(request, &document.to_string(), 200, &pruned.to_string()).await;
        let left = house.get("/api/parameters?columns=name").await.json();
        assert_eq!(left, json!([{"name": "new"}, {"name": "other"}, {"name": "same"}, {"name": "secret"}]));
    });
}
