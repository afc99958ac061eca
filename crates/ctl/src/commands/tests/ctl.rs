//! rabbitmqctl's commands: the requests that each makes.

use super::{bare, check, check_one, drive, recorded};
use crate::reply::Reply;

#[test]
fn users() {
    let add = |line: &[&str], body: &str| {
        check(line, &[recorded("not_found"), bare(201)], &["GET users/bob", &format!("PUT users/bob {body}")]);
    };
    add(&["add_user", "bob", "p w"], r#"{"password":"p w","tags":""}"#);
    add(&["add_user", "bob", "h", "--pre-hashed-password"], r#"{"password_hash":"h","tags":""}"#);
    check(
        &["add_user", "bob"],
        &[recorded("not_found"), bare(201)],
        &["read a password", "GET users/bob", r#"PUT users/bob {"password":"{\"a line\": 1}","tags":""}"#],
    );
    check_one(&["delete_user", "a/b c"], "DELETE users/a%2Fb%20c");
    check(&["delete_user", "gone"], &[bare(404)], &["DELETE users/gone"]);
    check(
        &["change_password", "alice", "new"],
        &[recorded("user"), bare(204)],
        &["GET users/alice", r#"PUT users/alice {"password":"new","tags":"monitoring"}"#],
    );
    let hash = serde_json::from_slice::<serde_json::Value>(&recorded("user").body).unwrap()["password_hash"].clone();
    let kept = format!(r#""hashing_algorithm":"rabbit_password_hashing_sha256","password_hash":{hash}"#);
    check(
        &["set_user_tags", "alice", "administrator", "x"],
        &[recorded("user"), bare(204)],
        &["GET users/alice", &format!(r#"PUT users/alice {{{kept},"tags":"administrator,x"}}"#)],
    );
    check(
        &["set_user_tags", "alice"],
        &[recorded("user"), bare(204)],
        &["GET users/alice", &format!(r#"PUT users/alice {{{kept},"tags":""}}"#)],
    );
    check(
        &["clear_password", "alice"],
        &[recorded("user"), bare(204)],
        &[
            "GET users/alice",
            r#"PUT users/alice {"hashing_algorithm":"rabbit_password_hashing_sha256","password_hash":"","tags":"monitoring"}"#,
        ],
    );
    check_one(&["authenticate_user", "bob", "x"], "GET whoami as bob:x");
}

#[test]
fn users_who_are_not_there_are_67_and_who_are_there_already_70() {
    for line in [
        &["change_password", "nadia", "x"][..],
        &["clear_password", "nadia"],
        &["set_user_tags", "nadia", "x"],
        &["list_user_permissions", "nadia"],
        &["list_user_topic_permissions", "nadia"],
        &["set_permissions_globally", "nadia", "", "", ""],
        &["set_user_limits", "nadia", "{}"],
        &["list_user_limits", "--user", "nadia"],
    ] {
        let driven = drive(line, [recorded("not_found")]);
        assert_eq!(driven.failure(), (67, "user \"nadia\" does not exist"), "{line:?}");
    }
    let driven = drive(&["add_user", "alice", "x"], [recorded("user")]);
    assert_eq!(driven.failure(), (70, "user \"alice\" already exists"));
    assert_eq!(drive(&["add_user", "", "x"], []).failure().0, 65);
    let refused = drive(&["authenticate_user", "alice", "x"], [bare(401)]);
    assert_eq!(refused.failure(), (65, "user \"alice\" is not accepted: no such user, or another password"));
}

#[test]
fn a_user_without_a_tag_is_authenticated_all_the_same() {
    let body = br#"{"error":"not_authorised","reason":"Not management user"}"#.to_vec();
    let driven = drive(&["authenticate_user", "a", "x"], [crate::reply::Reply { status: 401, body }]);
    assert_eq!(driven.text(), "Success\n");
}

#[test]
fn permissions() {
    let body = r#"{"configure":"^a","read":"","write":".*"}"#;
    check_one(&["set_permissions", "-p", "a/b", "bob", "^a", ".*", ""], &format!("PUT permissions/a%2Fb/bob {body}"));
    check_one(&["set_permissions", "bob", "^a", ".*", ""], &format!("PUT permissions/%2F/bob {body}"));
    check(
        &["set_permissions_globally", "alice", "^a", ".*", ""],
        &[recorded("user"), recorded("vhosts"), bare(204), bare(204)],
        &[
            "GET users/alice",
            "GET vhosts",
            &format!("PUT permissions/%2F/alice {body}"),
            &format!("PUT permissions/a%2Fb/alice {body}"),
        ],
    );
    check_one(&["clear_permissions", "bob"], "DELETE permissions/%2F/bob");
    let body = r#"{"exchange":"amq.topic","read":"^b","write":"^a"}"#;
    check_one(
        &["set_topic_permissions", "bob", "amq.topic", "^a", "^b"],
        &format!("PUT topic-permissions/%2F/bob {body}"),
    );
    check_one(&["clear_topic_permissions", "bob"], "DELETE topic-permissions/%2F/bob");
    check_one(&["clear_topic_permissions", "bob", "e"], "DELETE topic-permissions/%2F/bob/e");
}

#[test]
fn permissions_name_what_is_missing() {
    let line = &["set_permissions", "-p", "v", "bob", "", "", ""];
    let no_user = drive(line, [recorded("no_vhost_or_user"), recorded("not_found")]);
    assert_eq!(no_user.failure(), (67, "user \"bob\" does not exist"));
    assert_eq!(no_user.did[1], "GET users/bob");
    let no_vhost = drive(line, [recorded("no_vhost_or_user"), recorded("user")]);
    assert_eq!(no_vhost.failure(), (69, "virtual host 'v' does not exist"));
    let bad = drive(&["set_permissions", "alice", "*", "", ""], [recorded("bad_pattern")]);
    let text = "the server refuses this: invalid_regexp * quantifier does not follow a repeatable item 1";
    assert_eq!(bad.failure(), (69, text));
}

#[test]
fn vhosts() {
    check_one(&["add_vhost", "a/b"], "PUT vhosts/a%2Fb {}");
    check_one(
        &["add_vhost", "v", "--description", "d", "--tags", "a,b", "--default-queue-type", "quorum"],
        r#"PUT vhosts/v {"default_queue_type":"quorum","description":"d","tags":"a,b"}"#,
    );
    assert_eq!(drive(&["add_vhost", "v", "--default-queue-type", "x"], []).failure().0, 65);
    check_one(&["delete_vhost", "v"], "DELETE vhosts/v");
    assert_eq!(drive(&["delete_vhost", "v"], [bare(404)]).failure(), (65, "virtual host 'v' does not exist"));
    assert_eq!(drive(&["delete_vhost", "v"], [bare(412)]).failure().0, 65);
    check_one(&["enable_vhost_deletion_protection", "v"], "POST vhosts/v/deletion/protection {}");
    check_one(&["disable_vhost_protection_from_deletion", "v"], "DELETE vhosts/v/deletion/protection");
    check(
        &["restart_vhost", "-p", "v"],
        &[recorded("overview"), bare(204)],
        &["GET overview", "POST vhosts/v/start/rabbit%40here {}"],
    );
}

/// A request that leaves something out takes it away.
#[test]
fn changing_one_thing_of_a_vhost_keeps_the_others() {
    let changed = |line: &[&str], body: &str| {
        check(line, &[recorded("vhost"), bare(204)], &["GET vhosts/a%2Fb", &format!("PUT vhosts/a%2Fb {body}")]);
    };
    let rest = r#""default_queue_type":"classic","description":"a slash in its name","protected_from_deletion":false"#;
    changed(&["trace_on", "-p", "a/b"], &format!(r#"{{{rest},"tags":"x,y","tracing":true}}"#));
    changed(&["trace_off", "-p", "a/b"], &format!(r#"{{{rest},"tags":"x,y","tracing":false}}"#));
    changed(&["set_vhost_tags", "a/b", "p", "q"], &format!(r#"{{{rest},"tags":"p,q","tracing":false}}"#));
    changed(
        &["update_vhost_metadata", "a/b", "--description", "d", "--protected-from-deletion", "true"],
        r#"{"default_queue_type":"classic","description":"d","protected_from_deletion":true,"tags":"x,y","tracing":false}"#,
    );
    assert_eq!(drive(&["update_vhost_metadata", "a/b"], []).failure().0, 64);
}

#[test]
fn limits() {
    check(
        &["set_vhost_limits", "-p", "v", r#"{"max-connections": 64, "max-queues": -1}"#],
        &[recorded("vhost"), bare(204), bare(204)],
        &[
            "GET vhosts/v",
            r#"PUT vhost-limits/v/max-connections {"value":64}"#,
            r#"PUT vhost-limits/v/max-queues {"value":-1}"#,
        ],
    );
    check(
        &["clear_vhost_limits", "-p", "a/b"],
        &[recorded("vhost"), recorded("vhost_limits"), bare(204)],
        &["GET vhosts/a%2Fb", "GET vhost-limits/a%2Fb", "DELETE vhost-limits/a%2Fb/max-connections"],
    );
    check(
        &["set_user_limits", "alice", r#"{"max-channels": 5}"#],
        &[recorded("user"), bare(204)],
        &["GET users/alice", r#"PUT user-limits/alice/max-channels {"value":5}"#],
    );
    check(
        &["clear_user_limits", "alice", "all"],
        &[recorded("user"), recorded("user_limits"), bare(204)],
        &["GET users/alice", "GET user-limits/alice", "DELETE user-limits/alice/max-channels"],
    );
    check(
        &["clear_user_limits", "alice", "max-channels"],
        &[recorded("user"), bare(204)],
        &["GET users/alice", "DELETE user-limits/alice/max-channels"],
    );
    assert_eq!(drive(&["set_vhost_limits", "[]"], []).failure().0, 69);
    assert_eq!(
        drive(&["set_vhost_limits", "-p", "v", "{}"], [bare(404)]).failure(),
        (65, "virtual host 'v' does not exist")
    );
}

#[test]
fn policies_and_parameters() {
    let body = r#"{"apply-to":"queues","definition":{"max-length":10},"pattern":"^q","priority":3}"#;
    let line = ["set_policy", "p 1", "^q", r#"{"max-length":10}"#, "--apply-to", "queues", "--priority", "3"];
    check_one(&line, &format!("PUT policies/%2F/p%201 {body}"));
    let body = r#"{"apply-to":"all","definition":{"max-length":10},"pattern":"^q","priority":0}"#;
    check_one(
        &["set_operator_policy", "-p", "v", "p", "^q", r#"{"max-length":10}"#],
        &format!("PUT operator-policies/v/p {body}"),
    );
    check_one(&["clear_policy", "p"], "DELETE policies/%2F/p");
    check_one(&["clear_operator_policy", "p"], "DELETE operator-policies/%2F/p");
    assert_eq!(drive(&["clear_policy", "p"], [bare(404)]).failure(), (69, "no policy 'p' in virtual host '/'"));
    assert_eq!(drive(&["set_policy", "p", "q", "x{"], []).failure().0, 69);
    assert_eq!(drive(&["set_policy", "p", "q", "{}", "--priority", "x"], []).failure().0, 65);
    check(
        &["list_policies_that_match", "q 1"],
        &[recorded("queue"), recorded("policies")],
        &["GET queues/%2F/q%201?disable_stats=true", "GET policies/%2F/short"],
    );
    check_one(
        &["set_parameter", "-p", "v", "shovel", "s", r#"{"a":1}"#],
        r#"PUT parameters/shovel/v/s {"component":"shovel","name":"s","value":{"a":1},"vhost":"v"}"#,
    );
    check_one(&["clear_parameter", "shovel", "s"], "DELETE parameters/shovel/%2F/s");
    check_one(&["set_global_parameter", "g", "[1]"], r#"PUT global-parameters/g {"name":"g","value":[1]}"#);
    check_one(&["clear_global_parameter", "g"], "DELETE global-parameters/g");
}

#[test]
fn queues_and_connections() {
    check_one(&["delete_queue", "a/b"], "DELETE queues/%2F/a%2Fb");
    check_one(&["delete_queue", "-p", "v", "q", "--if-empty", "-u"], "DELETE queues/v/q?if-empty=true&if-unused=true");
    check_one(&["purge_queue", "q"], "DELETE queues/%2F/q/contents");
    check_one(&["pause_queue", "q"], "PUT queues/%2F/q/pause {}");
    check_one(&["resume_queue", "-p", "v", "a b"], "PUT queues/v/a%20b/resume {}");
    let missing = drive(&["pause_queue", "q"], [bare(404), bare(404)]);
    assert_eq!(missing.failure(), (65, "no queue 'q' in virtual host '/'"));
    assert_eq!(missing.did[1], "GET queues/%2F/q?disable_stats=true&enable_queue_totals=true");
    for other in [vec![bare(404), recorded("queue")], vec![bare(405)]] {
        let run = drive(&["resume_queue", "q"], other);
        let (status, text) = run.failure();
        assert!(status == 69 && text.contains("it is Warren's own"), "{text}");
    }
    assert_eq!(drive(&["delete_queue", "q"], [bare(404)]).failure(), (64, "no queue 'q' in virtual host '/'"));
    assert_eq!(drive(&["purge_queue", "q"], [bare(404)]).failure().0, 65);
    let in_use = drive(&["delete_queue", "q 1", "-u"], [recorded("in_use")]);
    assert_eq!(in_use.failure(), (69, "the server refuses this: queue 'q 1' in vhost '/' in use"));
    let name = "127.0.0.1:1 -> 127.0.0.1:2";
    check_one(
        &["close_connection", name, "go away"],
        "DELETE connections/127.0.0.1%3A1%20-%3E%20127.0.0.1%3A2 because go away",
    );
    check_one(&["close_all_user_connections", "a b", "bye"], "DELETE connections/username/a%20b because bye");
    let closed =
        drive(&["close_all_connections", "bye", "--per-connection-delay", "7"], [recorded("connections"), bare(404)]);
    assert_eq!(closed.did.len(), 2);
    assert!(closed.did[1].starts_with("DELETE connections/127.0.0.1") && closed.did[1].ends_with(" because bye"));
    assert_eq!(closed.text(), "Closed 1 connections\n");
    let elsewhere = drive(&["close_all_connections", "-p", "v", "bye"], [recorded("connections")]);
    assert_eq!(elsewhere.text(), "Closed 0 connections\n");
}

#[test]
fn connections_are_closed_with_pauses() {
    let body = br#"[{"name":"a","vhost":"x"},{"name":"b","vhost":"y"},{"name":"c","vhost":"/"}]"#.to_vec();
    let line = ["close_all_connections", "--global", "--limit", "2", "--per-connection-delay", "7", "bye"];
    check(
        &line,
        &[crate::reply::Reply { status: 200, body }, bare(204), bare(204)],
        &["GET connections", "DELETE connections/b because bye", "pause 7 ms", "DELETE connections/a because bye"],
    );
}

#[test]
fn definitions() {
    check(&["export_definitions", "-"], &[recorded("definitions")], &["GET definitions"]);
    check(
        &["import_definitions", "/tmp/d.json"],
        &[bare(204)],
        &["read /tmp/d.json", "POST definitions {\"a line\": 1}\n"],
    );
    check(
        &["import_definitions", "-p", "v"],
        &[bare(204)],
        &["read what comes in", "POST definitions/v {\"a line\": 1}\n"],
    );
    let body = br#"{"left_out":["queues, entry 1 ('s'): no"]}"#.to_vec();
    check(
        &["import_definitions", "/tmp/d.json", "--skip-unsupported"],
        &[crate::reply::Reply { status: 200, body }],
        &["read /tmp/d.json", "POST definitions?skip_unsupported=true {\"a line\": 1}\n"],
    );
    assert_eq!(drive(&["export_definitions", "-", "--format", "erlang"], []).failure().0, 64);
}

/// All of RabbitMQ 4.3's rabbitmqctl, rabbitmq-diagnostics, rabbitmq-queues, rabbitmq-upgrade and rabbitmq-streams.
#[test]
fn every_command_of_rabbitmqs_tools_is_known() {
    let names = include_str!("../../../tests/data/commands.txt");
    let unknown: Vec<&str> = names.lines().filter(|name| crate::words::command_named(name).is_none()).collect();
    assert_eq!(unknown, [""; 0]);
    assert!(names.lines().count() > 150);
}

#[test]
fn the_rest() {
    check(
        &["reset_node_auth_attempt_metrics"],
        &[recorded("overview"), bare(204)],
        &["GET overview", "DELETE auth/attempts/rabbit%40here"],
    );
    check_one(&["set_cluster_name", "here"], r#"PUT cluster-name {"name":"here"}"#);
    check_one(&["enable_feature_flag", "khepri_db"], "PUT feature-flags/khepri_db/enable {}");
    check(&["enable_feature_flag", "all"], &[recorded("feature_flags")], &["GET feature-flags"]);
    check_one(&["rebalance", "all"], "POST rebalance/queues {}");
    check(
        &["memory_breakdown"],
        &[recorded("overview"), recorded("memory")],
        &["GET overview", "GET nodes/rabbit%40here/memory"],
    );
    let backup =
        drive(&["backup", "/b"], [crate::reply::Reply { status: 200, body: br#"{"path":"/b/1","size":7}"#.to_vec() }]);
    assert_eq!(backup.did, [r#"POST warren/backup {"path":"/b"}"#]);
    assert_eq!(backup.text(), "Backup written to /b/1, 7 bytes\n");
    for status in [404, 405] {
        assert_eq!(drive(&["backup", "/b"], [bare(status)]).failure().0, 69);
    }
}

fn answer(body: &str) -> crate::reply::Reply {
    crate::reply::Reply { status: 200, body: body.as_bytes().to_vec() }
}

#[test]
fn messages_are_browsed_until_there_are_enough() {
    let pages = [
        answer(r#"{"messages":[{"id":"0-1","payload":"a"}],"next":"0-2"}"#),
        answer(r#"{"messages":[{"id":"0-2","payload":"b"}],"next":null}"#),
    ];
    let browsed = drive(&["browse_queue", "q", "id", "payload", "--header", "a=b c", "--older-than", "2m"], pages);
    assert_eq!(
        browsed.did,
        [
            "GET queues/%2F/q/messages?header=a&header_value=b%20c&older_than=120000&count=100",
            "GET queues/%2F/q/messages?header=a&header_value=b%20c&older_than=120000&from=0-2&count=99",
        ]
    );
    assert_eq!(drive(&["browse_queue", "q"], [bare(405)]).failure().0, 69);
    assert_eq!(drive(&["browse_queue", "q"], [bare(404)]).failure().0, 65);
}

#[test]
fn what_one_request_leaves_is_asked_for_again() {
    let answers = [
        answer(r#"{"deleted":3,"partial":true,"next":"0-9"}"#),
        answer(r#"{"deleted":2,"partial":false,"next":null}"#),
    ];
    let deleted = drive(&["delete_messages", "q", "--all"], answers);
    assert_eq!(
        deleted.did,
        ["DELETE queues/%2F/q/messages?all=true", "DELETE queues/%2F/q/messages?all=true&from=0-9"]
    );
    assert_eq!(deleted.text(), "5 messages deleted\n");
    let moved = answer(r#"{"moved":1,"unroutable":0,"refused":2,"partial":false,"next":null}"#);
    let moved = drive(&["move_messages", "q", "--limit", "7", "--to-queue", "r"], [moved]);
    assert_eq!(moved.did, [r#"POST queues/%2F/q/messages/move {"limit":7,"to_queue":"r"}"#]);
    assert_eq!(moved.text(), "1 messages moved; 2 stay, because a queue is full and refuses them\n");
    let redriven = answer(
        r#"{"redriven":0,"not_dead":1,"unroutable":1,"refused":0,"missing_queues":{"x":1},"partial":false,"next":null}"#,
    );
    let redriven = drive(&["redrive_messages", "dead", "--ids", "0-1,0-2"], [redriven]);
    assert_eq!(redriven.did, [r#"POST queues/%2F/dead/messages/redrive {"ids":["0-1","0-2"]}"#]);
    assert!(redriven.text().contains("queue 'x' no longer exists"));
}

#[test]
fn all_messages_are_meant_only_if_that_is_said() {
    for line in [
        &["delete_messages", "q"][..],
        &["redrive_messages", "q"],
        &["move_messages", "q", "--all"],
        &["delete_messages", "q", "--ids", "0-1", "--body", "x"],
        &["cancel_delayed_messages", "x"],
        &["reschedule_delayed_message", "x", "1-1"],
    ] {
        assert_eq!(drive(line, []).failure().0, 64, "{line:?}");
    }
    assert_eq!(drive(&["delete_messages", "q", "--older-than", "soon"], []).failure().0, 65);
}

#[test]
fn what_messages_are_may_be_denied() {
    let none = || answer(r#"{"messages":[],"next":null}"#);
    for (flag, query) in [
        ("--dead", "dead=true"),
        ("--dead=true", "dead=true"),
        ("--dead=false", "dead=false"),
        ("--redelivered", "redelivered=true"),
    ] {
        let browsed = drive(&["browse_queue", "q", flag], [none()]);
        assert_eq!(browsed.did, [format!("GET queues/%2F/q/messages?{query}&count=100")]);
    }
    assert_eq!(drive(&["browse_queue", "q", "--dead=maybe"], []).failure().0, 64);
    let bad_limit = drive(&["delete_messages", "q", "--dead", "--limit", "abc"], []);
    assert_eq!(bad_limit.failure(), (65, "limit must be a whole number, not 'abc'"));
}

#[test]
fn the_server_says_what_it_is_that_is_missing() {
    let missing = |reason: &str| {
        let body = serde_json::json!({"error": "not_found", "reason": reason}).to_string();
        [crate::reply::Reply { status: 404, body: body.into_bytes() }]
    };
    for (line, reason) in [
        (&["move_messages", "orders", "--all", "--to-queue", "express"][..], "no queue 'express' in vhost '/'"),
        (&["move_messages", "orders", "--all", "--to-exchange", "nosuch"], "no exchange 'nosuch' in vhost '/'"),
        (&["declare", "binding", "source=e", "destination=nosuch"], "no queue 'nosuch' in vhost '/'"),
        (&["release_delayed_message", "nosuch", "1-1"], "no exchange 'nosuch' in vhost '/'"),
        (&["cancel_delayed_messages", "nosuch", "1-1"], "no exchange 'nosuch' in vhost '/'"),
    ] {
        assert_eq!(drive(line, missing(reason)).failure(), (65, reason), "{line:?}");
    }
}

#[test]
fn delayed_messages() {
    let listed = answer(
        r#"{"messages":[{"id":"1-2","due":1767225600500},{"id":"1-3","due":18446744073709551615}],"next":null}"#,
    );
    let listed = drive(&["list_delayed_messages", "x", "--due-to", "9", "--routing-key", "k"], [listed]);
    assert_eq!(listed.did, ["GET delayed/%2F/x/messages?due_to=9&routing_key=k&count=100"]);
    assert!(listed.text().contains("1-2\t2026-01-01T00:00:00.500Z\t"), "{}", listed.text());
    assert!(listed.text().contains("1-3\t18446744073709551615\t"), "{}", listed.text());
    let cancelled = answer(r#"{"cancelled":4,"partial":false}"#);
    let cancelled = drive(&["cancel_delayed_messages", "x", "--all"], [cancelled]);
    assert_eq!(
        (&cancelled.did[..], cancelled.text()),
        (&["DELETE delayed/%2F/x/messages?all=true".to_owned()][..], "4 messages cancelled\n".to_owned())
    );
    let one = drive(&["cancel_delayed_messages", "x", "1-2"], [bare(204)]);
    assert_eq!(one.did, ["DELETE delayed/%2F/x/messages/1-2"]);
    assert_eq!(one.text(), "1 messages cancelled\n");
    let id = || answer(r#"{"id":"1-3"}"#);
    let later = drive(&["reschedule_delayed_message", "x", "1-2", "--delay", "10m"], [id()]);
    assert_eq!(later.did, [r#"PUT delayed/%2F/x/messages/1-2 {"delay":600000}"#]);
    let released = drive(&["release_delayed_message", "x", "1-2"], [id()]);
    assert_eq!(released.did, ["POST delayed/%2F/x/messages/1-2/release {}"]);
    let shown = drive(&["show_delayed_message", "x", "1-2"], [answer(r#"{"id":"1-2","payload":"hello"}"#)]);
    assert!(shown.text().ends_with("payload: hello\n"), "{}", shown.text());
}

#[test]
fn alerts() {
    let standing = answer(r#"[{"state":"firing","rule":"long","severity":"critical","queue":"orders","value":5}]"#);
    let listed = drive(&["list_alerts", "state", "rule", "queue", "value"], [standing]);
    assert_eq!(listed.did, ["GET alerts?columns=state,rule,queue,value"]);
    assert!(listed.text().ends_with("firing\tlong\torders\t5\n"), "{}", listed.text());
    check_one(
        &["set_alert_rule", "long", r#"{"kind":"queue-length","above":5}"#],
        r#"PUT alerts/rules/long {"above":5,"kind":"queue-length"}"#,
    );
    check_one(&["delete_alert_rule", "a/b"], "DELETE alerts/rules/a%2Fb");
    check_one(&["set_alert_webhook", "w", r#"{"url":"http://h/"}"#], r#"PUT alerts/webhooks/w {"url":"http://h/"}"#);
    assert_eq!(drive(&["set_alert_rule", "long", "5"], []).failure().0, 64);
    let tried = drive(&["test_alert_webhook", "w"], [answer(r#"{"delivered":true,"duration":7}"#)]);
    assert_eq!(tried.did, ["POST alerts/webhooks/w/test {}"]);
    assert_eq!(tried.text(), "The webhook took it within 7 ms\n");
    let tried = drive(&["test_alert_webhook", "w"], [answer(r#"{"delivered":false,"error":"it answered 500"}"#)]);
    assert_eq!(tried.failure().1, "the webhook was not notified: it answered 500");
}

#[test]
fn health_checks() {
    let check_health = |line: &[&str], path: &str| check_one(line, &format!("GET health/checks/{path}"));
    check_health(&["check_alarms"], "alarms");
    check_health(&["check_local_alarms"], "local-alarms");
    check_health(&["check_running"], "is-in-service");
    check_health(&["check_port_listener", "5672"], "port-listener/5672");
    check_health(&["check_protocol_listener", "amqp/ssl"], "protocol-listener/amqp%2Fssl");
    check_health(&["check_protocol_listener", "amqp091"], "protocol-listener/amqp");
    check_health(&["check_virtual_hosts"], "virtual-hosts");
    check_health(&["check_certificate_expiration", "--within", "2"], "certificate-expiration/2/weeks");
    check_health(&["check_if_node_is_quorum_critical"], "node-is-quorum-critical");
    check_health(&["has_reached_target_cluster_size"], "reached-target-cluster-size");
    check_health(
        &["check_for_quorum_queues_without_an_elected_leader", "--across-all-vhosts", "^q"],
        "quorum-queues-without-elected-leaders/all-vhosts/pattern/%5Eq",
    );
    let failed = drive(&["check_port_listener", "1"], [recorded("no_listener")]);
    let text = "health check failed: No active listener (missing: 1, ports: [31692,31672,41672,21672])";
    assert_eq!(failed.failure(), (69, text));
    assert_eq!(drive(&["check_port_listener", "x"], []).failure().0, 65);
    assert_eq!(drive(&["check_alarms"], [bare(404)]).failure(), (69, "the server does not know this health check"));
    assert_eq!(drive(&["check_certificate_expiration"], []).failure().0, 64);
}

#[test]
fn a_node_in_maintenance_and_an_older_one_run() {
    let body = br#"{"status":"failed","reason":"being drained"}"#.to_vec();
    let drained = drive(&["check_running"], [crate::reply::Reply { status: 503, body }]);
    assert_eq!(drained.text(), "The broker is fully booted and running\n");
    check(&["check_running"], &[bare(404), recorded("overview")], &["GET health/checks/is-in-service", "GET overview"]);
    assert_eq!(drive(&["check_running"], [bare(500)]).failure().0, 69);
}

#[test]
fn all_ports_of_the_node_are_connected_to() {
    let driven = drive(&["check_port_connectivity"], [recorded("overview")]);
    assert_eq!(driven.did, ["GET overview", "connect [21672, 31672, 31692, 41672]"]);
    assert_eq!(driven.text(), "Successfully connected to ports 21672, 31672, 31692, 41672\n");
    let body = br#"{"node":"n","listeners":[{"node":"n","port":1},{"node":"m","port":2}]}"#.to_vec();
    let failed = drive(&["check_port_connectivity"], [crate::reply::Reply { status: 200, body }]);
    assert_eq!(failed.failure(), (69, "health check failed: cannot connect to 1 (refused)"));
}

#[test]
fn a_start_is_waited_for_as_long_as_was_said() {
    check(
        &["await_startup"],
        &[bare(503), recorded("overview")],
        &["try GET overview", "pause 500 ms", "try GET overview"],
    );
    // A server that refuses us is there.
    assert_eq!(drive(&["await_startup"], [bare(401)]).failure().0, 77);
    let late = drive(&["await_startup", "-t", "4"], []);
    // An attempt takes a second here.
    assert_eq!(late.did.iter().filter(|line| line.starts_with("try")).count(), 3);
    assert_eq!(late.failure(), (75, "the server has not started in time: no server is there"));
}

#[test]
fn what_cannot_be_done_over_http_says_why() {
    for line in [&["eval", "1."][..], &["rotate_logs"], &["force_gc"]] {
        let driven = drive(line, []);
        let (status, text) = driven.failure();
        assert_eq!(status, 69);
        assert!(text.starts_with(&format!("{} cannot be done over HTTP: ", line[0])), "{text}");
    }
}

#[test]
fn members() {
    check_one(&["add_member", "q", "n@h"], r#"POST queues/quorum/%2F/q/replicas/add {"node":"n@h"}"#);
    check_one(&["delete_member", "-p", "v", "q", "n@h"], r#"DELETE queues/quorum/v/q/replicas/delete {"node":"n@h"}"#);
    check_one(
        &["grow", "n@h", "even", "--queue-pattern", "^q"],
        r#"POST queues/quorum/replicas/on/n%40h/grow {"queue_pattern":"^q","strategy":"even","vhost_pattern":".*"}"#,
    );
    check_one(&["shrink", "n@h"], "DELETE queues/quorum/replicas/on/n%40h/shrink");
}

#[test]
fn mirroring_is_taken_out_of_policies() {
    let policies = |text: &str| crate::reply::Reply { status: 200, body: text.as_bytes().to_vec() };
    let both = r#"[{"vhost":"/","name":"a","pattern":"^a","priority":1,"apply-to":"all","definition":{"ha-mode":"all","max-length":1}},
        {"vhost":"v","name":"b","pattern":"^b","priority":0,"apply-to":"all","definition":{"ha-mode":"all"}},
        {"vhost":"v","name":"c","pattern":"^c","priority":0,"apply-to":"all","definition":{"max-length":2}}]"#;
    check(
        &["remove_classic_queue_mirroring_from_policies"],
        &[policies(both), bare(204), bare(204), policies("[]")],
        &[
            "GET policies",
            r#"PUT policies/%2F/a {"apply-to":"all","definition":{"max-length":1},"pattern":"^a","priority":1}"#,
            "DELETE policies/v/b",
            "GET operator-policies",
        ],
    );
    let listed = drive(&["list_policies_with_classic_queue_mirroring"], [policies(both)]).text();
    assert_eq!(listed.lines().count(), 3, "{listed}");
    let line = ["check_if_cluster_has_classic_queue_mirroring_policy"];
    assert_eq!(drive(&line, [policies(both)]).failure().0, 69);
    assert!(drive(&line, [policies("[]")]).result.is_ok());
}

#[test]
fn a_federation_link_is_restarted_where_it_is() {
    let links =
        br#"[{"id": "1a", "vhost": "v w", "node": "rabbit@h"}, {"id": "2b", "vhost": "/", "node": "rabbit@h"}]"#;
    let links = Reply { status: 200, body: links.to_vec() };
    check(
        &["restart_federation_link", "1a"],
        &[links.clone(), bare(204)],
        &["GET federation-links", "DELETE federation-links/vhost/v%20w/1a/rabbit%40h/restart"],
    );
    assert_eq!(drive(&["restart_federation_link", "3c"], [links]).failure(), (65, "no federation link '3c'"));
    let missing = "the server has no shovels or no federation: a RabbitMQ needs the plugin for it";
    assert_eq!(drive(&["restart_federation_link", "1a"], [bare(404)]).failure().1, missing);
}
