//! Where the management API listens. Its TLS is in `tls`.

use super::{Key, Section, Type, effective};

pub(super) const SECTION: Section = Section { title: "Listeners of the management API", keys: KEYS };

const PORT: Type = Type::Integer(0, 65_535);
const BACKLOG: Type = Type::Integer(1, 65_535);
const IDLE: &str = "How long a connection may be silent in the middle of a request.";
const INACTIVITY: &str = "How long a request may go without anything being read or written.";
const REQUEST: &str = "How long a client may take to begin its next request.";
const KEEPALIVE: &str = "How many requests one connection may make.";
const MAX_CONNECTIONS: &str = "The most connections at a time.";

const KEYS: &[Key] = &[
    effective(
        "warren.http.max_connections_per_address",
        Type::Unbounded(1),
        "256",
        "The most connections that one address, of IPv6 one network of 64 bits, has at a time at each listener of the management \
         API and of metrics, those that have become WebSockets among them.",
    ),
    effective(
        "warren.queue_info.tcp.port",
        PORT,
        "",
        "A port that has `/list_queues` and nothing else, such as 8000, where rabbitmq-queue-info has it; none if unset.",
    ),
    effective("warren.queue_info.tcp.ip", Type::Ip, "", "The address to listen on for that; every one if unset."),
    effective(
        "management.tcp.port",
        PORT,
        "15672",
        "The port without TLS. It is closed where only `management.ssl.**` or `management.listener.**` are set.",
    ),
    effective("management.tcp.ip", Type::Ip, "", "The address to listen on; every one if unset."),
    effective("management.tcp.max_connections", Type::Unbounded(0), "infinity", MAX_CONNECTIONS),
    effective("management.tcp.idle_timeout", Type::ANY_DURATION, "60000", IDLE),
    effective("management.tcp.inactivity_timeout", Type::ANY_DURATION, "300000", INACTIVITY),
    effective("management.tcp.request_timeout", Type::ANY_DURATION, "5000", REQUEST),
    effective("management.tcp.max_keepalive", Type::COUNT, "1000", KEEPALIVE),
    effective(
        "management.ssl.port",
        PORT,
        "15671",
        "The port with TLS. It is opened where any of `management.ssl.**` is set.",
    ),
    effective("management.ssl.ip", Type::Ip, "", "The address to listen on with TLS; every one if unset."),
    effective("management.ssl.backlog", BACKLOG, "1024", "Connections that may wait to be accepted."),
    effective("management.ssl.max_connections", Type::Unbounded(0), "infinity", MAX_CONNECTIONS),
    effective("management.ssl.idle_timeout", Type::ANY_DURATION, "60000", IDLE),
    effective("management.ssl.inactivity_timeout", Type::ANY_DURATION, "300000", INACTIVITY),
    effective("management.ssl.request_timeout", Type::ANY_DURATION, "5000", REQUEST),
    effective("management.ssl.max_keepalive", Type::COUNT, "1000", KEEPALIVE),
    effective(
        "management.listener.port",
        PORT,
        "",
        "An older way to say `management.tcp.port`, or with `ssl` that of TLS; 15672 if unset.",
    ),
    effective("management.listener.ip", Type::Ip, "", "The address to listen on; every one if unset."),
    effective("management.listener.ssl", Type::Bool, "", "Whether that listener speaks TLS; not if unset."),
    effective("management.listener.server.idle_timeout", Type::ANY_DURATION, "", IDLE),
    effective("management.listener.server.inactivity_timeout", Type::ANY_DURATION, "", INACTIVITY),
    effective("management.listener.server.request_timeout", Type::ANY_DURATION, "", REQUEST),
    effective("management.listener.server.max_keepalive", Type::COUNT, "", KEEPALIVE),
];
