//! The Prometheus plugin's keys. The TLS of its listener is in `tls`.

use super::{Key, Section, Type, effective, no_effect};

pub(super) const SECTION: Section = Section { title: "Metrics for Prometheus", keys: KEYS };

const PORT: Type = Type::Integer(0, 65_535);
const BACKLOG: Type = Type::Integer(1, 65_535);
const IDLE: &str = "How long a connection may be silent in the middle of a request.";
const INACTIVITY: &str = "How long a request may go without anything being read or written.";
const REQUEST: &str = "How long a client may take to begin its next request.";
const KEEPALIVE: &str = "How many requests one connection may make.";
const MAX_CONNECTIONS: &str = "The most connections at a time.";

const COMPRESS: &str = "Whether answers are compressed for who accepts that.";

const KEYS: &[Key] = &[
    effective("warren.prometheus.enabled", Type::Bool, "true", "Whether metrics are served to Prometheus."),
    effective(
        "prometheus.path",
        Type::Text,
        "/metrics",
        "The path of the metrics of the whole node; those of single objects are below it.",
    ),
    effective(
        "prometheus.return_per_object_metrics",
        Type::Bool,
        "false",
        "Whether that path has the metrics of every object, and not their sums.",
    ),
    effective(
        "prometheus.authentication.enabled",
        Type::Bool,
        "false",
        "Whether metrics are shown only to users with the tag `monitoring` or `administrator`.",
    ),
    effective(
        "prometheus.tcp.listener",
        Type::ListenerOrNone,
        "",
        "A port, or an address and a port, to listen on without TLS; `none` for no such port. Instead of the two keys below.",
    ),
    effective("prometheus.tcp.port", PORT, "15692", "The port without TLS."),
    effective("prometheus.tcp.ip", Type::Ip, "", "The address to listen on; every one if unset."),
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
        "The port with TLS. It is opened where any of `prometheus.ssl.**` is set, beside the one without.",
    ),
    effective("prometheus.ssl.ip", Type::Ip, "", "The address to listen on with TLS; every one if unset."),
    effective("prometheus.ssl.backlog", BACKLOG, "1024", "Connections that may wait to be accepted."),
    effective("prometheus.ssl.max_connections", Type::Unbounded(0), "infinity", MAX_CONNECTIONS),
    effective("prometheus.ssl.idle_timeout", Type::ANY_DURATION, "60000", IDLE),
    effective("prometheus.ssl.inactivity_timeout", Type::ANY_DURATION, "300000", INACTIVITY),
    effective("prometheus.ssl.request_timeout", Type::ANY_DURATION, "5000", REQUEST),
    effective("prometheus.ssl.max_keepalive", Type::COUNT, "1000", KEEPALIVE),
    effective("prometheus.ssl.compress", Type::Bool, "true", COMPRESS),
    no_effect(
        "prometheus.{tcp,ssl}.shutdown_timeout",
        Type::ANY_DURATION,
        "a stop waits for requests for five seconds",
    ),
    no_effect(
        "prometheus.filter_aggregated_queue_metrics_pattern",
        Type::Text,
        "sums are kept while messages come and go, over all queues; RabbitMQ 4.3 ignores it, too",
    ),
];
