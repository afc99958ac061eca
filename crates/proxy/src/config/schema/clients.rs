//! What clients are offered, and how much of it.

use super::{HEARTBEAT, Row, Section, TIME, Type, effective};

pub(super) const SECTION: Section = Section { title: "Clients", keys: KEYS };
pub(super) const LIMITS_SECTION: Section = Section { title: "Limits of clients", keys: LIMITS_KEYS };

const COUNT: Type = Type::Unbounded(1);
const RATE: Type = Type::Unbounded(1);
const BYTE_RATE: Type = Type::Size(1, 1 << 40);
const COUNT_OR_NONE: Type = Type::COUNT;
const BYTES_OR_NONE: Type = Type::Size(0, 1 << 40);
const BURST: &str = "How many are accepted at once after an idle period. 0: as many as in a second.";

const KEYS: &[Row] = &[
    effective("proxy.handshake_timeout", TIME, "10s", "How long a client may take to log in.").reloadable(),
    effective(
        "proxy.heartbeat",
        HEARTBEAT,
        "60",
        "The heartbeat interval in seconds that is proposed to clients. 0: no heartbeats, as AMQProxy.",
    )
    .reloadable(),
    effective(
        "proxy.frame_max",
        Type::Size(8192, 16 << 20),
        "131072",
        "The maximum frame size in bytes that is proposed to clients and upstreams.",
    )
    .reloadable(),
    effective(
        "proxy.channel_max",
        Type::Integer(0, 65_535),
        "2047",
        "The maximum number of channels per client. 0: only the protocol's limit.",
    )
    .reloadable(),
];

const LIMITS_KEYS: &[Row] = &[
    effective("proxy.limits.connections", COUNT, "infinity", "The maximum number of client connections.").reloadable(),
    effective("proxy.limits.connections_per_user", COUNT, "infinity", "The maximum number of connections per user.")
        .reloadable(),
    effective(
        "proxy.limits.connections_per_address",
        COUNT,
        "infinity",
        "The maximum number of connections per address.",
    )
    .reloadable(),
    effective(
        "proxy.limits.ipv6_prefix_len",
        Type::Integer(1, 128),
        "64",
        "The prefix length of an IPv6 network that counts as one address.",
    ),
    effective("proxy.limits.connection_rate", RATE, "infinity", "The maximum number of new connections per second.")
        .reloadable(),
    effective("proxy.limits.connection_burst", COUNT_OR_NONE, "0", BURST).reloadable(),
    effective(
        "proxy.limits.connection_rate_per_address",
        RATE,
        "infinity",
        "The maximum number of new connections per second from one address.",
    )
    .reloadable(),
    effective("proxy.limits.connection_burst_per_address", COUNT_OR_NONE, "0", BURST).reloadable(),
    effective(
        "proxy.limits.byte_rate",
        BYTE_RATE,
        "",
        "The maximum number of bytes per second that the proxy reads from all clients. Unset: no limit.",
    )
    .reloadable(),
    effective("proxy.limits.byte_burst", BYTES_OR_NONE, "0", BURST).reloadable(),
    effective(
        "proxy.limits.byte_rate_per_user",
        BYTE_RATE,
        "",
        "The maximum number of bytes per second that the proxy reads from the clients of one user. Unset: no limit.",
    )
    .reloadable(),
    effective("proxy.limits.byte_burst_per_user", BYTES_OR_NONE, "0", BURST).reloadable(),
    effective(
        "proxy.limits.alarm_only",
        Type::Bool,
        "false",
        "Whether a client beyond a limit is counted and logged, but not refused. This helps to find suitable limits.",
    )
    .reloadable(),
];
