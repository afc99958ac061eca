//! What our own keys do, and what is said of wrong ones.

use std::path::PathBuf;

use net::proxy_protocol::Version;
use net::{ClientTlsOptions, Identity, Trust};

use super::*;
use crate::{balance, guard};

#[test]
fn listeners_are_named_as_one_likes() {
    let config = of_file(
        "proxy.listeners.tcp.all = 5673\nproxy.listeners.tcp.local = localhost:5674\nproxy.listeners.unix.x = /run/proxy.sock\n\
         proxy.proxy_protocol = true\nproxy.http.listener = none\nproxy.tcp_listen_options.backlog = 9",
    );
    let shown: Vec<_> = config.listeners.iter().map(|l| format!("{} {}", l.name, l.address)).collect();
    assert_eq!(shown, ["all 5673", "local localhost:5674"]);
    assert_eq!(config.unix_listeners[0].path, "/run/proxy.sock");
    assert_eq!((config.proxy_protocol, config.http_listener, config.tcp_listen_options.backlog), (true, None, 9));
}

/// What TLS needs before anything else can be said of it.
const CERTIFICATE: &str =
    "proxy.listeners.ssl.default = 5671\nproxy.ssl_options.certfile = s.pem\nproxy.ssl_options.keyfile = s.key\n";

#[test]
fn listeners_may_speak_tls_only() {
    let config = of_file(&format!(
        "{CERTIFICATE}proxy.listeners.tcp = none\nproxy.ssl_options.cacertfile = ca.pem\nproxy.ssl_options.verify = verify_peer\n\
         proxy.ssl_options.fail_if_no_peer_cert = false\nproxy.ssl_options.versions.1 = tlsv1.3\n\
         proxy.ssl_options.sni.a.hostname = *.example.com\nproxy.ssl_options.sni.a.certfile = a.pem\n\
         proxy.ssl_options.sni.a.keyfile = a.key\nproxy.ssl_options.sni.a.password = topsecret\nproxy.ssl_handshake_timeout = 1s"
    ));
    assert_eq!((config.listeners.len(), config.tls_listeners[0].address.to_string()), (0, "5671".to_owned()));
    assert_eq!(config.ssl_handshake_timeout, Duration::from_secs(1));
    let tls = config.tls.unwrap();
    assert_eq!((&*tls.identity.certfile, &*tls.identity.keyfile), ("s.pem", "s.key"));
    assert_eq!((tls.verify, tls.cacertfile.as_deref()), (PeerVerification::Optional, Some("ca.pem")));
    assert_eq!((tls.versions, &*tls.sni[0].hostname), (vec![TlsVersion::V1_3], "*.example.com"));
}

#[test]
fn upstreams_have_everything_of_their_own() {
    let config = of_file(
        "proxy.upstreams.b.url = amqps://b.example\nproxy.upstreams.b.weight = 3\nproxy.upstreams.b.drain = true\n\
         proxy.upstreams.b.vhosts.10 = later\nproxy.upstreams.b.vhosts.2 = /\nproxy.upstreams.b.proxy_protocol = v2\n\
         proxy.upstreams.b.ssl_options.cacertfile = ca.pem\nproxy.upstreams.b.ssl_options.certfile = c.pem\n\
         proxy.upstreams.b.ssl_options.keyfile = c.key\nproxy.upstreams.b.ssl_options.server_name_indication = c.example\n\
         proxy.upstreams.b.ssl_options.password = hidden\nproxy.upstreams.b.ssl_options.versions.1 = tlsv1.3\n\
         proxy.upstreams.b.ssl_options.ciphers.1 = TLS_AES_256_GCM_SHA384",
    );
    let tls = ClientTlsOptions {
        trust: Trust::File(PathBuf::from("ca.pem")),
        identity: Some(Identity {
            chain: PathBuf::from("c.pem"),
            key: PathBuf::from("c.key"),
            password: Some("hidden".to_owned()),
        }),
        server_name: Some("c.example".to_owned()),
        versions: vec![net::TlsVersion::V1_3],
        cipher_suites: vec!["TLS_AES_256_GCM_SHA384".to_owned()],
    };
    let expected = Upstream {
        name: "b".to_owned(),
        host: "b.example".to_owned(),
        port: 5671,
        tls: Some(tls),
        health_login: None,
        weight: 3,
        is_draining: true,
        vhosts: vec!["/".to_owned(), "later".to_owned()],
        proxy_protocol: Some(Version::V2),
    };
    assert_eq!(config.upstreams[1], expected);
    assert!(!config.switchboard.checks_login_first, "which upstream to ask depends on the vhost");
    assert!(of_file("").switchboard.checks_login_first);
}

#[test]
fn an_upstream_may_be_anybody() {
    let config = of_file("proxy.upstreams.b.url = amqps://b\nproxy.upstreams.b.ssl_options.verify = verify_none");
    assert_eq!(config.upstreams[1].tls, Some(ClientTlsOptions::trusting_any_server()));
}

#[test]
fn upstreams_are_in_the_order_of_their_numbers_then_of_their_names() {
    let urls = super::urls(&of_file("proxy.upstreams.10.url = amqp://x\nproxy.upstreams.2.url = amqp://y"));
    assert_eq!(urls, ["2=y:5672", "10=x:5672", "a=a:5672"]);
}

#[test]
fn the_user_of_a_url_is_for_health_checks() {
    let remark =
        "'proxy.upstreams.1.url' logs in for health checks only: clients bring their own user, password and vhost";
    check_warnings("", &[("AMQP_URL", "amqp://u:p%20w@b/v")], &[], &[&format!("AMQP_URL: {remark}")]);
    let (config, _) = parse("", &[], &["amqp://u:p%20w@b/v"]).unwrap();
    let login = HealthLogin { user: "u".to_owned(), password: "p w".to_owned(), vhost: "v".to_owned() };
    assert_eq!(config.upstreams[0].health_login, Some(login));
}

#[test]
fn parameters_of_a_url_are_keys_here() {
    let heartbeat = "the command line: 'proxy.upstreams.1.url' has 'heartbeat', which has no effect there: set \
        'proxy.upstream_connections.heartbeat'";
    let channels = "the command line: 'proxy.upstreams.1.url' has 'channel_max', which has no effect there: set \
        'proxy.upstream_connections.channel_max'";
    check_warnings("", &[], &["amqp://b?heartbeat=5&channel_max=6"], &[heartbeat, channels]);
}

#[test]
fn lines_and_clients_are_told_what_the_file_says() {
    let options = of_file(
        "proxy.login_cache_ttl = 1s\nproxy.upstream_connections.wait_timeout = 2m\nproxy.upstream_connections.channel_max = 3\n\
         proxy.upstream_connections.max_per_pool = 4\nproxy.upstream_connections.max = 5\n\
         proxy.upstream_connections.idle_timeout = 6\nproxy.pools.idle_timeout = 7\n\
         proxy.upstream_connections.heartbeat = 8\nproxy.heartbeat = 9\n\
         proxy.frame_max = 10KiB\nproxy.channel_max = 0\nproxy.handshake_timeout = 12",
    )
    .switchboard;
    assert_eq!((options.login_fresh_ms, options.upstream_wait_ms), (1_000, 120_000));
    assert_eq!((options.upstream_channel_max, options.pool_connection_max, options.upstream_connection_max), (3, 4, 5));
    assert_eq!((options.upstream_idle_ms, options.pool_idle_ms), (6, 7));
    assert_eq!((options.upstream_heartbeat_s, options.client_heartbeat_s), (8, 9));
    assert_eq!((options.frame_len_max, options.channel_max, options.handshake_timeout_ms), (10_240, 65_535, 12));
}

#[test]
fn upstreams_are_chosen_and_left_alone_as_the_file_says() {
    let config = of_file(
        "proxy.strategy = least_connections\nproxy.connect_timeout = 1s\nproxy.upstream_connections.handshake_timeout = 2s\n\
         proxy.health_check.interval = 3s\nproxy.health_check.failures = 4\nproxy.back_off.min = 5s\nproxy.back_off.max = 6s",
    );
    assert_eq!(config.connect_timeout, Duration::from_secs(1));
    assert_eq!(config.switchboard.upstream_handshake_timeout_ms, 2_000);
    let expected = balance::Options {
        upstreams: Vec::new(),
        strategy: balance::Strategy::LeastConnections,
        failure_count_max: 4,
        backoff_min_ms: 5_000,
        backoff_max_ms: 6_000,
        attempt_timeout_ms: 3_000,
        check_interval_ms: 3_000,
    };
    assert_eq!(config.balance, expected);
}

#[test]
fn limits_are_those_of_the_file() {
    let config = of_file(
        "proxy.limits.connections = 1\nproxy.limits.connections_per_user = 2\nproxy.limits.connections_per_address = 3\n\
         proxy.limits.ipv6_prefix_len = 48\nproxy.limits.connection_rate = 4\nproxy.limits.connection_burst = 5\n\
         proxy.limits.connection_rate_per_address = 6\nproxy.limits.connection_burst_per_address = 7\n\
         proxy.limits.byte_rate = 8k\nproxy.limits.byte_burst = 9k\nproxy.limits.byte_rate_per_user = 10KiB\n\
         proxy.limits.byte_burst_per_user = 11KiB\nproxy.limits.alarm_only = true",
    );
    let expected = guard::Options {
        is_alarm_only: true,
        connection_max: 1,
        user_connection_max: 2,
        address_connection_max: 3,
        ipv6_prefix_len: 48,
        connection_rate: guard::Rate { per_s: 4, burst: 5 },
        address_connection_rate: guard::Rate { per_s: 6, burst: 7 },
        byte_rate: guard::Rate { per_s: 8_000, burst: 9_000 },
        user_byte_rate: guard::Rate { per_s: 10_240, burst: 11_264 },
    };
    assert_eq!(config.guard, expected);
}

#[test]
fn operation_is_as_the_file_says() {
    let config = of_file(
        "proxy.worker_threads = 3\n\
         proxy.term_timeout = 5m\nproxy.term_client_close_timeout = 6s\nproxy.log.level = notice\nproxy.log.formatter = json",
    );
    assert_eq!((config.worker_threads, config.term_timeout), (Some(3), Some(Duration::from_secs(300))));
    assert_eq!(config.term_client_close_timeout, Duration::from_secs(6));
    assert_eq!(config.log, Log { level: LogLevel::Notice, formatter: LogFormatter::Json });
}

#[test]
fn an_unknown_key_names_the_closest_one() {
    check_error(
        "proxy.hartbeat = 5",
        "proxy.conf:1: unknown key 'proxy.hartbeat'; the closest known key is 'proxy.heartbeat'",
    );
    check_error(
        "\nlisteners.tcp.default = 5672",
        "proxy.conf:2: unknown key 'listeners.tcp.default'; the closest known key is 'proxy.listeners.tcp.default'",
    );
    check_error(
        "proxy.upstreams.x.urls = amqp://x",
        "proxy.conf:1: unknown key 'proxy.upstreams.x.urls'; the closest known key is 'proxy.upstreams.x.url'",
    );
}

#[test]
fn a_wrong_value_names_what_it_must_be() {
    check_error(
        "proxy.listeners.tcp.default = localhost",
        "proxy.conf:1: 'proxy.listeners.tcp.default' must be a port, address:port, or name:port, not 'localhost'",
    );
    check_error(
        "proxy.http.listener = nowhere",
        "proxy.conf:1: 'proxy.http.listener' must be a port, address:port, name:port, or none, not 'nowhere'",
    );
    check_error(
        "proxy.term_timeout = -1",
        "proxy.conf:1: 'proxy.term_timeout' must be milliseconds, a duration such as 10s or 5m, or infinity, not '-1'",
    );
    check_error(
        "proxy.strategy = random",
        "proxy.conf:1: 'proxy.strategy' must be one of weighted, least_connections, not 'random'",
    );
    check_error(
        "proxy.upstreams.x.url = amqp://x:0",
        "proxy.conf:1: 'proxy.upstreams.x.url' must be a URL such as amqp://host or amqps://host:5671, not 'amqp://x:0': \
         no broker is at port 0",
    );
    check_error(
        "proxy.frame_max = 4096",
        "proxy.conf:1: 'proxy.frame_max' must be a size such as 50MB or 1GiB, from 8KiB to 16MiB, not '4096'",
    );
}

#[test]
fn a_proxy_without_upstreams_or_listeners_is_none() {
    let error = parse("", &[], &[]).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the command line: no upstream is named: write its URL, such as amqp://localhost:5672, or set 'proxy.upstreams.NAME.url'"
    );
    check_error(
        "proxy.listeners.tcp = none",
        "proxy.conf:1: no listener: set 'proxy.listeners.ssl.NAME' or 'proxy.listeners.unix.NAME'",
    );
}

#[test]
fn two_listeners_on_one_port_are_refused() {
    check_error(
        "proxy.http.listener = 127.0.0.1:7000\nproxy.listeners.tcp.default = 7000",
        "proxy.conf:1: 'proxy.listeners.tcp.default' and 'proxy.http.listener' are the same port, 7000",
    );
    check_error(
        "proxy.listeners.tcp.a = localhost:15673",
        "proxy.conf:1: 'proxy.listeners.tcp.a' and 'proxy.http.listener' are the same port, 15673",
    );
    check_error(
        "proxy.listeners.tcp.a = 7000\nproxy.listeners.tcp.b = 7000",
        "proxy.conf:2: 'proxy.listeners.tcp.a' and 'proxy.listeners.tcp.b' are the same port, 7000",
    );
}

#[test]
fn what_is_incomplete_names_what_is_missing() {
    check_error("proxy.upstreams.x.weight = 2", "proxy.conf:1: 'proxy.upstreams.x.url' is missing");
    check_error(
        "proxy.listeners.ssl.default = 5671\nproxy.ssl_options.certfile = s.pem",
        "proxy.conf:1: 'proxy.listeners.ssl.default' needs 'proxy.ssl_options.keyfile'",
    );
    check_error(
        "proxy.ssl_options.sni.a.hostname = a",
        "proxy.conf:1: the name 'a' for SNI needs 'proxy.ssl_options.sni.a.certfile' and 'proxy.ssl_options.sni.a.keyfile'",
    );
    let needs = |text: &str, expected: &str| {
        check_error(&format!("proxy.upstreams.x.url = amqps://x\nproxy.upstreams.x.{text}"), expected)
    };
    needs(
        "ssl_options.certfile = c.pem",
        "proxy.conf:2: 'proxy.upstreams.x.ssl_options.certfile' needs 'proxy.upstreams.x.ssl_options.keyfile'",
    );
    needs(
        "ssl_options.keyfile = c.key",
        "proxy.conf:2: 'proxy.upstreams.x.ssl_options.keyfile' needs 'proxy.upstreams.x.ssl_options.certfile'",
    );
}

#[test]
fn tls_that_would_not_be_spoken_is_refused() {
    check_error(
        "proxy.upstreams.a.ssl_options.cacertfile = ca.pem",
        "proxy.conf:1: 'proxy.upstreams.a.ssl_options.cacertfile' needs a URL with amqps://, because it has no effect without TLS",
    );
}

#[test]
fn what_crosses_is_said() {
    check_error(
        "proxy.back_off.max = 100ms",
        "proxy.conf:1: 'proxy.back_off.min' (250ms) must not be longer than 'proxy.back_off.max' (100ms)",
    );
    check_warnings(
        &format!("{UPSTREAM}proxy.upstream_connections.wait_timeout = 4s"),
        &[],
        &[],
        &[
            "proxy.conf:2: 'proxy.connect_timeout' (5s) is longer than 'proxy.upstream_connections.wait_timeout' (4s): clients are \
             closed before an attempt to connect to an upstream ends",
        ],
    );
}

#[test]
fn all_reasons_are_given_at_once() {
    check_error(
        "proxy.heartbeat = x\nproxy.ssl_options.crl_check = true\nproxy.nothing.of.this = 1",
        "proxy.conf:1: 'proxy.heartbeat' must be an integer from 0 to 65535, not 'x'\n\
         proxy.conf:2: 'proxy.ssl_options.crl_check' cannot be honoured: \
         revocation lists are not checked, so revoked certificates would be accepted\n\
         proxy.conf:3: unknown key 'proxy.nothing.of.this'",
    );
}

#[test]
fn files_may_ask_for_variables() {
    let (config, _) = parse("proxy.upstreams.a.url = amqp://$(WHERE)", &[("WHERE", "b:1")], &[]).unwrap();
    assert_eq!(urls(&config), ["a=b:1"]);
    check_error(
        "proxy.heartbeat = $(BEAT)",
        "proxy.conf:1: 'proxy.heartbeat' asks for the environment variable 'BEAT', which is not set",
    );
}
