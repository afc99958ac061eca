//! A crate may use only the crates above it in this list: the directions in which the house is built.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// From the ground up. `warren` alone knows all others.
const CRATES: &[&str] = &[
    "amqp",
    "human",
    "command_line",
    "model",
    "definitions",
    "routing",
    "queue",
    "message",
    "outbox",
    "alerts",
    "influx",
    "figures",
    "profile",
    "preflight",
    "sampler",
    "telemetry",
    "consensus",
    "store",
    "member",
    "net",
    "http_server",
    "console",
    "engine",
    "broker",
    "cluster",
    "amqp_client",
    "http_client",
    "bridge",
    "shovel",
    "federation",
    "auth",
    "observe",
    "management",
    "proxy",
    "terminal",
    "perf",
    "ping",
    "ctl",
    "migrate",
    "plan",
    "inspect",
    "warren",
];

/// Crates whose state machines know no async, file, socket, clock or randomness, and what would bring it in.
const PURE: &[&str] = &[
    "amqp",
    "human",
    "command_line",
    "model",
    "definitions",
    "routing",
    "queue",
    "message",
    "outbox",
    "alerts",
    "influx",
    "figures",
    "profile",
    "preflight",
    "consensus",
];
const IMPURE: &[&str] = &["tokio", "rustix", "socket2", "getrandom", "net", "store", "member"];
/// What of the standard library would. Addresses and durations are values, and allowed.
const IMPURE_WORDS: &[&str] = &[
    "std::fs",
    "std::io",
    "std::thread",
    "std::process",
    "std::env",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "Instant",
    "SystemTime",
    "async fn",
    "async move",
    ".await",
];

fn dependencies() -> HashMap<String, Vec<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name_of = |value: &Value| value["name"].as_str().unwrap().to_owned();
    packages
        .iter()
        .map(|package| {
            // What only tests use does not reach the binary; what its build runs does.
            let used = package["dependencies"].as_array().unwrap().iter().filter(|used| used["kind"] != "dev");
            (name_of(package), used.map(name_of).collect())
        })
        .collect()
}

#[test]
fn arrows_point_upwards_only() {
    let dependencies = dependencies();
    for (position, name) in CRATES.iter().enumerate() {
        for used in &dependencies[*name] {
            if let Some(of_used) = CRATES.iter().position(|other| other == used) {
                assert!(of_used < position, "{name} must not depend on {used}");
            }
        }
    }
}

#[test]
fn every_crate_has_its_place_in_the_list() {
    for name in dependencies().keys().filter(|name| !["bench", "tidy"].contains(&name.as_str())) {
        assert!(CRATES.contains(&name.as_str()), "{name} is not in the list of crates");
    }
}

#[test]
fn state_machines_stay_pure() {
    let dependencies = dependencies();
    for name in PURE {
        for used in &dependencies[*name] {
            assert!(!IMPURE.contains(&used.as_str()), "{name} must not depend on {used}");
        }
        for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src")) {
            let text = std::fs::read_to_string(&path).unwrap();
            let impure = impure_lines(&text);
            assert!(impure.is_empty(), "not for a crate of plain values, in {}: {impure:?}", path.display());
        }
    }
}

/// What decides about messages reads a view of their properties. Only the session of a protocol knows how that encodes them.
#[test]
fn headers_are_decoded_by_views_and_sessions_alone() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let of = |name: &str| sources(&crates.join(name).join("src"));
    let is_session = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "session");
    for path in ["engine", "broker", "observe"].iter().flat_map(|name| of(name)).filter(|path| !is_session(path)) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("ContentHeader"), "{} decodes a content header", path.display());
    }
}

/// Every protocol shares the broker's side of a session, so that side names no frame and no method of any.
#[test]
fn the_front_knows_no_protocol() {
    let front = Path::new(env!("CARGO_MANIFEST_DIR")).join("../broker/src/front");
    for path in sources(&front) {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for word in ["amqp::frame", "amqp::method", "amqp::content", "amqp::reply", "crate::session"] {
            assert!(!code.contains(word), "{} names {word}", path.display());
        }
    }
}

/// What is said of a journal without saying of which is right with one store only. The door to the stores knows which it is.
#[test]
fn positions_of_a_journal_are_named_at_the_door_to_the_stores_alone() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let door = crates.join("engine/src/engine.rs");
    let of = |name: &str| sources(&crates.join(name).join("src"));
    for path in ["engine", "broker", "management"].iter().flat_map(|name| of(name)).filter(|path| *path != door) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("JournalPosition"), "{} names a position without its store", path.display());
        assert!(!text.contains("store.appended()") && !text.contains("store.durable()"), "{}", path.display());
    }
}

#[test]
fn impure_words_are_seen_in_code_only() {
    check_impure("use std::fs::File;", Some("std::fs"));
    check_impure("fn now() -> Instant { Instant::now() }", Some("Instant"));
    check_impure("    /// Nothing here is `async fn`, and no `Instant` is read.", None);
    check_impure("use std::time::Duration;\nuse std::net::IpAddr;", None);
    check_impure("struct Instantaneous;", None);
    check_impure("fn a() {}\n#[cfg(test)]\nmod tests {\n    use std::time::Instant;\n}", None);
}

#[track_caller]
fn check_impure(text: &str, word: Option<&str>) {
    assert_eq!(impure_lines(text).first().map(|(_, word)| *word), word);
}

/// Lines of code, those of tests and comments apart, that name what a state machine must not know.
fn impure_lines(text: &str) -> Vec<(&str, &'static str)> {
    // Tests come last in a file.
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|line| IMPURE_WORDS.iter().filter(|word| has_word(line, word)).map(move |word| (line, *word)))
        .collect()
}

/// Whether `line` has `word`, and not only as the beginning or the end of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().filter(|_| word.starts_with(is_part));
        !before.is_some_and(is_part) && !line[at + word.len()..].chars().next().is_some_and(is_part)
    })
}

/// The Rust files below a folder, those of tests apart.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.file_stem().and_then(|name| name.to_str()) {
            Some("tests") => continue,
            _ if path.is_dir() => files.extend(sources(&path)),
            _ if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
            _ => {}
        }
    }
    files
}
