//! Reports on files as people publish them, and the command with a broker that was recorded.
//!
//! The files are in `tests/definitions/published`, each with its report in `expected` beside them. `WARREN_RENDER=1 cargo test -p ctl
//! published` writes the reports anew; what changed is to be read like a text that a person gets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use preflight::{Input, Kind, Report, Severity};
use serde_json::json;

use crate::commands::tests::{bare, drive};
use crate::failure::{DATA, REFUSED, USAGE};
use crate::output::{Output, findings};
use crate::reply::Reply;

/// Files that belong together, and are looked at together.
const TOGETHER: &[(&str, &[&str])] = &[
    ("together-iot", &["mqtt-stomp-web.conf", "enabled_plugins.everything", "mqtt-3.13.json"]),
    ("together-docker", &["docker-image.conf", "enabled_plugins.docker", "docker-compose.env", "undefined-3.12.json"]),
    ("together-operator", &["cluster-operator.conf", "enabled_plugins.operator", "kubernetes-secret.json"]),
    ("together-classic", &["production-tls.conf", "advanced-tls.config", "enabled_plugins.docker", "export-3.8.json"]),
    ("together-without-mqtt", &["mqtt-stomp-web.conf", "enabled_plugins.docker"]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/definitions/published")
}

fn examined(files: &[&str]) -> Report {
    let read = |name: &&str| Input {
        name: (*name).to_owned(),
        bytes: std::fs::read(folder().join(name)).unwrap(),
        kind: None,
    };
    preflight::examine(&files.iter().map(read).collect::<Vec<_>>()).unwrap()
}

/// All files, by name.
fn published() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let mut names: Vec<String> = files.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

fn value(report: &Report) -> serde_json::Value {
    serde_json::to_value(findings::document(report)).unwrap()
}

fn check_report(name: &str, files: &[&str]) -> Result<(), String> {
    let found = examined(files);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert!(found.groups.iter().all(|group| root.join(group.page).is_file()), "{name}: a page is not there");
    let text = findings::text(&found) + "\n";
    let path = folder().join("expected").join(format!("{name}.txt"));
    if std::env::var_os("WARREN_RENDER").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if text == expected { Ok(()) } else { Err(format!("{}:\n{text}", path.display())) }
}

#[test]
fn published_files_are_reported_as_a_person_would_want() {
    let names = published();
    let alone = names.iter().map(|name| check_report(name, &[name]));
    let together = TOGETHER.iter().map(|(name, files)| check_report(name, files));
    let wrong: Vec<String> = alone.chain(together).filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "WARREN_RENDER=1 writes them anew\n{}", wrong.join("\n\n"));
    assert!(names.len() >= 30);
}

/// An entry of a document: its list and its number.
type EntryKey = (String, usize);

/// Entries that a broker named in its answer to an import: `queues, entry 3 ('orders' in vhost '/'): …`.
fn named_by_broker(text: &str) -> BTreeSet<EntryKey> {
    let named = |line: &str| {
        let (list, rest) = line.split_once(", entry ")?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some((list.to_owned(), digits.parse().ok()?))
    };
    text.lines().filter_map(named).collect()
}

/// Whether it is of a binding without one of its ends, which refuses nothing.
fn is_passed_over(line: &str) -> bool {
    line.ends_with("is neither in the document nor on the broker")
        || (line.contains(": 'amq.") && line.ends_with("' was left out"))
}

/// What imports came to is recorded by `tests/definitions/test_published.py`.
#[test]
fn published_definitions_are_refused_where_a_broker_refuses_them() {
    let mut compared = 0;
    for name in published().iter().filter(|name| name.ends_with(".json")) {
        let recorded = std::fs::read_to_string(folder().join("expected").join(format!("{name}.import")));
        let recorded = recorded.unwrap_or_else(|error| panic!("{name}: {error}"));
        let report = examined(&[name]);
        let places = report.of_severity(Severity::Refused).flat_map(|group| &group.places);
        let refused: BTreeSet<EntryKey> =
            places.filter_map(|place| place.entry).map(|entry| (entry.list.to_owned(), entry.number)).collect();
        let is_imported = recorded.starts_with("200");
        assert_eq!(report.refused == 0 || report.can_be_left_out(), is_imported, "{name}");
        match is_imported {
            true => {
                let lines: Vec<&str> = recorded.lines().filter(|line| !is_passed_over(line)).collect();
                assert_eq!(refused, named_by_broker(&lines.join("\n")), "{name}");
            }
            // A broker ends with the first kind of trouble: entries that cannot be read, then those that refer to nothing.
            false => assert!(named_by_broker(&recorded).is_subset(&refused), "{name}: {refused:?}"),
        }
        compared += 1;
    }
    assert!(compared >= 15);
}

fn reply(value: &serde_json::Value) -> Reply {
    Reply { status: 200, body: value.to_string().into_bytes() }
}

fn answers(definitions: &serde_json::Value) -> Vec<Reply> {
    vec![
        reply(&json!({"rabbitmq_version": "4.1.0", "product_name": "RabbitMQ", "queue_totals": {"messages": 1200}})),
        reply(definitions),
        reply(&json!([])),
        reply(&json!([{"name": "rabbit@a", "enabled_plugins": ["rabbitmq_management"]}, {"name": "rabbit@b"}])),
        reply(&json!([{"name": "c1", "protocol": "AMQP 0-9-1"}, {"name": "c2", "protocol": "MQTT 5-0"}])),
        reply(&json!([{"name": "q", "exclusive": false}, {"name": "amq.gen-1", "exclusive": true}])),
        bare(404),
    ]
}

#[test]
fn a_broker_that_runs_is_asked_for_all_that_counts() {
    let driven = drive(&["check", "http://admin:secret@old:15672"], answers(&json!({"vhosts": [{"name": "/"}]})));
    assert_eq!(
        driven.did,
        [
            "GET overview",
            "GET definitions",
            "GET exchanges?columns=vhost,name,type,durable,auto_delete,internal,arguments",
            "GET nodes",
            "GET connections?columns=name,protocol,user_provided_name",
            "GET queues?columns=name,exclusive&disable_stats=true",
            "GET shovels",
        ]
    );
    let Ok(Output::Findings { report, status }) = driven.result else { panic!() };
    let (text, value) = (findings::text(&report), value(&report));
    assert_eq!(status, REFUSED);
    assert!(!text.contains("secret"));
    assert!(text.contains("http://here:15672 is RabbitMQ 4.1.0, a cluster of 2 nodes"), "{text}");
    assert!(text.contains("1,200 are on"), "{text}");
    assert!(text.contains("1 connection of MQTT 5-0, such as c2"), "{text}");
    assert_eq!(value["counts"], json!({"total": 5, "works": 4, "different": 0, "refused": 1}));
    assert_eq!(value["verdict"], "refused");
    assert_eq!(value["works"]["exclusive queues"], 1);
}

#[test]
fn who_may_not_see_definitions_is_told() {
    let refusal =
        Reply { status: 401, body: br#"{"error":"not_authorized","reason":"Not administrator user"}"#.to_vec() };
    let driven = drive(&["check", "http://old:15672"], [answers(&json!({}))[0].clone(), refusal]);
    assert_eq!(driven.failure().0, 77);
}

#[test]
fn files_and_a_broker_may_be_said_together() {
    let driven = drive(&["check", "a.json", "http://old:15672", "--kind", "definitions"], answers(&json!({})));
    assert_eq!(driven.did[..2], ["read a.json", "GET overview"]);
    assert_eq!(drive(&["check"], answers(&json!({}))).did.len(), 7);
    let driven = drive(&["check", "http://a:1", "http://b:1"], []);
    assert_eq!(driven.failure(), (USAGE, "check accepts one URL at a time"));
}

#[test]
fn what_cannot_be_read_is_told() {
    let driven = drive(&["check", "-", "--kind", "plugins"], []);
    assert_eq!(driven.did, ["read what comes in"]);
    assert_eq!(driven.failure().0, DATA);
    let driven = drive(&["check", "a.yaml"], []);
    assert!(
        driven.failure().1.starts_with("a.yaml: unknown kind of file; set its kind with --kind"),
        "{:?}",
        driven.failure()
    );
    assert_eq!(drive(&["check", "a", "--kind", "yaml"], []).failure().0, USAGE);
}

#[test]
fn a_file_without_trouble_ends_well() {
    let report = examined(&["enabled_plugins.docker"]);
    assert_eq!(report.sources, [("enabled_plugins.docker".to_owned(), Kind::Plugins)]);
    assert!(findings::text(&report).contains("All 2 plugins work as they are."));
    assert_eq!(value(&report)["counts"]["refused"], 0);
}
