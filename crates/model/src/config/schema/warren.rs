//! Keys of our own.

use super::super::cluster::NODE_NAME;
use super::{Key, Section, Type, effective};

pub(super) const SECTION: Section = Section { title: "Warren's own keys", keys: KEYS };

const KEYS: &[Key] = &[
    effective("warren.data_dir", Type::Text, "warren-data", "The directory of all data. `--data-dir` goes before it."),
    effective(
        "warren.node_name",
        Type::Own(&NODE_NAME),
        "",
        "The node's name, or the part of it before the `@`, behind which comes the host's name. Unset: `rabbit`.",
    ),
    effective(
        "warren.delayed.strict",
        Type::Bool,
        "false",
        "Whether every delayed message that is published as mandatory is returned, as by RabbitMQ's plugin, and not only one \
        that no queue would take now.",
    ),
    effective(
        "warren.confirm_after",
        Type::OneOf(&["fsync", "write"]),
        "fsync",
        "When a persistent message is confirmed. `write` survives a crash of the broker, but not of the host.",
    ),
    effective(
        "warren.definitions.answer_after",
        Type::OneOf(&["fsync", "write"]),
        "fsync",
        "When a declaration or a binding of something durable is answered. `write`: at once, and it is durable with the next confirm. In a \
        cluster it waits for a majority in any case.",
    ),
    effective(
        "warren.journal.bound",
        Type::Size(8 << 20, 1 << 40),
        "256MiB",
        "The most journal that is kept, and read again after a crash; beyond it publishers wait. In a cluster `128MiB`, unless it is \
        set: another node takes over the sooner.",
    ),
    effective(
        "warren.journal.file_size",
        Type::Size(1 << 20, 1 << 30),
        "8MiB",
        "The size of one journal file; at least four must fit into the bound.",
    ),
    effective(
        "warren.chunks.bound",
        Type::Size(8 << 20, 1 << 40),
        "40MiB",
        "The most memory for messages; beyond it they are read from disk.",
    ),
    effective(
        "warren.scrub.interval",
        Type::DurationMs(0, 366 * 24 * 3_600_000),
        "7d",
        "All files of messages are read once in so long, slowly, to find damage before a consumer does. 0: never.",
    ),
    effective(
        "warren.audit.file",
        Type::Text,
        "none",
        "The file of the audit log: who did what, from where and when, a JSON object a line. `none`: there is none.",
    ),
    effective(
        "warren.audit.rotation_size",
        Type::Size(4096, 1 << 40),
        "10MiB",
        "The audit log is put aside, as `FILE.1`, before it grows longer than this.",
    ),
    effective("warren.audit.rotation_count", Type::Integer(0, 1000), "5", "So many of them are kept."),
    effective(
        "warren.flight_recorder.enabled",
        Type::Bool,
        "false",
        "Whether the last calls of traced functions are kept in 8 MiB of memory from the start on.",
    ),
    effective(
        "warren.flight_recorder.slow_request",
        Type::DurationMs(1, 3_600_000),
        "1000",
        "Requests that take so long have the flight recorder saved into a file, if it runs.",
    ),
    effective("warren.flight_recorder.rotation_count", Type::Integer(1, 1000), "8", "So many of these files are kept."),
    effective(
        "warren.flight_recorder.total_len_max",
        Type::Size(4096, 1 << 40),
        "256MiB",
        "How long these files may be together: the oldest go. The newest is kept, however long it is.",
    ),
    effective(
        "warren.live.count_max",
        Type::Integer(1, 10_000),
        "100",
        "How many streams of events (`/api/live`) there may be at a time.",
    ),
    effective(
        "warren.live.kept_for_administrators",
        Type::Integer(0, 10_000),
        "20",
        "So many of them are for administrators alone. As many as there may be: no other user has one.",
    ),
    effective(
        "warren.live.user_count_max",
        Type::Integer(1, 10_000),
        "20",
        "How many of them one user may have at a time: a console has one.",
    ),
    effective(
        "warren.live.address_count_max",
        Type::Integer(1, 10_000),
        "50",
        "How many of them users that are no administrators may have from one address. A proxy before the console is one address.",
    ),
    effective(
        "warren.lockout.user_failures",
        Type::Integer(0, 1_000_000),
        "20",
        "After so many failed logins in a row from one address a user is locked out there for a while; after 50 times as many \
        everywhere, except where it has logged in before. 0: never.",
    ),
    effective(
        "warren.lockout.address_failures",
        Type::Integer(0, 1_000_000),
        "100",
        "After so many failed logins within `warren.lockout.duration` an address is locked out for a while, except for users \
        that have logged in from it before. 0: never.",
    ),
    effective("warren.lockout.duration", Type::DurationMs(1, 86_400_000), "60000", "How long."),
    effective(
        "warren.shutdown_timeout",
        Type::DurationMs(0, 3_600_000),
        "8000",
        "How long a stop waits for clients to go. Then the files are closed, which takes as long as the disk needs for what \
         it has not been given yet.",
    ),
    effective(
        "warren.worker_threads",
        Type::Integer(0, 1024),
        "0",
        "Threads for connections; 0: one for each processor.",
    ),
];
