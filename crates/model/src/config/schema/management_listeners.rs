//! Where the management API listens. Its TLS is in `tls`.

use super::{Key, Row, Section, Type, effective};

pub(super) const SECTION: Section = Section { title: "Listeners of the management API", keys: KEYS };

const PORT: Type = Type::Integer(0, 65_535);
const BACKLOG: Type = Type::Integer(1, 65_535);
const IDLE: &str = "How long a connection may be silent during a request.";
const INACTIVITY: &str = "How long a request may take without any bytes being read or written.";
const REQUEST: &str = "How long a client may take to start its next request.";
const KEEPALIVE: &str = "The maximum number of requests per connection.";
const MAX_CONNECTIONS: &str = "The maximum number of concurrent connections.";

pub(crate) const MAX_CONNECTIONS_PER_ADDRESS: Key<Option<u64>> = Key::unbounded(
    "warren.http.max_connections_per_address",
    Type::Unbounded(1),
    "256",
    "The maximum number of concurrent connections from one address at each listener of the management API and of metrics, \
         including WebSockets. For IPv6, this counts a network of 64 bits.",
);
pub(crate) const MANAGEMENT_SSL_PORT: Key<String> = Key::text(
    "management.ssl.port",
    PORT,
    "15671",
    "The port with TLS. It is opened if any of `management.ssl.**` is set.",
);
pub(crate) const LISTENER_SSL: Key<bool> =
    Key::bool("management.listener.ssl", "", "Whether this listener uses TLS. Unset: no.");

const KEYS: &[Row] = &[
    MAX_CONNECTIONS_PER_ADDRESS.row,
    effective(
        "warren.queue_info.tcp.port",
        PORT,
        "",
        "A port that serves only `/list_queues`, such as 8000, the port of the plugin rabbitmq-queue-info. Unset: no such port.",
    ),
    effective(
        "warren.queue_info.tcp.ip",
        Type::Ip,
        "",
        "The address to listen on for this port. Unset: all addresses.",
    ),
    effective(
        "management.tcp.port",
        PORT,
        "15672",
        "The port without TLS. It is not opened if only `management.ssl.**` or `management.listener.**` is set.",
    ),
    effective("management.tcp.ip", Type::Ip, "", "The address to listen on. Unset: all addresses."),
    effective("management.tcp.max_connections", Type::Unbounded(0), "infinity", MAX_CONNECTIONS),
    effective("management.tcp.idle_timeout", Type::ANY_DURATION, "60000", IDLE),
    effective("management.tcp.inactivity_timeout", Type::ANY_DURATION, "300000", INACTIVITY),
    effective("management.tcp.request_timeout", Type::ANY_DURATION, "5000", REQUEST),
    effective("management.tcp.max_keepalive", Type::COUNT, "1000", KEEPALIVE),
    MANAGEMENT_SSL_PORT.row,
    effective("management.ssl.ip", Type::Ip, "", "The address to listen on with TLS. Unset: all addresses."),
    effective("management.ssl.backlog", BACKLOG, "1024", "The maximum number of connections that wait to be accepted."),
    effective("management.ssl.max_connections", Type::Unbounded(0), "infinity", MAX_CONNECTIONS),
    effective("management.ssl.idle_timeout", Type::ANY_DURATION, "60000", IDLE),
    effective("management.ssl.inactivity_timeout", Type::ANY_DURATION, "300000", INACTIVITY),
    effective("management.ssl.request_timeout", Type::ANY_DURATION, "5000", REQUEST),
    effective("management.ssl.max_keepalive", Type::COUNT, "1000", KEEPALIVE),
    effective(
        "management.listener.port",
        PORT,
        "",
        "An older name of `management.tcp.port`, or with `management.listener.ssl = true` of `management.ssl.port`. Unset: 15672.",
    ),
    effective("management.listener.ip", Type::Ip, "", "The address to listen on. Unset: all addresses."),
    LISTENER_SSL.row,
    effective("management.listener.server.idle_timeout", Type::ANY_DURATION, "", IDLE),
    effective("management.listener.server.inactivity_timeout", Type::ANY_DURATION, "", INACTIVITY),
    effective("management.listener.server.request_timeout", Type::ANY_DURATION, "", REQUEST),
    effective("management.listener.server.max_keepalive", Type::COUNT, "", KEEPALIVE),
];
