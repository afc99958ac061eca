//! What holds where the operator says nothing.

use net::{ClientTlsOptions, Trust};

use super::*;
use crate::{balance, guard, switchboard};

#[test]
fn they_are_amqproxys_where_it_has_any() {
    let config = config("", &[], &["amqp://b"]);
    let listener = &config.listeners[0];
    assert_eq!((&*listener.name, listener.address.to_string()), ("default", "localhost:5673".to_owned()));
    assert_eq!(config.http_listener.unwrap().to_string(), "localhost:15673");
    assert_eq!((config.term_timeout, config.term_client_close_timeout), (None, Duration::ZERO));
    assert_eq!(config.log, Log { level: LogLevel::Info, formatter: LogFormatter::Plaintext });
    assert_eq!(config.switchboard.upstream_idle_ms, 5_000);
}

#[test]
fn those_of_the_cores_are_their_own() {
    let config = config("", &[], &["amqp://b"]);
    assert_eq!(format!("{:?}", config.switchboard), format!("{:?}", switchboard::Options::default()));
    assert_eq!(config.guard, guard::Options::default());
    let attempt_timeout_ms = config.balance.attempt_timeout_ms;
    assert_eq!(config.balance, balance::Options { attempt_timeout_ms, ..balance::Options::default() });
    assert!(attempt_timeout_ms >= config.connect_timeout.as_millis() as u64);
}

#[test]
fn everything_dangerous_or_dear_is_off() {
    let config = config("", &[], &["amqps://b"]);
    assert_eq!((config.tls_listeners, config.unix_listeners, config.tls), (vec![], vec![], None));
    assert!(!config.proxy_protocol);
    assert_eq!(config.worker_threads, None);
    let upstream = &config.upstreams[0];
    assert_eq!((&upstream.health_login, upstream.proxy_protocol, upstream.is_draining), (&None, None, false));
    let trusting_the_system = ClientTlsOptions::trusting(Trust::System);
    assert_eq!(upstream.tls, Some(trusting_the_system));
}
