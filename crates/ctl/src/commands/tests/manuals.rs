//! Commands of rabbitmqctl's, rabbitmq-diagnostics' and rabbitmq-queues' manuals that wait, change the process, or report everything.

use super::{bare, check, check_one, drive, recorded};
use crate::step::Step;

#[test]
fn wait_looks_for_the_process_and_then_for_its_server() {
    check(
        &["wait", "/run/pid"],
        &[bare(200)],
        &["look for File(\"/run/pid\")", "pause 500 ms", "look for File(\"/run/pid\")", "try GET overview"],
    );
    check(&["wait", "--pid", "7"], &[bare(200)], &["look for Id(7)", "try GET overview"]);
    assert_eq!(drive(&["wait", "--pid", "123"], []).failure(), (69, "process 123 does not exist or has ended"));
    // No broker answers, until the time is over.
    assert_eq!(drive(&["wait", "--pid", "7", "--timeout", "3"], []).failure().0, 75);
    assert_eq!(drive(&["wait"], []).failure().0, 64);
    assert_eq!(drive(&["wait", "--pid", "x"], []).failure().0, 65);
}

#[test]
fn nodes_are_waited_for() {
    let nodes = |text: &str| crate::reply::Reply { status: 200, body: text.as_bytes().to_vec() };
    let one = r#"[{"name":"a","running":true},{"name":"b","running":false}]"#;
    check(&["await_online_nodes", "1"], &[nodes(one)], &["try GET nodes"]);
    let both = one.replace("false", "true");
    check(
        &["await_online_nodes", "2"],
        &[nodes(one), nodes(&both)],
        &["try GET nodes", "pause 500 ms", "try GET nodes"],
    );
    let driven = drive(&["await_online_nodes", "2", "-t", "1"], [nodes(one)]);
    assert_eq!(driven.failure(), (75, "timeout: 1 of 2 nodes run"));
    check(&["await_online_quorum_plus_one"], &[bare(200)], &["try GET health/checks/node-is-quorum-critical"]);
    assert_eq!(drive(&["await_online_quorum_plus_one", "-t", "1"], [bare(503)]).failure().0, 75);
}

#[test]
fn what_is_refused_is_refused_whatever_options_it_has() {
    for line in [
        &["forget_cluster_node", "--offline", "rabbit@x"][..],
        &["join_cluster", "rabbit@x", "--ram"],
        &["encode", "v", "p", "--cipher", "aes_cbc256", "--iterations", "5"],
        &["log_tail", "--number", "50"],
        &["consume_event_stream", "--duration", "20", "--pattern", "queue_.*"],
        &["tanzu", "sds", "status_on_node", "--node", "rabbit@x"],
    ] {
        let driven = drive(line, []);
        assert_eq!(driven.failure().0, 69, "{line:?}: {}", driven.failure().1);
    }
}

#[test]
fn queues_that_cannot_answer_are_listed_and_leaders_are_spread() {
    let queues = crate::reply::Reply {
        status: 200,
        body: br#"[{"name":"a","state":"running"},{"name":"b","state":"down"}]"#.to_vec(),
    };
    assert_eq!(drive(&["list_unresponsive_queues", "--queue-timeout", "9"], [queues]).text(), "name\nb\n");
    let nodes = |text: &str| crate::reply::Reply { status: 200, body: text.as_bytes().to_vec() };
    let line = ["rebalance", "quorum", "--vhost-pattern", "^v", "--queue-pattern", ".*"];
    check(&line, &[nodes(r#"[{"name":"a"}]"#)], &["GET nodes"]);
    assert_eq!(drive(&line, [nodes(r#"[{"name":"a"},{"name":"b"}]"#), bare(404)]).failure().0, 69);
    assert_eq!(drive(&["rebalance", "some"], []).failure().0, 64);
}

#[test]
fn the_process_is_changed() {
    check_one(&["set_vm_memory_high_watermark", "0.5"], r#"PUT warren/memory-limit {"relative":0.5}"#);
    check_one(&["set_vm_memory_high_watermark", "absolute", "2GiB"], r#"PUT warren/memory-limit {"absolute":"2GiB"}"#);
    check_one(&["set_disk_free_limit", "50MB"], r#"PUT warren/disk-free-limit {"absolute":"50MB"}"#);
    check_one(&["set_disk_free_limit", "mem_relative", "1.5"], r#"PUT warren/disk-free-limit {"relative":1.5}"#);
    check_one(&["set_log_level", "debug"], r#"PUT warren/log-level {"level":"debug"}"#);
    check_one(&["suspend_listeners"], "POST warren/listeners/suspend {}");
    check_one(&["resume_listeners"], "POST warren/listeners/resume {}");
    // Only the server knows what is good.
    check_one(&["set_vm_memory_high_watermark", "nan"], r#"PUT warren/memory-limit {"relative":"nan"}"#);
    for line in [
        &["set_vm_memory_high_watermark", "absolute"][..],
        &["set_vm_memory_high_watermark", "0.4", "5"],
        &["set_vm_memory_high_watermark"],
        &["set_disk_free_limit", "mem_relative"],
        &["set_disk_free_limit", "50MB", "5"],
        &["set_log_level", "connection", "debug"],
        &["suspend_listeners", "x"],
    ] {
        assert_eq!(drive(line, []).failure().0, 64, "{line:?}");
    }
}

/// The statuses are rabbitmqctl's.
#[test]
fn a_change_that_is_refused_is_so_in_the_servers_words() {
    let refused = |status, reason: &str| crate::reply::Reply {
        status,
        body: format!(r#"{{"error":"x","reason":"{reason}"}}"#).into_bytes(),
    };
    let line = ["set_vm_memory_high_watermark", "1.1"];
    assert_eq!(drive(&line, [refused(400, "too much")]).failure(), (65, "too much"));
    assert_eq!(drive(&["set_log_level", "x"], [refused(400, "no such level")]).failure(), (69, "no such level"));
    assert_eq!(drive(&["resume_listeners"], [refused(500, "port taken")]).failure(), (69, "port taken"));
    assert_eq!(drive(&["suspend_listeners"], [refused(401, "Not administrator user")]).failure().0, 77);
    for status in [404, 405] {
        let driven = drive(&["suspend_listeners"], [bare(status)]);
        assert!(driven.failure().1.contains("Warren's own"), "{:?}", driven.failure());
    }
}

#[test]
fn lost_messages_are_listed_and_acknowledged() {
    let answer = |status, body: &str| crate::reply::Reply { status, body: body.as_bytes().to_vec() };
    let found = r#"{"lost_messages":5,"damaged_files":[
        {"path":"/a","what":"cut short","found_at":"now","lost":[
            {"vhost":"/","queue":"q","messages":3}, {"vhost":"/","exchange":"e","messages":1}, {"messages":1}]},
        {"path":"/b","what":"missing","found_at":"now","lost":[]}]}"#;
    let listed = drive(&["list_data_losses"], [answer(200, found)]);
    assert_eq!(listed.did, ["GET warren/data-loss"]);
    let expected = "vhost\tqueue\texchange\tmessages\tpath\twhat\n/\tq\t\t3\t/a\tcut short\n/\t\te\t1\t/a\tcut short\n\
                    \t\t\t1\t/a\tcut short\n\t\t\t0\t/b\tmissing\n";
    assert_eq!(listed.text(), expected);
    let chosen =
        drive(&["list_data_losses", "queue", "found_at"], [answer(200, r#"{"lost_messages":0,"damaged_files":[]}"#)]);
    assert_eq!(chosen.text(), "");
    check_one(&["acknowledge_data_losses"], "DELETE warren/data-loss");
    check(&["check_data_loss"], &[bare(200)], &["GET health/checks/data-loss"]);
    let failed = r#"{"status":"failed","reason":"5 messages were lost to damaged files","lost_messages":5}"#;
    let text = "health check failed: 5 messages were lost to damaged files (lost_messages: 5)";
    assert_eq!(drive(&["check_data_loss"], [answer(503, failed)]).failure(), (69, text));
    for line in ["list_data_losses", "acknowledge_data_losses", "check_data_loss"] {
        assert_eq!(drive(&[line], [bare(404)]).failure().0, 69);
    }
}

#[test]
fn statistics_are_forgotten() {
    check_one(&["reset_stats_db", "--all"], "DELETE reset");
    check(&["reset_stats_db"], &[recorded("overview"), bare(204)], &["GET overview", "DELETE reset/rabbit%40here"]);
}

#[test]
fn units_are_said_in_any_way() {
    for unit in ["MB", "megabytes", "gb", "bytes", "kB", "TB"] {
        let driven = drive(&["memory_breakdown", "--unit", unit], [recorded("overview"), recorded("memory")]);
        assert!(driven.result.is_ok(), "{unit}");
    }
    assert_eq!(drive(&["memory_breakdown", "--unit", "stones"], []).failure().0, 64);
}

#[test]
fn a_report_has_everything() {
    let list = || crate::reply::Reply { status: 200, body: b"[]".to_vec() };
    let vhosts = crate::reply::Reply { status: 200, body: br#"[{"name":"v"}]"#.to_vec() };
    let first = [recorded("overview"), recorded("nodes"), bare(404), vhosts];
    let driven = drive(&["report"], first.into_iter().chain((0..12).map(|_| list())));
    assert_eq!(driven.did.len(), 16);
    assert_eq!(driven.did.last().unwrap(), "GET vhost-limits/v");
    assert!(driven.text().contains("Queues of virtual host v\n\n(none)"), "{}", driven.text());
}

/// Command lines of the manuals. What each comes to: it `asks` a server (or reads a file), `says` something, is `refused` because HTTP
/// cannot do it, or is a mistake of `usage` in the manual itself.
#[test]
fn every_documented_line_does_something_or_says_why_not() {
    let mut others = Vec::new();
    for line in include_str!("../../../tests/data/documented.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (expected, command) = line.split_at(8);
        let words = split(command);
        let outcome = match crate::words::parse(&words[1..]) {
            Err(failure) => format!("usage: {}", failure.text),
            Ok(said) if said.wants_help => "asks".to_owned(),
            Ok(said) => match (said.input.command.start)(&said.input) {
                Ok(Step::Done(_)) => "says".to_owned(),
                Ok(_) => "asks".to_owned(),
                Err(failure) if failure.status == 69 => "refused".to_owned(),
                Err(failure) if failure.status == 64 => format!("usage: {}", failure.text),
                Err(failure) => format!("failed: {}", failure.text),
            },
        };
        if outcome.split(':').next() != Some(expected.trim_end()) {
            others.push(format!("{command}: {outcome}"));
        }
    }
    assert_eq!(others, [""; 0]);
}

/// As a shell does it, as far as the manuals need it.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for char in line.chars() {
        match (char, quote) {
            (_, Some(open)) if char == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}
