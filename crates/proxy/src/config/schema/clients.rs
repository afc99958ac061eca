//! What clients are offered, and how much of it.

use std::time::Duration;

use super::{HEARTBEAT_S, Key, Row, Section, TIME, Type};

pub(super) const SECTION: Section = Section { title: "Clients", keys: KEYS };
pub(super) const LIMITS_SECTION: Section = Section { title: "Limits of clients", keys: LIMITS_KEYS };

const COUNT: Type = Type::Unbounded(1);
const RATE: Type = Type::Unbounded(1);
const BYTE_RATE: Type = Type::Size(1, 1 << 40);
const COUNT_OR_NONE: Type = Type::COUNT;
const BYTES_OR_NONE: Type = Type::Size(0, 1 << 40);
const BURST: &str = "How many are accepted at once after an idle period. 0: as many as in a second.";

pub(crate) const HANDSHAKE_TIMEOUT: Key<Duration> =
    Key::duration("proxy.handshake_timeout", TIME, "10s", "How long a client may take to log in.").reloadable();
pub(crate) const HEARTBEAT: Key<u16> = Key::integer(
    "proxy.heartbeat",
    HEARTBEAT_S,
    "60",
    "The heartbeat interval in seconds that is proposed to clients. 0: no heartbeats, as AMQProxy.",
)
.reloadable();
pub(crate) const FRAME_MAX: Key<u32> = Key::size(
    "proxy.frame_max",
    Type::Size(8192, 16 << 20),
    "131072",
    "The maximum frame size in bytes that is proposed to clients and upstreams.",
)
.reloadable();
pub(crate) const CHANNEL_MAX: Key<u16> = Key::integer(
    "proxy.channel_max",
    Type::Integer(0, 65_535),
    "2047",
    "The maximum number of channels per client. 0: only the protocol's limit.",
)
.reloadable();
pub(crate) const LIMITS_CONNECTIONS: Key<Option<u64>> =
    Key::unbounded("proxy.limits.connections", COUNT, "infinity", "The maximum number of client connections.")
        .reloadable();
pub(crate) const LIMITS_CONNECTIONS_PER_USER: Key<Option<u64>> = Key::unbounded(
    "proxy.limits.connections_per_user",
    COUNT,
    "infinity",
    "The maximum number of connections per user.",
)
.reloadable();
pub(crate) const LIMITS_CONNECTIONS_PER_ADDRESS: Key<Option<u64>> = Key::unbounded(
    "proxy.limits.connections_per_address",
    COUNT,
    "infinity",
    "The maximum number of connections per address.",
)
.reloadable();
pub(crate) const LIMITS_IPV6_PREFIX_LEN: Key<u8> = Key::integer(
    "proxy.limits.ipv6_prefix_len",
    Type::Integer(1, 128),
    "64",
    "The prefix length of an IPv6 network that counts as one address.",
);
pub(crate) const LIMITS_CONNECTION_RATE: Key<Option<u64>> = Key::unbounded(
    "proxy.limits.connection_rate",
    RATE,
    "infinity",
    "The maximum number of new connections per second.",
)
.reloadable();
pub(crate) const LIMITS_CONNECTION_BURST: Key<u64> =
    Key::integer("proxy.limits.connection_burst", COUNT_OR_NONE, "0", BURST).reloadable();
pub(crate) const LIMITS_CONNECTION_RATE_PER_ADDRESS: Key<Option<u64>> = Key::unbounded(
    "proxy.limits.connection_rate_per_address",
    RATE,
    "infinity",
    "The maximum number of new connections per second from one address.",
)
.reloadable();
pub(crate) const LIMITS_CONNECTION_BURST_PER_ADDRESS: Key<u64> =
    Key::integer("proxy.limits.connection_burst_per_address", COUNT_OR_NONE, "0", BURST).reloadable();
pub(crate) const LIMITS_BYTE_RATE: Key<u64> = Key::size(
    "proxy.limits.byte_rate",
    BYTE_RATE,
    "",
    "The maximum number of bytes per second that the proxy reads from all clients. Unset: no limit.",
)
.reloadable();
pub(crate) const LIMITS_BYTE_BURST: Key<u64> =
    Key::size("proxy.limits.byte_burst", BYTES_OR_NONE, "0", BURST).reloadable();
pub(crate) const LIMITS_BYTE_RATE_PER_USER: Key<u64> = Key::size(
    "proxy.limits.byte_rate_per_user",
    BYTE_RATE,
    "",
    "The maximum number of bytes per second that the proxy reads from the clients of one user. Unset: no limit.",
)
.reloadable();
pub(crate) const LIMITS_BYTE_BURST_PER_USER: Key<u64> =
    Key::size("proxy.limits.byte_burst_per_user", BYTES_OR_NONE, "0", BURST).reloadable();
pub(crate) const LIMITS_ALARM_ONLY: Key<bool> = Key::bool(
    "proxy.limits.alarm_only",
    "false",
    "Whether a client beyond a limit is counted and logged, but not refused. This helps to find suitable limits.",
)
.reloadable();

const KEYS: &[Row] = &[HANDSHAKE_TIMEOUT.row, HEARTBEAT.row, FRAME_MAX.row, CHANNEL_MAX.row];

const LIMITS_KEYS: &[Row] = &[
    LIMITS_CONNECTIONS.row,
    LIMITS_CONNECTIONS_PER_USER.row,
    LIMITS_CONNECTIONS_PER_ADDRESS.row,
    LIMITS_IPV6_PREFIX_LEN.row,
    LIMITS_CONNECTION_RATE.row,
    LIMITS_CONNECTION_BURST.row,
    LIMITS_CONNECTION_RATE_PER_ADDRESS.row,
    LIMITS_CONNECTION_BURST_PER_ADDRESS.row,
    LIMITS_BYTE_RATE.row,
    LIMITS_BYTE_BURST.row,
    LIMITS_BYTE_RATE_PER_USER.row,
    LIMITS_BYTE_BURST_PER_USER.row,
    LIMITS_ALARM_ONLY.row,
];
