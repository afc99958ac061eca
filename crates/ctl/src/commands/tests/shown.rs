//! What is shown of recorded answers: as rabbitmqctl shows it to scripts.

use super::{drive, recorded};
use crate::output::{Format, Style, render};

#[track_caller]
fn check(line: &[&str], name: &str, expected: &str) {
    assert_eq!(drive(line, [recorded(name)]).text(), expected);
}

#[test]
fn lists_have_rabbitmqctls_columns() {
    check(&["list_users"], "users", "user\ttags\nalice\t[monitoring]\nguest\t[administrator]\n");
    check(&["list_permissions"], "permissions", "user\tconfigure\twrite\tread\nalice\t^a\t.*\t\nguest\t.*\t.*\t.*\n");
    check(&["list_user_permissions", "alice"], "user_permissions", "vhost\tconfigure\twrite\tread\n/\t^a\t.*\t\n");
    check(&["list_topic_permissions"], "topic_permissions", "user\texchange\twrite\tread\nalice\tamq.topic\t^a\t^b\n");
    check(
        &["list_vhosts", "name", "tags", "description"],
        "vhosts",
        "name\ttags\tdescription\n/\t[]\tDefault virtual host\na/b\t[x, y]\ta slash in its name\n",
    );
    check(
        &["list_policies"],
        "policies",
        "vhost\tname\tpattern\tapply-to\tdefinition\tpriority\n/\tshort\t^q\tqueues\t{\"max-length\":10}\t3\n",
    );
    check(&["list_queues"], "queues_counted", "name\tmessages\nq 1\t3\nqq\t0\n");
    let driven = drive(
        &["list_queues", "name,arguments", "consumers", "policy"],
        [recorded("queues"), recorded("queues_counted")],
    );
    assert_eq!(
        driven.text(),
        "name\targuments\tconsumers\tpolicy\n\
         q 1\t[{\"x-max-length\",10},{\"x-overflow\",\"reject-publish\"},{\"x-queue-type\",\"classic\"}]\t1\tshort\n\
         qq\t[{\"x-queue-type\",\"quorum\"}]\t0\tshort\n",
    );
    check(
        &[
            "list_bindings",
            "source_name",
            "source_kind",
            "destination_name",
            "destination_kind",
            "routing_key",
            "arguments",
        ],
        "bindings",
        "source_name\tsource_kind\tdestination_name\tdestination_kind\trouting_key\targuments\n\
         \texchange\tq 1\tqueue\tq 1\t[]\n\
         \texchange\tqq\tqueue\tqq\t[]\n\
         amq.topic\texchange\tq 1\tqueue\ta.*\t[{\"s\",\"t\"},{\"x\",1}]\n",
    );
    check(
        &["list_connections", "user", "protocol", "state"],
        "connections",
        "user\tprotocol\tstate\nguest\t{0,9,1}\trunning\n",
    );
    check(
        &["list_consumers", "queue_name", "consumer_tag", "ack_required", "prefetch_count", "arguments"],
        "consumers",
        "queue_name\tconsumer_tag\tack_required\tprefetch_count\targuments\nq 1\ttag1\ttrue\t1\t[{\"x-priority\",3}]\n",
    );
    check(
        &["list_channels", "number", "user", "consumer_count"],
        "channels",
        "number\tuser\tconsumer_count\n1\tguest\t1\n",
    );
    check(&["list_vhost_limits", "--global"], "vhost_limits", "vhost\tlimits\na/b\t{\"max-connections\":64}\n");
}

/// A connection is closed by what is listed as its pid.
#[test]
fn a_connections_pid_is_its_name() {
    let names = drive(&["list_connections", "pid", "name"], [recorded("connections")]).text();
    let row: Vec<&str> = names.lines().nth(1).unwrap().split('\t').collect();
    assert!(row[0] == row[1] && row[0].contains(" -> "), "{row:?}");
}

/// Counts alone need no statistics, and so are those of now.
#[test]
fn counts_are_asked_for_without_statistics() {
    let asked = |line: &[&str]| drive(line, [recorded("queues")]).did.join("");
    let counted = "GET queues/%2F?disable_stats=true&enable_queue_totals=true";
    assert_eq!(asked(&["list_queues"]), counted);
    assert_eq!(asked(&["list_queues", "name", "messages_ready", "type"]), counted);
    assert_eq!(asked(&["list_queues", "name", "consumers"]), "GET queues/%2F?columns=name,consumers,name,state,node");
    let old = br#"[{"name":"a","messages":1,"consumers":2},{"name":"b","consumers":3}]"#.to_vec();
    let new = br#"[{"name":"a","messages":5},{"name":"c","messages":6}]"#.to_vec();
    let replies = [old, new].map(|body| crate::reply::Reply { status: 200, body });
    let driven = drive(&["list_queues", "name", "messages", "consumers"], replies);
    assert_eq!(driven.did, ["GET queues/%2F?columns=name,messages,consumers,name,state,node", counted]);
    assert_eq!(driven.text(), "name\tmessages\tconsumers\na\t5\t2\nb\t\t3\n");
    assert_eq!(asked(&["list_exchanges", "-p", "a/b", "name"]), "GET exchanges/a%2Fb?columns=name");
}

#[test]
fn columns_that_nobody_knows_are_64() {
    let driven = drive(&["list_queues", "nmae"], []);
    assert_eq!(driven.failure(), (64, "unknown column 'nmae', did you mean 'name'?"));
}

#[test]
fn a_vhost_that_is_not_there_is_65() {
    for line in [&["list_queues", "-p", "v"][..], &["list_permissions", "-p", "v"], &["list_policies", "-p", "v"]] {
        assert_eq!(drive(line, [recorded("not_found")]).failure(), (65, "virtual host 'v' does not exist"));
    }
}

#[test]
fn status_is_for_people_and_for_programs() {
    for (command, line, field) in [
        ("status", "RabbitMQ version: 4.3.", "\"rabbitmq_version\":\"4.3."),
        ("cluster_status", "Running Nodes\n\nrabbit@here\n", "\"running_nodes\":[\"rabbit@here\"]"),
    ] {
        let driven = drive(&[command], [recorded("overview"), recorded("nodes")]);
        assert!(driven.text().contains(line), "{}", driven.text());
        assert!(
            driven
                .text()
                .contains("Interface: 127.0.0.1, port: 21672, protocol: amqp, purpose: AMQP 0-9-1 and AMQP 1.0\n")
        );
        let style = Style { format: Format::Json, has_headers: true, is_terminal: false };
        let json = String::from_utf8(render(driven.result.as_ref().unwrap(), style)).unwrap();
        assert!(json.contains(field) && serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    }
}

#[test]
fn alarms_are_named_with_their_nodes() {
    assert_eq!(drive(&["alarms"], [recorded("nodes")]).text(), "No alarms are reported, local or clusterwide\n");
    let body = br#"[{"name":"n","mem_alarm":true,"disk_free_alarm":true},{"name":"m","mem_alarm":false}]"#.to_vec();
    let driven = drive(&["alarms"], [crate::reply::Reply { status: 200, body }]);
    assert_eq!(driven.text(), "Memory alarm on node n\nFree disk space alarm on node n\n");
}

#[test]
fn memory_is_shown_largest_first() {
    let body = br#"{"memory":{"a":250000000,"b":750000000,"strategy":"rss","total":{"rss":1}}}"#.to_vec();
    let reply = || crate::reply::Reply { status: 200, body: body.clone() };
    let driven = drive(&["memory_breakdown"], [recorded("overview"), reply()]);
    assert_eq!(driven.text(), "b: 0.75 gb (75.00%)\na: 0.25 gb (25.00%)\n");
    let driven = drive(&["memory_breakdown", "--unit", "mb"], [recorded("overview"), reply()]);
    assert_eq!(driven.text(), "b: 750.0 mb (75.00%)\na: 250.0 mb (25.00%)\n");
}

#[test]
fn exported_definitions_are_as_the_server_wrote_them() {
    let driven = drive(&["export_definitions", "-"], [recorded("definitions")]);
    assert_eq!(driven.text().trim_end(), String::from_utf8(recorded("definitions").body).unwrap().trim_end());
}

#[test]
fn nested_fields_are_columns_with_dots() {
    let driven = drive(&["list", "channels", "name", "connection_details.peer_host"], [recorded("channels")]);
    assert!(driven.text().starts_with("name\tconnection_details.peer_host\n127.0.0.1:"), "{}", driven.text());
    assert!(driven.text().ends_with("\t127.0.0.1\n"), "{}", driven.text());
}
