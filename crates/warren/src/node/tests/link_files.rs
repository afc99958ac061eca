//! Files that users name in the URIs of shovels: they hold no client up, and what is wrong with them is written to the log only.

use model::parameter::{SHOVEL, VhostParameter};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use super::*;

/// What waits for ever when it is opened: a FIFO without a writer.
const FIFO: &str = "fifo";

/// A shovel that would trust the authorities in this file.
fn put(house: &TestNode, name: &str, file: &str) {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let uri = format!("amqps://guest:guest@{closed}?cacertfile={file}");
    let value =
        json!({"src-uri": uri, "src-queue": "from", "dest-uri": "amqp://", "dest-queue": "to", "reconnect-delay": 0});
    let vhost = model::name::VhostName::parse(b"/").unwrap();
    let parameter = VhostParameter { vhost, component: SHOVEL.into(), name: name.into(), value };
    house.node.broker().unwrap().put_vhost_parameter(&broker::Actor::broker(), parameter).unwrap();
}

/// Why a shovel has failed, without the port.
fn reason(house: &TestNode, name: &str) -> Option<String> {
    let statuses = house.node.shovels().unwrap().statuses();
    let state = statuses.into_iter().find(|status| &*status.id.name == name)?.state;
    let shovel::State::Terminated { reason } = state else { return None };
    Some(reason.chars().filter(|char| !char.is_ascii_digit()).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_users_name_hold_nobody_up_and_tell_nothing() {
    let allowed = std::env::temp_dir().join(format!("warren-link-files-{}", std::process::id()));
    let _ = fs::remove_dir_all(&allowed);
    fs::create_dir_all(&allowed).unwrap();
    mknodat(CWD, allowed.join(FIFO), FileType::Fifo, Mode::RWXU, 0).unwrap();
    fs::write(allowed.join("no.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    fs::write(allowed.join("ca.pem"), include_str!("../../../../net/src/tls/testdata/names.pem")).unwrap();
    let within = |name: &str| allowed.join(name).to_str().unwrap().to_owned();
    let mut house = TestNode::open("link-files", &[&format!("warren.links.tls_directories.1={}", within(""))]);
    house.start().await;

    // More than there are workers.
    let fifos: Vec<String> = (0..4).map(|number| format!("fifo-{number}")).collect();
    fifos.iter().for_each(|name| put(&house, name, &within(FIFO)));
    let mut bystander = publisher(house.amqp()).await;
    soon(publish(&mut bystander, b"served")).await.unwrap();

    put(&house, "endless", "/dev/zero");
    put(&house, "outside", "/etc/passwd");
    put(&house, "missing-outside", "/etc/no-such-file");
    put(&house, "missing", &within("other.pem"));
    put(&house, "no-certificate", &within("no.pem"));
    put(&house, "directory", &within(""));
    let names = ["endless", "outside", "missing-outside", "missing", "no-certificate", "directory"];
    let expected = "source: TLS of ...:: a file in the URI cannot be used; the broker's log contains the reason";
    for name in fifos.iter().map(String::as_str).chain(names) {
        until(|| reason(&house, name).is_some()).await;
        assert_eq!(reason(&house, name).unwrap(), expected, "{name}");
    }
    // The door opens for what it is for.
    put(&house, "authority", &within("ca.pem"));
    until(|| reason(&house, "authority").is_some()).await;
    let refused = reason(&house, "authority").unwrap();
    assert!(refused.contains("onnection refused"), "{refused}");
    house.close().await;
    fs::remove_dir_all(&allowed).unwrap();
}
