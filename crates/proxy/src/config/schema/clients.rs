//! What clients are offered, and how much of it.

use super::{HEARTBEAT, Key, Section, TIME, Type, effective};

pub(super) const SECTION: Section = Section { title: "Clients", keys: KEYS };
pub(super) const LIMITS_SECTION: Section = Section { title: "Limits of clients", keys: LIMITS_KEYS };

const COUNT: Type = Type::Unbounded(1);
const RATE: Type = Type::Unbounded(1);
const BYTE_RATE: Type = Type::Size(1, 1 << 40);
const COUNT_OR_NONE: Type = Type::COUNT;
const BYTES_OR_NONE: Type = Type::Size(0, 1 << 40);
const BURST: &str = "How many may come at once after a quiet time; 0: as many as in a second.";

const KEYS: &[Key] = &[
    effective("proxy.handshake_timeout", TIME, "10s", "How long a client may take to log in.").reloadable(),
    effective(
        "proxy.heartbeat",
        HEARTBEAT,
        "60",
        "Seconds between heartbeats that are proposed to clients; 0 proposes none, as AMQProxy does.",
    )
    .reloadable(),
    effective(
        "proxy.frame_max",
        Type::Size(8192, 16 << 20),
        "131072",
        "The longest frame that is proposed to clients and upstreams, in bytes.",
    )
    .reloadable(),
    effective(
        "proxy.channel_max",
        Type::Integer(0, 65_535),
        "2047",
        "The most channels of one client; 0 means no limit but the protocol's.",
    )
    .reloadable(),
];

const LIMITS_KEYS: &[Key] = &[
    effective("proxy.limits.connections", COUNT, "infinity", "The most connections of clients.").reloadable(),
    effective("proxy.limits.connections_per_user", COUNT, "infinity", "The most connections of one user.").reloadable(),
    effective("proxy.limits.connections_per_address", COUNT, "infinity", "The most connections from one address.")
        .reloadable(),
    effective(
        "proxy.limits.ipv6_prefix_len",
        Type::Integer(1, 128),
        "64",
        "How many leading bits of an IPv6 address count: all addresses that begin with the same bits count as one.",
    ),
    effective("proxy.limits.connection_rate", RATE, "infinity", "The most new connections in a second.").reloadable(),
    effective("proxy.limits.connection_burst", COUNT_OR_NONE, "0", BURST).reloadable(),
    effective(
        "proxy.limits.connection_rate_per_address",
        RATE,
        "infinity",
        "The most new connections in a second from one address.",
    )
    .reloadable(),
    effective("proxy.limits.connection_burst_per_address", COUNT_OR_NONE, "0", BURST).reloadable(),
    effective(
        "proxy.limits.byte_rate",
        BYTE_RATE,
        "",
        "The most bytes that clients send in a second; they are read no faster. Unset: no limit.",
    )
    .reloadable(),
    effective("proxy.limits.byte_burst", BYTES_OR_NONE, "0", BURST).reloadable(),
    effective(
        "proxy.limits.byte_rate_per_user",
        BYTE_RATE,
        "",
        "The most bytes that the clients of one user send in a second. Unset: no limit.",
    )
    .reloadable(),
    effective("proxy.limits.byte_burst_per_user", BYTES_OR_NONE, "0", BURST).reloadable(),
    effective(
        "proxy.limits.alarm_only",
        Type::Bool,
        "false",
        "Whether a client beyond a limit is only counted and logged, and not refused: to find out which limits fit.",
    )
    .reloadable(),
];
