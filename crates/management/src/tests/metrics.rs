//! Metrics for Prometheus, as a scrape sees them.

use std::collections::BTreeSet;
use std::io::Read as _;

use base64::Engine as _;
use broker::{Interface, Origin};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Body as _;
use observe::prometheus::WithoutBroker;
use serde_json::json;

use super::house::{House, Reply, in_house};
use crate::metrics::{Metrics, MetricsOptions};
use http_server::{PIECE_LEN, PIECE_OBJECT_COUNT};

async fn ask(house: &House, options: MetricsOptions, request: &str, headers: &[(&str, &str)]) -> Reply {
    ask_of(&Metrics::new(house.service.clone(), options), request, headers).await
}

async fn ask_of(metrics: &Metrics, request: &str, headers: &[(&str, &str)]) -> Reply {
    let (method, path) = request.split_once(' ').unwrap();
    let mut built = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        built = built.header(*name, *value);
    }
    let built = built.body(Empty::<Bytes>::new()).unwrap();
    let origin = Origin { peer: Some(([127, 0, 0, 1], 40000).into()), interface: Interface::Http };
    let response = metrics.respond(built, origin, true).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Reply { status: parts.status.as_u16(), headers: parts.headers, body }
}

fn text(reply: &Reply) -> String {
    String::from_utf8(reply.body.clone()).unwrap()
}

pub(super) async fn scrape(house: &House, path: &str) -> String {
    let reply = ask(house, MetricsOptions::default(), &format!("GET {path}"), &[]).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/plain; version=0.0.4")));
    text(&reply)
}

/// The metrics of a node on which no broker runs.
pub(super) async fn scrape_without_broker(node: WithoutBroker, path: &str) -> String {
    let metrics = Metrics::without_broker(node, MetricsOptions::default());
    let reply = ask_of(&metrics, &format!("GET {path}"), &[]).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/plain; version=0.0.4")));
    text(&reply)
}

/// The series of an answer, without their numbers.
fn series(text: &str) -> BTreeSet<&str> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').unwrap().0).collect()
}

#[track_caller]
fn check_has(text: &str, line: &str) {
    assert!(text.lines().any(|own| own == line), "'{line}' is not in:\n{text}");
}

async fn declare(house: &House, path: &str, body: serde_json::Value) {
    assert_eq!(house.ask("PUT", path, "guest", &body.to_string()).await.status, 201);
}

/// Queues in two vhosts, one of them with messages.
async fn prepare(house: &House) {
    declare(house, "/api/queues/shop/orders", json!({"durable": true})).await;
    declare(house, "/api/queues/shop/other", json!({"durable": true, "arguments": {"x-queue-type": "quorum"}})).await;
    declare(house, "/api/queues/%2F/orders", json!({"durable": true})).await;
    declare(house, "/api/exchanges/shop/sales", json!({"type": "topic", "durable": true})).await;
    let message = json!({"properties": {}, "routing_key": "orders", "payload": "12345", "payload_encoding": "string"})
        .to_string();
    for _ in 0..2 {
        let reply = house.ask("POST", "/api/exchanges/shop/amq.default/publish", "guest", &message).await;
        assert_eq!(reply.status, 200, "{}", text(&reply));
    }
}

#[test]
fn the_node_is_told_of_as_a_whole() {
    in_house(async |house| {
        prepare(house).await;
        let text = scrape(house, "/metrics").await;
        check_has(&text, "# TYPE rabbitmq_queue_messages_ready gauge");
        check_has(&text, "rabbitmq_queue_messages_ready 2");
        check_has(&text, "rabbitmq_queues 3");
        check_has(&text, "rabbitmq_queues_created_total 3");
        check_has(&text, "rabbitmq_alarms_memory_used_watermark 0");
        assert!(!text.contains("queue=\"") && !text.contains("vhost=\""), "{text}");
    });
}

#[test]
fn every_answer_says_who_it_is_from_exactly_once() {
    in_house(async |house| {
        let families = "family=queue_coarse_metrics&family=node_metrics";
        for (path, endpoint) in [
            ("/metrics".to_owned(), "aggregated"),
            ("/metrics/default".to_owned(), "aggregated"),
            ("/metrics/".to_owned(), "aggregated"),
            ("/metrics/per-object".to_owned(), "per-object"),
            ("/metrics/detailed".to_owned(), "detailed"),
            (format!("/metrics/detailed?{families}"), "detailed"),
            ("/metrics/memory-breakdown".to_owned(), "memory-breakdown"),
        ] {
            let text = scrape(house, &path).await;
            let identities: Vec<&str> =
                text.lines().filter(|line| line.starts_with("rabbitmq_identity_info{")).collect();
            let [identity] = identities[..] else { panic!("{path}: {identities:?}") };
            let names = ["rabbitmq_node", "rabbitmq_cluster", "rabbitmq_cluster_permanent_id", "rabbitmq_endpoint"];
            for name in names {
                assert!(identity.contains(&format!("{name}=\"")), "{identity}");
            }
            assert!(identity.contains("rabbitmq_cluster_permanent_id=\"rabbitmq-cluster-id-"), "{identity}");
            assert!(identity.ends_with(&format!("rabbitmq_endpoint=\"{endpoint}\"}} 1")), "{identity}");
            let build = text.lines().find(|line| line.starts_with("rabbitmq_build_info{")).unwrap();
            assert!(
                build.contains("rabbitmq_version=\"4.3.0\"") && build.contains("product_name=\"Warren\""),
                "{build}"
            );
        }
    });
}

#[test]
fn every_object_is_told_of_one_by_one() {
    in_house(async |house| {
        prepare(house).await;
        let text = scrape(house, "/metrics/per-object").await;
        check_has(&text, "rabbitmq_queue_messages_ready{vhost=\"shop\",queue=\"orders\"} 2");
        check_has(&text, "rabbitmq_queue_messages_ready{vhost=\"/\",queue=\"orders\"} 0");
        check_has(&text, "rabbitmq_queue_messages_ready_bytes{vhost=\"shop\",queue=\"orders\"} 10");
        let info = "rabbitmq_queue_info{vhost=\"shop\",queue=\"other\",queue_type=\"rabbit_quorum_queue\",membership=\"leader\"} 1";
        check_has(&text, info);
        check_has(&text, "rabbitmq_queues 3");
        let other = MetricsOptions { returns_per_object: true, ..MetricsOptions::default() };
        let reply = ask(house, other, "GET /metrics", &[]).await;
        check_has(&self::text(&reply), info);
        assert!(self::text(&reply).contains("rabbitmq_endpoint=\"per-object\""));
    });
}

#[test]
fn details_are_what_is_asked_for() {
    in_house(async |house| {
        prepare(house).await;
        let of = async |query: &str| {
            let text = scrape(house, &format!("/metrics/detailed?{query}")).await;
            let is_queue = |line: &&str| line.contains("queue=\"");
            series(&text).into_iter().filter(is_queue).map(str::to_owned).collect::<Vec<String>>()
        };
        assert!(of("").await.is_empty() && of("family=nonsense").await.is_empty());
        let family = "family=queue_consumer_count";
        let ready = |vhost, queue| format!("rabbitmq_detailed_queue_consumers{{vhost=\"{vhost}\",queue=\"{queue}\"}}");
        let consumers = |series: Vec<String>| {
            series.into_iter().filter(|series| !series.contains("queue_info")).collect::<Vec<_>>()
        };
        assert_eq!(
            consumers(of(family).await),
            [ready("/", "orders"), ready("shop", "orders"), ready("shop", "other")]
        );
        assert_eq!(of(family).await.len(), 6, "and of what type each is");
        assert_eq!(consumers(of(&format!("{family}&queue=%5Eord&vhost=shop")).await), [ready("shop", "orders")]);
        assert_eq!(consumers(of(&format!("{family}&queue=^or")).await).len(), 2);
        assert!(of(&format!("{family}&vhost=nowhere")).await.is_empty());
        let both = of(&format!("{family}&family=queue_metrics&vhost=%2F")).await;
        assert_eq!(both.iter().filter(|series| series.contains("queue_consumers")).count(), 1, "{both:?}");
    });
}

#[test]
fn vhosts_exchanges_and_bindings_are_told_of_where_asked_for() {
    in_house(async |house| {
        prepare(house).await;
        let bind = house.ask("POST", "/api/bindings/shop/e/sales/q/orders", "guest", "{}").await;
        assert_eq!(bind.status, 201);
        let path = "/metrics/detailed?family=vhost_status&family=exchange_bindings&family=exchange_names";
        let text = scrape(house, path).await;
        check_has(&text, "rabbitmq_cluster_vhost_status{vhost=\"shop\"} 1");
        check_has(&text, "rabbitmq_cluster_exchange_bindings{vhost=\"shop\",exchange=\"sales\",type=\"topic\"} 1");
        check_has(&text, "rabbitmq_cluster_exchange_bindings{vhost=\"/\",exchange=\"amq.direct\",type=\"direct\"} 0");
        check_has(&text, "rabbitmq_cluster_exchange_name{vhost=\"shop\",exchange=\"sales\",type=\"topic\"} 1");
        assert!(!text.contains("exchange=\"\""), "the default exchange is bound to everything");
    });
}

#[test]
fn names_that_users_choose_are_escaped() {
    in_house(async |house| {
        declare(house, "/api/queues/shop/a%22%7D%201%5C", json!({})).await;
        let text = scrape(house, "/metrics/per-object").await;
        check_has(&text, "rabbitmq_queue_messages{vhost=\"shop\",queue=\"a\\\"} 1\\\\\"} 0");
    });
}

#[test]
fn what_scraping_costs_is_told_from_the_second_time_on() {
    in_house(async |house| {
        let metrics = Metrics::new(house.service.clone(), MetricsOptions::default());
        let origin = Origin { peer: None, interface: Interface::Http };
        let mut texts = Vec::new();
        for _ in 0..2 {
            let request = Request::builder().uri("/metrics").body(()).unwrap();
            let body = metrics.respond(request, origin, false).await.into_body().collect().await.unwrap();
            texts.push(String::from_utf8(body.to_bytes().to_vec()).unwrap());
        }
        let labels = "{registry=\"default\",content_type=\"text/plain; version=0.0.4\"}";
        assert!(!texts[0].contains("telemetry_scrape_size_bytes_count"));
        check_has(&texts[1], &format!("telemetry_scrape_size_bytes_count{labels} 1"));
        check_has(&texts[1], &format!("telemetry_scrape_size_bytes_sum{labels} {}", texts[0].len()));
    });
}

#[test]
fn other_requests_are_answered_as_rabbitmq_does() {
    in_house(async |house| {
        for (request, headers, status, body) in [
            ("GET /metrics/nonsense", &[][..], 404, "Unknown Registry"),
            ("GET /metrics/aggregated", &[], 404, "Unknown Registry"),
            ("GET /", &[], 404, r#"{"error":"Object Not Found","reason":"Not Found"}"#),
            ("GET /metricsx", &[], 404, r#"{"error":"Object Not Found","reason":"Not Found"}"#),
            ("GET /metrics/a/b", &[], 404, r#"{"error":"Object Not Found","reason":"Not Found"}"#),
            ("POST /metrics", &[], 405, ""),
            ("DELETE /metrics/per-object", &[], 405, ""),
            ("OPTIONS /metrics", &[], 200, ""),
            ("HEAD /metrics", &[], 200, ""),
            ("GET /metrics", &[("accept", "application/json")], 406, ""),
            ("GET /metrics", &[("accept", "application/vnd.google.protobuf")], 406, ""),
            ("GET /metrics/detailed?queue=a&queue=b", &[], 400, "Only one 'queue' query parameter is allowed"),
            ("GET /metrics/detailed?queue=(", &[], 400, "Invalid 'queue' regex: unclosed group"),
        ] {
            let reply = ask(house, MetricsOptions::default(), request, headers).await;
            assert_eq!((reply.status, &*text(&reply)), (status, body), "{request} {headers:?}");
        }
        let open_metrics = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let reply = ask(house, MetricsOptions::default(), "GET /metrics", &[("accept", open_metrics)]).await;
        assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4"));
        assert_eq!(reply.header("allow"), Some("HEAD, GET, OPTIONS"));
    });
}

#[test]
fn metrics_are_where_the_configuration_says() {
    in_house(async |house| {
        let at = |path: &str| MetricsOptions { path: path.to_owned(), ..MetricsOptions::default() };
        for (options, request, status) in [
            (at("/a/b"), "GET /a/b", 200),
            (at("/a/b"), "GET /a/b/per-object", 200),
            (at("/a/b"), "GET /metrics", 404),
            (at(""), "GET /", 200),
            (at(""), "GET /memory-breakdown", 200),
        ] {
            assert_eq!(ask(house, options, request, &[]).await.status, status, "{request}");
        }
    });
}

#[test]
fn who_may_not_monitor_sees_nothing_where_a_login_is_needed() {
    in_house(async |house| {
        let as_user = |user: &str, password: &str| {
            let login = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
            format!("Basic {login}")
        };
        let options = || MetricsOptions { needs_login: true, ..MetricsOptions::default() };
        for (user, password, status, body) in [
            ("mona", "mona", 200, ""),
            ("alice", "alice", 200, ""),
            ("manny", "manny", 401, r#"{"error":"not_authorised","reason":"Not monitor user"}"#),
            ("mona", "wrong", 401, r#"{"error":"not_authorized","reason":"Not_Authorized"}"#),
        ] {
            let login = as_user(user, password);
            let reply = ask(house, options(), "GET /metrics/per-object", &[("authorization", &login)]).await;
            assert_eq!(reply.status, status, "{user}");
            if status != 200 {
                assert_eq!(text(&reply), body);
                assert_eq!(reply.header("www-authenticate"), Some("Basic realm=\"RabbitMQ Prometheus\""));
            }
        }
        let reply = ask(house, options(), "GET /metrics/nonsense", &[]).await;
        assert_eq!((reply.status, &*text(&reply)), (401, ""));
    });
}

#[test]
fn who_accepts_it_gets_less_to_read() {
    in_house(async |house| {
        for (accepted, is_compressed) in
            [("gzip", true), ("deflate, GZIP;q=0.5", true), ("gzip;q=0", false), ("br", false)]
        {
            let headers = [("accept-encoding", accepted)];
            let reply = ask(house, MetricsOptions::default(), "GET /metrics", &headers).await;
            assert_eq!(reply.header("content-encoding"), is_compressed.then_some("gzip"), "{accepted}");
            let mut plain = String::new();
            match is_compressed {
                true => flate2::read::GzDecoder::new(&reply.body[..]).read_to_string(&mut plain).map(|_| ()).unwrap(),
                false => plain = text(&reply),
            }
            assert!(plain.starts_with("# TYPE telemetry_") && plain.contains("\nrabbitmq_queues 0\n"), "{plain}");
        }
    });
}

/// However many queues there are, a piece is made when the one before it has been taken.
#[test]
fn a_long_answer_comes_in_pieces() {
    in_house(async |house| {
        for number in 0..300 {
            declare(house, &format!("/api/queues/shop/queue-{number}"), json!({})).await;
        }
        let metrics = Metrics::new(house.service.clone(), MetricsOptions::default());
        let origin = Origin { peer: None, interface: Interface::Http };
        let request = Request::builder().uri("/metrics/per-object").body(()).unwrap();
        let mut body = metrics.respond(request, origin, false).await.into_body();
        let mut lens = Vec::new();
        while let Some(frame) = body.frame().await {
            lens.push(frame.unwrap().into_data().unwrap().len());
        }
        assert!(lens.len() > 3 && lens.iter().all(|len| *len < 2 * PIECE_LEN), "{lens:?}");
    });
}

#[test]
fn alerts_are_counted() {
    in_house(async |house| {
        let options = model::config::Config::default().alerts;
        let alerting = observe::alerting::Alerting::new(house.service.broker.clone(), &options, None, None).unwrap();
        house.service.set_alerting(alerting.clone());
        declare(house, "/api/alerts/rules/any", json!({"kind": "queue-length", "above": 0, "severity": "critical"}))
            .await;
        declare(house, "/api/queues/shop/orders", json!({})).await;
        let message = r#"{"routing_key":"orders","properties":{},"payload":"m","payload_encoding":"string"}"#;
        house.check("POST /api/exchanges/shop/amq.default/publish", message, 200, r#"{"routed":true}"#).await;
        alerting.look(1);
        for path in ["/metrics", "/metrics/per-object"] {
            let text = scrape(house, path).await;
            check_has(&text, "# TYPE warren_alerts_firing gauge");
            check_has(&text, "warren_alerts_firing{severity=\"critical\"} 1");
            check_has(&text, "warren_alerts_firing{severity=\"warning\"} 0");
            check_has(&text, "warren_alert_notices_delivered_total 0");
            check_has(&text, "warren_alert_attempts_failed_total 0");
            check_has(&text, "warren_alert_notices_dropped_total 0");
        }
    });
}

#[test]
fn all_that_is_told_of_queues_is_of_the_same_ones() {
    in_house(async |house| {
        let count = 2 * PIECE_OBJECT_COUNT + 10;
        let queue = |number| {
            let name = format!("q-{number:04}");
            json!({"vhost": "shop", "name": name, "durable": true, "auto_delete": false, "arguments": {}})
        };
        let queues: Vec<_> = (0..count).map(queue).collect();
        house.check("POST /api/definitions", &json!({"queues": queues}).to_string(), 204, "").await;
        let request = Request::get("/metrics/per-object").body(Empty::<Bytes>::new()).unwrap();
        let origin = Origin { peer: None, interface: Interface::Http };
        let metrics = Metrics::new(house.service.clone(), MetricsOptions::default());
        let mut body = metrics.respond(request, origin, true).await.into_body();
        let mut text = Vec::new();
        // They are looked for a few at a time; then the first of them are written.
        let mut waits = 0;
        while !String::from_utf8_lossy(&text).contains("q-0000") {
            let frame = std::future::poll_fn(|cx| {
                let next = std::pin::Pin::new(&mut body).poll_frame(cx);
                waits += usize::from(next.is_pending());
                next
            });
            text.extend_from_slice(frame.await.unwrap().unwrap().data_ref().unwrap());
        }
        assert!(waits >= 2, "{waits}");
        declare(house, "/api/queues/shop/r", json!({"durable": true})).await;
        text.extend_from_slice(&body.collect().await.unwrap().to_bytes());
        let text = String::from_utf8(text).unwrap();
        for name in ["rabbitmq_queue_messages_ready", "rabbitmq_queue_consumers", "rabbitmq_queue_info"] {
            let own = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
            assert_eq!(own.count(), count, "{name}");
        }
        assert!(!text.contains("queue=\"r\""));
    });
}
