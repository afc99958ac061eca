//! Keys of our own.

use std::time::Duration;

use super::super::cluster;
use super::{Key, Row, Section, Type};

pub(super) const SECTION: Section = Section { title: "Warren's own keys", keys: KEYS };

pub(crate) const DATA_DIR: Key<String> = Key::text(
    "warren.data_dir",
    Type::Text,
    "warren-data",
    "The directory of all data. The option `--data-dir` takes precedence.",
);
pub(crate) const NODE_NAME: Key<String> = Key::text(
    "warren.node_name",
    Type::Own(&cluster::NODE_NAME),
    "",
    "The node's name, or only the part before the `@`. The part after it is then the host's name. Unset: `rabbit`.",
);
pub(crate) const DELAYED_STRICT: Key<bool> = Key::bool(
    "warren.delayed.strict",
    "false",
    "Whether every delayed message that is published as mandatory is returned, as by RabbitMQ's plugin. Otherwise only those that \
         no queue would receive at the time of publishing are.",
);
pub(crate) const CONFIRM_AFTER: Key<String> = Key::text(
    "warren.confirm_after",
    Type::OneOf(&["fsync", "write"]),
    "fsync",
    "When a persistent message is confirmed: after it is synced to disk (`fsync`), or after it is written. With `write`, it \
         survives a crash of the broker, but not of the host.",
);
pub(crate) const DEFINITIONS_ANSWER_AFTER: Key<String> = Key::text(
    "warren.definitions.answer_after",
    Type::OneOf(&["fsync", "write"]),
    "fsync",
    "When a declaration or binding of a durable object is answered. With `write`, it is answered at once, and is durable with the \
         next confirm. A cluster always waits for a majority.",
);
pub(crate) const JOURNAL_BOUND: Key<u64> = Key::size(
    "warren.journal.bound",
    Type::Size(8 << 20, 1 << 40),
    "256MiB",
    "The maximum size of the journal, which is read again after a crash. Beyond it, publishers wait. In a cluster the default is \
         `128MiB`, so that another node takes over sooner.",
);
pub(crate) const JOURNAL_FILE_SIZE: Key<u64> = Key::size(
    "warren.journal.file_size",
    Type::Size(1 << 20, 1 << 30),
    "8MiB",
    "The size of one journal file. At least four must fit into `warren.journal.bound`.",
);
pub(crate) const CHUNKS_BOUND: Key<u64> = Key::size(
    "warren.chunks.bound",
    Type::Size(8 << 20, 1 << 40),
    "40MiB",
    "The maximum memory for messages. Beyond it, messages are read from disk.",
);
pub(crate) const SCRUB_INTERVAL: Key<Duration> = Key::duration(
    "warren.scrub.interval",
    Type::DurationMs(0, 366 * 24 * 3_600_000),
    "7d",
    "How often all files of messages are read, slowly, to find damage before a consumer does. 0: never.",
);
pub(crate) const AUDIT_FILE: Key<String> = Key::text(
    "warren.audit.file",
    Type::Text,
    "none",
    "The file of the audit log. It records who did what, from which address and when, as one JSON object per line. `none`: no \
         audit log.",
);
pub(crate) const AUDIT_ROTATION_SIZE: Key<u64> = Key::size(
    "warren.audit.rotation_size",
    Type::Size(4096, 1 << 40),
    "10MiB",
    "The audit log is rotated to `FILE.1` before it grows larger than this.",
);
pub(crate) const AUDIT_ROTATION_COUNT: Key<u64> =
    Key::integer("warren.audit.rotation_count", Type::Integer(0, 1000), "5", "How many rotated files are kept.");
pub(crate) const FLIGHT_RECORDER_ENABLED: Key<bool> = Key::bool(
    "warren.flight_recorder.enabled",
    "false",
    "Whether the latest calls of traced functions are recorded in 8 MiB of memory from the start.",
);
pub(crate) const FLIGHT_RECORDER_SLOW_REQUEST: Key<Duration> = Key::duration(
    "warren.flight_recorder.slow_request",
    Type::DurationMs(1, 3_600_000),
    "1000",
    "When a request takes longer than this, a running flight recorder is saved to a file.",
);
pub(crate) const FLIGHT_RECORDER_ROTATION_COUNT: Key<u64> = Key::integer(
    "warren.flight_recorder.rotation_count",
    Type::Integer(1, 1000),
    "8",
    "How many of these files are kept.",
);
pub(crate) const FLIGHT_RECORDER_TOTAL_LEN_MAX: Key<u64> = Key::size(
    "warren.flight_recorder.total_len_max",
    Type::Size(4096, 1 << 40),
    "256MiB",
    "The maximum size of these files together. Beyond that, the oldest are deleted. The newest is always kept.",
);
pub(crate) const LIVE_COUNT_MAX: Key<usize> = Key::integer(
    "warren.live.count_max",
    Type::Integer(1, 10_000),
    "100",
    "The maximum number of concurrent streams of events (`/api/live`).",
);
pub(crate) const LIVE_KEPT_FOR_ADMINISTRATORS: Key<usize> = Key::integer(
    "warren.live.kept_for_administrators",
    Type::Integer(0, 10_000),
    "20",
    "How many of these streams are reserved for administrators. If all are, other users have none.",
);
pub(crate) const LIVE_USER_COUNT_MAX: Key<usize> = Key::integer(
    "warren.live.user_count_max",
    Type::Integer(1, 10_000),
    "20",
    "The maximum number of streams per user. A console has one.",
);
pub(crate) const LIVE_ADDRESS_COUNT_MAX: Key<usize> = Key::integer(
    "warren.live.address_count_max",
    Type::Integer(1, 10_000),
    "50",
    "The maximum number of streams from one address for users who are not administrators. A proxy in front of the console is one \
         address.",
);
pub(crate) const LOCKOUT_USER_FAILURES: Key<u32> = Key::integer(
    "warren.lockout.user_failures",
    Type::Integer(0, 1_000_000),
    "20",
    "After this many failed logins in a row from one address, a user is locked out at this address for a while. After 50 times as \
         many from all addresses, the user is locked out everywhere, except at addresses where it has logged in before. 0: never.",
);
pub(crate) const LOCKOUT_ADDRESS_FAILURES: Key<u32> = Key::integer(
    "warren.lockout.address_failures",
    Type::Integer(0, 1_000_000),
    "100",
    "After this many failed logins within `warren.lockout.duration`, an address is locked out for a while, except for users that \
         have logged in from it before. 0: never.",
);
pub(crate) const LOCKOUT_DURATION: Key<Duration> =
    Key::duration("warren.lockout.duration", Type::DurationMs(1, 86_400_000), "60000", "How long a lockout lasts.");
pub(crate) const SHUTDOWN_TIMEOUT: Key<Duration> = Key::duration(
    "warren.shutdown_timeout",
    Type::DurationMs(0, 3_600_000),
    "8000",
    "How long a shutdown waits for clients to disconnect. Then the files are closed, which takes as long as the disk needs to \
         write the remaining data.",
);
pub(crate) const WORKER_THREADS: Key<usize> = Key::integer(
    "warren.worker_threads",
    Type::Integer(0, 1024),
    "0",
    "The number of threads for connections. 0: one per processor.",
);

const KEYS: &[Row] = &[
    DATA_DIR.row,
    NODE_NAME.row,
    DELAYED_STRICT.row,
    CONFIRM_AFTER.row,
    DEFINITIONS_ANSWER_AFTER.row,
    JOURNAL_BOUND.row,
    JOURNAL_FILE_SIZE.row,
    CHUNKS_BOUND.row,
    SCRUB_INTERVAL.row,
    AUDIT_FILE.row,
    AUDIT_ROTATION_SIZE.row,
    AUDIT_ROTATION_COUNT.row,
    FLIGHT_RECORDER_ENABLED.row,
    FLIGHT_RECORDER_SLOW_REQUEST.row,
    FLIGHT_RECORDER_ROTATION_COUNT.row,
    FLIGHT_RECORDER_TOTAL_LEN_MAX.row,
    LIVE_COUNT_MAX.row,
    LIVE_KEPT_FOR_ADMINISTRATORS.row,
    LIVE_USER_COUNT_MAX.row,
    LIVE_ADDRESS_COUNT_MAX.row,
    LOCKOUT_USER_FAILURES.row,
    LOCKOUT_ADDRESS_FAILURES.row,
    LOCKOUT_DURATION.row,
    SHUTDOWN_TIMEOUT.row,
    WORKER_THREADS.row,
];
