//! What clients are offered, and how much of it.

use super::{HEARTBEAT, Key, Section, TIME, Type, effective};

pub(super) const SECTION: Section = Section { title: "Clients", keys: KEYS };
pub(super) const LIMITS_SECTION: Section = Section { title: "Limits of clients", keys: LIMITS_KEYS };

const COUNT: Type = Type::Unbounded(1);
const RATE: Type = Type::Unbounded(1);
const BYTE_RATE: Type = Type::Size(1, 1 << 40);

const KEYS: &[Key] = &[
    effective("proxy.handshake_timeout", TIME, "10s", "How long a client may take to log in, and an upstream.")
        .reloadable(),
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
    effective("proxy.limits.clients", COUNT, "infinity", "The most clients.").reloadable(),
    effective("proxy.limits.clients_per_user", COUNT, "infinity", "The most clients of one user.").reloadable(),
    effective("proxy.limits.clients_per_address", COUNT, "infinity", "The most clients from one address.").reloadable(),
    effective("proxy.limits.connection_rate", RATE, "infinity", "The most new clients in a second.").reloadable(),
    effective("proxy.limits.connection_rate_per_user", RATE, "infinity", "The most of one user.").reloadable(),
    effective("proxy.limits.connection_rate_per_address", RATE, "infinity", "The most from one address.").reloadable(),
    effective(
        "proxy.limits.byte_rate_per_client",
        BYTE_RATE,
        "",
        "The most bytes that a client may send in a second; it is read no faster. Unset: no limit.",
    )
    .reloadable(),
    effective(
        "proxy.limits.byte_rate_per_user",
        BYTE_RATE,
        "",
        "The most that all clients of one user may send together. Unset: no limit.",
    )
    .reloadable(),
    effective(
        "proxy.limits.alarm_only",
        Type::Bool,
        "false",
        "Whether who is beyond a limit is only logged and counted, to find out which limits fit.",
    )
    .reloadable(),
];
