//! The cluster over HTTP: what is shown of it, what is ordered, and that a node alone answers as ever.

use std::sync::Arc;

use broker::view::{Alarms, PeerAlarms};
use cluster::control::ControlError;
use serde_json::{Value, json};

use super::fake_control::FakeControl;
use super::house::{House, in_house_with};
use super::metrics::scrape;
use crate::options::Options;

/// Three nodes, of which the one that answers leads.
fn in_cluster(test: impl AsyncFnOnce(&House, &FakeControl)) {
    let options = Options { node: "rabbit@a".to_owned(), ..Options::default() };
    in_house_with(options, async |house| {
        let control = Arc::new(FakeControl::of(&["rabbit@a", "rabbit@b", "rabbit@c"]));
        house.service.set_control(control.clone());
        test(house, &control).await;
    });
}

fn alone(test: impl AsyncFnOnce(&House)) {
    in_house_with(Options { node: "rabbit@a".to_owned(), ..Options::default() }, test);
}

fn names(list: &Value, member: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|node| node[member].clone()).collect()
}

#[test]
fn a_node_alone_says_so() {
    alone(async |house| {
        let shown = house.get("/api/warren/cluster").await.json();
        assert_eq!(
            (&shown["cluster"], &shown["leader"], &shown["has_majority"]),
            (&json!(null), &json!("rabbit@a"), &json!(true))
        );
        assert_eq!(names(&shown["nodes"], "name"), ["rabbit@a"]);
        let reason = "this node is alone: its configuration has no cluster keys, such as warren.cluster.secret";
        for request in ["POST /api/warren/cluster/drain", "DELETE /api/warren/cluster/nodes/rabbit@b"] {
            house.check_refused(request, "", 400, "bad_request", reason).await;
        }
        let nodes = house.get("/api/nodes").await.json();
        assert_eq!(names(&nodes, "name"), ["rabbit@a"]);
        assert_eq!((&nodes[0]["cluster_links"], &nodes[0]["partitions"]), (&json!([]), &json!([])));
        assert!(!scrape(house, "/metrics").await.contains("raft_term"));
    });
}

#[test]
fn the_cluster_is_shown_with_all_its_nodes() {
    in_cluster(async |house, control| {
        control.show(|view| view.members[2].is_running = false);
        let shown = house.get("/api/warren/cluster").await.json();
        assert_eq!(shown["cluster"], "00000000000000000000000000000007");
        assert_eq!(names(&shown["nodes"], "role"), ["leader", "follower", "follower"]);
        assert_eq!(names(&shown["nodes"], "running"), [true, true, false]);
        assert_eq!(shown["nodes"][1]["log"]["committed"], 118);
        assert_eq!(house.ask("GET", "/api/warren/cluster", "manny", "").await.status, 401);

        let nodes = house.get("/api/nodes").await.json();
        assert_eq!(names(&nodes, "name"), ["rabbit@a", "rabbit@b", "rabbit@c"]);
        assert_eq!(names(&nodes, "running"), [true, true, false]);
        assert_eq!(names(&nodes[0]["cluster_links"], "name"), ["rabbit@b"]);
        assert!(nodes[0].get("mem_used").is_some() && nodes[1].get("mem_used").is_none());
        let peer = house.get("/api/nodes/rabbit@c").await.json();
        assert_eq!((&peer["name"], &peer["running"]), (&json!("rabbit@c"), &json!(false)));
        assert_eq!(house.get("/api/nodes/rabbit@d").await.status, 404);
        for path in ["memory", "memory/relative"] {
            assert_eq!(
                house.get(&format!("/api/nodes/rabbit@b/{path}")).await.json(),
                json!({"memory": "not_available"})
            );
            assert!(house.get(&format!("/api/nodes/rabbit@a/{path}")).await.json()["memory"].is_object());
            assert_eq!(house.get(&format!("/api/nodes/rabbit@d/{path}")).await.status, 404);
        }
        house.check("DELETE /api/reset/rabbit@c", "", 204, "").await;
    });
}

#[test]
fn orders_reach_the_cluster() {
    in_cluster(async |house, control| {
        house.check("POST /api/warren/cluster/join", r#"{"node":"rabbit@z","force":true}"#, 204, "").await;
        house.check("DELETE /api/warren/cluster/nodes/rabbit@c", "", 204, "").await;
        house.check("POST /api/warren/cluster/reset", "{}", 204, "").await;
        house.check("POST /api/warren/cluster/drain", "", 204, "").await;
        house.check("POST /api/warren/cluster/revive", "", 204, "").await;
        house.check("POST /api/warren/cluster/reset", r#"{"node":"rabbit@b","force":true}"#, 204, "").await;
        house.check("POST /api/warren/cluster/drain", r#"{"node":"rabbit@b"}"#, 204, "").await;
        house.check("POST /api/warren/cluster/revive", r#"{"node":"rabbit@b"}"#, 204, "").await;
        house
            .check("POST /api/warren/cluster/transfer", r#"{"node":"rabbit@b"}"#, 200, r#"{"leader":"rabbit@b"}"#)
            .await;
        let expected = [
            "join rabbit@z by force",
            "forget rabbit@c",
            "reset",
            "drain",
            "revive",
            "reset rabbit@b by force",
            "drain rabbit@b",
            "revive rabbit@b",
            "transfer to rabbit@b",
        ];
        assert_eq!(control.orders(), expected);
        assert_eq!(house.ask("POST", "/api/warren/cluster/drain", "mona", "").await.status, 401);
        assert_eq!(house.ask("POST", "/api/warren/cluster/join", "guest", r#"{"nod":"x"}"#).await.status, 400);
        assert_eq!(control.orders().len(), expected.len());
    });
}

#[test]
fn what_cannot_be_done_is_said_in_a_sentence() {
    in_cluster(async |house, control| {
        for (error, status, name) in [
            (ControlError::UnknownNode("rabbit@d".to_owned()), 404, "not_found"),
            (ControlError::StillRunning("rabbit@b".to_owned()), 400, "bad_request"),
            (ControlError::NoMajority { reachable: 1, of: 3 }, 503, "service_unavailable"),
        ] {
            control.refuse(Some(error.clone()));
            let request = "DELETE /api/warren/cluster/nodes/rabbit@b";
            house.check_refused(request, "", status, name, &error.to_string()).await;
        }
    });
}

#[test]
fn health_tells_a_minority_and_maintenance() {
    in_cluster(async |house, control| {
        let status = async |check: &str| house.get(&format!("/api/health/checks/{check}")).await.status;
        assert_eq!(status("is-in-service").await, 200);
        assert_eq!(status("node-is-quorum-critical").await, 200);
        control.show(|view| view.members[2].is_running = false);
        assert_eq!(status("node-is-quorum-critical").await, 503);
        control.show(|view| view.members[0].is_draining = true);
        assert_eq!(status("is-in-service").await, 503);
        control.show(|view| {
            view.members[1].is_running = false;
            (view.has_majority, view.leader) = (false, None);
        });
        let reply = house.get("/api/health/checks/ready-to-serve-clients").await;
        assert_eq!(reply.status, 503);
        assert_eq!(reply.json()["reason"], "this node is in a minority: it can reach 1 of 3 nodes, itself included");
        assert_eq!(status("quorum-queues-without-elected-leaders/all-vhosts").await, 503);
        let nodes = house.get("/api/nodes").await.json();
        assert_eq!(nodes[0]["partitions"], json!(["rabbit@b", "rabbit@c"]));
    });
}

#[test]
fn alarms_of_other_nodes_are_told() {
    in_cluster(async |house, control| {
        control.show(|view| view.members[2].is_running = false);
        let alarms = Alarms { is_memory_low: false, is_disk_low: true };
        house.service.broker.set_peer_alarms(vec![PeerAlarms { node: "rabbit@b".to_owned(), alarms }]);
        let nodes = house.get("/api/nodes").await.json();
        assert_eq!(names(&nodes, "disk_free_alarm"), [json!(false), json!(true), Value::Null]);
        assert_eq!(names(&nodes, "mem_alarm"), [json!(false), json!(false), Value::Null]);
        let all = house.get("/api/health/checks/alarms").await;
        assert_eq!((all.status, &all.json()["alarms"][0]["node"]), (503, &json!("rabbit@b")));
        assert_eq!(house.get("/api/health/checks/local-alarms").await.status, 200);
    });
}

#[test]
fn queues_of_all_types_are_on_all_nodes() {
    in_cluster(async |house, control| {
        for (name, kind) in [("q", "quorum"), ("c", "classic")] {
            let body = json!({"durable": true, "arguments": {"x-queue-type": kind}}).to_string();
            assert_eq!(house.ask("PUT", &format!("/api/queues/shop/{name}"), "guest", &body).await.status, 201);
        }
        control.show(|view| view.members[1].is_running = false);
        for name in ["q", "c"] {
            let queue = house.get(&format!("/api/queues/shop/{name}")).await.json();
            assert_eq!(queue["leader"], "rabbit@a");
            assert_eq!(queue["members"], json!(["rabbit@a", "rabbit@b", "rabbit@c"]));
            assert_eq!(queue["online"], json!(["rabbit@a", "rabbit@c"]));
        }
        let status = house.get("/api/queues/quorum/shop/q/status").await.json();
        assert_eq!(names(&status, "Raft State"), ["leader", "noproc", "follower"]);
        assert_eq!(names(&status, "Term"), [3, 0, 3]);
        let body = r#"{"node":"rabbit@b"}"#;
        house.check("POST /api/queues/quorum/shop/q/replicas/add", body, 204, "").await;
        let reply = house.ask("DELETE", "/api/queues/quorum/shop/q/replicas/delete", "guest", body).await;
        assert_eq!(reply.status, 400);
        assert!(reply.json()["reason"].as_str().unwrap().contains("on all nodes"));
    });
}

#[test]
fn metrics_have_rabbitmqs_names_and_ours() {
    in_cluster(async |house, control| {
        control.measure(|metrics| {
            (metrics.commit_index, metrics.unreachable_peers) = (118, 1);
            metrics.members.push(cluster::control::MemberMetrics {
                name: cluster::wire::NodeName::new("rabbit@b").unwrap(),
                lag_bytes: Some(4096),
                round_trip_s: None,
            });
        });
        let text = scrape(house, "/metrics").await;
        for line in [
            "rabbitmq_raft_term 3",
            "rabbitmq_raft_commit_index 118",
            "rabbitmq_unreachable_cluster_peers_count 1",
            "warren_cluster_is_leading 1",
            "warren_cluster_member_lag_bytes{peer=\"rabbit@b\"} 4096",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing");
        }
    });
}
