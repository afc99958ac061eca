//! What the proxy stores while an upstream is away.

use super::super::kinds::DURATION_OR_INFINITY;
use super::{Row, Section, TIME, TIME_OR_NONE, Type, effective};

pub(super) const SECTION: Section = Section { title: "Store and forward", keys: KEYS };

const KEYS: &[Row] = &[
    effective(
        "proxy.spool.dir",
        Type::Text,
        "",
        "The directory in which messages published without confirms are stored while their upstream is unavailable. Unset: no messages \
         are stored, and publishers wait. No other program may use the directory.",
    ),
    effective(
        "proxy.spool.size_max",
        Type::Size(1 << 20, 1 << 44),
        "1GiB",
        "The maximum size of the stored messages. Beyond it, publishers wait, as without a spool. The disk needs up to twice this size \
         and 100 MiB.",
    ),
    effective(
        "proxy.spool.start_after",
        TIME_OR_NONE,
        "1s",
        "How long a publish or a login waits for an upstream before the upstream counts as unavailable.",
    )
    .reloadable(),
    effective(
        "proxy.spool.message_ttl",
        Type::Own(&DURATION_OR_INFINITY),
        "infinity",
        "How long a message is stored. After that it is dropped and counted.",
    ),
    effective(
        "proxy.spool.login_cache_ttl",
        TIME,
        "1h",
        "How long a login that an upstream has accepted is valid while the upstream is unavailable.",
    ),
];
