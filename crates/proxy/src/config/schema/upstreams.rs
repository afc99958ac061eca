//! Brokers, which of them gets an upstream connection, and how many of these there are.

use model::config::table::tls_keys::CIPHERS;

use super::super::kinds::URL;
use super::{HEARTBEAT, Key, Section, TIME, TIME_OR_NONE, Type, effective};

pub(super) const SECTION: Section = Section { title: "Upstreams", keys: KEYS };
pub(super) const CHOICE_SECTION: Section = Section { title: "Which upstream gets a connection", keys: CHOICE_KEYS };
pub(super) const CONNECTIONS_SECTION: Section =
    Section { title: "Upstream connections and pools", keys: CONNECTIONS_KEYS };

const KEYS: &[Key] = &[
    effective(
        "proxy.upstreams.$name.url",
        Type::Own(&URL),
        "",
        "Where a broker is: `amqp://host:5672`, or `amqps://host:5671` with TLS. The name is free; URLs of the command line and of \
         `AMQP_URL` are the upstreams `1`, `2` and so on. Clients bring their own user, password and vhost; those of the URL are for \
         health checks only.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.weight",
        Type::Integer(0, 1_000_000),
        "1",
        "Its share of new upstream connections beside the others' shares. An upstream of weight 0 gets some only where no other can.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.drain",
        Type::Bool,
        "false",
        "Whether it gets no new connections, as before it is restarted.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.vhosts.$n",
        Type::VhostName,
        "",
        "A vhost that it serves. One that some upstream names is only on those that do; any other is on those that name none.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.proxy_protocol",
        Type::OneOf(&["none", "v1", "v2"]),
        "none",
        "Which version of the PROXY protocol a connection to it begins with. A client's own upstream connection says where \
         the client is; a shared one is the proxy's.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.ssl_options.verify",
        Type::OneOf(&["verify_peer", "verify_none"]),
        "verify_peer",
        "`verify_none`: its certificate is not checked, and a program in between can read and write everything.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.ssl_options.cacertfile",
        Type::Text,
        "",
        "File of the authorities, in PEM, that its certificate is to be from; unset: those of the system.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.ssl_options.certfile",
        Type::Text,
        "",
        "File of the certificate chain, in PEM, that the proxy shows to it.",
    )
    .reloadable(),
    effective("proxy.upstreams.$name.ssl_options.keyfile", Type::Text, "", "File of that certificate's key, in PEM.")
        .reloadable(),
    effective(
        "proxy.upstreams.$name.ssl_options.password",
        Type::Secret,
        "",
        "The key's password, if it is encrypted (PKCS#8).",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.ssl_options.versions.$version",
        Type::OneOf(&["tlsv1.3", "tlsv1.2"]),
        "",
        "The versions that may be spoken with it; both if none is set.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.ssl_options.ciphers.$cipher",
        Type::OneOf(CIPHERS),
        "",
        "The cipher suites that may be used, in the order of their numbers; all if none is set.",
    )
    .reloadable(),
    effective(
        "proxy.upstreams.$name.ssl_options.server_name_indication",
        Type::Text,
        "",
        "The name that it is asked for and that its certificate has to be for; unset: the URL's host.",
    )
    .reloadable(),
];

const CHOICE_KEYS: &[Key] = &[
    effective(
        "proxy.strategy",
        Type::OneOf(&["weighted", "least_connections"]),
        "weighted",
        "`weighted`: each as often as its weight says; `least_connections`: the one with the fewest connections for its weight.",
    )
    .reloadable(),
    effective(
        "proxy.connect_timeout",
        TIME,
        "5s",
        "How long looking up an upstream's name, connecting and TLS may take together; a health check may take no longer.",
    )
    .reloadable(),
    effective(
        "proxy.health_check.interval",
        TIME_OR_NONE,
        "10s",
        "How often each upstream is checked; 0: never, so that only failing connections tell.",
    )
    .reloadable(),
    effective(
        "proxy.health_check.failures",
        Type::Integer(1, 1_000_000),
        "3",
        "After so many failures in a row, of connections and checks, an upstream is left alone for a while.",
    )
    .reloadable(),
    effective(
        "proxy.back_off.min",
        TIME,
        "250ms",
        "For how long an upstream is left alone at first; twice as long after each further failure.",
    )
    .reloadable(),
    effective("proxy.back_off.max", TIME, "30s", "For how long an upstream is left alone at most.").reloadable(),
];

const CONNECTIONS_KEYS: &[Key] = &[
    effective(
        "proxy.login_cache_ttl",
        TIME_OR_NONE,
        "60s",
        "For how long a login that an upstream has accepted is believed without asking it; 0: not at all.",
    )
    .reloadable(),
    effective(
        "proxy.upstream_connections.wait_timeout",
        TIME,
        "15s",
        "How long a client waits for an upstream connection, or for a channel of one, before it is closed.",
    )
    .reloadable(),
    effective(
        "proxy.upstream_connections.handshake_timeout",
        TIME,
        "4s",
        "How long an upstream may be silent in the middle of the handshake.",
    )
    .reloadable(),
    effective(
        "proxy.upstream_connections.channel_max",
        Type::Integer(1, 65_535),
        "1024",
        "The most channels of a shared upstream connection; no more than the upstream allows. AMQProxy's `--max-upstream-channels`.",
    )
    .reloadable(),
    effective(
        "proxy.upstream_connections.max_per_pool",
        Type::Integer(1, 65_535),
        "64",
        "The most shared upstream connections of one login and vhost for publishing, and as many for everything else; clients beyond \
         wait for a channel. The threads share this number, but each has at least one.",
    )
    .reloadable(),
    effective(
        "proxy.upstream_connections.max",
        Type::Unbounded(1),
        "infinity",
        "The most upstream connections in all, clients' own ones included, but without shared ones that are draining; clients beyond wait. \
         The threads share this number, and there are no more threads than that at the start; where a reload sets fewer than there are \
         threads, each has one.",
    )
    .reloadable(),
    effective(
        "proxy.upstream_connections.idle_timeout",
        TIME_OR_NONE,
        "5s",
        "After what time without a client a shared upstream connection is closed, while its pool has another one. AMQProxy's \
         `--idle-connection-timeout`.",
    )
    .reloadable(),
    effective(
        "proxy.pools.idle_timeout",
        TIME_OR_NONE,
        "10m",
        "After what time without a client the last upstream connection of a pool is closed.",
    )
    .reloadable(),
    effective(
        "proxy.upstream_connections.heartbeat",
        HEARTBEAT,
        "60",
        "Seconds between heartbeats that are proposed to upstreams; 0 leaves it to them.",
    )
    .reloadable(),
];
