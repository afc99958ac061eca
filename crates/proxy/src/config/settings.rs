//! The configuration as the proxy uses it: typed, complete, consistent.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use model::config::table::{Origin, Remark, Values, check_sni, check_tls, tls_options};
use model::config::{
    ConfigError, Log, LogFormatter, LogLevel, TcpOptions, TlsOptions, UnixListener, Warning, networks,
    parse_duration_ms,
};

use super::address::ListenAddress;
use super::kinds::parse_duration_or_infinity;
use super::upstreams::{self, Upstream};
use crate::{balance, guard, spool, switchboard};

/// The whole configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen without TLS; may be empty.
    pub listeners: Vec<Listener>,
    /// Where to listen with TLS; where there are any, there is `tls`.
    pub tls_listeners: Vec<Listener>,
    /// Where to listen on Unix-domain sockets.
    pub unix_listeners: Vec<UnixListener>,
    /// TLS of listeners, if there is a certificate.
    pub tls: Option<TlsOptions>,
    /// How long the handshake of TLS may take.
    pub ssl_handshake_timeout: Duration,
    /// Whether connections to ports begin with a header of the PROXY protocol.
    pub proxy_protocol: bool,
    /// Whose headers are believed; None: those of all.
    pub proxy_protocol_trusted_senders: Option<Vec<RangeInclusive<IpAddr>>>,
    /// Options of clients' sockets.
    pub tcp_listen_options: TcpOptions,
    /// Where health checks and metrics are; None: nowhere.
    pub http_listener: Option<ListenAddress>,
    /// Names by which it is asked there.
    pub http_hosts: Vec<String>,
    /// Where lines may lead: at least one, each with a name of its own.
    pub upstreams: Vec<Upstream>,
    /// How long looking up an upstream's name, connecting and TLS may take together.
    pub connect_timeout: Duration,
    /// Which upstream gets a line, and which is left alone. Without its upstreams: these are in `upstreams`.
    pub balance: balance::Options,
    /// The switchboard's options. Its limits are those of the whole proxy, which its threads share.
    pub switchboard: switchboard::Options,
    /// Which clients may come in.
    pub guard: guard::Options,
    /// What is kept while an upstream is away; None: nothing is.
    pub spool: Option<spool::Options>,
    /// How long clients are waited for once they are asked to close; None: for ever.
    pub term_timeout: Option<Duration>,
    /// How long clients are waited for before that.
    pub term_client_close_timeout: Duration,
    /// Threads for connections; None: one for each processor.
    pub worker_threads: Option<usize>,
    /// What is logged.
    pub log: Log,

    pub(super) values: Values,
}

/// A listener on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its name in the configuration.
    pub name: String,
    /// Where it listens.
    pub address: ListenAddress,
}

const SNI: [&str; 3] = ["proxy", "ssl_options", "sni"];

/// The configuration of these values, if they fit together.
pub(super) fn build(mut values: Values) -> Result<(Config, Vec<Warning>), ConfigError> {
    let mut warnings = values.judge();
    warnings.extend(upstreams::check(&mut values));
    check_listeners(&mut values);
    check_ports(&mut values);
    check_back_off(&mut values);
    warnings.extend(attempts_outlive_waits(&values));
    warnings.extend(values.take_warnings());
    let values = values.accept()?;
    Ok((read(values), warnings))
}

fn check_listeners(values: &mut Values) {
    let tls =
        listeners(values, "ssl").first().map(|first| format!("proxy.listeners.ssl.{}", first.name.replace('.', "\\.")));
    let tls = tls.map(|key| (values.origin(&key), key));
    check_tls(values, "proxy.ssl_options", tls);
    check_sni(values, &SNI);
    let is_silent =
        listeners(values, "tcp").is_empty() && listeners(values, "ssl").is_empty() && unix_listeners(values).is_empty();
    if is_silent {
        let text = "no listener: set 'proxy.listeners.ssl.NAME' or 'proxy.listeners.unix.NAME'".to_owned();
        values.refuse(values.origin("proxy.listeners.tcp"), text);
    }
}

/// The system would say of the second one only that the address is in use.
fn check_ports(values: &mut Values) {
    let families = ["tcp", "ssl"].map(|kind| (kind, listeners(values, kind)));
    let of_family = |(kind, listeners): &(&str, Vec<Listener>)| {
        let key = |name: &str| format!("proxy.listeners.{kind}.{}", name.replace('.', "\\."));
        listeners.iter().map(|listener| (key(&listener.name), listener.address.clone())).collect::<Vec<_>>()
    };
    let mut all: Vec<(String, ListenAddress)> = families.iter().flat_map(of_family).collect();
    let http = "proxy.http.listener";
    all.extend(ListenAddress::parse(values.required(http)).map(|address| (http.to_owned(), address)));
    for (at, (key, address)) in all.iter().enumerate() {
        if let Some((other, _)) = all[..at].iter().find(|(_, other)| other.overlaps(address)) {
            let origin = [key, other].map(|key| values.origin(key)).into_iter().find(|it| *it != Origin::Default);
            let text = format!("'{other}' and '{key}' are the same port, {}", address.port);
            values.refuse(origin.unwrap_or(Origin::Default), text);
        }
    }
}

fn check_back_off(values: &mut Values) {
    let [min, max] = ["proxy.back_off.min", "proxy.back_off.max"];
    if duration(values, min) > duration(values, max) {
        let origin = [min, max].map(|key| values.origin(key)).into_iter().find(|origin| *origin != Origin::Default);
        let text =
            format!("'{min}' ({}) must not be longer than '{max}' ({})", values.required(min), values.required(max));
        values.refuse(origin.unwrap_or(Origin::Default), text);
    }
}

/// A client that waits for less than dialling may take is let go while its line is still being dialled.
fn attempts_outlive_waits(values: &Values) -> Option<Warning> {
    let [connect, wait] = ["proxy.connect_timeout", "proxy.upstream_connections.wait_timeout"];
    let origin = [connect, wait].map(|key| values.origin(key)).into_iter().find(|origin| *origin != Origin::Default)?;
    (duration(values, connect) > duration(values, wait)).then(|| {
        let [connect_text, wait_text] = [connect, wait].map(|key| values.required(key));
        let text = format!(
            "'{connect}' ({connect_text}) is longer than '{wait}' ({wait_text}): clients are closed before an attempt to connect to an \
             upstream ends"
        );
        Warning(Remark { origin, text })
    })
}

fn read(values: Values) -> Config {
    let duration = |key| duration(&values, key);
    Config {
        listeners: listeners(&values, "tcp"),
        tls_listeners: listeners(&values, "ssl"),
        unix_listeners: unix_listeners(&values),
        tls: tls_options(&values, "proxy.ssl_options", &SNI),
        ssl_handshake_timeout: duration("proxy.ssl_handshake_timeout"),
        proxy_protocol: values.bool("proxy.proxy_protocol"),
        proxy_protocol_trusted_senders: networks(&values, &["proxy", "proxy_protocol", "trusted_senders"]),
        tcp_listen_options: TcpOptions {
            backlog: values.integer("proxy.tcp_listen_options.backlog"),
            nodelay: values.bool("proxy.tcp_listen_options.nodelay"),
            keepalive: values.bool("proxy.tcp_listen_options.keepalive"),
            sndbuf: None,
            recbuf: None,
            linger: None,
        },
        http_listener: ListenAddress::parse(values.required("proxy.http.listener")),
        http_hosts: values.family(&["proxy", "http", "hosts"]).map(|(_, name)| name.to_owned()).collect(),
        upstreams: upstreams::read(&values),
        connect_timeout: duration("proxy.connect_timeout"),
        balance: balance_options(&values),
        switchboard: switchboard_options(&values),
        guard: guard_options(&values),
        spool: spool_options(&values),
        term_timeout: parse_duration_or_infinity(values.required("proxy.term_timeout")),
        term_client_close_timeout: duration("proxy.term_client_close_timeout"),
        worker_threads: Some(values.integer("proxy.worker_threads")).filter(|&count| count > 0),
        log: Log {
            level: LogLevel::parse(values.required("proxy.log.level")).expect("a level, as the table says"),
            formatter: match values.required("proxy.log.formatter") {
                "json" => LogFormatter::Json,
                _ => LogFormatter::Plaintext,
            },
        },
        values,
    }
}

fn duration(values: &Values, key: &str) -> Duration {
    Duration::from_millis(duration_ms(values, key))
}

fn duration_ms(values: &Values, key: &str) -> u64 {
    parse_duration_ms(values.required(key)).expect("a duration, as the table says")
}

fn switchboard_options(values: &Values) -> switchboard::Options {
    let time_ms = |key| duration_ms(values, key);
    let channel_max: u16 = values.integer("proxy.channel_max");
    switchboard::Options {
        channel_max: if channel_max == 0 { u16::MAX } else { channel_max },
        frame_len_max: u32::try_from(values.required_size("proxy.frame_max")).expect("the table's range fits 32 bits"),
        client_heartbeat_s: values.integer("proxy.heartbeat"),
        upstream_heartbeat_s: values.integer("proxy.upstream_connections.heartbeat"),
        handshake_timeout_ms: time_ms("proxy.handshake_timeout"),
        login_fresh_ms: time_ms("proxy.login_cache_ttl"),
        upstream_wait_ms: time_ms("proxy.upstream_connections.wait_timeout"),
        upstream_channel_max: values.integer("proxy.upstream_connections.channel_max"),
        pool_connection_max: values.integer("proxy.upstream_connections.max_per_pool"),
        upstream_connection_max: values
            .unbounded("proxy.upstream_connections.max")
            .map_or(0, |max| usize::try_from(max).unwrap_or(usize::MAX)),
        upstream_idle_ms: time_ms("proxy.upstream_connections.idle_timeout"),
        pool_idle_ms: time_ms("proxy.pools.idle_timeout"),
        upstream_handshake_timeout_ms: time_ms("proxy.upstream_connections.handshake_timeout"),
        spool_after_ms: time_ms("proxy.spool.start_after"),
        checks_login_first: upstreams::read(values).iter().all(|upstream| upstream.vhosts.is_empty()),
        ..switchboard::Options::default()
    }
}

fn balance_options(values: &Values) -> balance::Options {
    let time_ms = |key| duration_ms(values, key);
    balance::Options {
        upstreams: Vec::new(),
        strategy: match values.required("proxy.strategy") {
            "least_connections" => balance::Strategy::LeastConnections,
            _ => balance::Strategy::Weighted,
        },
        failure_count_max: values.integer("proxy.health_check.failures"),
        backoff_min_ms: time_ms("proxy.back_off.min"),
        backoff_max_ms: time_ms("proxy.back_off.max"),
        // An attempt ends with the login, or with the end of one of these.
        attempt_timeout_ms: time_ms("proxy.connect_timeout") + time_ms("proxy.upstream_connections.handshake_timeout"),
        check_interval_ms: time_ms("proxy.health_check.interval"),
    }
}

fn guard_options(values: &Values) -> guard::Options {
    let key = |name: &str| format!("proxy.limits.{name}");
    let count = |name: &str| values.unbounded(&key(name)).unwrap_or(0);
    let rate = |name: &str, burst: &str| guard::Rate { per_s: count(name), burst: values.integer(&key(burst)) };
    let byte_rate = |name: &str, burst: &str| guard::Rate {
        per_s: values.size(&key(name)).unwrap_or(0),
        burst: values.required_size(&key(burst)),
    };
    guard::Options {
        is_alarm_only: values.bool("proxy.limits.alarm_only"),
        connection_max: count("connections"),
        user_connection_max: count("connections_per_user"),
        address_connection_max: count("connections_per_address"),
        ipv6_prefix_len: values.integer("proxy.limits.ipv6_prefix_len"),
        connection_rate: rate("connection_rate", "connection_burst"),
        address_connection_rate: rate("connection_rate_per_address", "connection_burst_per_address"),
        byte_rate: byte_rate("byte_rate", "byte_burst"),
        user_byte_rate: byte_rate("byte_rate_per_user", "byte_burst_per_user"),
    }
}

fn spool_options(values: &Values) -> Option<spool::Options> {
    let dir = values.text("proxy.spool.dir").filter(|dir| !dir.is_empty())?;
    let age_max = parse_duration_or_infinity(values.required("proxy.spool.message_ttl"));
    Some(spool::Options {
        dir: dir.into(),
        len_max: values.required_size("proxy.spool.size_max"),
        age_max_ms: age_max.map(|age| age.as_millis() as u64),
        login_fresh_ms: duration_ms(values, "proxy.spool.login_cache_ttl"),
    })
}

fn listeners(values: &Values, kind: &str) -> Vec<Listener> {
    if values.text(&format!("proxy.listeners.{kind}")) == Some("none") {
        return Vec::new();
    }
    let listener = |(name, address): (&str, &str)| {
        let address = ListenAddress::parse(address).expect("a listener, as the table says");
        Listener { name: name.to_owned(), address }
    };
    values.family(&["proxy", "listeners", kind]).map(listener).collect()
}

fn unix_listeners(values: &Values) -> Vec<UnixListener> {
    let listener = |(name, path): (&str, &str)| UnixListener {
        name: name.to_owned(),
        path: path.to_owned(),
        connection_max: None,
    };
    values.family(&["proxy", "listeners", "unix"]).map(listener).collect()
}
