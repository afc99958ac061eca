//! What the command line says and which status it ends with, from bad usage to a broker that starts and stops.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use crate::harness::{Broker, check_fails, check_output, program, scratch, text, warren, write};

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
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let set = format!("listeners.tcp.default=127.0.0.1:{port}");
    check_fails(&["serve", "--set", &set], 1, &format!("port {port} is already in use"));
}

#[test]
fn remarks_on_the_configuration_are_told_even_if_nothing_is_logged() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("listeners.tcp.default=127.0.0.1:{}", taken.local_addr().unwrap().port());
    for level in ["log.console=false", "log.console.level=error", "log.console=true"] {
        let arguments = ["serve", "--set", &port, "--set", level, "--set", "delegate_count=16"];
        check_fails(
            &arguments,
            1,
            "--set: 'delegate_count' has no effect: all queues are on the leader, and nodes do not delegate work",
        );
    }
}

#[test]
fn the_banner_says_where_everything_is() {
    let dir = scratch("banner");
    let data_dir = dir.join("a directory ");
    let (reader, writer) = std::io::pipe().unwrap();
    let broker = Broker::start_with(&data_dir, &[], writer);
    let banner: Vec<String> = BufReader::new(reader).lines().take(4).map(Result::unwrap).collect();
    let [version, data, listener, ready] = banner.as_slice() else { panic!("{banner:?}") };
    assert_eq!(*version, format!("Warren {} (compatible with RabbitMQ 4.3.0)", env!("CARGO_PKG_VERSION")));
    assert_eq!(*data, format!("  data       {}", data_dir.display()));
    let address = listener.strip_prefix("  listening  ").and_then(|rest| rest.strip_suffix(" (AMQP 0-9-1)")).unwrap();
    TcpStream::connect(address).unwrap();
    let ms = ready.strip_prefix("  ready in ").and_then(|rest| rest.strip_suffix(" ms")).unwrap();
    assert!(ms.parse::<u64>().is_ok(), "{ready}");
    broker.stop();
    assert!(data_dir.join("format").exists());
}

#[test]
fn a_broker_whose_banner_nobody_reads_runs() {
    let dir = scratch("closed-pipe");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Broker::start_with(&dir, &[], writer).stop();
}

/// An open connection whose client does nothing more.
fn silent_connection(address: &str) -> TcpStream {
    let method = |class: u16, id: u16, arguments: &[u8]| {
        let mut frame = vec![1, 0, 0];
        frame.extend((arguments.len() as u32 + 4).to_be_bytes());
        frame.extend([class.to_be_bytes(), id.to_be_bytes()].concat());
        frame.extend(arguments);
        frame.push(0xce);
        frame
    };
    let start_ok = method(10, 11, b"\0\0\0\0\x05PLAIN\0\0\0\x0c\0guest\0guest\x05en_US");
    let tune_ok = method(10, 31, b"\x07\xff\0\x02\0\0\0\0");
    let open = method(10, 40, b"\x01/\0\0");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&[b"AMQP\0\0\x09\x01", &*start_ok, &*tune_ok, &*open].concat()).unwrap();
    let open_ok = [0, 10, 0, 41];
    let mut received: Vec<u8> = Vec::new();
    while !received.windows(4).any(|bytes| bytes == open_ok) {
        let mut buffer = [0; 4096];
        let len = stream.read(&mut buffer).unwrap();
        assert!(len > 0, "the connection was not opened");
        received.extend(&buffer[..len]);
    }
    stream
}

#[test]
fn a_second_signal_cuts_the_wait_for_clients_short() {
    let dir = scratch("second-signal");
    let (reader, writer) = std::io::pipe().unwrap();
    let mut broker = Broker::start_with(&dir, &["--set", "warren.shutdown_timeout=1h"], writer);
    let listener = BufReader::new(reader).lines().nth(2).unwrap().unwrap();
    let _client = silent_connection(listener.split_whitespace().nth(1).unwrap());
    broker.signal("TERM");
    broker.wait_for_event("stopping");
    broker.signal("INT");
    let log = broker.wait();
    assert!(log.contains("stopping without waiting longer for clients"), "{log}");
    assert!(log.contains("stopped"), "{log}");
}

#[test]
fn each_line_of_the_log_is_a_json_object_on_request() {
    let dir = scratch("json");
    let arguments = ["--set", "log.console.formatter=json", "--set", "delegate_count=16"];
    let log = Broker::start(&dir, &arguments).stop();
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        for field in ["timestamp", "level", "target", "message"] {
            assert!(event[field].is_string(), "{event}");
        }
    }
    assert_eq!(events[0]["level"], "WARN");
    assert_eq!(
        events[0]["warning"],
        "--set: 'delegate_count' has no effect: all queues are on the leader, and nodes do not delegate work"
    );
    let stopping = events.iter().find(|event| event["message"] == "stopping").unwrap();
    assert_eq!(stopping["signal"], "SIGTERM");
}

/// Which data directory a command line leads to, as `fsck` names it.
#[track_caller]
fn check_data_dir(arguments: &[&str], variable: Option<&str>, expected: &str) {
    let mut all = vec!["fsck"];
    all.extend(arguments);
    let output = program(&all).envs(variable.map(|file| ("RABBITMQ_CONFIG_FILE", file))).output().unwrap();
    check_output(&output, 1, &format!("cannot check the data directory {expected}: "));
}

#[test]
fn the_configuration_file_is_the_one_that_was_named() {
    let dir = scratch("config-file");
    let by_option = write(&dir, "option.conf", "warren.data_dir = /no/such/option");
    let by_variable = write(&dir, "variable.conf", "warren.data_dir = /no/such/variable");
    write(&dir, "node.1.conf", "warren.data_dir = /no/such/appended");
    let without_extension = dir.join("node.1");
    check_data_dir(&["--config", &by_option], None, "/no/such/option");
    check_data_dir(&[], Some(&by_variable), "/no/such/variable");
    check_data_dir(&["--config", &by_option], Some(&by_variable), "/no/such/option");
    check_data_dir(&[], Some(without_extension.to_str().unwrap()), "/no/such/appended");
    check_data_dir(&["--config", &by_option, "--data-dir", "/no/such/dir "], None, "/no/such/dir ");
    check_data_dir(&["--data-dir", "encrypted:dir"], Some(""), "encrypted:dir");
}

#[test]
fn files_of_conf_d_count_by_name_after_the_one_beside_them() {
    let dir = scratch("conf-d");
    let main = write(&dir, "warren.conf", "warren.data_dir = /no/such/main");
    check_data_dir(&["--config", &main], None, "/no/such/main");
    write(&dir, "conf.d/20-b.conf", "warren.data_dir = /no/such/20");
    write(&dir, "conf.d/10-a.conf", "warren.data_dir = /no/such/10");
    write(&dir, "conf.d/30-c.conf.bak", "no configuration");
    check_data_dir(&["--config", &main], None, "/no/such/20");
    let broken = write(&dir, "conf.d/15-broken.conf", "heartbeat = often");
    check_fails(&["serve", "--config", &main], 1, &format!("{broken}:1: 'heartbeat' must be an integer"));
}

#[test]
fn fsck_of_a_missing_directory_fails_in_one_sentence() {
    check_fails(&["fsck", "--data-dir", "/no/such/dir"], 1, "/no/such/dir");
}

/// The operating system's reason was printed twice.
#[test]
fn why_a_directory_cannot_be_used_is_told_once() {
    let dir = scratch("file-for-dir");
    let file = write(&dir, "file", "no directory");
    let below = format!("{file}/below");
    let settings =
        ["listeners.tcp.default=127.0.0.1:0", "warren.management.enabled=false", "warren.prometheus.enabled=false"];
    let no_ports = settings.map(|setting| ["--set", setting]).concat();
    for (command, data_dir, more) in
        [("serve", &file, &no_ports[..]), ("serve", &below, &no_ports), ("fsck", &file, &[])]
    {
        let output = warren(&[&[command, "--data-dir", data_dir], more].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert_eq!(error.matches("os error").count(), 1, "{error}");
    }
}

#[test]
fn fsck_of_another_directory_says_so_and_leaves_nothing_there() {
    let dir = scratch("no-data-dir");
    check_fails(&["fsck", "--data-dir", dir.to_str().unwrap()], 1, "not a Warren data directory");
    check_fails(&["fsck", "--repair", "--data-dir", dir.to_str().unwrap()], 1, "not a Warren data directory");
    assert_eq!(fs::read_dir(&*dir).unwrap().count(), 0);
}

#[test]
fn fsck_ends_with_1_while_something_is_damaged() {
    let dir = scratch("fsck");
    Broker::start(&dir, &[]).stop();
    let data_dir = dir.to_str().unwrap();
    let check = |options: &[&str], status: i32, says: &str| {
        let output = warren(&[&["fsck", "--data-dir", data_dir], options].concat());
        let (report, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{report}{error}");
        assert!(report.contains(says), "{report}");
        assert_eq!(error.is_empty(), status == 0, "{error}");
    };
    check(&[], 0, "is sound.");
    fs::write(dir.join("manifest"), [0xff; 8192]).unwrap();
    check(&[], 1, "manifest: DAMAGED");
    check(&["--repair"], 0, "has been repaired.");
    check(&[], 0, "is sound.");
    Broker::start(&dir, &[]).stop();
    fs::remove_dir_all(dir.join("journal")).unwrap();
    check(&["--repair"], 1, "--accept-loss");
    check(&["--repair"], 1, "was not repaired, and nothing in it was changed");
    check(&["--repair", "--accept-loss"], 0, "has been repaired.");
    check(&[], 0, "is sound.");
    Broker::start(&dir, &[]).stop();
}

#[test]
fn fsck_leaves_a_broker_that_runs_alone() {
    let dir = scratch("fsck-running");
    let broker = Broker::start(&dir, &[]);
    check_fails(&["fsck", "--data-dir", dir.to_str().unwrap()], 1, "in use by another process");
    broker.stop();
}
