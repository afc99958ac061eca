//! Where to listen: AMQP over TCP, TLS and Unix-domain sockets, the management API, and metrics.

use std::time::Duration;

use super::remark::Origin;
use super::schema as keys;
use super::syntax::KeyPath;
use super::tls::{self, PeerVerification, TlsOptions, tls_options};
use super::value::{self, ListenAddress};
use super::values::Values;

/// A listener on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its name in the configuration.
    pub name: String,
    /// Where it listens.
    pub address: ListenAddress,
    /// The most connections that it has at a time.
    pub connection_max: Option<u64>,
}

/// A listener at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixListener {
    /// Its name in the configuration.
    pub name: String,
    /// Where it listens.
    pub path: String,
    /// The most connections that it has at a time.
    pub connection_max: Option<u64>,
}

/// A listener of HTTP: of the management API, or of metrics. Fields are named as their keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpListener {
    /// The prefix of its keys, for what there is to say about it.
    pub prefix: &'static str,
    /// Where it listens (`ip`, `port`).
    pub address: ListenAddress,
    /// Connections that may wait to be accepted.
    pub backlog: u32,
    /// The most connections that it has at a time.
    pub max_connections: Option<u64>,
    /// TLS, if it is spoken.
    pub tls: Option<TlsOptions>,
    /// How long a connection may be silent in the middle of a request.
    pub idle_timeout: Duration,
    /// How long anything may take that is neither read nor written.
    pub inactivity_timeout: Duration,
    /// How long a client may take to begin its next request.
    pub request_timeout: Duration,
    /// How many requests one connection may make.
    pub max_keepalive: u64,
    /// Whether answers are compressed for clients that accept that.
    pub compress: bool,
}

/// The kinds of AMQP listeners, as keys call them.
const KINDS: [&str; 3] = ["tcp", "ssl", "unix"];
const LIMITS: [&str; 2] = ["warren", "listeners"];

/// Notes what does not fit together.
pub(super) fn check(values: &mut Values) {
    let amqp =
        listeners(values, "ssl").first().map(|first| KeyPath::of(&["listeners", "ssl", &first.name]).to_string());
    let amqp = amqp.map(|key| (values.origin(&key), key));
    tls::check(values, "ssl_options", amqp);
    tls::check_sni(values, &tls::SNI);
    for [first, second] in [["management", "ssl"], ["prometheus", "ssl"]] {
        let set = values.below(&[first, second]).find(|(.., origin)| **origin != Origin::Default);
        let user = set.map(|(rest, _, origin)| (origin.clone(), format!("{first}.{second}.{}", rest.join("."))));
        tls::check(values, &format!("{first}.{second}"), user);
    }
    let older = is_older_tls(values) && !takes_tls_of_clients(values);
    let older = older.then(|| "management.listener.ssl".to_owned());
    let older = older.map(|key| (values.origin(&key), key));
    tls::check(values, "management.listener.ssl_opts", older);
    check_limits(values);
    check_ports(values);
}

/// Two listeners cannot have the same address.
fn check_ports(values: &mut Values) {
    let amqp = ["tcp", "ssl"].into_iter().flat_map(|kind| {
        let key = move |name: &str| KeyPath::of(&["listeners", kind, name]).to_string();
        listeners(values, kind).into_iter().map(move |listener| (key(&listener.name), listener.address))
    });
    let mut http = Vec::new();
    if values.get(&keys::management::ENABLED) {
        http.extend(management_listeners(values));
        http.extend(queue_info_listener(values));
    }
    if values.get(&keys::prometheus::ENABLED) {
        http.extend(prometheus_listeners(values));
    }
    let http = http.into_iter();
    let all: Vec<_> =
        amqp.chain(http.map(|listener| (format!("{}.port", listener.prefix), listener.address))).collect();
    let mut problems = Vec::new();
    for (at, (second, address)) in all.iter().enumerate() {
        let taken = all[..at].iter().find(|(_, other)| other == address && address.port != 0);
        if let Some((first, _)) = taken {
            let origin = [first, second].map(|key| values.origin(key)).into_iter().find(|at| *at != Origin::Default);
            let text = format!("'{first}' and '{second}' are the same: port {}", address.port);
            problems.push((origin.unwrap_or(Origin::Default), text));
        }
    }
    problems.into_iter().for_each(|(origin, text)| values.refuse(origin, text));
}

/// A limit of a listener that there is not would be missed silently.
fn check_limits(values: &mut Values) {
    let is_known = |rest: &[String]| match rest {
        [kind, name, _] if kind == "unix" => unix_listeners(values).iter().any(|listener| listener.name == *name),
        [kind, name, _] => listeners(values, kind).iter().any(|listener| listener.name == *name),
        _ => true,
    };
    let problems: Vec<(Origin, String)> = values
        .below(&LIMITS)
        .filter(|(rest, ..)| !is_known(rest))
        .map(|(rest, _, origin)| {
            let wanted = match &*rest[0] {
                "unix" => KeyPath::of(&["warren", "listeners", "unix", &rest[1]]),
                kind => KeyPath::of(&["listeners", kind, &rest[1]]),
            };
            (origin.clone(), format!("no listener '{wanted}' to limit"))
        })
        .collect();
    problems.into_iter().for_each(|(origin, text)| values.refuse(origin, text));
}

/// The listeners of `listeners.tcp` or `listeners.ssl`.
pub(super) fn listeners(values: &Values, kind: &str) -> Vec<Listener> {
    if values.text(&format!("listeners.{kind}")) == Some("none") {
        return Vec::new();
    }
    let listener = |(name, address): (&str, &str)| Listener {
        name: name.to_owned(),
        address: value::parse_listener(address).expect("a listener, as the schema says"),
        connection_max: connection_max(values, kind, name),
    };
    values.family(&["listeners", kind]).map(listener).collect()
}

/// The listeners of `warren.listeners.unix`.
pub(super) fn unix_listeners(values: &Values) -> Vec<UnixListener> {
    let listener = |(name, path): (&str, &str)| UnixListener {
        name: name.to_owned(),
        path: path.to_owned(),
        connection_max: connection_max(values, "unix", name),
    };
    values.family(&["warren", "listeners", "unix"]).map(listener).collect()
}

fn connection_max(values: &Values, kind: &str, name: &str) -> Option<u64> {
    debug_assert!(KINDS.contains(&kind), "{kind}");
    let prefix = [LIMITS[0], LIMITS[1], kind, name];
    let (_, text, _) = values.below(&prefix).find(|(rest, ..)| *rest == ["connection_max"])?;
    text.parse().ok()
}

/// As RabbitMQ decides it: those that are configured in any of its three ways, or else the usual one.
pub(super) fn management_listeners(values: &Values) -> Vec<HttpListener> {
    let has_older = values.is_set_below(&["management", "listener"]);
    let has_tls = values.is_set_below(&["management", "ssl"]);
    let has_plain = values.is_set_below(&["management", "tcp"]) || !(has_older || has_tls);
    let mut found = Vec::new();
    if has_older {
        let tls = match is_older_tls(values) {
            true if takes_tls_of_clients(values) => tls_options(values, "ssl_options", &tls::SNI).map(without_clients),
            true => tls_options(values, "management.listener.ssl_opts", &tls::SNI),
            false => None,
        };
        found.push(http_listener(values, "management.listener", "management.listener.server", MANAGEMENT_PORT, tls));
    }
    if has_plain {
        let plain = http_listener(values, "management.tcp", "management.tcp", MANAGEMENT_PORT, None);
        // What says where the older one listens says no more than that.
        let is_there = |older: &HttpListener| older.address.port == plain.address.port && plain.address.port != 0;
        if !found.iter().any(is_there) {
            found.push(plain);
        }
    }
    if has_tls {
        let tls = tls_options(values, "management.ssl", &tls::SNI);
        found.push(http_listener(values, "management.ssl", "management.ssl", MANAGEMENT_TLS_PORT, tls));
    }
    found
}

fn is_older_tls(values: &Values) -> bool {
    values.text(keys::management_listeners::LISTENER_SSL.name()) == Some("true")
}

/// Whether the older listener has nothing of its own to say about TLS, while that of AMQP has.
fn takes_tls_of_clients(values: &Values) -> bool {
    !values.is_set_below(&["management", "listener", "ssl_opts"]) && values.text("ssl_options.certfile").is_some()
}

/// As RabbitMQ takes TLS over from AMQP for HTTP: browsers are not asked for certificates.
fn without_clients(tls: TlsOptions) -> TlsOptions {
    TlsOptions { cacertfile: None, verify: PeerVerification::None, ..tls }
}

/// As RabbitMQ decides it: the one without TLS unless it is `none`, and the other where anything is set about it.
pub(super) fn prometheus_listeners(values: &Values) -> Vec<HttpListener> {
    let mut found = Vec::new();
    let plain = values.text(keys::prometheus::TCP_LISTENER.name());
    if plain != Some("none") {
        let listener = http_listener(values, "prometheus.tcp", "prometheus.tcp", PROMETHEUS_PORT, None);
        let address = plain.and_then(value::parse_listener).unwrap_or(listener.address);
        found.push(HttpListener { address, ..listener });
    }
    if values.is_set_below(&["prometheus", "ssl"]) {
        let tls = tls_options(values, "prometheus.ssl", &tls::SNI);
        found.push(http_listener(values, "prometheus.ssl", "prometheus.ssl", PROMETHEUS_TLS_PORT, tls));
    }
    found
}

/// The listener that has the short list of queues and nothing else, if there is to be one.
pub(super) fn queue_info_listener(values: &Values) -> Option<HttpListener> {
    let prefix = "warren.queue_info.tcp";
    values.text(&format!("{prefix}.port"))?;
    Some(http_listener(values, prefix, prefix, MANAGEMENT_PORT, None))
}

/// RabbitMQ's ports.
const MANAGEMENT_PORT: u16 = 15672;
const MANAGEMENT_TLS_PORT: u16 = 15671;
const PROMETHEUS_PORT: u16 = 15692;
const PROMETHEUS_TLS_PORT: u16 = 15691;

fn http_listener(
    values: &Values,
    prefix: &'static str,
    timeouts: &str,
    port: u16,
    tls: Option<TlsOptions>,
) -> HttpListener {
    let text = |name: &str| values.text(&format!("{prefix}.{name}"));
    let timeout = |name: &str, default: u64| {
        let set = values.text(&format!("{timeouts}.{name}")).and_then(value::parse_duration);
        set.unwrap_or(Duration::from_millis(default))
    };
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    HttpListener {
        prefix,
        address: ListenAddress {
            ip: text("ip").and_then(|ip| ip.parse().ok()),
            port: text("port").map_or(port, |port| port.parse().expect("a port, as the schema says")),
        },
        backlog: text("backlog").map_or(1024, |backlog| backlog.parse().expect("the schema's range fits 32 bits")),
        max_connections: number(text("max_connections")),
        tls,
        idle_timeout: timeout("idle_timeout", 60_000),
        inactivity_timeout: timeout("inactivity_timeout", 300_000),
        request_timeout: timeout("request_timeout", 5_000),
        max_keepalive: number(values.text(&format!("{timeouts}.max_keepalive"))).unwrap_or(1000),
        compress: text("compress") == Some("true"),
    }
}
