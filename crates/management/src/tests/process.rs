//! What operators change of the running process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::config::LogLevel;
use net::{Gate, Listener, SocketOptions};
use tokio::net::TcpStream;

use super::house::{House, in_house};
use crate::options::ListenerInfo;
use crate::process::{LogControl, Process};
use crate::recent_lines::RecentLines;

/// A process with a memory of a thousand bytes.
fn process(log: impl Fn(LogLevel) + Send + Sync + 'static, gates: Vec<Gate>) -> Arc<Process> {
    let recent = RecentLines::new(100, 10_000);
    ["one", "two \u{1b}[1m", "three"].iter().for_each(|line| recent.push(line));
    Arc::new(Process::new(1000, LogControl { set_level: Box::new(log), recent }, gates))
}

async fn check_limits(house: &House, expected: (u64, u64)) {
    let nodes = house.get("/api/nodes").await.json();
    let limits = [&nodes[0]["mem_limit"], &nodes[0]["disk_free_limit"]].map(|limit| limit.as_u64().unwrap());
    assert_eq!(limits, [expected.0, expected.1]);
}

#[test]
fn limits_are_in_force_at_once() {
    in_house(async |house| {
        house.service.set_process(process(|_| (), vec![]));
        check_limits(house, (u64::MAX, 50_000_000)).await;
        house.check("PUT /api/warren/memory-limit", r#"{"relative":0.5}"#, 204, "").await;
        house.check("PUT /api/warren/disk-free-limit", r#"{"absolute":"60MB"}"#, 204, "").await;
        check_limits(house, (500, 60_000_000)).await;
        let alarms = house.get("/api/health/checks/alarms").await;
        assert_eq!((alarms.status, &alarms.json()["alarms"][0]["resource"]), (503, &"memory".into()));
        house.check("PUT /api/warren/memory-limit", r#"{"absolute":9000000000000000}"#, 204, "").await;
        house.check("GET /api/health/checks/alarms", "", 200, r#"{"status":"ok"}"#).await;
        house.check("PUT /api/warren/disk-free-limit", r#"{"absolute":"9000PB"}"#, 204, "").await;
        assert_eq!(house.get("/api/health/checks/alarms").await.json()["alarms"][0]["resource"], "disk");
        house.check("PUT /api/warren/disk-free-limit", r#"{"relative":0}"#, 204, "").await;
        house.check("GET /api/health/checks/alarms", "", 200, r#"{"status":"ok"}"#).await;
        let reason = "'relative' must be a fraction between 0 and 1, not 2";
        house.check_refused("PUT /api/warren/memory-limit", r#"{"relative":2}"#, 400, "bad_request", reason).await;
        check_limits(house, (9_000_000_000_000_000, 0)).await;
    });
}

#[test]
fn the_last_lines_of_the_log_are_there_for_administrators() {
    in_house(async |house| {
        assert_eq!(house.get("/api/log").await.status, 503);
        house.service.set_process(process(|_| (), vec![]));
        house
            .check("GET /api/log", "", 200, r#"{"lines":["one","two \u001b[1m","three"],"node":"rabbit@localhost"}"#)
            .await;
        house.check("GET /api/log?lines=1", "", 200, r#"{"lines":["three"],"node":"rabbit@localhost"}"#).await;
        for wrong in ["0", "x", "100001"] {
            assert_eq!(house.get(&format!("/api/log?lines={wrong}")).await.status, 400);
        }
    });
}

#[test]
fn lines_of_the_log_are_objects_where_that_is_asked_for() {
    in_house(async |house| {
        let recent = RecentLines::new(100, 10_000);
        recent.push("2026-11-27T07:05:13.123456Z  INFO broker: started port=5672");
        recent.push("2026-11-27T07:05:14.000000Z  WARN broker: slow disk");
        recent.push("of another kind");
        let log = LogControl { set_level: Box::new(|_| ()), recent };
        house.service.set_process(Arc::new(Process::new(1000, log, vec![])));
        let lines = async |query: &str| house.get(&format!("/api/log?format=json&{query}")).await.json();
        let all = lines("").await;
        let second = serde_json::json!({"id": 2, "time": "2026-11-27T07:05:14.000000Z", "level": "warning", "text": "broker: slow disk"});
        assert_eq!(
            (&all["lines"][1], &all["lines"][2], &all["last_id"]),
            (&second, &serde_json::json!({"id": 3, "text": "of another kind"}), &3.into())
        );
        for (query, ids) in
            [("after=1", vec![2, 3]), ("level=warning&search=DISK", vec![2]), ("lines=1", vec![3]), ("after=3", vec![])]
        {
            let found = lines(query).await;
            let found: Vec<u64> =
                found["lines"].as_array().unwrap().iter().map(|line| line["id"].as_u64().unwrap()).collect();
            assert_eq!(found, ids, "{query}");
        }
        let text = house.get("/api/log?level=warning").await.json();
        assert_eq!(
            text["lines"],
            serde_json::json!(["2026-11-27T07:05:14.000000Z  WARN broker: slow disk", "of another kind"])
        );
        assert_eq!(house.get("/api/log?format=xml").await.status, 400);
    });
}

#[test]
fn the_log_has_rabbitmqs_levels() {
    in_house(async |house| {
        let last = Arc::new(AtomicU64::new(99));
        let set = last.clone();
        house.service.set_process(process(move |level| set.store(level as u64, Ordering::Relaxed), vec![]));
        for level in LogLevel::ALL {
            let body = format!(r#"{{"level":"{}"}}"#, level.name());
            house.check("PUT /api/warren/log-level", &body, 204, "").await;
            assert_eq!(last.load(Ordering::Relaxed), level as u64);
        }
        let reason = "level loud is not supported. Try one of debug, info, warning, error, critical, none";
        house.check_refused("PUT /api/warren/log-level", r#"{"level":"loud"}"#, 400, "bad_request", reason).await;
        house.check_refused("PUT /api/warren/log-level", "", 400, "bad_request", "[{key_missing,level}]").await;
        assert_eq!(last.load(Ordering::Relaxed), LogLevel::None as u64);
    });
}

#[test]
fn checks_of_listeners_fail_while_they_are_suspended() {
    in_house(async |house| {
        let mut listener = Listener::bind(([127, 0, 0, 1], 0).into(), SocketOptions::default()).unwrap();
        let (address, gate) = (listener.local_addr().unwrap(), listener.gate().unwrap());
        house.service.set_process(process(|_| (), vec![gate.clone()]));
        let info = |protocol: &str, port, gate| ListenerInfo {
            protocol: protocol.to_owned(),
            ip: address.ip(),
            port,
            tls: None,
            gate,
        };
        house.service.set_listeners(vec![info("amqp", address.port(), Some(gate)), info("http", 1, None)]);
        let of_port = format!("/api/health/checks/port-listener/{}", address.port());
        let checks =
            [&of_port, "/api/health/checks/protocol-listener/amqp", "/api/health/checks/ready-to-serve-clients"];
        for (change, status) in [("suspend", 503), ("suspend", 503), ("resume", 200), ("resume", 200)] {
            house.check(&format!("POST /api/warren/listeners/{change}"), "", 204, "").await;
            assert_eq!(TcpStream::connect(address).await.is_ok(), status == 200);
            for check in checks {
                assert_eq!(house.get(check).await.status, status, "{check}");
            }
            // The broker reports its listeners as RabbitMQ does, and that the node is in no maintenance.
            assert_eq!(house.get("/api/overview").await.json()["listeners"].as_array().unwrap().len(), 2);
            assert_eq!(house.get("/api/health/checks/is-in-service").await.status, 200);
        }
    });
}

#[test]
fn it_is_for_administrators_and_not_everywhere() {
    in_house(async |house| {
        for (method, path) in [
            ("PUT", "/api/warren/memory-limit"),
            ("PUT", "/api/warren/disk-free-limit"),
            ("PUT", "/api/warren/log-level"),
            ("POST", "/api/warren/listeners/suspend"),
            ("POST", "/api/warren/listeners/resume"),
        ] {
            let body = r#"{"absolute":1,"level":"none"}"#;
            assert_eq!(house.ask(method, path, "mona", body).await.status, 401, "{path}");
            assert_eq!(house.ask(method, path, "guest", body).await.status, 503, "{path}");
        }
    });
}
