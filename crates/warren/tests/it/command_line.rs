//! Bad usage and bad configuration: one clear sentence, and the right exit status.

use std::process::{Command, Output};

fn warren(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warren")).args(arguments).output().unwrap()
}

#[track_caller]
fn check_fails(arguments: &[&str], status: i32, says: &str) {
    let output = warren(arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert!(text.contains(says), "{text}");
}

#[test]
fn unknown_command_is_bad_usage() {
    check_fails(&["hop"], 2, "unrecognized subcommand 'hop'");
    check_fails(&[], 2, "Usage:");
}

#[test]
fn unknown_key_names_the_closest() {
    check_fails(&["serve", "--set", "hartbeat=10"], 1, "heartbeat");
}

#[test]
fn missing_configuration_file_is_named() {
    check_fails(&["serve", "--config", "/no/such/file.conf"], 1, "cannot read the configuration /no/such/file.conf");
}

#[test]
fn taken_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let set = format!("listeners.tcp.default=127.0.0.1:{port}");
    check_fails(&["serve", "--set", &set], 1, &format!("port {port} is already in use"));
}

#[test]
fn fsck_of_a_missing_directory_fails_in_one_sentence() {
    check_fails(&["fsck", "--data-dir", "/no/such/dir"], 1, "/no/such/dir");
}
