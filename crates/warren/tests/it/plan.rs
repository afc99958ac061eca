//! `warren plan` as a process: the page's examples, what it finds on this machine, in results and at a broker, and its statuses.

use std::fs;
use std::io::{BufReader, Write as _};
use std::net::TcpListener;

use serde_json::Value;

use crate::harness::{Broker, check_fails, program, read_request, scratch, text, warren, write};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plan.md"));

/// The commands of the page, each with the excerpt of its output that follows it.
fn examples() -> Vec<(&'static str, &'static str)> {
    let after_command = PAGE.split("```sh\nwarren plan ").skip(1);
    let pairs = after_command.filter_map(|rest| {
        let (command, rest) = rest.split_once("\n```")?;
        let (_, excerpt) = rest.split_once("```text\n").filter(|(between, _)| !between.contains("```"))?;
        Some((command, excerpt.split_once("```")?.0))
    });
    pairs.collect()
}

#[test]
fn the_examples_of_the_page_come_out_as_they_stand_there() {
    let dir = scratch("plan-examples");
    let file = PAGE.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    write(&dir, "orders.toml", file);
    let examples = examples();
    assert!(examples.len() >= 2, "{examples:?}");
    for (command, excerpt) in examples {
        let words: Vec<&str> = std::iter::once("plan").chain(command.split_whitespace()).collect();
        let output = program(&words).current_dir(&*dir).output().unwrap();
        let out = text(&output.stdout);
        assert!(out.contains(excerpt), "warren plan {command}\n{out}{}", text(&output.stderr));
    }
}

fn json(words: &[&str]) -> (Option<i32>, Value) {
    let output = warren(&[&["plan", "--json"], words].concat());
    let out = text(&output.stdout);
    (output.status.code(), serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{}", text(&output.stderr))))
}

#[track_caller]
fn line<'a>(plan: &'a Value, id: &str) -> &'a Value {
    let lines = plan["sections"].as_array().unwrap().iter().flat_map(|section| section["lines"].as_array().unwrap());
    lines.into_iter().find(|line| line["id"] == id).unwrap_or_else(|| panic!("no line {id}"))
}

#[test]
fn bad_usage_is_one_sentence_and_status_2() {
    check_fails(&["plan"], 2, "set it with --rate or --throughput");
    check_fails(&["plan", "--rat", "1"], 2, "warren plan: unknown option '--rat'; did you mean '--rate'?\n");
    check_fails(&["plan", "--rate", "1", "--replicas", "2"], 2, "replicas must be 1, 3 or 5, not 2");
    check_fails(&["plan", "/no/such/file.toml"], 1, "cannot read /no/such/file.toml: ");
    check_fails(&["plan", "--from", "/no/such/file.json"], 1, "cannot read /no/such/file.json: ");
    check_fails(&["plan", "--url", "ftp://x"], 1, "is not an http:// or https:// URL");
    let help = warren(&["plan", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help.stdout).contains("--load-balancers"));
}

#[test]
fn what_does_not_fit_is_status_1() {
    let (status, plan) = json(&["--rate", "1000", "--cpus", "64", "--network", "100Gbit/s"]);
    assert_eq!((status, &plan["fits"]), (Some(0), &Value::Bool(true)));
    let (status, plan) = json(&["--rate", "1000", "--network", "1Mbit/s"]);
    assert_eq!((status, &plan["fits"]), (Some(1), &Value::Bool(false)));
    assert_eq!(line(&plan, "nodes.network-needed")["fit"]["fits"], false);
}

#[test]
fn this_machine_is_measured_and_nothing_is_left() {
    let dir = scratch("plan-here");
    let data_dir = dir.to_str().unwrap();
    let (_, plan) = json(&["--rate", "1", "--outage", "1s", "--here", "--data-dir", data_dir]);
    for id in [
        "processors.needed",
        "memory.needed",
        "files.needed",
        "disk.write-needed",
        "disk.space-needed",
        "disk.syncs-needed",
    ] {
        let fit = &line(&plan, id)["fit"];
        assert!(fit["limit"].as_f64().unwrap() > 0.0, "{id}: {fit}");
    }
    // Whether an interface says its speed depends on the machine.
    assert!(line(&plan, "nodes.network-needed")["fit"].is_object());
    assert!(line(&plan, "workload.disk-write")["source"].as_str().unwrap().contains(data_dir));
    assert_eq!(fs::read_dir(&*dir).unwrap().count(), 0, "a file is left");
    let nowhere = dir.join("nowhere");
    let (_, plan) = json(&["--rate", "1", "--here", "--data-dir", nowhere.to_str().unwrap()]);
    let reason = line(&plan, "disk.space-needed")["fit"]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("cannot measure the disk of"), "{reason}");
}

#[test]
fn results_of_perf_say_what_the_workload_was() {
    let dir = scratch("plan-from");
    let broker = Broker::start(&dir.join("data"), &[]);
    let uri = format!("amqp://{}", broker.address());
    let results = dir.join("results.json");
    let results = results.to_str().unwrap();
    let words =
        ["perf", "-x", "1", "-y", "2", "-s", "500", "-c", "50", "-r", "200", "-z", "3", "-f", "persistent", "-u", "q"];
    let measured = warren(&[&words[..], &["--uri", &uri, "--json", results]].concat());
    assert_eq!(measured.status.code(), Some(0), "{}", text(&measured.stderr));
    broker.stop();
    let (status, plan) = json(&["--from", results, "--peak", "3"]);
    assert_eq!(status, Some(0));
    let rate = line(&plan, "workload.rate")["value"].as_f64().unwrap();
    assert!((100.0..400.0).contains(&rate), "{rate}");
    assert_eq!(line(&plan, "workload.body")["value"], 500.0);
    assert_eq!(line(&plan, "workload.persistent")["value"], 1.0);
    assert_eq!(line(&plan, "workload.confirms")["value"], 1.0);
    assert!(line(&plan, "workload.rate")["source"].as_str().unwrap().contains("results.json"));
    assert_eq!(line(&plan, "load.peak")["value"].as_f64().unwrap(), 3.0 * rate);
}

#[test]
fn a_broker_that_runs_says_what_its_workload_is() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://me:s3cret@{}/api/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        let answers = [
            r#"{"message_stats":{"publish_details":{"rate":500.0},"deliver_get_details":{"rate":1000.0}},
                "object_totals":{"connections":9}}"#,
            r#"[{"name":"a","running":true}]"#,
            r#"[{"messages":2,"message_bytes":600,"durable":true}]"#,
            "[]",
        ];
        let ask = |body: &str| {
            let request = read_request(&mut stream).unwrap();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            assert!(request.headers.contains("authorization: Basic bWU6czNjcmV0\r\n"), "{}", request.headers);
            request.line
        };
        answers.map(ask)
    });
    let (status, plan) = json(&["--url", &url]);
    assert_eq!(status, Some(0));
    assert_eq!(server.join().unwrap()[0], "GET /api/overview HTTP/1.1");
    for (id, value) in [("rate", 500.0), ("copies", 2.0), ("body", 300.0), ("connections", 9.0), ("nodes", 1.0)] {
        assert_eq!(line(&plan, &format!("workload.{id}"))["value"], value, "{id}");
    }
    assert!(!plan.to_string().contains("s3cret"));
}

#[test]
fn a_warren_answers_what_is_asked_of_it() {
    let dir = scratch("plan-url");
    let broker = Broker::start(&dir, &[]);
    let url = format!("unix:{}", dir.join("control.sock").display());
    check_fails(&["plan", "--url", &url], 1, "nothing is published at ");
    let (status, plan) = json(&["--url", &url, "--rate", "10"]);
    assert_eq!(status, Some(0));
    assert_eq!(line(&plan, "workload.queues")["value"], 0.0);
    assert_eq!(line(&plan, "workload.nodes")["value"], 1.0);
    broker.stop();
}
