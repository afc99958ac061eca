//! Commands of RabbitMQ's other programs: of plugins, and of the server's process.

use super::drive;
use crate::words;

/// A command of rabbitmq-plugins.
fn plugins(line: &[&str]) -> super::CommandRun {
    let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
    let line = words::in_group("plugins", &line);
    drive(&line.iter().map(String::as_str).collect::<Vec<_>>(), [])
}

#[test]
fn plugins_that_are_built_in_are_enabled_already() {
    let run = plugins(&["enable", "--offline", "rabbitmq_management", "rabbitmq_sharding"]);
    assert!(run.text().starts_with("rabbitmq_management is built in: nothing is to be enabled\nrabbitmq_sharding: "));
    assert!(plugins(&["-q", "set", "rabbitmq_prometheus"]).result.is_ok());
    assert!(plugins(&["set"]).result.is_ok());
    assert!(plugins(&["enable", "--all"]).result.is_ok());
    assert_eq!(plugins(&["enable"]).failure().0, 64);
    let text = plugins(&["disable", "rabbitmq_management"]).text();
    assert!(text.contains("warren.management.enabled = false switches it off"), "{text}");
    assert_eq!(plugins(&["is_enabled", "rabbitmq_shovel"]).text(), "Plugin rabbitmq_shovel is enabled: built in\n");
}

#[test]
fn plugins_that_are_not_built_are_refused_by_name() {
    for command in ["enable", "set", "is_enabled"] {
        let run = plugins(&[command, "rabbitmq_management", "rabbitmq_auth_backend_ldap", "rabbitmq_of_my_own"]);
        let (status, text) = run.failure();
        assert_eq!(status, 69);
        assert!(text.starts_with("rabbitmq_auth_backend_ldap is not supported: "), "{text}");
        assert!(text.contains("unknown plugin rabbitmq_of_my_own"), "{text}");
    }
}

#[test]
fn plugins_are_listed_with_a_pattern() {
    let text = plugins(&["list", "management$"]).text();
    assert!(text.lines().any(|line| line.starts_with("[E*] rabbitmq_management ")), "{text}");
    assert!(!text.contains("prometheus"), "{text}");
    assert_eq!(plugins(&["list", "-m", "-e", "rabbitmq_management$"]).text(), "rabbitmq_management\n");
    assert_eq!(plugins(&["list", "-E", "-m", "auth_backend_ldap"]).text().trim(), "");
    assert_eq!(plugins(&["list", "("]).failure().0, 64);
}

#[test]
fn other_words_of_rabbitmq_plugins_are_every_programs() {
    let line = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(words::in_group("plugins", &line(&["help"])), ["help"]);
    assert_eq!(words::in_group("plugins", &line(&["-n", "a@b", "list"])), ["-n", "a@b", "plugins", "list"]);
    assert_eq!(words::in_group("plugins", &line(&[])), [""; 0]);
}

#[test]
fn the_servers_process_is_ended_and_waited_for() {
    let run = drive(&["shutdown"], []);
    assert_eq!(run.did, ["end None"]);
    assert!(run.result.is_ok());
    let run = drive(&["stop", "/run/x.pid"], []);
    assert_eq!(run.did, [r#"end Some(File("/run/x.pid"))"#]);
    assert_eq!(run.failure(), (69, "no such process"));
    assert!(drive(&["stop", "/run/x.pid", "--idempotent"], []).result.is_ok());
}
