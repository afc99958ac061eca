//! rabbitmqadmin's commands, of the old one and of its successor: the requests that each makes.

use super::{bare, check, check_one, drive, recorded};

/// Both ways of saying it ask the same.
#[track_caller]
fn check_both(old: &[&str], new: &[&str], expected: &str) {
    check_one(old, expected);
    check_one(new, expected);
}

#[test]
fn queues_exchanges_and_bindings_are_declared() {
    check_both(
        &["declare", "queue", "name=a/b", "durable=false", r#"arguments={"x-max-length":5}"#],
        &["queues", "declare", "--name", "a/b", "--durable", "false", "--arguments", r#"{"x-max-length":5}"#],
        r#"PUT queues/%2F/a%2Fb {"arguments":{"x-max-length":5},"durable":false}"#,
    );
    check_both(
        &["declare", "queue", "vhost=v", "name=q", "auto_delete=true", "queue_type=quorum"],
        &["-V", "v", "declare", "queue", "--name=q", "--auto-delete=true", "--type=quorum"],
        r#"PUT queues/v/q {"arguments":{"x-queue-type":"quorum"},"auto_delete":true,"durable":true}"#,
    );
    check_one(
        &["streams", "declare", "--name", "s", "--expiration", "7D", "--max-length-bytes", "9"],
        r#"PUT queues/%2F/s {"arguments":{"x-max-age":"7D","x-max-length-bytes":9,"x-queue-type":"stream"},"durable":true}"#,
    );
    check_both(
        &["declare", "exchange", "name=e", "type=topic"],
        &["exchanges", "declare", "--name", "e", "--type", "topic"],
        r#"PUT exchanges/%2F/e {"arguments":{},"durable":true,"type":"topic"}"#,
    );
    check_both(
        &["declare", "binding", "source=e", "destination=q", "routing_key=a.b"],
        &[
            "bindings",
            "declare",
            "--source",
            "e",
            "--destination-type",
            "queue",
            "--destination",
            "q",
            "--routing-key",
            "a.b",
        ],
        r#"POST bindings/%2F/e/e/q/q {"arguments":{},"routing_key":"a.b"}"#,
    );
    check_one(
        &[
            "exchanges",
            "bind",
            "--source",
            "e",
            "--destination-type",
            "exchange",
            "--destination",
            "f",
            "--routing-key",
            "",
        ],
        r#"POST bindings/%2F/e/e/e/f {"arguments":{},"routing_key":""}"#,
    );
}

#[test]
fn vhosts_users_and_what_they_have_are_declared() {
    check_both(
        &["declare", "vhost", "name=v", "tracing=true"],
        &["vhosts", "declare", "--name", "v", "--tracing"],
        r#"PUT vhosts/v {"tracing":true}"#,
    );
    check_both(
        &["-u", "me", "-p", "mine", "declare", "user", "name=bob", "password=his", "tags=a,b"],
        &["-u", "me", "-p", "mine", "users", "declare", "--name", "bob", "--password", "his", "--tags", "a,b"],
        r#"PUT users/bob {"password":"his","tags":"a,b"}"#,
    );
    check_both(
        &["declare", "permission", "vhost=/", "user=bob", "configure=", "write=.*", "read=^a"],
        &["declare", "permissions", "--user", "bob", "--configure", "", "--write", ".*", "--read", "^a"],
        r#"PUT permissions/%2F/bob {"configure":"","read":"^a","write":".*"}"#,
    );
    check_both(
        &[
            "declare",
            "policy",
            "name=p",
            "pattern=^q",
            r#"definition={"max-length":1}"#,
            "apply-to=queues",
            "priority=2",
        ],
        &[
            "policies",
            "declare",
            "--name",
            "p",
            "--pattern",
            "^q",
            "--definition",
            r#"{"max-length":1}"#,
            "--apply-to",
            "queues",
            "--priority",
            "2",
        ],
        r#"PUT policies/%2F/p {"apply-to":"queues","definition":{"max-length":1},"pattern":"^q","priority":2}"#,
    );
    check_both(
        &["declare", "parameter", "component=shovel", "name=s", "value={}"],
        &["parameters", "set", "--component", "shovel", "--name", "s", "--value", "{}"],
        r#"PUT parameters/shovel/%2F/s {"component":"shovel","name":"s","value":{},"vhost":"/"}"#,
    );
    check_both(
        &["declare", "vhost_limit", "vhost=v", "name=max-queues", "value=3"],
        &["declare", "vhost_limit", "--vhost", "v", "--name", "max-queues", "--value", "3"],
        r#"PUT vhost-limits/v/max-queues {"value":3}"#,
    );
    assert_eq!(drive(&["declare", "user", "name=bob"], []).failure().0, 64);
    assert_eq!(drive(&["declare", "queue", "name=q", "durable=perhaps"], []).failure().0, 65);
}

#[test]
fn delete_and_purge() {
    check_both(&["delete", "queue", "name=a b"], &["queues", "delete", "--name", "a b"], "DELETE queues/%2F/a%20b");
    check_one(&["delete", "queue", "--name", "q", "--if-empty"], "DELETE queues/%2F/q?if-empty=true");
    check_both(&["delete", "vhost", "name=a/b"], &["vhosts", "delete", "--name", "a/b"], "DELETE vhosts/a%2Fb");
    check_both(&["delete", "user", "name=bob"], &["users", "delete", "--name", "bob"], "DELETE users/bob");
    check_one(&["delete", "permission", "vhost=v", "user=bob"], "DELETE permissions/v/bob");
    check_one(&["delete", "parameter", "component=c", "name=n"], "DELETE parameters/c/%2F/n");
    check_both(&["purge", "queue", "name=q"], &["queues", "purge", "--name", "q"], "DELETE queues/%2F/q/contents");
    assert_eq!(drive(&["delete", "queue", "name=q"], [bare(404)]).failure(), (65, "no queue 'q'"));
    check(&["delete", "queue", "--name", "q", "--idempotently"], &[bare(404)], &["DELETE queues/%2F/q"]);
}

#[test]
fn a_binding_is_deleted_by_its_routing_key() {
    let line = ["delete", "binding", "source=amq.topic", "destination=q 1", "routing_key=a.*"];
    check(
        &line,
        &[recorded("bindings_between"), bare(204)],
        &["GET bindings/%2F/e/amq.topic/q/q%201", "DELETE bindings/%2F/e/amq.topic/q/q%201/a.%252A~IaKFmQ"],
    );
    check_one(
        &["delete", "binding", "source=s", "destination_type=exchange", "destination=d", "properties_key=~"],
        "DELETE bindings/%2F/e/s/e/d/~",
    );
    let other = ["delete", "binding", "source=amq.topic", "destination=q 1", "routing_key=b"];
    assert_eq!(drive(&other, [recorded("bindings_between")]).failure().0, 65);
    assert!(drive(&[&other[..], &["--idempotently"]].concat(), [bare(404)]).result.is_ok());
}

#[test]
fn lists_are_of_all_vhosts_unless_one_is_said() {
    let asked = |line: &[&str]| drive(line, [recorded("queues")]).did.join(" ");
    assert_eq!(asked(&["list", "queues"]), "GET queues?disable_stats=true&enable_queue_totals=true");
    assert_eq!(asked(&["-V", "/", "queues", "list"]), "GET queues/%2F?disable_stats=true&enable_queue_totals=true");
    assert_eq!(asked(&["list", "queues", "name", "memory"]), "GET queues?columns=name,memory");
    assert_eq!(asked(&["list", "connections", "-V", "v"]), "GET vhosts/v/connections?columns=name,user,channels");
    assert_eq!(asked(&["list", "permissions"]), "GET permissions");
    assert_eq!(
        asked(&["users", "connections", "-u", "bob"]),
        "GET connections/username/bob?columns=name,user,channels"
    );
    assert_eq!(
        asked(&["list", "parameters", "--component", "c"]),
        "GET parameters/c?columns=vhost,component,name,value"
    );
    assert_eq!(drive(&["list", "queues", "-V", "v"], [bare(404)]).failure(), (65, "virtual host 'v' does not exist"));
}

#[test]
fn messages() {
    let publish = r#"{"payload":"hi","payload_encoding":"string","properties":{},"routing_key":"q"}"#;
    let line = ["publish", "routing_key=q", "payload=hi"];
    let driven = drive(&line, [recorded("routed")]);
    assert_eq!(driven.did, [format!("POST exchanges/%2F/amq.default/publish {publish}")]);
    assert_eq!(driven.text(), "Message published\n");
    let line = ["publish", "message", "-e", "a/b", "-k", "q", "-m", "hi"];
    let body = crate::reply::Reply { status: 200, body: br#"{"routed":false}"#.to_vec() };
    let driven = drive(&line, [body]);
    assert_eq!(driven.did, [format!("POST exchanges/%2F/a%2Fb/publish {publish}")]);
    assert_eq!(driven.text(), "Message published but NOT routed\n");
    check(
        &["get", "queue=q", "count=2"],
        &[recorded("messages")],
        &[r#"POST queues/%2F/q/get {"ackmode":"ack_requeue_true","count":2,"encoding":"auto"}"#],
    );
    check(
        &["get", "messages", "-q", "q", "-a", "reject_requeue_true"],
        &[recorded("messages")],
        &[r#"POST queues/%2F/q/get {"ackmode":"reject_requeue_true","count":1,"encoding":"auto"}"#],
    );
    assert_eq!(drive(&["publish", "payload=x"], []).failure().0, 64);
    assert_eq!(drive(&["get", "queue=q"], [bare(404)]).failure(), (65, "no queue 'q' in virtual host '/'"));
}

#[test]
fn definitions_and_connections() {
    check(&["export", "d.json"], &[recorded("definitions")], &["GET definitions"]);
    check(&["definitions", "export", "--stdout", "-V", "v"], &[recorded("definitions")], &["GET definitions/v"]);
    check(&["import", "d.json"], &[bare(204)], &["read d.json", "POST definitions {\"a line\": 1}\n"]);
    check(
        &["definitions", "import_into_vhost", "--stdin", "-V", "v"],
        &[bare(204)],
        &["read what comes in", "POST definitions/v {\"a line\": 1}\n"],
    );
    let body = br#"{"left_out":["queues, entry 1 ('s'): no"]}"#.to_vec();
    for (line, place) in [
        (&["definitions", "import", "--file", "d.json", "--skip-unsupported"][..], "definitions"),
        (&["definitions", "import_into_vhost", "--file", "d.json", "--skip-unsupported", "-V", "v"], "definitions/v"),
    ] {
        let imported = drive(line, [crate::reply::Reply { status: 200, body: body.clone() }]);
        assert_eq!(imported.did[1], format!("POST {place}?skip_unsupported=true {{\"a line\": 1}}\n"));
        assert_eq!(imported.text(), "Left out, since the server cannot have it:\nqueues, entry 1 ('s'): no\n");
    }
    assert_eq!(drive(&["import"], []).failure().0, 64);
    check_one(&["close", "connection", "name=a b"], "DELETE connections/a%20b because Closed via warren ctl");
    check_one(
        &["close", "user_connections", "--username", "bob"],
        "DELETE connections/username/bob because Closed via warren ctl",
    );
    check_one(&["health_check", "port_listener", "--port", "1"], "GET health/checks/port-listener/1");
    check_one(&["feature_flags", "enable", "--name", "f"], "PUT feature-flags/f/enable {}");
    check_one(&["rebalance", "queues"], "POST rebalance/queues {}");
}

#[test]
fn policies_are_changed_key_by_key() {
    let policy = || {
        let mut reply = recorded("policies");
        let policies: Vec<serde_json::Value> = serde_json::from_slice(&reply.body).unwrap();
        reply.body = policies[0].to_string().into_bytes();
        reply
    };
    let rest = r#""pattern":"^q","priority":3"#;
    let put = |definition: &str| {
        format!(r#"PUT policies/%2F/short {{"apply-to":"queues","definition":{definition},{rest}}}"#)
    };
    check(
        &[
            "policies",
            "update_definition",
            "--name",
            "short",
            "--definition-key",
            "overflow",
            "--new-value",
            "drop-head",
        ],
        &[policy(), bare(204)],
        &["GET policies/%2F/short", &put(r#"{"max-length":10,"overflow":"drop-head"}"#)],
    );
    check(
        &["policies", "update_definitions_of_all_in", "--definition-key", "max-length", "--new-value", "5"],
        &[recorded("policies"), bare(204)],
        &["GET policies/%2F", &put(r#"{"max-length":5}"#)],
    );
    let line = ["policies", "delete_definition_key", "--name", "short", "--definition-key", "max-length"];
    assert_eq!(drive(&line, [policy()]).failure().0, 65);
    check(
        &["policies", "delete_definition_key_from_all_in", "--definition-key", "max-length"],
        &[recorded("policies")],
        &["GET policies/%2F"],
    );
}

#[test]
fn shovels_and_upstreams_are_parameters() {
    check_one(
        &[
            "shovels",
            "declare_amqp091",
            "--name",
            "s",
            "--source-uri",
            "amqp://a",
            "--destination-uri",
            "amqp://b",
            "--source-queue",
            "q",
            "--destination-exchange",
            "e",
            "--predeclared-source",
            "--reconnect-delay",
            "5",
        ],
        concat!(
            r#"PUT parameters/shovel/%2F/s {"component":"shovel","name":"s","value":{"dest-exchange":"e","dest-protocol":"amqp091","#,
            r#""dest-uri":"amqp://b","reconnect-delay":5,"src-predeclared":true,"src-protocol":"amqp091","#,
            r#""src-queue":"q","src-uri":"amqp://a"},"vhost":"/"}"#
        ),
    );
    let line = ["shovels", "declare_amqp091", "--name", "s", "--source-uri", "a", "--destination-uri", "b"];
    assert_eq!(drive(&line, []).failure(), (64, "a shovel needs either --source-queue or --source-exchange"));
    check_one(
        &[
            "federation",
            "declare_upstream",
            "--name",
            "u",
            "--uri",
            "amqp://a",
            "--trust-user-id",
            "true",
            "--ttl",
            "9",
        ],
        concat!(
            r#"PUT parameters/federation-upstream/%2F/u {"component":"federation-upstream","name":"u","value":{"expires":9,"#,
            r#""trust-user-id":true,"uri":"amqp://a"},"vhost":"/"}"#
        ),
    );
    check_one(&["shovels", "delete", "--name", "s"], "DELETE parameters/shovel/%2F/s");
    assert_eq!(drive(&["shovels", "list_all"], [bare(404)]).failure().0, 69);
}

#[test]
fn definitions_are_transformed_before_they_are_written() {
    let line = ["definitions", "export", "--stdout", "-t", "exclude_users,exclude_policies"];
    let driven = drive(&line, [recorded("definitions")]);
    let written: serde_json::Value = serde_json::from_str(&driven.text()).unwrap();
    assert_eq!((&written["users"], &written["policies"]), (&serde_json::json!([]), &serde_json::json!([])));
    assert!(!written["vhosts"].as_array().unwrap().is_empty());
    assert_eq!(drive(&["export", "--transformations", "shuffle"], []).failure().0, 64);
}
