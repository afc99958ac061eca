//! What the proxy stores while an upstream is away.

use std::path::PathBuf;
use std::time::Duration;

use super::super::kinds::{DURATION_OR_INFINITY, parse_duration_or_infinity};
use super::{Key, Row, Section, TIME, TIME_OR_NONE, Type};

pub(super) const SECTION: Section = Section { title: "Store and forward", keys: KEYS };

pub(crate) const SPOOL_DIR: Key<PathBuf> = Key::new(
    "proxy.spool.dir",
    Type::Text,
    "",
    "The directory in which messages published without confirms are stored while their upstream is unavailable. Unset: no messages \
         are stored, and publishers wait. No other program may use the directory.",
    |text| Some(text.into()),
);
pub(crate) const SPOOL_SIZE_MAX: Key<u64> = Key::size(
    "proxy.spool.size_max",
    Type::Size(1 << 20, 1 << 44),
    "1GiB",
    "The maximum size of the stored messages. Beyond it, publishers wait, as without a spool. The disk needs up to twice this size \
         and 100 MiB.",
);
pub(crate) const SPOOL_START_AFTER: Key<Duration> = Key::duration(
    "proxy.spool.start_after",
    TIME_OR_NONE,
    "1s",
    "How long a publish or a login waits for an upstream before the upstream counts as unavailable.",
)
.reloadable();
pub(crate) const SPOOL_MESSAGE_TTL: Key<Option<Duration>> = Key::new(
    "proxy.spool.message_ttl",
    Type::Own(&DURATION_OR_INFINITY),
    "infinity",
    "How long a message is stored. After that it is dropped and counted.",
    parse_duration_or_infinity,
);
pub(crate) const SPOOL_LOGIN_CACHE_TTL: Key<Duration> = Key::duration(
    "proxy.spool.login_cache_ttl",
    TIME,
    "1h",
    "How long a login that an upstream has accepted is valid while the upstream is unavailable.",
);

const KEYS: &[Row] =
    &[SPOOL_DIR.row, SPOOL_SIZE_MAX.row, SPOOL_START_AFTER.row, SPOOL_MESSAGE_TTL.row, SPOOL_LOGIN_CACHE_TTL.row];
