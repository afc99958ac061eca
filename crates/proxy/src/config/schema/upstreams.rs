//! Brokers, which of them gets an upstream connection, and how many of these there are.

use std::path::PathBuf;
use std::time::Duration;

use model::config::table::tls_keys::CIPHERS;
use net::proxy_protocol::Version;

use super::super::kinds::URL;
use super::{HEARTBEAT_S, Key, Row, Section, TIME, TIME_OR_NONE, Type, effective};
use crate::balance::Strategy;

pub(super) const SECTION: Section = Section { title: "Upstreams", keys: KEYS };
pub(super) const CHOICE_SECTION: Section = Section { title: "Which upstream gets a connection", keys: CHOICE_KEYS };
pub(super) const CONNECTIONS_SECTION: Section =
    Section { title: "Upstream connections and pools", keys: CONNECTIONS_KEYS };

pub(crate) const UPSTREAM_URL: Key<String> = Key::text(
    "proxy.upstreams.$name.url",
    Type::Own(&URL),
    "",
    "The URL of a broker: `amqp://host:5672`, or `amqps://host:5671` with TLS. `$name` can be any word. URLs from the command line \
     and from `AMQP_URL` are the upstreams `1`, `2` and so on. Clients bring their own user, password and vhost. Those in the URL \
     are used only for health checks.",
)
.reloadable();
pub(crate) const UPSTREAM_WEIGHT: Key<u32> = Key::integer(
    "proxy.upstreams.$name.weight",
    Type::Integer(0, 1_000_000),
    "1",
    "The upstream's share of new upstream connections, relative to the others. An upstream with weight 0 gets connections only if \
     no other upstream can.",
)
.reloadable();
pub(crate) const UPSTREAM_DRAIN: Key<bool> = Key::bool(
    "proxy.upstreams.$name.drain",
    "false",
    "Whether the upstream gets no new connections, for example before it is restarted.",
)
.reloadable();
pub(crate) const UPSTREAM_PROXY_PROTOCOL: Key<Option<Version>> = Key::new(
    "proxy.upstreams.$name.proxy_protocol",
    Type::OneOf(&["none", "v1", "v2"]),
    "none",
    "The version of the PROXY protocol with which connections to the upstream begin. On a client's own upstream connection, the \
     header contains the client's address; on a shared connection, the proxy's.",
    |text| {
        Some(match text {
            "v1" => Some(Version::V1),
            "v2" => Some(Version::V2),
            _ => None,
        })
    },
)
.reloadable();
pub(crate) const UPSTREAM_VERIFY: Key<bool> = Key::new(
    "proxy.upstreams.$name.ssl_options.verify",
    Type::OneOf(&["verify_peer", "verify_none"]),
    "verify_peer",
    "`verify_none`: the upstream's certificate is not checked, so a program in between can read and change everything.",
    |text| Some(text == "verify_peer"),
)
.reloadable();
pub(crate) const UPSTREAM_CACERTFILE: Key<PathBuf> = Key::new(
    "proxy.upstreams.$name.ssl_options.cacertfile",
    Type::Text,
    "",
    "File of the authorities, in PEM, that may have signed the upstream's certificate. Unset: the system's.",
    |text| Some(text.into()),
)
.reloadable();
pub(crate) const UPSTREAM_CERTFILE: Key<PathBuf> = Key::new(
    "proxy.upstreams.$name.ssl_options.certfile",
    Type::Text,
    "",
    "File of the proxy's client certificate chain, in PEM.",
    |text| Some(text.into()),
)
.reloadable();
pub(crate) const UPSTREAM_KEYFILE: Key<PathBuf> = Key::new(
    "proxy.upstreams.$name.ssl_options.keyfile",
    Type::Text,
    "",
    "File of this certificate's private key, in PEM.",
    |text| Some(text.into()),
)
.reloadable();
pub(crate) const UPSTREAM_PASSWORD: Key<String> = Key::text(
    "proxy.upstreams.$name.ssl_options.password",
    Type::Secret,
    "",
    "The key's password, if it is encrypted (PKCS#8).",
)
.reloadable();
pub(crate) const UPSTREAM_SERVER_NAME_INDICATION: Key<String> = Key::text(
    "proxy.upstreams.$name.ssl_options.server_name_indication",
    Type::Text,
    "",
    "The server name that the proxy asks for, and that the upstream's certificate must contain. Unset: the URL's host.",
)
.reloadable();
pub(crate) const STRATEGY: Key<Strategy> = Key::new(
    "proxy.strategy",
    Type::OneOf(&["weighted", "least_connections"]),
    "weighted",
    "`weighted`: in proportion to the weights. `least_connections`: the upstream with the fewest connections relative to its \
     weight.",
    |text| {
        Some(match text {
            "least_connections" => Strategy::LeastConnections,
            _ => Strategy::Weighted,
        })
    },
)
.reloadable();
pub(crate) const CONNECT_TIMEOUT: Key<Duration> = Key::duration(
    "proxy.connect_timeout",
    TIME,
    "5s",
    "How long name lookup, connection and TLS handshake with an upstream may take together. Also the timeout of a health check.",
)
.reloadable();
pub(crate) const HEALTH_CHECK_INTERVAL: Key<Duration> = Key::duration(
    "proxy.health_check.interval",
    TIME_OR_NONE,
    "10s",
    "How often each upstream is checked. 0: never, so that only failed connections count.",
)
.reloadable();
pub(crate) const HEALTH_CHECK_FAILURES: Key<u32> = Key::integer(
    "proxy.health_check.failures",
    Type::Integer(1, 1_000_000),
    "3",
    "After this many failures in a row, of connections and checks, an upstream is not used for a while.",
)
.reloadable();
pub(crate) const BACK_OFF_MIN: Key<Duration> = Key::duration(
    "proxy.back_off.min",
    TIME,
    "250ms",
    "How long an upstream is not used at first. The time doubles with each further failure.",
)
.reloadable();
pub(crate) const BACK_OFF_MAX: Key<Duration> =
    Key::duration("proxy.back_off.max", TIME, "30s", "How long an upstream is not used at most.").reloadable();
pub(crate) const LOGIN_CACHE_TTL: Key<Duration> = Key::duration(
    "proxy.login_cache_ttl",
    TIME_OR_NONE,
    "60s",
    "How long a login that an upstream has accepted is valid without asking the upstream again. 0: not at all.",
)
.reloadable();
pub(crate) const UPSTREAM_CONNECTIONS_WAIT_TIMEOUT: Key<Duration> = Key::duration(
    "proxy.upstream_connections.wait_timeout",
    TIME,
    "15s",
    "How long a client waits for an upstream connection, or for a channel on one, before the client's connection is closed.",
)
.reloadable();
pub(crate) const UPSTREAM_CONNECTIONS_HANDSHAKE_TIMEOUT: Key<Duration> = Key::duration(
    "proxy.upstream_connections.handshake_timeout",
    TIME,
    "4s",
    "How long an upstream may be silent during the handshake.",
)
.reloadable();
pub(crate) const UPSTREAM_CONNECTIONS_CHANNEL_MAX: Key<u16> = Key::integer(
    "proxy.upstream_connections.channel_max",
    Type::Integer(1, 65_535),
    "1024",
    "The maximum number of channels on a shared upstream connection, limited by what the upstream allows. AMQProxy's \
         `--max-upstream-channels`.",
)
.reloadable();
pub(crate) const UPSTREAM_CONNECTIONS_MAX_PER_POOL: Key<usize> = Key::integer(
    "proxy.upstream_connections.max_per_pool",
    Type::Integer(1, 65_535),
    "64",
    "The maximum number of shared upstream connections per login and vhost for publishing, and the same number for everything \
     else. Further clients wait for a channel. The threads divide this number among them, but each has at least one.",
)
.reloadable();
pub(crate) const UPSTREAM_CONNECTIONS_MAX: Key<Option<u64>> = Key::unbounded(
    "proxy.upstream_connections.max",
    Type::Unbounded(1),
    "infinity",
    "The maximum number of all upstream connections, including clients' own, but without shared ones that are draining. Further \
     clients wait. The threads divide this number among them, and no more threads than this are started. If a reload sets a \
     number below the number of threads, each thread has one.",
)
.reloadable();
pub(crate) const UPSTREAM_CONNECTIONS_IDLE_TIMEOUT: Key<Duration> = Key::duration(
    "proxy.upstream_connections.idle_timeout",
    TIME_OR_NONE,
    "5s",
    "A shared upstream connection is closed after this time without a client, if its pool has another one. AMQProxy's \
         `--idle-connection-timeout`.",
)
.reloadable();
pub(crate) const POOLS_IDLE_TIMEOUT: Key<Duration> = Key::duration(
    "proxy.pools.idle_timeout",
    TIME_OR_NONE,
    "10m",
    "The last upstream connection of a pool is closed after this time without a client.",
)
.reloadable();
pub(crate) const UPSTREAM_CONNECTIONS_HEARTBEAT: Key<u16> = Key::integer(
    "proxy.upstream_connections.heartbeat",
    HEARTBEAT_S,
    "60",
    "The heartbeat interval in seconds that is proposed to upstreams. 0: the upstream's interval.",
)
.reloadable();

const KEYS: &[Row] = &[
    UPSTREAM_URL.row,
    UPSTREAM_WEIGHT.row,
    UPSTREAM_DRAIN.row,
    effective(
        "proxy.upstreams.$name.vhosts.$n",
        Type::VhostName,
        "",
        "A vhost that the upstream serves. A vhost that is named for some upstreams is served only by these. All other vhosts are \
         served by the upstreams without such a key.",
    )
    .reloadable(),
    UPSTREAM_PROXY_PROTOCOL.row,
    UPSTREAM_VERIFY.row,
    UPSTREAM_CACERTFILE.row,
    UPSTREAM_CERTFILE.row,
    UPSTREAM_KEYFILE.row,
    UPSTREAM_PASSWORD.row,
    effective(
        "proxy.upstreams.$name.ssl_options.versions.$version",
        Type::OneOf(&["tlsv1.3", "tlsv1.2"]),
        "",
        "The TLS versions that may be used with the upstream. Unset: both.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.ssl_options.ciphers.$cipher",
        Type::OneOf(CIPHERS),
        "",
        "The cipher suites that may be used, in the order of their numbers. Unset: all.",
    )
    .reloadable(),
    UPSTREAM_SERVER_NAME_INDICATION.row,
];

const CHOICE_KEYS: &[Row] = &[
    STRATEGY.row,
    CONNECT_TIMEOUT.row,
    HEALTH_CHECK_INTERVAL.row,
    HEALTH_CHECK_FAILURES.row,
    BACK_OFF_MIN.row,
    BACK_OFF_MAX.row,
];

const CONNECTIONS_KEYS: &[Row] = &[
    LOGIN_CACHE_TTL.row,
    UPSTREAM_CONNECTIONS_WAIT_TIMEOUT.row,
    UPSTREAM_CONNECTIONS_HANDSHAKE_TIMEOUT.row,
    UPSTREAM_CONNECTIONS_CHANNEL_MAX.row,
    UPSTREAM_CONNECTIONS_MAX_PER_POOL.row,
    UPSTREAM_CONNECTIONS_MAX.row,
    UPSTREAM_CONNECTIONS_IDLE_TIMEOUT.row,
    POOLS_IDLE_TIMEOUT.row,
    UPSTREAM_CONNECTIONS_HEARTBEAT.row,
];
