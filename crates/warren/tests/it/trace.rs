//! `warren trace` and `warren profile wall` as operators run them; and the example of docs/trace.md, to the letter.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Broker, Scratch, check_output, program, scratch, text};

const PLANTED: &str = "WARREN_PLANT_SLOW_LISTING";

/// A broker whose data is where commands look for it that are run in the directory.
fn broker(test: &str, environment: &[(&str, &str)]) -> (Broker, Scratch) {
    let dir = scratch(test);
    let broker = Broker::start_in(&dir.join("warren-data"), &[], environment);
    (broker, dir)
}

/// The program in the directory of a broker.
fn command(dir: &Path, words: &[&str]) -> Command {
    let mut command = program(words);
    command.current_dir(dir).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ctl(dir: &Path, words: &[&str]) -> String {
    let output = command(dir, &[&["ctl"], words].concat()).output().unwrap();
    check_output(&output, 0, "");
    text(&output.stdout)
}

fn sessions(dir: &Path) -> u64 {
    let output = Command::new("curl")
        .args(["-s", "--unix-socket"])
        .arg(dir.join("warren-data/control.sock"))
        .arg("http://localhost/api/trace/sessions")
        .output()
        .unwrap();
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["count"].as_u64().unwrap()
}

/// Waits until there are so many sessions; says how long that took.
#[track_caller]
pub(crate) fn await_sessions(dir: &Path, count: u64) -> Duration {
    let began = Instant::now();
    while sessions(dir) != count {
        assert!(began.elapsed() < Duration::from_secs(30), "there are {} sessions", sessions(dir));
    }
    began.elapsed()
}

/// A viewer that has begun to watch.
fn viewer(dir: &Path, words: &[&str]) -> Child {
    let mut child = command(dir, &[&["trace", "calls"], words].concat()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.ends_with("traced. Ctrl-C ends it.\n"), "{line}");
    child
}

/// Asks for the list of queues again and again, as a tool that watches them, until dropped.
struct Poller<'a> {
    is_over: &'a AtomicBool,
}

impl Drop for Poller<'_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// The blocks of code of a document's section, by their language.
fn blocks(section: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut rest = section;
    while let Some((_, after)) = rest.split_once("```") {
        let (block, after) = after.split_once("\n```").unwrap();
        let (language, code) = block.split_once('\n').unwrap();
        blocks.push((language.to_owned(), code.to_owned()));
        rest = after;
    }
    blocks
}

/// Whether a line is what was expected, where `…` stands for any text.
fn is_like(line: &str, expected: &str) -> bool {
    let mut rest = line;
    let mut parts = expected.split('…');
    let Some(after) = rest.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    rest = after;
    let parts: Vec<&str> = parts.collect();
    for part in &parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || expected.ends_with('…')
}

#[test]
fn the_example_finds_what_was_planted() {
    let document = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/trace.md")).unwrap();
    let section = document.split("## Example: a slow listing").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut blocks = blocks(section).into_iter();
    let (_, start) = blocks.next().unwrap();
    let (variable, rest) = start.split_once(' ').unwrap();
    assert_eq!(rest, "target/debug/warren serve");
    let (name, value) = variable.split_once('=').unwrap();
    assert_eq!(name, PLANTED);
    let (_broker, dir) = broker("trace-example", &[(name, value)]);
    ctl(&dir, &["declare", "queue", "--name", "orders"]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _poller = Poller { is_over: &is_over };
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _ = command(&dir, &["ctl", "list_queues", "name", "messages"]).output();
            }
        });
        let mut command_count = 0;
        while let Some((language, line)) = blocks.next() {
            assert_eq!(language, "sh");
            let line = line.strip_prefix("warren ").unwrap();
            let output = Command::new("sh")
                .args(["-c", &format!("exec {} {line}", env!("CARGO_BIN_EXE_warren"))])
                .current_dir(&*dir)
                .env_clear()
                .output()
                .unwrap();
            check_output(&output, 0, "");
            let shown = text(&output.stdout);
            let (language, expected) = blocks.next().unwrap();
            assert_eq!(language, "text");
            let mut lines = shown.lines();
            for expected in expected.lines() {
                assert!(lines.any(|line| is_like(line, expected)), "{line}: no line is like\n{expected}\nin\n{shown}");
            }
            command_count += 1;
        }
        assert_eq!(command_count, 4);
    });
}

/// Ctrl-C, as a terminal sends it.
fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn an_interrupted_trace_says_what_it_came_to() {
    let (_broker, dir) = broker("trace-interrupted", &[]);
    let mut calls = viewer(&dir, &["http::*", "--max", "100"]);
    ctl(&dir, &["list_queues", "name"]);
    // Printed, so that it has been counted.
    BufReader::new(calls.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    interrupt(&calls);
    let ended = calls.wait_with_output().unwrap();
    let said = text(&ended.stderr);
    assert!(
        ended.status.success() && said.contains("Ended: Ctrl-C. ") && said.contains(" in all. It cost the broker "),
        "{said}"
    );
    assert!(!said.contains(". 0 calls"), "{said}");

    let mut messages = command(&dir, &["trace", "messages"]).spawn().unwrap();
    BufReader::new(messages.stderr.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    interrupt(&messages);
    check_output(&messages.wait_with_output().unwrap(), 0, "Ended: Ctrl-C. 0 events in all. It cost the broker ");

    let profile = command(&dir, &["profile", "wall", "http::*", "--seconds", "300"]).spawn().unwrap();
    await_sessions(&dir, 1);
    interrupt(&profile);
    check_output(&profile.wait_with_output().unwrap(), 0, "It ended early: the client ended it.");
    await_sessions(&dir, 0);
}

#[test]
fn a_session_is_gone_within_a_second_of_its_viewer() {
    let (_broker, dir) = broker("trace-viewers", &[]);
    let mut viewers: Vec<Child> = (0..8).map(|_| viewer(&dir, &["amqp::*"])).collect();
    let ninth = command(&dir, &["trace", "calls", "amqp::*"]).output().unwrap();
    check_output(&ninth, 1, "8 traces and profiles are running");
    await_sessions(&dir, 8);
    for (number, viewer) in viewers.iter_mut().enumerate() {
        let signal = if number % 2 == 0 { "KILL" } else { "INT" };
        assert!(Command::new("kill").args([format!("-{signal}"), viewer.id().to_string()]).status().unwrap().success());
        let status = viewer.wait().unwrap();
        assert_eq!(status.code(), (signal == "INT").then_some(0));
    }
    let took = await_sessions(&dir, 0);
    assert!(took < Duration::from_secs(5), "a second is meant, and a busy machine forgiven: {took:?}");
}

#[test]
fn calls_are_printed_with_arguments_results_and_durations() {
    let (_broker, dir) = broker("trace-calls", &[]);
    let viewer = viewer(&dir, &["http::PUT /api/queues/*", "--return", "--where", "queue=orders", "--max", "1"]);
    ctl(&dir, &["declare", "queue", "--name", "others"]);
    ctl(&dir, &["declare", "queue", "--name", "orders"]);
    let output = viewer.wait_with_output().unwrap();
    check_output(&output, 0, "Ended: 1 call was traced. 1 call in all. It cost the broker ");
    let shown = text(&output.stdout);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(
        is_like(
            lines[0],
            r#"… <request> http::PUT /api/queues/{vhost}/{queue}(vhost="/", queue="orders", user="", query="")"#
        ),
        "{shown}"
    );
    assert!(is_like(lines[1], "… <request> http::PUT /api/queues/{vhost}/{queue}/4 --> 201 (…s)"), "{shown}");
}

#[test]
fn every_call_has_the_arguments_that_the_list_names() {
    let (broker, dir) = broker("trace-arguments", &[]);
    let viewer = viewer(&dir, &["*", "--max", "100000", "--rate", "100000"]);
    let ping = program(&["ping", &broker.address(), "-c", "1", "-i", "0"]).output().unwrap();
    check_output(&ping, 0, "");
    ctl(&dir, &["declare", "queue", "--name", "orders"]);
    ctl(&dir, &["list_queues"]);
    assert!(Command::new("kill").args(["-INT", &viewer.id().to_string()]).status().unwrap().success());
    let seen = text(&viewer.wait_with_output().unwrap().stdout);
    let list = text(&command(&dir, &["trace", "list"]).output().unwrap().stdout);
    let mut methods = BTreeSet::new();
    for line in seen.lines() {
        // Values may have what stands between arguments; none here has what stands between names and values.
        let (before, arguments) = line.trim_end_matches(')').split_once('(').unwrap();
        let (_, name) = before.rsplit_once("> ").unwrap();
        let given: Vec<&str> = arguments.split(", ").filter_map(|argument| Some(argument.split_once('=')?.0)).collect();
        let listed = list.lines().find_map(|listed| listed.strip_prefix(name)?.strip_prefix('(')?.split_once(')'));
        let (listed, _) = listed.unwrap_or_else(|| panic!("{name} is in no list"));
        let listed: Vec<&str> = listed.split(", ").filter(|name| !name.is_empty() && *name != "body").collect();
        assert_eq!(given, listed, "{line}");
        methods.insert(name);
    }
    for name in
        ["amqp::basic.publish", "amqp::basic.consume", "amqp::queue.declare", "journal::commit", "users::log_in"]
    {
        assert!(methods.contains(name), "{name} is not among {methods:?}");
    }
}

#[test]
fn an_alarm_ends_sessions_and_has_the_recorder_saved() {
    let (mut broker, dir) = broker("trace-alarm", &[]);
    check_output(&command(&dir, &["trace", "recorder", "start"]).output().unwrap(), 0, "");
    let viewer = viewer(&dir, &["amqp::*"]);
    ctl(&dir, &["set_disk_free_limit", "8000000GB"]);
    check_output(
        &viewer.wait_with_output().unwrap(),
        0,
        "Ended: the disk alarm is in effect. 0 calls in all. It cost the broker ",
    );
    broker.wait_for_event("flight recording saved");
    let refused = command(&dir, &["profile", "wall", "amqp::*"]).output().unwrap();
    check_output(&refused, 1, "Error: the disk alarm is in effect: no session can start during an alarm");
    ctl(&dir, &["set_disk_free_limit", "1MB"]);
}

#[test]
fn wrong_input_is_told_in_a_sentence() {
    let (_broker, dir) = broker("trace-errors", &[]);
    for (words, status, says) in [
        (
            &["trace", "calls", "nothing::*"] as &[&str],
            1,
            "Error: no trace point has such a name: warren trace list names them\n",
        ),
        (&["trace", "list", "nothing::*"], 1, "Error: no trace point has such a name: warren trace list names all\n"),
        (
            &["trace", "calls", "amqp::*", "--where", "orders"],
            1,
            "Error: where must be an argument and its value, such as queue=orders",
        ),
        (&["trace", "calls", "amqp::*", "--rate", "0"], 2, "is not a number of calls a second, such as 20/s"),
        (&["trace", "recorder", "save", "-o", "x.json"], 1, "Error: the flight recorder is not running: "),
        (&["profile", "wall", "amqp::*", "-o", "x.png"], 2, "must end with .svg, .speedscope.json, .folded or .txt"),
        (&["trace", "list", "--url", "http://127.0.0.1:1"], 1, "does not answer"),
    ] {
        check_output(&command(&dir, words).output().unwrap(), status, says);
    }
}

#[test]
fn the_flight_recorder_saves_a_slow_request_by_itself() {
    let (mut broker, dir) = broker("trace-recorder", &[(PLANTED, "300")]);
    let run = |words: &[&str]| {
        let output = command(&dir, &[&["trace", "recorder"], words].concat()).output().unwrap();
        check_output(&output, 0, "");
        text(&output.stdout)
    };
    assert_eq!(run(&["status"]), "The flight recorder is not running.\n");
    run(&["start", "--slow-request", "1"]);
    ctl(&dir, &["list_queues"]);
    broker.wait_for_event("flight recording saved after a slow request");
    let status = run(&["status"]);
    let name = status.lines().nth(1).unwrap().split(' ').next().unwrap();
    assert!(status.starts_with("It runs, in 8 MiB.\n") && name.ends_with("-slow-request.json"), "{status}");
    assert!(run(&["save", name, "-o", "saved.json"]).ends_with("Open it at https://ui.perfetto.dev.\n"));
    let saved: Value = serde_json::from_slice(&std::fs::read(dir.join("saved.json")).unwrap()).unwrap();
    let names: Vec<&str> =
        saved["traceEvents"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert!(names.iter().any(|name| name.starts_with("http::GET /api/queues")), "{names:?}");
    run(&["stop"]);
    assert!(run(&["status"]).starts_with("The flight recorder is not running.\n"));
}
