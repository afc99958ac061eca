//! Signals that come before a broker is ready.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::harness::{program, scratch};

/// Starts a broker, sends it a signal as soon as `is_time`, and says how it ended.
fn ended_at(dir: &Path, name: &str, is_time: impl Fn(&Child, u16) -> bool) -> Option<i32> {
    let _ = fs::remove_dir_all(dir.join("data"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (data, listener) = (dir.join("data"), format!("listeners.tcp.default=127.0.0.1:{port}"));
    let settings = [listener.as_str(), "warren.management.enabled=false", "warren.prometheus.enabled=false"];
    let mut arguments = vec!["serve", "--data-dir", data.to_str().unwrap()];
    settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
    let mut child = program(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !is_time(&child, port) && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    child.wait().unwrap().code()
}

/// Whether a process has a handler for a signal.
fn has_handler(child: &Child, name: &str) -> bool {
    let number = if name == "TERM" { 15 } else { 2 };
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (number - 1)) != 0)
}

fn is_open(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

#[test]
fn a_signal_before_readiness_ends_the_broker_in_good_order() {
    let dir = scratch("early-signals");
    for name in ["TERM", "INT"] {
        for round in 0..5 {
            assert_eq!(ended_at(&dir, name, |child, _| has_handler(child, name)), Some(0), "at first, {name}, {round}");
            assert_eq!(
                ended_at(&dir, name, |_, port| is_open(port)),
                Some(0),
                "at the port's opening, {name}, {round}"
            );
            let has_files = |_: &Child, _| fs::read_dir(dir.join("data")).is_ok_and(|mut files| files.next().is_some());
            assert_eq!(ended_at(&dir, name, has_files), Some(0), "at the first file, {name}, {round}");
        }
    }
}

#[test]
fn the_port_opens_when_signals_are_waited_for() {
    let dir = scratch("early-handlers");
    for _ in 0..5 {
        // When the port is open, the handler is there.
        let opened = |child: &Child, port| {
            let is_open = is_open(port);
            assert!(!is_open || has_handler(child, "TERM"));
            is_open
        };
        assert_eq!(ended_at(&dir, "TERM", opened), Some(0));
    }
}
