//! The short list of queues on a port of its own, as rabbitmq-queue-info has it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::harness::{Broker, scratch};

/// The whole answer to a request without credentials.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn start(test: &str, settings: &[&str]) -> (Broker, String, crate::harness::Scratch) {
    let dir = scratch(test);
    let listener = ["warren.queue_info.tcp.port=0", "warren.queue_info.tcp.ip=127.0.0.1"];
    let arguments: Vec<&str> = listener.iter().chain(settings).flat_map(|setting| ["--set", *setting]).collect();
    let broker = Broker::start(&dir.join("data"), &arguments);
    // The first one is AMQP's, and the HTTP API is switched off.
    let addresses: Vec<&str> = broker.log.split("address=").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    let address = addresses.iter().rfind(|address| address.starts_with("127.0.0.1:")).unwrap().to_string();
    assert!(addresses.len() >= 2, "{}", broker.log);
    (broker, address, dir)
}

#[test]
fn the_old_port_has_the_list_and_nothing_else() {
    let (broker, address, _dir) = start("queue-info", &["warren.queue_info.require_auth=false"]);
    let answer = get(&address, "/list_queues?max_len=5");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n[]"), "{answer}");
    for path in ["/api/overview", "/", "/ws"] {
        assert!(get(&address, path).starts_with("HTTP/1.1 404"), "{path}");
    }
    broker.stop();
}

#[test]
fn the_old_port_asks_for_a_login_unless_told_otherwise() {
    let (broker, address, _dir) = start("queue-info-login", &[]);
    assert!(get(&address, "/list_queues").starts_with("HTTP/1.1 401"));
    broker.stop();
}
