//! A node on which no broker runs: what it answers, and that a broker would answer the same of the node.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use cluster::control::ControlError;
use cluster::wire::NodeName;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, StatusCode};
use observe::prometheus::WithoutBroker;
use serde_json::{Value, json};

use super::fake_control::FakeControl;
use super::house::in_house_with;
use super::lines::alone;
use super::metrics::{scrape, scrape_without_broker};
use crate::local::{Doorkeeper, LocalSite};
use crate::options::{ListenerInfo, Options};
use crate::process::{LogControl, Process};
use crate::recent_lines::RecentLines;

/// The second one of three nodes, of which the first one leads.
struct Follower {
    control: Arc<FakeControl>,
    node: WithoutBroker,
    protocol: &'static str,
}

impl Follower {
    fn new() -> Follower {
        let control = Arc::new(FakeControl::of(&["rabbit@a", "rabbit@b", "rabbit@c"]));
        control.show(|view| view.own = NodeName::new("rabbit@b").unwrap());
        let options = Options { node: "rabbit@b".to_owned(), data_dir: "/".into(), ..Options::default() };
        let node = WithoutBroker {
            node: options.observed(Some(control.clone())),
            cluster_name: "burrow".to_owned(),
            memory_limit_len: u64::MAX,
            disk_free_limit_len: 0,
            started_at: Instant::now(),
        };
        Follower { control, node, protocol: "amqp" }
    }

    fn site(&self, is_operators: bool) -> Arc<LocalSite> {
        let listener = ListenerInfo {
            protocol: self.protocol.to_owned(),
            ip: [127, 0, 0, 1].into(),
            port: 5672,
            tls: None,
            gate: None,
        };
        let recent = RecentLines::new(9, 99);
        recent.push("a line");
        let log = LogControl { set_level: Box::new(|_| ()), recent };
        let process = Arc::new(Process::new(1000, log, Vec::new()));
        let options = Arc::new(Options { node: "rabbit@b".to_owned(), ..Options::default() });
        LocalSite::new(options, self.node.clone(), self.control.clone(), vec![listener], process, is_operators)
    }

    /// The status and body of an answer; none: only a broker has one.
    async fn ask(&self, is_operators: bool, request: &str, body: &str, refusal: Option<&str>) -> Option<(u16, Value)> {
        self.ask_at_door(is_operators, request, body, refusal, None).await
    }

    /// The same where others than the operator are let in by a doorkeeper.
    async fn ask_at_door(
        &self,
        is_operators: bool,
        request: &str,
        body: &str,
        refusal: Option<&str>,
        doorkeeper: Option<&Doorkeeper>,
    ) -> Option<(u16, Value)> {
        let (method, path) = request.split_once(' ').unwrap();
        let request =
            Request::builder().method(method).uri(path).body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        let (parts, body) = request.into_parts();
        let response = self.site(is_operators).answer(&parts, body, refusal, doorkeeper).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
        Some((parts.status.as_u16(), body))
    }

    async fn check(&self, check: &str, expected: Result<(), &str>) {
        let (status, body) = self.ask(false, &format!("GET /api/health/checks/{check}"), "", None).await.unwrap();
        let found = if status == 200 { Ok(()) } else { Err(body["reason"].as_str().unwrap()) };
        assert_eq!(found, expected, "{check}");
    }
}

fn run(test: impl AsyncFnOnce(Follower)) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test(Follower::new()));
}

#[test]
fn health_checks_of_the_node_need_no_broker() {
    run(async |mut follower| {
        let all = ["is-in-service", "ready-to-serve-clients", "node-is-quorum-critical", "local-alarms"];
        for check in all {
            follower.check(check, Ok(())).await;
        }
        follower.control.show(|view| view.members[2].is_running = false);
        follower.check("is-in-service", Ok(())).await;
        let critical =
            "There are queues that would lose their quorum if the target node is shut down: all of the cluster's";
        follower.check("node-is-quorum-critical", Err(critical)).await;

        follower.control.show(|view| view.members[0].is_draining = true);
        follower.check("is-in-service", Ok(())).await;
        follower.control.show(|view| view.members[1].is_draining = true);
        for check in ["is-in-service", "ready-to-serve-clients"] {
            follower.check(check, Err("this node is in maintenance mode")).await;
        }
        follower.control.show(|view| (view.members[1].is_draining, view.leader) = (false, None));
        follower.check("ready-to-serve-clients", Err("it is not known which node leads the cluster")).await;
        follower.control.show(|view| (view.cluster, view.waiting) = (None, Some("it waits for rabbit@c".to_owned())));
        for check in ["is-in-service", "node-is-quorum-critical"] {
            follower.check(check, Err("it waits for rabbit@c")).await;
        }

        follower.node.disk_free_limit_len = u64::MAX;
        follower.check("local-alarms", Err("There are alarms in effect in the cluster")).await;
    });
}

#[test]
fn a_node_that_does_not_listen_for_clients_is_not_ready() {
    run(async |mut follower| {
        follower.protocol = "http";
        follower.check("ready-to-serve-clients", Err("no protocol listeners")).await;
        follower.check("is-in-service", Ok(())).await;
    });
}

#[test]
fn where_no_client_is_served_every_check_says_why() {
    run(async |follower| {
        let failed = json!({"status": "failed", "reason": "so it is"});
        for check in ["is-in-service", "alarms", "protocol-listener/amqp", "node-is-quorum-critical"] {
            let request = format!("GET /api/health/checks/{check}");
            let answer = follower.ask(false, &request, "", Some("so it is")).await;
            assert_eq!(answer, Some((503, failed.clone())), "{check}");
        }
        assert_eq!(follower.ask(false, "GET /api/overview", "", Some("so it is")).await, None);
    });
}

#[test]
fn all_else_is_the_brokers() {
    run(async |follower| {
        let (network, operator) = (follower.site(false), follower.site(true));
        for (path, is_for_network, is_for_operator) in [
            ("/api/health/checks/is-in-service", true, true),
            ("/api/health/checks/alarms", false, false),
            ("/api/health/checks/is-in-service/x", false, false),
            ("/api/warren/cluster", false, true),
            ("/api/warren/cluster/nodes/rabbit%40c", false, true),
            ("/api/warren/data-loss", false, false),
            ("/api/overview", false, false),
            ("/", false, false),
        ] {
            assert_eq!(network.has_answer(&Method::GET, path), is_for_network, "{path}");
            assert_eq!(operator.has_answer(&Method::GET, path), is_for_operator, "{path}");
        }
        assert!(!network.has_answer(&Method::PUT, "/api/health/checks/is-in-service"));
    });
}

#[test]
fn the_operator_sees_the_cluster_and_orders_it() {
    run(async |follower| {
        let ask =
            async |request: &str, body: &str| follower.ask(true, request, body, Some("a minority")).await.unwrap();
        let (status, shown) = ask("GET /api/warren/cluster", "").await;
        assert_eq!((status, &shown["node"], &shown["name"]), (200, &json!("rabbit@b"), &json!("burrow")));
        for (request, body, status) in [
            ("POST /api/warren/cluster/drain", "", 204),
            ("POST /api/warren/cluster/revive", r#"{"node":"rabbit@c"}"#, 204),
            ("POST /api/warren/cluster/stop_app", "{}", 204),
            ("POST /api/warren/cluster/start_app", r#"{"node":"rabbit@c"}"#, 204),
            ("POST /api/warren/cluster/join", r#"{"node":"rabbit@a","force":true}"#, 204),
            ("POST /api/warren/cluster/transfer", "", 200),
            ("DELETE /api/warren/cluster/nodes/rabbit%40c", "", 204),
            ("POST /api/warren/cluster/reset", r#"{"nod":"rabbit@c"}"#, 400),
            ("PUT /api/warren/cluster/reset", "", 405),
        ] {
            assert_eq!(ask(request, body).await.0, status, "{request} {body}");
        }
        let expected = [
            "drain",
            "revive rabbit@c",
            "stop_app",
            "start_app rabbit@c",
            "join rabbit@a by force",
            "transfer to rabbit@c",
            "forget rabbit@c",
        ];
        assert_eq!(follower.control.orders(), expected);
        let error = ControlError::NoMajority { reachable: 1, of: 3 };
        follower.control.refuse(Some(error.clone()));
        let (status, problem) = ask("POST /api/warren/cluster/reset", "").await;
        assert_eq!((status, problem["reason"].as_str().unwrap()), (503, &*error.to_string()));
    });
}

/// The type and the meaning of each name, and that none is there twice.
fn heads(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut heads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        let mut words = line.splitn(4, ' ').skip(1);
        let (kind, name, value) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        heads.entry(name.to_owned()).or_default().push(format!("{kind} {value}"));
    }
    for (name, lines) in &heads {
        assert_eq!(lines.len(), 2, "{name}: {lines:?}");
    }
    heads
}

#[test]
fn metrics_mean_the_same_with_and_without_a_broker() {
    in_house_with(Options { node: "rabbit@a".to_owned(), ..Options::default() }, async |house| {
        let follower = Follower::new();
        for is_clustered in [false, true] {
            if is_clustered {
                house.service.set_control(follower.control.clone());
            }
            for path in [
                "/metrics",
                "/metrics/per-object",
                "/metrics/detailed?family=node_metrics",
                "/metrics/memory-breakdown",
            ] {
                let of_broker = heads(&scrape(house, path).await);
                if !is_clustered {
                    continue;
                }
                let without = scrape_without_broker(follower.node.clone(), path).await;
                for (name, lines) in heads(&without) {
                    assert_eq!(of_broker.get(&name), Some(&lines), "{path}: {name}");
                }
            }
        }
    });
}

#[test]
fn a_follower_tells_what_is_its_own() {
    run(async |follower| {
        follower.control.measure(|metrics| (metrics.last_index, metrics.unreachable_peers) = (120, 1));
        let text = scrape_without_broker(follower.node.clone(), "/metrics").await;
        for line in [
            "rabbitmq_identity_info{rabbitmq_node=\"rabbit@b\",rabbitmq_cluster=\"burrow\",rabbitmq_cluster_permanent_id=\"\",\
             rabbitmq_endpoint=\"aggregated\"} 1",
            "rabbitmq_raft_last_index 120",
            "rabbitmq_unreachable_cluster_peers_count 1",
            "rabbitmq_alarms_free_disk_space_watermark 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
        // It may have worked for less than the kernel counts.
        assert!(text.lines().any(|line| line.starts_with("process_cpu_seconds_total ")), "{text}");
        for name in ["rabbitmq_process_resident_memory_bytes ", "rabbitmq_disk_space_available_bytes "] {
            assert!(text.lines().any(|line| line.starts_with(name) && !line.ends_with(" 0")), "{name}: {text}");
        }
        for name in ["rabbitmq_queues", "rabbitmq_connections", "rabbitmq_global_", "rabbitmq_auth_", "warren_journal"]
        {
            assert!(!text.contains(name), "{name}: {text}");
        }
    });
}

#[test]
fn what_goes_on_inside_is_for_the_operator_and_whom_the_leader_lets_in() {
    run(async |follower| {
        let log = Some((200, json!({"node": "rabbit@b", "lines": ["a line"]})));
        assert_eq!(follower.ask(true, "GET /api/log", "", None).await, log);
        // In a minority, too.
        assert_eq!(follower.ask(true, "GET /api/log", "", Some("alone")).await, log);
        assert_eq!(follower.ask(false, "GET /api/log", "", None).await, None);
        for (said, expected) in [(Ok(()), 200), (Err(401), 401), (Err(403), 403), (Err(503), 503), (Err(404), 503)] {
            let said = said.map_err(|status| StatusCode::from_u16(status).unwrap());
            let doorkeeper: Doorkeeper = Arc::new(move |_| Box::pin(async move { said }));
            let asked = follower.ask_at_door(false, "GET /api/log", "", None, Some(&doorkeeper)).await;
            assert_eq!(asked.map(|(status, _)| status), Some(expected), "{said:?}");
            // What is about the broker is not here, whatever is asked.
            assert_eq!(follower.ask_at_door(false, "GET /api/queues", "", None, Some(&doorkeeper)).await, None);
        }
        let site = follower.site(false);
        assert!(
            site.looks_inside(&Method::GET, "/api/profile/cpu")
                && site.looks_inside(&Method::PUT, "/api/flight-recorder")
        );
        assert!(!site.looks_inside(&Method::PUT, "/api/log") && !site.looks_inside(&Method::GET, "/api/top"));
    });
}

/// Traces of messages are the leader's, whichever node was asked for one: so its end may be, too.
#[test]
fn a_session_is_ended_here_if_it_was_begun_here_and_else_at_the_leader() {
    let _turn = alone();
    run(async |follower| {
        let site = follower.site(false);
        let doorkeeper: Doorkeeper = Arc::new(|_| Box::pin(std::future::ready(Ok(()))));
        let ask = async |method: &str, path: &str| {
            let request = Request::builder().method(method).uri(path).header("authorization", "Basic eDp5");
            let (parts, body) = request.body(Full::new(Bytes::new())).unwrap().into_parts();
            site.answer(&parts, body, None, Some(&doorkeeper)).await.unwrap()
        };
        let is_here = |name: &str| site.looks_inside(&Method::DELETE, &format!("/api/trace/sessions/{name}"));
        assert!(!is_here("mine"));
        let begun = ask("GET", "/api/trace/calls?pattern=*&session=mine").await;
        assert_eq!(begun.status(), 200);
        assert!(is_here("mine") && !is_here("other"));
        assert!(!site.looks_inside(&Method::GET, "/api/trace/sessions/mine"));
        assert_eq!(ask("DELETE", "/api/trace/sessions/mine").await.status(), 204);
        let lines = begun.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&lines).contains("the client ended it"), "{lines:?}");
        assert!(!is_here("mine"));
        // It may have ended since it was looked for.
        let late = ask("DELETE", "/api/trace/sessions/mine").await;
        assert_eq!(late.status(), 404);
        let reason = "the node rabbit@b has no session 'mine': it has ended, or was started on another node";
        let body = late.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["reason"], reason);
        // The operator's, too, but not in a minority, where no node leads.
        let (operator, path) = (follower.site(true), "/api/trace/sessions/mine");
        assert!(
            !operator.has_answer(&Method::DELETE, path) && operator.has_answer(&Method::GET, "/api/trace/sessions")
        );
        assert_eq!(follower.ask(true, &format!("DELETE {path}"), "", Some("alone")).await.unwrap().0, 404);
    });
}
