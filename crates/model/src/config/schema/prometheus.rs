//! The Prometheus plugin's keys. The TLS of its listener is in `tls`.

use super::{Key, Row, Section, Type, effective, no_effect};

pub(super) const SECTION: Section = Section { title: "Metrics for Prometheus", keys: KEYS };

const PORT: Type = Type::Integer(0, 65_535);
const BACKLOG: Type = Type::Integer(1, 65_535);
const IDLE: &str = "How long a connection may be silent during a request.";
const INACTIVITY: &str = "How long a request may take without any bytes being read or written.";
const REQUEST: &str = "How long a client may take to start its next request.";
const KEEPALIVE: &str = "The maximum number of requests per connection.";
const MAX_CONNECTIONS: &str = "The maximum number of concurrent connections.";

const COMPRESS: &str = "Whether responses are compressed for clients that accept it.";

pub(crate) const ENABLED: Key<bool> =
    Key::bool("warren.prometheus.enabled", "true", "Whether metrics are served to Prometheus.");
pub(crate) const PATH: Key<String> = Key::text(
    "prometheus.path",
    Type::Text,
    "/metrics",
    "The path of the metrics of the whole node. The metrics of single objects are below it.",
);
pub(crate) const RETURN_PER_OBJECT_METRICS: Key<bool> = Key::bool(
    "prometheus.return_per_object_metrics",
    "false",
    "Whether this path returns the metrics of every object, and not their sums.",
);
pub(crate) const AUTHENTICATION_ENABLED: Key<bool> = Key::bool(
    "prometheus.authentication.enabled",
    "false",
    "Whether reading metrics needs a user with the tag `monitoring` or `administrator`.",
);
pub(crate) const TCP_LISTENER: Key<String> = Key::text(
    "prometheus.tcp.listener",
    Type::ListenerOrNone,
    "",
    "A port, or an address and a port, to listen on without TLS, instead of the two keys below. `none`: no such port.",
);

const KEYS: &[Row] = &[
    ENABLED.row,
    PATH.row,
    RETURN_PER_OBJECT_METRICS.row,
    AUTHENTICATION_ENABLED.row,
    TCP_LISTENER.row,
    effective("prometheus.tcp.port", PORT, "15692", "The port without TLS."),
    effective("prometheus.tcp.ip", Type::Ip, "", "The address to listen on. Unset: all addresses."),
    effective("prometheus.tcp.max_connections", Type::Unbounded(0), "infinity", MAX_CONNECTIONS),
    effective("prometheus.tcp.idle_timeout", Type::ANY_DURATION, "60000", IDLE),
    effective("prometheus.tcp.inactivity_timeout", Type::ANY_DURATION, "300000", INACTIVITY),
    effective("prometheus.tcp.request_timeout", Type::ANY_DURATION, "5000", REQUEST),
    effective("prometheus.tcp.max_keepalive", Type::COUNT, "1000", KEEPALIVE),
    effective("prometheus.tcp.compress", Type::Bool, "true", COMPRESS),
    effective(
        "prometheus.ssl.port",
        PORT,
        "15691",
        "The port with TLS. It is opened in addition to the port without TLS, if any of `prometheus.ssl.**` is set.",
    ),
    effective("prometheus.ssl.ip", Type::Ip, "", "The address to listen on with TLS. Unset: all addresses."),
    effective("prometheus.ssl.backlog", BACKLOG, "1024", "The maximum number of connections that wait to be accepted."),
    effective("prometheus.ssl.max_connections", Type::Unbounded(0), "infinity", MAX_CONNECTIONS),
    effective("prometheus.ssl.idle_timeout", Type::ANY_DURATION, "60000", IDLE),
    effective("prometheus.ssl.inactivity_timeout", Type::ANY_DURATION, "300000", INACTIVITY),
    effective("prometheus.ssl.request_timeout", Type::ANY_DURATION, "5000", REQUEST),
    effective("prometheus.ssl.max_keepalive", Type::COUNT, "1000", KEEPALIVE),
    effective("prometheus.ssl.compress", Type::Bool, "true", COMPRESS),
    no_effect(
        "prometheus.{tcp,ssl}.shutdown_timeout",
        Type::ANY_DURATION,
        "a shutdown waits five seconds for requests",
    ),
    no_effect(
        "prometheus.filter_aggregated_queue_metrics_pattern",
        Type::Text,
        "the sums over all queues are counted continuously, without a filter; RabbitMQ 4.3 ignores the key, too",
    ),
];
