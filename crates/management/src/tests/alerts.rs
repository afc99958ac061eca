//! Alerts over HTTP, and what they see of the broker. Each look is given its time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use amqp::content::Properties;
use amqp::table::Table;
use broker::{Actor, PublishRequest, QueueRequest};
use model::config::{AlertOptions, Config};
use model::name::{ExchangeName, QueueName};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::house::{House, in_house};
use observe::alerting::Alerting;

fn options() -> AlertOptions {
    Config::default().alerts
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// Alerts, which look when a test asks them to.
fn install(house: &House, options: &AlertOptions) -> Arc<Alerting> {
    let alerting = Alerting::new(house.service.broker.clone(), options, Some(1000), None).unwrap();
    house.service.set_alerting(alerting.clone());
    alerting
}

async fn put(house: &House, path: &str, body: Value) -> (u16, Value) {
    let reply = house.ask("PUT", path, "guest", &body.to_string()).await;
    let reason = if reply.body.is_empty() { Value::Null } else { reply.json()["reason"].clone() };
    (reply.status, reason)
}

async fn publish(house: &House, queue: &str, count: usize) {
    for _ in 0..count {
        let message = json!({"routing_key": queue, "properties": {}, "payload": "m", "payload_encoding": "string"});
        let reply = house.ask("POST", "/api/exchanges/%2F/amq.default/publish", "guest", &message.to_string()).await;
        assert_eq!(reply.status, 200);
    }
}

async fn standing(house: &House) -> Vec<(String, String)> {
    let answer = house.get("/api/alerts").await.json();
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    answer.as_array().unwrap().iter().map(|item| (text(item, "state"), text(item, "queue"))).collect()
}

#[test]
fn rules_are_set_shown_and_removed() {
    in_house(async |house| {
        install(house, &options());
        let rule = json!({"kind": "queue-length", "above": 100, "queue": "^orders", "for": "1m"});
        assert_eq!(put(house, "/api/alerts/rules/long", rule.clone()).await.0, 201);
        assert_eq!(put(house, "/api/alerts/rules/long", rule).await.0, 204);
        let shown = house.get("/api/alerts/rules/long").await.json();
        let expected = json!({
            "name": "long", "source": "runtime", "kind": "queue-length", "vhost": ".*", "queue": "^orders",
            "unacked": false, "above": 100, "clear": 90, "for": 60_000, "clear_for": 0, "severity": "warning",
            "webhooks": [], "untracked": 0,
        });
        assert_eq!(shown, expected);
        assert_eq!(put(house, "/api/alerts/rules/copy", shown).await, (201, Value::Null), "what is shown can be given");
        let names: Vec<Value> = house
            .get("/api/alerts/rules")
            .await
            .json()
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| rule["name"].clone())
            .collect();
        assert_eq!(names, ["copy", "long"]);
        assert_eq!(house.ask("DELETE", "/api/alerts/rules/long", "guest", "").await.status, 204);
        assert_eq!(house.ask("DELETE", "/api/alerts/rules/long", "guest", "").await.status, 404);
        let wrong = put(house, "/api/alerts/rules/r", json!({"kind": "growth"})).await;
        assert_eq!(wrong, (400, json!("a rule of the kind growth requires 'above'")));
    });
}

#[test]
fn what_the_configuration_has_is_shown_and_cannot_be_changed() {
    in_house(async |house| {
        let mut options = options();
        options.rules.insert("low".to_owned(), object(json!({"kind": "memory-alarm"})));
        options.webhooks.insert("pager".to_owned(), object(json!({"url": "http://127.0.0.1:1/"})));
        install(house, &options);
        assert_eq!(house.get("/api/alerts/rules/low").await.json()["source"], json!("configuration"));
        let text = "the rule 'low' is in the configuration, and can only be changed there";
        assert_eq!(put(house, "/api/alerts/rules/low", json!({"kind": "disk-alarm"})).await, (400, json!(text)));
        assert_eq!(house.ask("DELETE", "/api/alerts/rules/low", "guest", "").await.status, 400);
        let text = "the webhook 'pager' is in the configuration, and can only be changed there";
        assert_eq!(put(house, "/api/alerts/webhooks/pager", json!({"url": "http://h/"})).await, (400, json!(text)));
        assert_eq!(house.ask("DELETE", "/api/alerts/webhooks/pager", "guest", "").await.status, 400);
    });
}

#[test]
fn a_configuration_that_makes_no_sense_stops_the_start() {
    in_house(async |house| {
        let check = |options: &AlertOptions, text: &str| {
            let error = Alerting::new(house.service.broker.clone(), options, None, None).unwrap_err();
            assert_eq!(error.to_string(), text);
        };
        let mut bad_rule = options();
        bad_rule.rules.insert("r".to_owned(), object(json!({"kind": "growth"})));
        check(&bad_rule, "warren.alerts.rules.r: a rule of the kind growth requires 'above'");
        let mut bad_webhook = options();
        bad_webhook.webhooks.insert("w".to_owned(), object(json!({"url": "ftp://h/"})));
        check(&bad_webhook, "warren.alerts.webhooks.w: 'ftp://h/' is not an http:// or https:// URL");
        let mut bad_name = options();
        bad_name.rules.insert("r".to_owned(), object(json!({"kind": "flow", "webhooks": ["w"]})));
        check(&bad_name, "warren.alerts.rules.r: no webhook 'w' in the configuration");
    });
}

#[test]
fn an_alert_is_listed_while_it_fires_and_kept_in_the_history() {
    in_house(async |house| {
        let alerting = install(house, &options());
        assert_eq!(house.ask("PUT", "/api/queues/%2F/orders", "guest", "{}").await.status, 201);
        let rule = json!({"kind": "queue-length", "above": 2, "for": 1000, "severity": "critical"});
        assert_eq!(put(house, "/api/alerts/rules/long", rule).await.0, 201);
        publish(house, "orders", 3).await;
        alerting.look(10_000);
        assert_eq!(standing(house).await, [("pending".to_owned(), "orders".to_owned())]);
        alerting.look(11_000);
        assert_eq!(standing(house).await, [("firing".to_owned(), "orders".to_owned())]);
        assert_eq!(alerting.counters().firing(alerts::Severity::Critical), 1);
        let alert = &house.get("/api/alerts").await.json()[0];
        assert_eq!((&alert["value"], &alert["since"], &alert["vhost"]), (&json!(3), &json!(11_000), &json!("/")));
        assert_eq!(house.ask("DELETE", "/api/queues/%2F/orders/contents", "guest", "").await.status, 204);
        alerting.look(12_000);
        assert_eq!(standing(house).await, []);
        assert_eq!(alerting.counters().firing(alerts::Severity::Critical), 0);
        let history = house.get("/api/alerts/history").await.json();
        let told: Vec<_> =
            history.as_array().unwrap().iter().map(|change| (&change["status"], &change["at"])).collect();
        assert_eq!(told, [(&json!("resolved"), &json!(12_000)), (&json!("firing"), &json!(11_000))]);
        assert_eq!((&history[0]["id"], &history[0]["reason"]), (&history[1]["id"], &json!("cleared")));
    });
}

#[test]
fn the_age_of_the_oldest_message_is_looked_at() {
    in_house(async |house| {
        let alerting = install(house, &options());
        assert_eq!(house.ask("PUT", "/api/queues/%2F/q", "guest", "{}").await.status, 201);
        assert_eq!(put(house, "/api/alerts/rules/old", json!({"kind": "oldest-age", "above": 0.02})).await.0, 201);
        alerting.look(1);
        assert_eq!(standing(house).await, []);
        publish(house, "q", 1).await;
        let deadline = Instant::now() + Duration::from_secs(10);
        while standing(house).await.is_empty() {
            assert!(Instant::now() < deadline, "the message grows old");
            alerting.look(2);
        }
    });
}

#[test]
fn firing_and_resolution_are_events() {
    in_house(async |house| {
        let alerting = install(house, &options());
        for queue in ["heard", "orders"] {
            assert_eq!(house.ask("PUT", &format!("/api/queues/%2F/{queue}"), "guest", "{}").await.status, 201);
        }
        let binding = r#"{"routing_key":"alert.#"}"#;
        let path = "/api/bindings/%2F/e/amq.rabbitmq.event/q/heard";
        assert_eq!(house.ask("POST", path, "guest", binding).await.status, 201);
        let rule = json!({"kind": "queue-length", "above": 0, "queue": "^orders$"});
        assert_eq!(put(house, "/api/alerts/rules/any", rule).await.0, 201);
        publish(house, "orders", 1).await;
        alerting.look(1);
        alerting.look(2);
        assert_eq!(house.ask("DELETE", "/api/queues/%2F/orders", "guest", "").await.status, 204);
        alerting.look(3);
        let get = r#"{"count":9,"ackmode":"ack_requeue_false","encoding":"auto"}"#;
        let messages = house.ask("POST", "/api/queues/%2F/heard/get", "guest", get).await.json();
        let heard: Vec<_> = messages
            .as_array()
            .unwrap()
            .iter()
            .map(|message| {
                let headers = &message["properties"]["headers"];
                (&message["routing_key"], &headers["rule"], &headers["queue"], &headers["reason"])
            })
            .collect();
        let (rule, queue) = (json!("any"), json!("orders"));
        let (firing, resolved, gone) = (json!("alert.firing"), json!("alert.resolved"), json!("gone"));
        assert_eq!(heard, [(&firing, &rule, &queue, &Value::Null), (&resolved, &rule, &queue, &gone)]);
    });
}

#[test]
fn who_may_see_alerts_may_not_change_rules_nor_see_secrets() {
    in_house(async |house| {
        install(house, &options());
        let webhook = json!({
            "url": "https://u:passw0rd@h.example/services/t0ken", "secret": "s3cret",
            "headers": {"Authorization": "Bearer b3arer"},
        });
        assert_eq!(put(house, "/api/alerts/webhooks/pager", webhook.clone()).await.0, 201);
        for user in ["manny", "polly"] {
            assert_eq!(house.ask("GET", "/api/alerts", user, "").await.status, 401);
        }
        for path in ["/api/alerts", "/api/alerts/history", "/api/alerts/rules", "/api/alerts/webhooks"] {
            assert_eq!(house.ask("GET", path, "mona", "").await.status, 200, "{path}");
        }
        let rule = json!({"kind": "flow"}).to_string();
        for user in ["mona", "polly"] {
            assert_eq!(house.ask("PUT", "/api/alerts/rules/r", user, &rule).await.status, 401);
            assert_eq!(house.ask("POST", "/api/alerts/webhooks/pager/test", user, "").await.status, 401);
        }
        let shown = house.ask("GET", "/api/alerts/webhooks/pager", "mona", "").await.json();
        assert_eq!((&shown["url"], &shown["signed"]), (&json!("https://***@h.example:443/***"), &json!(true)));
        let of_administrator = house.get("/api/alerts/webhooks/pager").await.json();
        assert_eq!(of_administrator["url"], json!("https://***@h.example:443/services/t0ken"));
        let with_query = json!({"url": "http://h.example/hook/t0ken?key=t0ken", "secret": "s3cret"});
        assert_eq!(put(house, "/api/alerts/webhooks/query", with_query).await.0, 201);
        // A webhook of an older version may no longer be readable, and the reason quotes it.
        let unreadable = json!({"url": "ftp://h.example/t0ken"});
        house.service.broker.put_global_parameter(&Actor::broker(), "warren-alerts.webhooks.old", unreadable).unwrap();
        let all = house.ask("GET", "/api/alerts/webhooks", "mona", "").await.json().to_string();
        assert!(!all.contains("t0ken") && all.contains("h.example:80"), "{all}");
        assert!(house.get("/api/alerts/webhooks/old").await.json()["problem"].as_str().unwrap().contains("t0ken"));
        let others = house.ask("GET", "/api/global-parameters", "polly", "").await.json();
        let shown = format!("{shown}{of_administrator}{others}");
        assert!(!["passw0rd", "s3cret", "b3arer"].iter().any(|secret| shown.contains(secret)), "{shown}");
        // The parameters behind them are no way around that.
        let name = "/api/global-parameters/warren-alerts.webhooks.pager";
        assert_eq!(house.ask("GET", name, "polly", "").await.status, 404);
        for user in ["polly", "guest"] {
            let body = json!({"value": webhook}).to_string();
            assert_eq!(house.ask("PUT", name, user, &body).await.status, 400);
        }
        assert_eq!(house.ask("DELETE", name, "guest", "").await.status, 400);
    });
}

/// A reader of the exchange of events need not be an administrator.
#[test]
fn events_do_not_tell_what_rules_and_webhooks_say() {
    in_house(async |house| {
        install(house, &options());
        assert_eq!(house.ask("PUT", "/api/queues/%2F/heard", "guest", "{}").await.status, 201);
        let path = "/api/bindings/%2F/e/amq.rabbitmq.event/q/heard";
        assert_eq!(house.ask("POST", path, "guest", r#"{"routing_key":"parameter.#"}"#).await.status, 201);
        let webhook = json!({
            "url": "https://u:passw0rd@h.example/services/t0ken", "secret": "s3cret",
            "headers": {"Authorization": "Bearer b3arer"},
        });
        assert_eq!(put(house, "/api/alerts/webhooks/pager", webhook.clone()).await.0, 201);
        let parameter = json!({"name": "warren-alerts.webhooks.other", "value": webhook});
        let others = json!({"name": "open", "value": "as it is"});
        let document = json!({"global_parameters": [parameter, others]}).to_string();
        assert_eq!(house.ask("POST", "/api/definitions", "guest", &document).await.status, 204);
        assert_eq!(house.ask("DELETE", "/api/alerts/webhooks/pager", "guest", "").await.status, 204);
        let get = r#"{"count":9,"ackmode":"ack_requeue_false","encoding":"auto"}"#;
        let heard = house.ask("POST", "/api/queues/%2F/heard/get", "guest", get).await.json();
        let told: Vec<_> = heard
            .as_array()
            .unwrap()
            .iter()
            .map(|message| {
                let headers = &message["properties"]["headers"];
                let text = |name: &str| headers[name].as_str().unwrap_or_default().to_owned();
                (message["routing_key"].as_str().unwrap().to_owned(), text("name"), text("value"))
            })
            .collect();
        let event = |key: &str, name: &str, value: &str| (key.to_owned(), name.to_owned(), value.to_owned());
        let expected = [
            event("parameter.set", "warren-alerts.webhooks.pager", ""),
            event("parameter.set", "warren-alerts.webhooks.other", ""),
            event("parameter.set", "open", ""),
            event("parameter.cleared", "warren-alerts.webhooks.pager", ""),
        ];
        assert_eq!(told, expected);
        let whole = heard.to_string();
        assert!(!["passw0rd", "t0ken", "s3cret", "b3arer"].iter().any(|secret| whole.contains(secret)), "{whole}");
    });
}

#[test]
fn only_the_configuration_names_files_of_the_host() {
    in_house(async |house| {
        install(house, &options());
        let files = std::env::temp_dir().join(format!("warren-alerts-{}.pem", std::process::id()));
        let webhook = json!({"url": "https://127.0.0.1:1/", "cacertfile": files});
        let reason = "'cacertfile' names a file of the host, and can only be set in the configuration";
        let name = "warren-alerts.webhooks.w";
        assert_eq!(put(house, "/api/alerts/webhooks/w", webhook.clone()).await, (400, json!(reason)));
        let import = async |value: &Value| {
            let document = json!({"global_parameters": [{"name": name, "value": value}]}).to_string();
            let reply = house.ask("POST", "/api/definitions", "guest", &document).await;
            (reply.status, String::from_utf8(reply.body).unwrap())
        };
        let (status, body) = import(&webhook).await;
        assert!(status == 400 && body.contains(reason), "{status} {body}");
        let (status, body) = import(&json!({"url": "gopher://h/"})).await;
        assert!(status == 400 && body.contains("'gopher://h/' is not an http:// or https:// URL"), "{status} {body}");
        // One that came in another way is not used.
        house.service.broker.put_global_parameter(&Actor::broker(), name, webhook).unwrap();
        assert_eq!(house.get("/api/alerts/webhooks/w").await.json()["problem"], json!(reason));
        let reply = house.ask("POST", "/api/alerts/webhooks/w/test", "guest", "").await;
        assert_eq!((reply.status, &reply.json()["reason"]), (400, &json!(reason)));
    });
}

#[test]
fn rules_and_webhooks_fit_each_other() {
    in_house(async |house| {
        install(house, &options());
        let rule = json!({"kind": "flow", "webhooks": ["pager"]});
        let refused = put(house, "/api/alerts/rules/r", rule.clone()).await;
        assert_eq!(refused, (400, json!("no webhook 'pager'")));
        assert_eq!(put(house, "/api/alerts/webhooks/pager", json!({"url": "http://h/"})).await.0, 201);
        assert_eq!(put(house, "/api/alerts/rules/r", rule).await.0, 201);
        let reply = house.ask("DELETE", "/api/alerts/webhooks/pager", "guest", "").await;
        assert_eq!((reply.status, &reply.json()["reason"]), (400, &json!("the rule 'r' names the webhook 'pager'")));
        assert_eq!(house.ask("DELETE", "/api/alerts/rules/r", "guest", "").await.status, 204);
        assert_eq!(house.ask("DELETE", "/api/alerts/webhooks/pager", "guest", "").await.status, 204);
        let refused = put(house, "/api/alerts/webhooks/w", json!({"url": "gopher://h/"})).await;
        assert_eq!(refused, (400, json!("'gopher://h/' is not an http:// or https:// URL")));
        let refused =
            put(house, "/api/alerts/webhooks/w", json!({"url": "https://h/", "cacertfile": "/etc/passwd"})).await;
        assert_eq!(refused.0, 400);
    });
}

#[test]
fn a_rule_whose_webhook_is_not_there_says_so() {
    in_house(async |house| {
        install(house, &options());
        let rule = json!({"name": "warren-alerts.rules.r", "value": {"kind": "flow", "webhooks": ["pager"]}});
        let document = json!({"global_parameters": [rule]}).to_string();
        assert_eq!(house.ask("POST", "/api/definitions", "guest", &document).await.status, 204);
        let shown = house.get("/api/alerts/rules/r").await.json();
        assert_eq!((&shown["problem"], &shown["kind"]), (&json!("no webhook 'pager'"), &json!("flow")));
        assert_eq!(put(house, "/api/alerts/rules/r", shown).await, (400, json!("no webhook 'pager'")));
        assert_eq!(put(house, "/api/alerts/webhooks/pager", json!({"url": "http://h/"})).await.0, 201);
        assert_eq!(house.get("/api/alerts/rules").await.json()[0]["problem"], Value::Null);
    });
}

#[test]
fn what_is_shown_of_a_webhook_does_not_take_its_secrets_when_it_is_given_back() {
    in_house(async |house| {
        install(house, &options());
        let path = "/api/alerts/webhooks/w";
        for (given, reason) in [
            (json!({"url": "http://u:pw@h/x"}), "enter the user and password of the 'url' again"),
            (json!({"url": "http://h/", "headers": {"X-A": "b"}}), "enter the header 'X-A' again"),
            (json!({"url": "http://h/", "secret": "s"}), "the 'secret' of a signed webhook is required"),
        ] {
            put(house, path, given).await;
            let (status, text) = put(house, path, house.get(path).await.json()).await;
            assert!(status == 400 && text.as_str().unwrap().contains(reason), "{status} {text}");
        }
        put(house, path, json!({"url": "http://h/x", "timeout": "2s"})).await;
        assert_eq!(put(house, path, house.get(path).await.json()).await.0, 204, "what has no secrets");
    });
}

/// Takes notices, and remembers which.
async fn take_notices(listener: TcpListener, taken: mpsc::UnboundedSender<Value>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            assert!(stream.read_buf(&mut request).await.unwrap() > 0);
        }
        let body = request.split(|byte| *byte == b'\n').next_back().unwrap();
        taken.send(serde_json::from_slice(body).unwrap()).unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    }
}

#[test]
fn a_webhook_that_nobody_can_reach_keeps_nothing_from_another_one() {
    const QUEUE_COUNT: usize = 300;
    in_house(async |house| {
        let alerting = install(house, &AlertOptions { interval: Duration::from_millis(100), ..options() });
        let inside = house.service.broker.enter(&Actor::broker(), "/").await.unwrap();
        let exchange = ExchangeName::parse(b"").unwrap();
        for name in (0..QUEUE_COUNT).map(|number| format!("q{number}")) {
            declare(&inside, &name);
            let properties = Properties::default();
            let request = PublishRequest { exchange: &exchange, routing_key: name.as_bytes(), properties, body: b"" };
            inside.publish(&request).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (tx, mut taken) = mpsc::unbounded_channel();
        let taking = tokio::spawn(take_notices(listener, tx));
        // No process listens at the port of a listener that is closed.
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        for (name, url) in [("up", url), ("down", format!("http://{gone}/"))] {
            assert_eq!(put(house, &format!("/api/alerts/webhooks/{name}"), json!({"url": url})).await.0, 201);
        }
        let thread = alerting.start().unwrap();
        for status in ["firing", "resolved"].repeat(2) {
            if status == "firing" {
                let rule = json!({"kind": "queue-length", "above": 0, "queue": "^q[0-9]+$"});
                assert_eq!(put(house, "/api/alerts/rules/r", rule).await.0, 201);
            } else {
                assert_eq!(house.ask("DELETE", "/api/alerts/rules/r", "guest", "").await.status, 204);
            }
            let mut queues = std::collections::BTreeSet::new();
            while queues.len() < QUEUE_COUNT {
                let notice = tokio::time::timeout(Duration::from_secs(30), taken.recv()).await.unwrap().unwrap();
                assert_eq!(notice["status"], json!(status));
                assert!(queues.insert(notice["queue"].as_str().unwrap().to_owned()), "told twice: {notice}");
            }
        }
        let down = house.get("/api/alerts/webhooks/down").await.json();
        assert_eq!((&down["delivered"], &down["dropped"]), (&json!(0), &json!(0)));
        let count = |name: &str| down[name].as_u64().unwrap() as usize;
        assert_eq!(count("waiting") + count("folded"), 4 * QUEUE_COUNT);
        assert!(count("waiting") == 1000 && count("failed") > 0, "{down}");
        thread.stop();
        taking.abort();
    });
}

fn declare(inside: &broker::VhostAccess, name: &str) {
    let name = QueueName::parse(name.as_bytes()).unwrap();
    let request = QueueRequest {
        name: &name,
        is_durable: false,
        is_auto_delete: false,
        is_exclusive: false,
        arguments: Table::EMPTY,
    };
    inside.declare_queue(&request).unwrap();
}

#[test]
fn the_api_answers_while_a_look_is_under_way() {
    in_house(async |house| {
        let alerting = install(house, &options());
        assert_eq!(put(house, "/api/alerts/rules/r", json!({"kind": "flow"})).await.0, 201);
        let look = alerting.hold_look();
        for path in ["/api/alerts", "/api/alerts/history", "/api/alerts/rules", "/api/alerts/webhooks"] {
            assert_eq!(house.get(path).await.status, 200, "{path}");
        }
        drop(look);
    });
}

#[test]
fn rules_travel_with_definitions_and_are_checked_on_the_way() {
    in_house(async |house| {
        let alerting = install(house, &options());
        assert_eq!(put(house, "/api/alerts/rules/r", json!({"kind": "flow"})).await.0, 201);
        let definitions = house.get("/api/definitions").await.json();
        assert_eq!(house.ask("DELETE", "/api/alerts/rules/r", "guest", "").await.status, 204);
        let reply = house.ask("POST", "/api/definitions", "guest", &definitions.to_string()).await;
        assert_eq!(reply.status, 204);
        assert_eq!(house.get("/api/alerts/rules/r").await.json()["kind"], json!("flow"));
        for (name, value) in [
            ("warren-alerts.rules.x", json!({"kind": "no such"})),
            ("warren-alerts.webhooks.x", json!([])),
            ("warren-alerts.other", json!({})),
        ] {
            let document = json!({"global_parameters": [{"name": name, "value": value}]}).to_string();
            assert_eq!(house.ask("POST", "/api/definitions", "guest", &document).await.status, 400, "{name}");
        }
        // One that came in another way is shown with what is wrong, and does not keep others from working.
        let broker = &house.service.broker;
        broker.put_global_parameter(&Actor::broker(), "warren-alerts.rules.a", json!({"kind": "odd"})).unwrap();
        alerting.look(1);
        let problem = house.get("/api/alerts/rules/a").await.json()["problem"].clone();
        assert!(problem.as_str().unwrap().starts_with("'kind' must be one of"), "{problem}");
        assert_eq!(house.ask("DELETE", "/api/alerts/rules/a", "guest", "").await.status, 204);
    });
}

/// What a receiver that answers like this is sent by a test, and what the test says of it.
async fn test_webhook(house: &House, answer: &'static str) -> (String, Value) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    put(
        house,
        "/api/alerts/webhooks/w",
        json!({"url": url, "secret": "Jefe", "headers": {"X-A": "b"}, "timeout": 200}),
    )
    .await;
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            assert!(stream.read_buf(&mut request).await.unwrap() > 0);
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        // A receiver that hangs hangs for as long as it is listened to.
        let _ = stream.read_to_end(&mut rest).await;
        String::from_utf8(request).unwrap()
    };
    let asking = async { house.ask("POST", "/api/alerts/webhooks/w/test", "guest", "").await.json() };
    tokio::join!(serving, asking)
}

#[test]
fn a_webhook_can_be_tried() {
    in_house(async |house| {
        install(house, &options());
        let (request, said) = test_webhook(house, "HTTP/1.1 204 No Content\r\n\r\n").await;
        assert_eq!((&said["delivered"], &said["status"], &said["error"]), (&json!(true), &json!(204), &Value::Null));
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /hook HTTP/1.1\r\n") && head.contains("x-a: b"), "{head}");
        assert!(
            head.contains("warren-signature: sha256=") && head.contains("content-type: application/json"),
            "{head}"
        );
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["test"], &body["version"], &body["status"]), (&json!(true), &json!(1), &json!("firing")));
        let (_, said) = test_webhook(house, "HTTP/1.1 503 No\r\n\r\n").await;
        assert_eq!((&said["delivered"], &said["status"]), (&json!(false), &json!(503)));
        assert_eq!(said["error"], json!("it answered 503 Service Unavailable"));
        let (_, said) = test_webhook(house, "").await;
        assert_eq!((&said["delivered"], &said["error"]), (&json!(false), &json!("no answer within 0.2 s")));
    });
}

/// `cargo test --release -p management -- --ignored --nocapture a_look_at`
#[test]
#[ignore = "a measurement"]
fn a_look_at_a_hundred_thousand_queues_costs_little() {
    in_house(async |house| {
        let alerting = install(house, &options());
        let broker = &house.service.broker;
        let inside = broker.enter(&Actor::broker(), "/").await.unwrap();
        let names = (0..100_000).map(|number| format!("queue-of-some-tenant-{number}"));
        for name in names.clone() {
            declare(&inside, &name);
        }
        let mut now_ms = 0;
        let mut measure = |what: &str| {
            let looks = (0..20).map(|_| {
                now_ms += 300;
                let started_at = Instant::now();
                alerting.look(now_ms);
                started_at.elapsed()
            });
            let (least, most) =
                looks.fold((Duration::MAX, Duration::ZERO), |(least, most), took| (least.min(took), most.max(took)));
            eprintln!("{what}: {least:?} to {most:?}");
        };
        for (name, rule) in [
            ("none", json!({"kind": "memory-alarm"})),
            ("length", json!({"kind": "queue-length", "above": 1000, "queue": "^queue-of"})),
            ("growth", json!({"kind": "growth", "above": 1000, "queue": "^queue-of", "window": "1s"})),
            ("consumers", json!({"kind": "no-consumers", "queue": "tenant-[0-9]+$"})),
            ("age", json!({"kind": "oldest-age", "above": 60, "queue": "tenant-[0-9]+$"})),
        ] {
            assert_eq!(put(house, &format!("/api/alerts/rules/{name}"), rule).await.0, 201);
            measure(&format!("and {name}"));
        }
        let exchange = ExchangeName::parse(b"").unwrap();
        for name in names {
            let properties = Properties::default();
            let request = PublishRequest { exchange: &exchange, routing_key: name.as_bytes(), properties, body: b"" };
            inside.publish(&request).unwrap();
        }
        measure("all of them, with a message in each queue");
    });
}
