//! Lists: pages, columns, order.

use model::arguments::QueueType;
use serde_json::{Value, json};

use super::house::{House, in_house, in_house_of};
use crate::Options;

/// Queues in `shop`, the second of which has arguments.
async fn declare(house: &House, names: &[&str]) {
    for name in names {
        house.check(&format!("PUT /api/queues/shop/{name}"), r#"{"durable":true}"#, 201, "").await;
    }
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[test]
fn lists_are_sorted_by_vhost_and_name_unless_asked_otherwise() {
    in_house(async |house| {
        declare(house, &["b", "c", "a"]).await;
        house.check("PUT /api/queues/%2F/z", "", 201, "").await;
        assert_eq!(names(&house.get("/api/queues").await.json()), ["z", "a", "b", "c"]);
        assert_eq!(names(&house.get("/api/queues?sort=name&sort_reverse=true").await.json()), ["z", "c", "b", "a"]);
        assert_eq!(names(&house.get("/api/queues?sort=vhost,name").await.json()), ["z", "a", "b", "c"]);
        assert_eq!(names(&house.get("/api/queues?sort=nosuch").await.json()), ["z", "a", "b", "c"]);
    });
}

/// One such request held up all others: the pattern was tried for each name.
#[test]
fn a_pattern_that_takes_too_much_work_for_the_names_is_refused() {
    in_house(async |house| {
        let names: Vec<String> = (0..600).map(|number| format!("{}{number:03}", "a".repeat(240))).collect();
        declare(house, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        for pattern in ["(a*)*b%5C1", "%5E(a%7Caa%7Caaa)%2B(%3F%3C!a)%24"] {
            let request = format!("GET /api/queues?page=1&use_regex=true&name={pattern}");
            let reason = "name filter regex takes too much work for the names that there are";
            house.check_refused(&request, "", 400, "invalid_pagination_parameters", reason).await;
        }
        let page = house.get("/api/queues?page=1&use_regex=true&name=%5E(%3F!b).*7%24").await.json();
        assert_eq!(page["filtered_count"], 60);
    });
}

#[test]
fn a_policy_says_that_its_pattern_could_not_be_decided() {
    in_house(async |house| {
        declare(house, &[&"a".repeat(250), "b"]).await;
        let body = r#"{"pattern":"(a*)*b\\1","definition":{"max-length":1}}"#;
        house.check("PUT /api/policies/shop/hard", body, 201, "").await;
        let policy = house.get("/api/policies/shop/hard").await.json();
        assert_eq!(policy["pattern_undecided"], true);
        assert_eq!(house.get("/api/queues/shop/b?columns=policy").await.json()["policy"], "hard");
    });
}

#[test]
fn bindings_have_pages() {
    in_house(async |house| {
        declare(house, &["a", "b", "c"]).await;
        for queue in ["a", "b", "c"] {
            house.check(&format!("POST /api/bindings/shop/e/amq.fanout/q/{queue}"), "{}", 201, "").await;
        }
        for path in ["/api/bindings", "/api/bindings/shop"] {
            let page = house.get(&format!("{path}?page=1&page_size=2&name=fanout&columns=destination")).await.json();
            assert_eq!((&page["filtered_count"], &page["total_count"]), (&json!(3), &json!(6)));
            assert_eq!(page["items"], json!([{"destination": "a"}, {"destination": "b"}]));
            assert_eq!(house.get(path).await.json().as_array().map(Vec::len), Some(6));
        }
    });
}

#[test]
fn columns_are_those_that_are_asked_for() {
    in_house(async |house| {
        declare(house, &["a"]).await;
        house.check("GET /api/queues?columns=name,messages", "", 200, r#"[{"messages":0,"name":"a"}]"#).await;
        house.check("GET /api/queues?columns=", "", 200, "[[]]").await;
        house.check("GET /api/queues?columns=nosuch", "", 200, "[[]]").await;
        house.check("GET /api/queues/shop/a?columns=name", "", 200, r#"{"name":"a"}"#).await;
    });
}

#[test]
fn pages_tell_how_many_there_are() {
    in_house(async |house| {
        declare(house, &["a1", "a2", "b1", "b2", "b3"]).await;
        let page = house.get("/api/queues?page=2&page_size=2&columns=name").await.json();
        let expected = json!({
            "filtered_count": 5, "item_count": 2, "items": [{"name": "b1"}, {"name": "b2"}],
            "page": 2, "page_count": 3, "page_size": 2, "total_count": 5,
        });
        assert_eq!(page, expected);
        let page = house.get("/api/queues?page=1&name=B&columns=name").await.json();
        let expected = json!({
            "filtered_count": 3, "item_count": 3, "items": [{"name": "b1"}, {"name": "b2"}, {"name": "b3"}],
            "page": 1, "page_count": 1, "page_size": 100, "total_count": 5,
        });
        assert_eq!(page, expected);
        let page = house.get("/api/queues?page=1&name=%5Ea.%24&use_regex=true&columns=name").await.json();
        assert_eq!(page["filtered_count"], 2);
        let page = house.get("/api/queues?page=1&name=zzz").await.json();
        assert_eq!((&page["page_count"], &page["items"]), (&json!(0), &json!([])));
        house
            .check_refused(
                "GET /api/queues?page=9&page_size=2",
                "",
                400,
                "page_out_of_range",
                "Page out of range, page: 9 page size: 2, len: 5",
            )
            .await;
    });
}

#[test]
fn statistics_can_be_left_out() {
    in_house(async |house| {
        declare(house, &["a"]).await;
        let queue = house.get("/api/queues?disable_stats=true").await.json()[0].clone();
        assert!(queue.get("messages").is_none() && queue.get("consumers").is_none(), "{queue}");
        assert_eq!(queue["policy"], Value::Null);
        assert!(queue.as_object().unwrap().contains_key("operator_policy"));
        let queue = house.get("/api/queues?disable_stats=true&enable_queue_totals=true").await.json()[0].clone();
        assert_eq!((&queue["messages"], &queue["messages_ready"]), (&json!(0), &json!(0)));
        assert!(queue.get("message_bytes").is_none());
        let queue = house.get("/api/queues").await.json()[0].clone();
        assert!(queue.get("policy").is_none() && queue["message_bytes"] == 0, "{queue}");
    });
}

#[test]
fn a_long_list_comes_in_pieces_and_whole() {
    in_house(async |house| {
        let names: Vec<String> = (0..500).map(|number| format!("queue-{number:04}")).collect();
        declare(house, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let reply = house.get("/api/queues").await;
        assert_eq!(reply.header("content-length"), None);
        let list = reply.json();
        assert_eq!(super::listings::names(&list), names);
    });
}

#[test]
fn memory_has_every_part_that_tools_expect() {
    in_house(async |house| {
        let nodes = house.get("/api/nodes").await.json();
        let path = format!("/api/nodes/{}/memory", nodes[0]["name"].as_str().unwrap());
        let memory = &house.get(&path).await.json()["memory"];
        let total = memory["total"]["rss"].as_u64().unwrap();
        let parts = memory.as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
        assert_eq!(memory["total"]["erlang"], json!(parts));
        assert!(
            parts >= total && memory["code"].as_u64() > Some(0) && memory["metadata_store"].as_u64() > Some(0),
            "{memory}"
        );
        let relative = &house.get(&format!("{path}/relative")).await.json()["memory"];
        let percents = relative.as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
        assert_eq!((&relative["total"], percents), (&json!(100), 200));
    });
}

#[test]
fn a_node_has_no_tables_of_an_erlang_machine() {
    in_house(async |house| {
        let node = house.get("/api/nodes").await.json()[0]["name"].as_str().unwrap().to_owned();
        for rest in ["", "/relative", "/management", "/management/relative"] {
            let path = format!("/memory/ets{rest}");
            let expected = r#"{"ets_tables_memory":"no_tables"}"#;
            house.check(&format!("GET /api/nodes/{node}{path}"), "", 200, expected).await;
            assert_eq!(house.get(&format!("/api/nodes/nosuch{path}")).await.status, 404);
            assert_eq!(house.ask("GET", &format!("/api/nodes/{node}{path}"), "manny", "").await.status, 401);
        }
    });
}

/// As a RabbitMQ 4.3 of one node answers.
#[test]
fn the_replicas_of_a_quorum_queue_are_on_the_one_node() {
    in_house(async |house| {
        declare(house, &["classic"]).await;
        let quorum = r#"{"durable":true,"arguments":{"x-queue-type":"quorum"}}"#;
        house.check("PUT /api/queues/shop/quorum", quorum, 201, "").await;
        let node = house.get("/api/nodes").await.json()[0]["name"].as_str().unwrap().to_owned();
        let status = house.get("/api/queues/quorum/shop/quorum/status").await.json();
        assert_eq!(status.as_array().unwrap().len(), 1);
        assert_eq!((&status[0]["Node Name"], &status[0]["Raft State"]), (&json!(node), &json!("leader")));
        let failed = r#"{"status":"failed","reason":"classic_queue_not_supported"}"#;
        house.check("GET /api/queues/quorum/shop/classic/status", "", 503, failed).await;
        for path in ["/api/queues/quorum/shop/nosuch/status", "/api/queues/quorum/nosuch/quorum/status"] {
            assert_eq!(house.get(path).await.status, 404);
        }
        let (this, other) = (format!(r#"{{"node":"{node}"}}"#), r#"{"node":"nosuch@x"}"#.to_owned());
        let not_found = |request: &str| {
            if request.starts_with("POST") {
                (503, "service_unavailable", "not_found")
            } else {
                (404, "Object Not Found", "Not Found")
            }
        };
        for verb in ["POST", "DELETE"] {
            let path = |queue: &str| {
                format!(
                    "{verb} /api/queues/quorum/shop/{queue}/replicas/{}",
                    if verb == "POST" { "add" } else { "delete" }
                )
            };
            let bad_request = async |queue: &str, body: &str, reason: &str| {
                house.check_refused(&path(queue), body, 400, "bad_request", reason).await;
            };
            bad_request("quorum", &other, "Node is not a cluster member").await;
            bad_request("classic", &other, "Node is not a cluster member").await;
            bad_request("quorum", "{}", "[{key_missing,node}]").await;
            bad_request("quorum", "", "[{key_missing,node}]").await;
            bad_request("quorum", "x", "not_json").await;
            let classic = "classic_queue_not_supported";
            house.check_refused(&path("classic"), &this, 503, "service_unavailable", classic).await;
            let (status, error, reason) = not_found(verb);
            house.check_refused(&path("nosuch"), &this, status, error, reason).await;
        }
        house.check("POST /api/queues/quorum/shop/quorum/replicas/add", &this, 204, "").await;
        let delete = "DELETE /api/queues/quorum/shop/quorum/replicas/delete";
        house.check_refused(delete, &this, 503, "service_unavailable", "last_node").await;
        let grow = format!("POST /api/queues/quorum/replicas/on/{node}/grow");
        let growth =
            |strategy: &str| format!(r#"{{"strategy":"{strategy}","vhost_pattern":".*","queue_pattern":".*"}}"#);
        house.check(&grow, &growth("all"), 204, "").await;
        house.check(&grow, &growth("even"), 204, "").await;
        house.check_refused(&grow, &growth("x"), 400, "bad_request", "Invalid strategy value").await;
        let missing = "[{key_missing,vhost_pattern},\n {key_missing,queue_pattern},\n {key_missing,strategy}]";
        house.check_refused(&grow, "{}", 400, "bad_request", missing).await;
        let elsewhere = "POST /api/queues/quorum/replicas/on/nosuch@x/grow";
        house.check_refused(elsewhere, &growth("all"), 400, "bad_request", "Node is not a cluster member").await;
        house.check(&format!("DELETE /api/queues/quorum/replicas/on/{node}/shrink"), "", 202, "").await;
        assert_eq!(
            house.ask("DELETE", "/api/queues/quorum/replicas/on/nosuch@x/shrink", "guest", "").await.status,
            404
        );
    });
}

#[test]
fn a_quorum_queue_tells_what_a_classic_one_does_not_have() {
    in_house(async |house| {
        declare(house, &["classic"]).await;
        let arguments =
            r#"{"x-queue-type":"quorum","x-delivery-limit":9,"x-delayed-retry-type":"all","x-delayed-retry-min":5}"#;
        let body = format!(r#"{{"durable":true,"arguments":{arguments}}}"#);
        house.check("PUT /api/queues/shop/quorum", &body, 201, "").await;
        let policy = r#"{"pattern":"","definition":{"delivery-limit":3,"max-length":7},"apply-to":"queues"}"#;
        house.check("PUT /api/policies/shop/limits", policy, 201, "").await;
        let queue = house.get("/api/queues/shop/quorum").await.json();
        let node = &queue["node"];
        assert!(node.is_string());
        assert_eq!((&queue["type"], &queue["leader"]), (&json!("quorum"), node));
        assert_eq!((&queue["members"], &queue["online"]), (&json!([node]), &json!([node])));
        assert_eq!((&queue["delivery_limit"], &queue["policy"]), (&json!(3), &json!("limits")));
        assert_eq!(queue["delayed_retry"], json!("all (min: 5ms, max: 5ms)"));
        assert_eq!(queue["effective_policy_definition"], json!({"delivery-limit": 3, "max-length": 7}));
        assert_eq!(queue.get("storage_version"), None);
        assert_eq!(queue.get("exclusive_consumer_tag"), None);
        // A policy that sets what classic queues do not have is not for them.
        let queue = house.get("/api/queues/shop/classic").await.json();
        assert_eq!((&queue["policy"], &queue["effective_policy_definition"]), (&Value::Null, &json!({})));
        for name in ["leader", "members", "online", "delivery_limit", "delayed_retry"] {
            assert_eq!(queue.get(name), None, "{name}");
        }
        let unlimited = r#"{"durable":true,"arguments":{"x-queue-type":"quorum","x-delivery-limit":-1}}"#;
        house.check("PUT /api/queues/%2F/unlimited", unlimited, 201, "").await;
        assert_eq!(house.get("/api/queues/%2F/unlimited").await.json()["delivery_limit"], json!("unlimited"));
        let totals = house.get("/api/queues/%2F?disable_stats=true&enable_queue_totals=true").await.json();
        assert_eq!((&totals[0]["delivery_limit"], &totals[0]["exclusive"]), (&json!(-1), &Value::Null));
    });
}

#[test]
fn the_default_type_of_a_vhost_is_the_brokers_until_it_has_its_own() {
    let of_broker = broker::Options { default_queue_type: QueueType::Quorum, ..broker::Options::default() };
    in_house_of(of_broker, Options::default(), async |house| {
        let default = async |of: &str| house.get(of).await.json()["default_queue_type"].clone();
        assert_eq!(default("/api/vhosts/shop").await, json!("quorum"));
        assert_eq!(default("/api/overview").await, json!("quorum"));
        declare(house, &["q"]).await;
        assert_eq!(house.get("/api/queues/shop/q").await.json()["arguments"], json!({"x-queue-type": "quorum"}));
        house.check("PUT /api/vhosts/shop", r#"{"default_queue_type":"classic"}"#, 204, "").await;
        assert_eq!(default("/api/vhosts/shop").await, json!("classic"));
        let definitions = house.get("/api/definitions").await.json();
        let vhosts = definitions["vhosts"].as_array().unwrap();
        let of = |name| &vhosts.iter().find(|vhost| vhost["name"] == name).unwrap()["metadata"]["default_queue_type"];
        assert_eq!((of("shop"), of("/")), (&json!("classic"), &json!("quorum")));
        // What is imported without a type gets the default of its vhost, which may come with it.
        let document = json!({
            "vhosts": [{"name": "new", "metadata": {"default_queue_type": "quorum"}}],
            "queues": [{"vhost": "new", "name": "q", "durable": true, "arguments": {}},
                {"vhost": "new", "name": "passing", "durable": true, "auto_delete": true, "arguments": {}}],
        });
        house.check("POST /api/definitions", &document.to_string(), 204, "").await;
        assert_eq!(house.get("/api/queues/new/q").await.json()["type"], json!("quorum"));
        assert_eq!(house.get("/api/queues/new/passing").await.json()["type"], json!("classic"));
        let document = json!({
            "queues": [{"vhost": "new", "name": "ranked", "durable": true, "arguments": {"x-max-priority": 3}}],
        });
        let reason = "queues, entry 1 ('ranked' in vhost 'new'): invalid arg 'x-max-priority' for queue 'ranked' in vhost \
                      'new' of queue type rabbit_quorum_queue";
        house.check_refused("POST /api/definitions", &document.to_string(), 400, "bad_request", reason).await;
    });
}

/// What a request says about the numbers of ranges.
const RANGES: &str =
    "lengths_age=60&lengths_incr=5&msg_rates_age=60&msg_rates_incr=5&data_rates_age=60&data_rates_incr=5";

async fn publish(house: &House, queue: &str) {
    let body = json!({"properties": {}, "routing_key": queue, "payload": "x", "payload_encoding": "string"});
    let path = "POST /api/exchanges/shop/amq.default/publish";
    house.check(path, &body.to_string(), 200, r#"{"routed":true}"#).await;
}

/// The newest sample of a number, if there are samples at all.
fn sample(details: &Value) -> Option<&Value> {
    Some(&details.get("samples")?[0]["sample"])
}

#[test]
fn a_range_brings_samples_to_lists_and_to_single_objects() {
    in_house(async |house| {
        declare(house, &["a"]).await;
        for _ in 0..3 {
            publish(house, "a").await;
        }
        for path in ["/api/queues", "/api/queues/shop", "/api/queues/detailed", "/api/queues/shop/a"] {
            let answer = house.get(&format!("{path}?{RANGES}")).await.json();
            let queue = answer.get(0).unwrap_or(&answer);
            assert_eq!(sample(&queue["messages_ready_details"]), Some(&json!(3)), "{path}: {queue}");
            assert_eq!(sample(&queue["messages_details"]), Some(&json!(3)), "{path}");
            assert_eq!(sample(&queue["message_stats"]["publish_details"]), Some(&json!(3)), "{path}");
            // Of a minute, at the beginning of which there was nothing.
            assert_eq!(queue["message_stats"]["publish_details"]["avg_rate"], 0.05, "{path}");
        }
        let part =
            house.get(&format!("/api/queues?{RANGES}&columns=message_stats.publish_details.samples.sample")).await;
        let samples = &part.json()[0]["message_stats"]["publish_details"]["samples"];
        assert_eq!(samples[0], json!({"sample": 3}));
        let part = house.get(&format!("/api/queues?{RANGES}&columns=messages_ready_details.rate")).await.json();
        assert_eq!(part, json!([{"messages_ready_details": {"rate": 0.0}}]));
        let vhosts = house.get(&format!("/api/vhosts?{RANGES}&columns=name,messages_ready_details")).await.json();
        let of_shop = vhosts.as_array().unwrap().iter().find(|vhost| vhost["name"] == "shop").unwrap();
        assert_eq!(sample(&of_shop["messages_ready_details"]), Some(&json!(3)));
        let exchanges = house.get(&format!("/api/exchanges/shop/amq.default?{RANGES}")).await.json();
        assert_eq!(sample(&exchanges["message_stats"]["publish_in_details"]), Some(&json!(3)), "{exchanges}");
        let reason = "Invalid range parameters: age 6000, incr 1";
        let bad = "GET /api/queues?lengths_age=6000&lengths_incr=1";
        house.check_refused(bad, "", 400, "invalid_range_parameters", reason).await;
    });
}

#[test]
fn without_a_range_or_without_statistics_there_are_no_samples() {
    in_house(async |house| {
        declare(house, &["a"]).await;
        publish(house, "a").await;
        let queue = &house.get("/api/queues/shop").await.json()[0];
        assert_eq!(queue["messages_ready_details"], json!({"rate": 0.0}));
        let queue = &house.get(&format!("/api/queues/shop?{RANGES}&disable_stats=true")).await.json()[0];
        assert_eq!((queue.get("messages_ready_details"), queue.get("message_stats")), (None, None), "{queue}");
    });
    let statistics = broker::statistics::Options { rates: broker::statistics::Rates::None, ..Default::default() };
    let of_broker = broker::Options { statistics, ..Default::default() };
    in_house_of(of_broker, Options::default(), async |house| {
        declare(house, &["a"]).await;
        publish(house, "a").await;
        for path in ["/api/queues/shop", "/api/queues/shop/a"] {
            let answer = house.get(&format!("{path}?{RANGES}")).await.json();
            let queue = answer.get(0).unwrap_or(&answer);
            assert_eq!(queue["messages_ready"], 1, "{path}");
            assert_eq!(
                (queue.get("messages_ready_details"), queue.get("message_stats")),
                (None, None),
                "{path}: {queue}"
            );
        }
        let queue = house.get("/api/queues/shop/a").await.json();
        assert_eq!(
            (&queue["incoming"], &queue["publishers"], &queue["deliveries"]),
            (&json!([]), &json!([]), &json!([]))
        );
    });
}

#[test]
fn an_overview_has_samples_of_the_vhosts_that_somebody_sees() {
    in_house(async |house| {
        declare(house, &["a", "b"]).await;
        publish(house, "a").await;
        publish(house, "b").await;
        house.check("PUT /api/queues/%2F/z", "", 201, "").await;
        let body = json!({"properties": {}, "routing_key": "z", "payload": "x", "payload_encoding": "string"});
        house.check("POST /api/exchanges/%2F/amq.default/publish", &body.to_string(), 200, r#"{"routed":true}"#).await;
        // Manny sees one vhost, and guest all.
        for (user, count) in [("manny", 2), ("guest", 3)] {
            let overview = house.ask("GET", &format!("/api/overview?{RANGES}"), user, "").await.json();
            let totals = &overview["queue_totals"];
            assert_eq!(totals["messages_ready"], count, "{user}");
            assert_eq!(sample(&totals["messages_ready_details"]), Some(&json!(count)), "{user}: {totals}");
            assert_eq!(overview["object_totals"]["queues"], count, "{user}");
        }
    });
}
