//! Orders to a cluster, and what is shown of it.

use serde_json::json;

use super::{bare, drive};
use crate::reply::Reply;

fn answer(status: u16, body: &serde_json::Value) -> Reply {
    Reply { status, body: body.to_string().into_bytes() }
}

#[track_caller]
fn check_order(line: &[&str], asked: &str) {
    let driven = drive(line, [bare(204)]);
    assert_eq!(driven.did, [asked]);
    assert!(driven.result.is_ok(), "{:?}", driven.result.err());
}

#[test]
fn orders_are_asked_of_the_server() {
    check_order(&["join_cluster", "rabbit@a"], r#"POST warren/cluster/join {"force":false,"node":"rabbit@a"}"#);
    check_order(
        &["join_cluster", "--force", "rabbit@a"],
        r#"POST warren/cluster/join {"force":true,"node":"rabbit@a"}"#,
    );
    check_order(&["forget_cluster_node", "rabbit@c"], "DELETE warren/cluster/nodes/rabbit%40c");
    check_order(&["reset"], r#"POST warren/cluster/reset {"force":false}"#);
    check_order(&["force_reset"], r#"POST warren/cluster/reset {"force":true}"#);
    check_order(&["drain"], "POST warren/cluster/drain {}");
    check_order(&["revive"], "POST warren/cluster/revive {}");
    check_order(&["stop_app"], "POST warren/cluster/stop_app {}");
    check_order(&["start_app", "rabbit@b"], r#"POST warren/cluster/start_app {"node":"rabbit@b"}"#);
    check_order(&["reset", "rabbit@b"], r#"POST warren/cluster/reset {"force":false,"node":"rabbit@b"}"#);
    check_order(&["force_reset", "rabbit@b"], r#"POST warren/cluster/reset {"force":true,"node":"rabbit@b"}"#);
    check_order(&["drain", "rabbit@b"], r#"POST warren/cluster/drain {"node":"rabbit@b"}"#);
    check_order(&["revive", "rabbit@b"], r#"POST warren/cluster/revive {"node":"rabbit@b"}"#);
}

#[test]
fn a_directory_is_changed_where_what_may_be_lost_is_accepted() {
    for (command, did) in [
        ("force_boot", "ForceBoot /d"),
        ("force_standalone_khepri_boot", "ForceBoot /d"),
        ("accept_copy", "AcceptCopy /d"),
    ] {
        let asked = drive(&[command, "--data-dir", "/d"], []);
        assert_eq!(asked.did, Vec::<String>::new());
        let (status, text) = asked.failure();
        assert_eq!(status, 69);
        assert!(text.starts_with("nothing was changed in /d: ") && text.ends_with(", add --accept-loss"), "{text}");
        let done = drive(&[command, "--data-dir", "/d", "--accept-loss"], []);
        assert_eq!((done.did.clone(), done.text()), (vec![did.to_owned()], "done\n".to_owned()));
        assert_eq!(drive(&[command, "--data-dir", "/none", "--accept-loss"], []).failure(), (65, "it is none"));
        assert_eq!(drive(&[command, "--url", "http://x"], []).failure().0, 64);
    }
}

#[test]
fn who_leads_is_told() {
    let driven = drive(&["transfer_leadership", "rabbit@b"], [answer(200, &json!({"leader": "rabbit@b"}))]);
    assert_eq!(driven.did, [r#"POST warren/cluster/transfer {"node":"rabbit@b"}"#]);
    assert!(driven.result.is_ok());
    let driven = drive(&["transfer_leadership"], [answer(200, &json!({"leader": "rabbit@b"}))]);
    assert_eq!(driven.did, ["POST warren/cluster/transfer {}"]);
}

/// As RabbitMQ's does, so that scripts of upgrades continue.
#[test]
fn a_node_alone_is_drained_of_its_clients() {
    let alone =
        || answer(400, &json!({"error": "x", "reason": "this node is alone: its configuration has no cluster keys"}));
    let ok = || answer(204, &json!(null));
    let listed = answer(200, &json!([{"name": "c1", "vhost": "/"}]));
    let driven = drive(&["drain"], [alone(), ok(), listed, ok()]);
    let expected = [
        "POST warren/cluster/drain {}",
        "POST warren/listeners/suspend {}",
        "GET connections",
        "DELETE connections/c1 because the node is in maintenance",
    ];
    assert_eq!(driven.did, expected);
    assert!(driven.result.is_ok());
    let driven = drive(&["revive"], [alone(), ok()]);
    assert_eq!(driven.did, ["POST warren/cluster/revive {}", "POST warren/listeners/resume {}"]);
    // Another node that is named is no node alone.
    assert_eq!(drive(&["drain", "rabbit@b"], [alone()]).failure().0, 69);
}

/// As rabbitmq-queues has it.
#[test]
fn a_queue_may_be_named_before_the_node() {
    let line = ["transfer_leadership", "-p", "v", "orders", "rabbit@b"];
    let [quorum, classic] = ["quorum", "classic"].map(|kind| answer(200, &json!({"name": "orders", "type": kind})));
    let driven = drive(&line, [quorum, answer(200, &json!({"leader": "rabbit@b"}))]);
    assert_eq!(driven.did, ["GET queues/v/orders", r#"POST warren/cluster/transfer {"node":"rabbit@b"}"#]);
    assert!(driven.result.is_ok());
    let refused = drive(&line, [classic]);
    assert_eq!(refused.failure(), (69, "cannot transfer leadership of a queue that is not a quorum queue"));
    let missing = drive(&line, [answer(404, &json!({"error": "Object Not Found", "reason": "Not Found"}))]);
    assert_eq!(missing.failure(), (65, "no queue 'orders' in virtual host 'v'"));
}

#[test]
fn refusals_are_in_the_servers_words() {
    let reason = "rabbit@b runs: stop it first, or reset it there";
    let refusal = |status| answer(status, &json!({"error": "x", "reason": reason}));
    assert_eq!(drive(&["forget_cluster_node", "rabbit@b"], [refusal(400)]).failure(), (69, reason));
    assert_eq!(drive(&["forget_cluster_node", "rabbit@b"], [refusal(404)]).failure(), (65, reason));
    let of_other = answer(404, &json!({"error": "Object Not Found", "reason": "Not Found"}));
    assert!(drive(&["drain"], [of_other]).failure().1.contains("Warren's own"));
}

#[test]
fn a_node_that_serves_no_clients_shows_the_cluster_that_it_knows() {
    let refusal = answer(503, &json!({"error": "service_unavailable", "reason": "this node is in a minority"}));
    let node = |name: &str, is_running: bool| json!({"name": name, "running": is_running, "draining": !is_running, "version": "1.2.3"});
    let known = json!({
        "name": "burrow", "node": "rabbit@b", "leader": null, "has_majority": false, "waiting": null,
        "nodes": [node("rabbit@a", false), node("rabbit@b", true), node("rabbit@c", false)],
    });
    let driven = drive(&["cluster_status"], [refusal.clone(), answer(200, &known)]);
    assert_eq!(driven.did, ["GET overview", "GET warren/cluster"]);
    let text = driven.text();
    for line in [
        "Cluster name: burrow",
        "Leader: none is known",
        "Majority: it reaches none",
        "Node rabbit@b cannot communicate with rabbit@a, rabbit@c",
        "Node: rabbit@a, status: marked for maintenance",
        "rabbit@b: Warren 1.2.3",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    // What another server refuses is its own.
    assert!(drive(&["cluster_status"], [refusal, bare(404)]).failure().1.contains("this node is in a minority"));
}

#[test]
fn a_node_runs_in_maintenance_and_not_in_a_minority() {
    let failed = |reason: &str| answer(503, &json!({"status": "failed", "reason": reason}));
    assert!(drive(&["check_running"], [failed("this node is in maintenance mode")]).result.is_ok());
    let minority = "this node is in a minority: it can reach 1 of 3 nodes, itself included";
    assert!(drive(&["check_running"], [failed(minority)]).failure().1.contains(minority));
}

#[test]
fn there_is_nothing_to_spread_where_one_node_leads_all_queues() {
    let nodes = answer(200, &json!([{"name": "rabbit@a"}, {"name": "rabbit@b"}]));
    let driven = drive(&["rebalance", "quorum"], [nodes, answer(200, &json!({"nodes": []}))]);
    assert_eq!(driven.did, ["GET nodes", "GET warren/cluster"]);
    assert!(driven.result.is_ok());
}

#[test]
fn members_are_listed() {
    let node = |name: &str, role: &str, log: serde_json::Value| {
        json!({
            "name": name, "member": "1", "role": role, "running": true, "draining": false, "address": null, "version": "1", "log": log,
        })
    };
    let log = json!({"committed": 5, "written": 6, "lag_entries": 0, "lag_bytes": 0, "unacknowledged_ms": null});
    let cluster = json!({"nodes": [node("rabbit@a", "leader", log), node("rabbit@b", "follower", json!(null))]});
    for line in [&["cluster_members"][..], &["quorum_status"]] {
        let driven = drive(line, [answer(200, &cluster)]);
        assert_eq!(driven.did, ["GET warren/cluster"]);
        let text = driven.text();
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines[1].starts_with("rabbit@a\t1\tleader\ttrue\tfalse\t") && lines[1].contains("\t5\t6\t0\t0"),
            "{text}"
        );
        assert!(lines[2].starts_with("rabbit@b\t1\tfollower"), "{text}");
    }
}
