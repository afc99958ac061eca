//! What the proxy stores while an upstream is away.

use super::super::kinds::DURATION_OR_INFINITY;
use super::{Key, Section, TIME, TIME_OR_NONE, Type, effective};

pub(super) const SECTION: Section = Section { title: "Store and forward", keys: KEYS };

const KEYS: &[Key] = &[
    effective(
        "proxy.spool.dir",
        Type::Text,
        "",
        "The folder in which messages published without confirms are stored while their upstream is away; unset: they are not, and their \
         clients wait. Nothing else may use the folder.",
    ),
    effective(
        "proxy.spool.size_max",
        Type::Size(1 << 20, 1 << 44),
        "1GiB",
        "The most bytes of messages that are stored. Beyond that publishers wait, as without a spool. The disk needs up to twice that, \
         and 100 MiB.",
    ),
    effective(
        "proxy.spool.start_after",
        TIME_OR_NONE,
        "1s",
        "How long a publish, or a login, waits for an upstream before the upstream counts as away.",
    )
    .reloadable(),
    effective(
        "proxy.spool.message_ttl",
        Type::Own(&DURATION_OR_INFINITY),
        "infinity",
        "How long a message is stored at most; then it is dropped, and counted.",
    ),
    effective(
        "proxy.spool.login_cache_ttl",
        TIME,
        "1h",
        "For how long a login that an upstream has accepted is believed while it is away.",
    ),
];
