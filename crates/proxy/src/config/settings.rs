//! The configuration as the proxy uses it: typed, complete, consistent.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use model::config::table::{Key, Origin, Remark, Values, check_sni, check_tls, tls_options};
use model::config::{ConfigError, Log, TcpOptions, TlsOptions, UnixListener, Warning, networks};

use super::address::ListenAddress;
use super::schema as keys;
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
    let http = &keys::listeners::HTTP_LISTENER;
    all.extend(values.get(http).map(|address| (http.name().to_owned(), address)));
    for (at, (key, address)) in all.iter().enumerate() {
        if let Some((other, _)) = all[..at].iter().find(|(_, other)| other.overlaps(address)) {
            let origin = [key, other].map(|key| values.origin(key)).into_iter().find(|it| *it != Origin::Default);
            let text = format!("'{other}' and '{key}' are the same port, {}", address.port);
            values.refuse(origin.unwrap_or(Origin::Default), text);
        }
    }
}

fn check_back_off(values: &mut Values) {
    let [min, max] = [&keys::upstreams::BACK_OFF_MIN, &keys::upstreams::BACK_OFF_MAX];
    if values.get(min) > values.get(max) {
        let [min, max] = [min, max].map(Key::name);
        let origin = [min, max].map(|key| values.origin(key)).into_iter().find(|origin| *origin != Origin::Default);
        let text =
            format!("'{min}' ({}) must not be longer than '{max}' ({})", values.required(min), values.required(max));
        values.refuse(origin.unwrap_or(Origin::Default), text);
    }
}

/// A client that waits for less than dialling may take is let go while its line is still being dialled.
fn attempts_outlive_waits(values: &Values) -> Option<Warning> {
    let [connect, wait] = [&keys::upstreams::CONNECT_TIMEOUT, &keys::upstreams::UPSTREAM_CONNECTIONS_WAIT_TIMEOUT];
    let is_longer = values.get(connect) > values.get(wait);
    let [connect, wait] = [connect, wait].map(Key::name);
    let origin = [connect, wait].map(|key| values.origin(key)).into_iter().find(|origin| *origin != Origin::Default)?;
    is_longer.then(|| {
        let [connect_text, wait_text] = [connect, wait].map(|key| values.required(key));
        let text = format!(
            "'{connect}' ({connect_text}) is longer than '{wait}' ({wait_text}): clients are closed before an attempt to connect to an \
             upstream ends"
        );
        Warning(Remark { origin, text })
    })
}

fn read(values: Values) -> Config {
    Config {
        listeners: listeners(&values, "tcp"),
        tls_listeners: listeners(&values, "ssl"),
        unix_listeners: unix_listeners(&values),
        tls: tls_options(&values, "proxy.ssl_options", &SNI),
        ssl_handshake_timeout: values.get(&keys::listeners::SSL_HANDSHAKE_TIMEOUT),
        proxy_protocol: values.get(&keys::listeners::PROXY_PROTOCOL),
        proxy_protocol_trusted_senders: networks(&values, &["proxy", "proxy_protocol", "trusted_senders"]),
        tcp_listen_options: TcpOptions {
            backlog: values.get(&keys::listeners::TCP_LISTEN_OPTIONS_BACKLOG),
            nodelay: values.get(&keys::listeners::TCP_LISTEN_OPTIONS_NODELAY),
            keepalive: values.get(&keys::listeners::TCP_LISTEN_OPTIONS_KEEPALIVE),
            sndbuf: None,
            recbuf: None,
            linger: None,
        },
        http_listener: values.get(&keys::listeners::HTTP_LISTENER),
        http_hosts: values.family(&["proxy", "http", "hosts"]).map(|(_, name)| name.to_owned()).collect(),
        upstreams: upstreams::read(&values),
        connect_timeout: values.get(&keys::upstreams::CONNECT_TIMEOUT),
        balance: balance_options(&values),
        switchboard: switchboard_options(&values),
        guard: guard_options(&values),
        spool: spool_options(&values),
        term_timeout: values.get(&keys::operation::TERM_TIMEOUT),
        term_client_close_timeout: values.get(&keys::operation::TERM_CLIENT_CLOSE_TIMEOUT),
        worker_threads: Some(values.get(&keys::operation::WORKER_THREADS)).filter(|&count| count > 0),
        log: Log {
            level: values.get(&keys::operation::LOG_LEVEL),
            formatter: values.get(&keys::operation::LOG_FORMATTER),
        },
        values,
    }
}

/// A day at most, as the table says.
fn duration_ms(values: &Values, key: &Key<Duration>) -> u64 {
    values.get(key).as_millis() as u64
}

fn switchboard_options(values: &Values) -> switchboard::Options {
    let time_ms = |key| duration_ms(values, key);
    let channel_max = values.get(&keys::clients::CHANNEL_MAX);
    switchboard::Options {
        channel_max: if channel_max == 0 { u16::MAX } else { channel_max },
        frame_len_max: values.get(&keys::clients::FRAME_MAX),
        client_heartbeat_s: values.get(&keys::clients::HEARTBEAT),
        upstream_heartbeat_s: values.get(&keys::upstreams::UPSTREAM_CONNECTIONS_HEARTBEAT),
        handshake_timeout_ms: time_ms(&keys::clients::HANDSHAKE_TIMEOUT),
        login_fresh_ms: time_ms(&keys::upstreams::LOGIN_CACHE_TTL),
        upstream_wait_ms: time_ms(&keys::upstreams::UPSTREAM_CONNECTIONS_WAIT_TIMEOUT),
        upstream_channel_max: values.get(&keys::upstreams::UPSTREAM_CONNECTIONS_CHANNEL_MAX),
        pool_connection_max: values.get(&keys::upstreams::UPSTREAM_CONNECTIONS_MAX_PER_POOL),
        upstream_connection_max: values
            .get(&keys::upstreams::UPSTREAM_CONNECTIONS_MAX)
            .map_or(0, |max| usize::try_from(max).unwrap_or(usize::MAX)),
        upstream_idle_ms: time_ms(&keys::upstreams::UPSTREAM_CONNECTIONS_IDLE_TIMEOUT),
        pool_idle_ms: time_ms(&keys::upstreams::POOLS_IDLE_TIMEOUT),
        upstream_handshake_timeout_ms: time_ms(&keys::upstreams::UPSTREAM_CONNECTIONS_HANDSHAKE_TIMEOUT),
        spool_after_ms: time_ms(&keys::spool::SPOOL_START_AFTER),
        checks_login_first: upstreams::read(values).iter().all(|upstream| upstream.vhosts.is_empty()),
        ..switchboard::Options::default()
    }
}

fn balance_options(values: &Values) -> balance::Options {
    let time_ms = |key| duration_ms(values, key);
    balance::Options {
        upstreams: Vec::new(),
        strategy: values.get(&keys::upstreams::STRATEGY),
        failure_count_max: values.get(&keys::upstreams::HEALTH_CHECK_FAILURES),
        backoff_min_ms: time_ms(&keys::upstreams::BACK_OFF_MIN),
        backoff_max_ms: time_ms(&keys::upstreams::BACK_OFF_MAX),
        // An attempt ends with the login, or with the end of one of these.
        attempt_timeout_ms: time_ms(&keys::upstreams::CONNECT_TIMEOUT)
            + time_ms(&keys::upstreams::UPSTREAM_CONNECTIONS_HANDSHAKE_TIMEOUT),
        check_interval_ms: time_ms(&keys::upstreams::HEALTH_CHECK_INTERVAL),
    }
}

fn guard_options(values: &Values) -> guard::Options {
    let count = |key: &Key<Option<u64>>| values.get(key).unwrap_or(0);
    let rate = |per_s, burst| guard::Rate { per_s: count(per_s), burst: values.get(burst) };
    let byte_rate = |per_s, burst| guard::Rate { per_s: values.find(per_s).unwrap_or(0), burst: values.get(burst) };
    guard::Options {
        is_alarm_only: values.get(&keys::clients::LIMITS_ALARM_ONLY),
        connection_max: count(&keys::clients::LIMITS_CONNECTIONS),
        user_connection_max: count(&keys::clients::LIMITS_CONNECTIONS_PER_USER),
        address_connection_max: count(&keys::clients::LIMITS_CONNECTIONS_PER_ADDRESS),
        ipv6_prefix_len: values.get(&keys::clients::LIMITS_IPV6_PREFIX_LEN),
        connection_rate: rate(&keys::clients::LIMITS_CONNECTION_RATE, &keys::clients::LIMITS_CONNECTION_BURST),
        address_connection_rate: rate(
            &keys::clients::LIMITS_CONNECTION_RATE_PER_ADDRESS,
            &keys::clients::LIMITS_CONNECTION_BURST_PER_ADDRESS,
        ),
        byte_rate: byte_rate(&keys::clients::LIMITS_BYTE_RATE, &keys::clients::LIMITS_BYTE_BURST),
        user_byte_rate: byte_rate(
            &keys::clients::LIMITS_BYTE_RATE_PER_USER,
            &keys::clients::LIMITS_BYTE_BURST_PER_USER,
        ),
    }
}

fn spool_options(values: &Values) -> Option<spool::Options> {
    let dir = values.find(&keys::spool::SPOOL_DIR).filter(|dir| !dir.as_os_str().is_empty())?;
    Some(spool::Options {
        dir,
        len_max: values.get(&keys::spool::SPOOL_SIZE_MAX),
        age_max_ms: values.get(&keys::spool::SPOOL_MESSAGE_TTL).map(|age| age.as_millis() as u64),
        login_fresh_ms: duration_ms(values, &keys::spool::SPOOL_LOGIN_CACHE_TTL),
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
