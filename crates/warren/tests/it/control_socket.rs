//! The socket in the data directory: the operator's way in, without a network and without a password.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::harness::{Broker, check_output, scratch, text, warren};

fn ctl(data_dir: &Path, words: &[&str]) -> Output {
    warren(&[&["ctl", "-q", "--data-dir", data_dir.to_str().unwrap()], words].concat())
}

#[track_caller]
fn says(output: &Output) -> String {
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    text(&output.stdout)
}

#[test]
fn the_operator_needs_no_password_even_where_there_is_no_http() {
    let dir = scratch("control-socket");
    let (data_dir, audit) = (dir.join("data"), dir.join("audit.log"));
    let log = format!("warren.audit.file={}", audit.display());
    let broker = Broker::start(&data_dir, &["--set", &log]);
    let socket = data_dir.join("control.sock");
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    says(&ctl(&data_dir, &["add_user", "bob", "secret"]));
    assert!(says(&ctl(&data_dir, &["list_users"])).contains("bob\t[]\n"));
    says(&ctl(&data_dir, &["set_permissions", "bob", ".*", ".*", ".*"]));
    says(&ctl(&data_dir, &["declare", "queue", "name=q"]));
    assert!(says(&ctl(&data_dir, &["list_queues", "name", "messages"])).contains("q\t0\n"));
    // A client that names a user has to prove its identity.
    says(&ctl(&data_dir, &["authenticate_user", "bob", "secret"]));
    check_output(&ctl(&data_dir, &["authenticate_user", "bob", "wrong"]), 65, "is not accepted");
    broker.stop();
    assert!(!socket.exists());
    let lines: Vec<Value> =
        fs::read_to_string(&audit).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let created = lines.iter().find(|line| line["event"] == "user.created" && line["about"]["name"] == "bob");
    let created = created.unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!((&created["user"], &created["via"]), (&"local-operator".into(), &"control-socket".into()));
}

#[test]
fn a_killed_brokers_socket_is_in_nobodys_way() {
    let dir = scratch("control-killed");
    let broker = Broker::start(&dir, &[]);
    broker.signal("KILL");
    drop(broker);
    assert!(dir.join("control.sock").exists());
    check_output(&ctl(&dir, &["list_users"]), 69, "Connection refused");
    assert_eq!(warren(&["fsck", "--data-dir", dir.to_str().unwrap()]).status.code(), Some(0));
    let broker = Broker::start(&dir, &[]);
    assert!(says(&ctl(&dir, &["list_users"])).contains("guest\t"));
    broker.stop();
}

#[test]
fn a_backup_is_a_data_directory_that_a_broker_starts_on() {
    let dir = scratch("control-backup");
    let (data_dir, copy) = (dir.join("data"), dir.join("copy"));
    let broker = Broker::start(&data_dir, &[]);
    says(&ctl(&data_dir, &["declare", "queue", "name=orders", "durable=true"]));
    let publish = ["publish", "routing_key=orders", "payload=one", "properties={\"delivery_mode\":2}"];
    says(&ctl(&data_dir, &publish));
    let said = says(&ctl(&data_dir, &["backup", copy.to_str().unwrap()]));
    assert!(said.starts_with(&format!("Backup written to {}, ", copy.display())), "{said}");
    check_output(&ctl(&data_dir, &["backup", copy.to_str().unwrap()]), 69, "cannot write a backup to");
    check_output(&ctl(&data_dir, &["backup", "relative"]), 69, "cannot write a backup to");
    broker.stop();
    let broker = Broker::start(&copy, &[]);
    assert!(says(&ctl(&copy, &["get", "queue=orders", "ackmode=ack_requeue_false"])).contains("one"));
    broker.stop();
}
